"""Many sessions at once, each of which checks every byte it receives.

Every sentence contains a mark: "wm03x07" is session 3, question 7. A session may only receive its
own marks, and the answer must be the model's answer to its sentence.
"""

from __future__ import annotations

import random
import re
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from areaviz.backend.local import LocalBackend
from areaviz.trace.request import Request
from tests.faults.client import Session, Shown, new_cookie
from tests.faults.served import Served

LABEL = "English text"
_MARK = re.compile(rb"wm(\d\d)x(\d\d\d)")
_WORDS = (
    "small dog",
    "red kite",
    "tall man",
    "young woman",
    "brown horse",
    "group of people",
    "boy",
    "grey cat",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one question of a session, with the text of the question."""

    session: int
    text: str
    shown: Shown

    @property
    def mixed(self) -> bool:
        """Whether the answer contains another session's mark."""
        return any(int(session) != self.session for session, _ in _MARK.findall(self.shown.content))

    def wrong(self, expected: str) -> str:
        """Return what is wrong, or "". A ribbon must show the text and the model's output."""
        bodies = [
            message.delta.new_element.bidi_component.SerializeToString()
            for message in self.shown.messages
            if message.HasField("delta") and message.delta.new_element.HasField("bidi_component")
        ]
        own = [body for body in bodies if self.text.encode() in body]
        if not own:
            return f"{self.text!r} has no ribbon of its own"
        if not any(expected.strip().encode() in body for body in own):
            return f"The ribbon of {self.text!r} does not show {expected!r}"
        return ""


@dataclass(frozen=True, slots=True)
class Load:
    """Figures of a load.

    Args:
        sessions: number of sessions at once.
        answers: number of answered questions.
        mixed: number of answers with another session's mark.
        wrong: number of wrong answers, see `Answer.wrong`.
        errors: texts of errors that were shown instead of an answer.
        p50: median of the seconds from the question to the complete page.
        p95: 95th percentile of these seconds.
    """

    sessions: int
    answers: int
    mixed: int
    wrong: tuple[str, ...]
    errors: tuple[str, ...]
    p50: float
    p95: float

    def __str__(self) -> str:
        return (
            f"{self.sessions} sessions: {self.answers} answers, {self.mixed} mixed up,"
            f" {len(self.wrong)} wrong, {len(self.errors)} errors, p50 {self.p50:.2f} s, p95"
            f" {self.p95:.2f} s"
        )


def load(
    app: Served, checkpoints: Path, model: str, sessions: int, questions: int, rest: float
) -> Load:
    """Return the figures of readers who each ask `questions` times, once every `rest` seconds.

    Every reader has a cookie and starts at a different moment.
    """
    errors: list[str] = []
    start = threading.Barrier(sessions)

    def one(number: int) -> list[Answer]:
        try:
            return _ask(app.url, number, model, questions, rest, start)
        except Exception as error:
            errors.append(f"session {number}: {type(error).__name__}: {error}")
            start.abort()
            return []

    with ThreadPoolExecutor(sessions) as pool:
        answers = [answer for found in pool.map(one, range(sessions)) for answer in found]
    errors += [sentence for answer in answers for sentence in answer.shown.errors]
    backend = LocalBackend(checkpoints, "cpu")
    with ThreadPoolExecutor(8) as pool:
        expected = list(pool.map(lambda answer: _expected(backend, model, answer.text), answers))
    wrong = tuple(
        filter(None, (answer.wrong(right) for answer, right in zip(answers, expected, strict=True)))
    )
    seconds = [answer.shown.seconds for answer in answers] or [float("nan")]
    p50, p95 = (float(value) for value in np.percentile(seconds, (50, 95)))
    mixed = sum(answer.mixed for answer in answers)
    return Load(sessions, len(answers), mixed, wrong, tuple(errors), p50, p95)


def _ask(
    url: str, number: int, model: str, questions: int, rest: float, start: threading.Barrier
) -> list[Answer]:
    chance, answers = random.Random(number), []
    with Session.open(url, new_cookie(url)) as session:
        session.visit(
            "translate", urlencode({"model": model, "text": _sentence(number, 0, chance)})
        )
        start.wait(300)
        begin = time.monotonic() + rest * chance.random()
        for question in range(1, questions + 1):
            time.sleep(max(0.0, begin + (question - 1) * rest - time.monotonic()))
            text = _sentence(number, question, chance)
            answers.append(Answer(number, text, session.write(LABEL, text)))
    return answers


def _sentence(session: int, question: int, chance: random.Random) -> str:
    return (
        f"A {chance.choice(_WORDS)} wm{session:02d}x{question:03d} near a {chance.choice(_WORDS)}."
    )


def _expected(backend: LocalBackend, model: str, text: str) -> str:
    trace = backend.trace(Request(model, text))
    return trace.fields[trace.output.field].raw


def ratios(loads: Sequence[Load]) -> list[float]:
    """Return each load's p95 divided by that of the first load, which has a single session."""
    return [one.p95 / loads[0].p95 for one in loads]
