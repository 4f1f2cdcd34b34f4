"""Measure how long a reader waits while other readers send the most expensive allowed questions.

    python -m benchmarks.waiting [--write]

Three sockets ask the most expensive question that is allowed, with one cookie, with a new cookie
each, or without a cookie. Meanwhile another reader asks short questions. Then 64 readers, each with
a cookie, ask a question every ten and every five seconds. The client runs on the same machine. With
--write, the rows go to the table of docs/reliability.md.
"""

from __future__ import annotations

import secrets
import tempfile
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlencode

import numpy as np

from areaviz.backend.access import name_reader_cookie
from areaviz.backend.costs import Costs
from areaviz.cards.card import read_card
from areaviz.samples.paths import CHECKPOINTS
from areaviz.shares import QUESTION_SECONDS
from areaviz.trace.request import Request
from benchmarks.report import processor
from tests.faults.client import Session
from tests.faults.load import Load, load
from tests.faults.served import Served, served
from tests.faults.soak import Row, write

EXPENSIVE, SHORT = "token-boundary", "char-tiny-area"
LABEL = "English text"
BEAM, LONGEST = 16, 990
# Share of the limit. On a machine that is slower than predicted, the app would refuse a question
# just below the limit.
PART = 0.7
SENTENCE = "A small brown dog runs over the green grass near an old man who reads a long letter. "
ATTACKERS, QUESTIONS = 3, 5
READERS, RESTS, ROUNDS = 64, (30.0, 10.0, 5.0), 6
COOKIES = ("one cookie", "a new cookie for each connection", "no cookie")


@dataclass(frozen=True, slots=True)
class Beside:
    """Waiting times of a reader while other sockets ask expensive questions.

    Args:
        cookies: Cookies of the expensive questions, one of `COOKIES`.
        alone: Seconds of a short question before the expensive ones.
        waits: Seconds of short questions during the expensive ones.
        refused: Messages that the expensive sockets got instead of an answer.
    """

    cookies: str
    alone: float
    waits: tuple[float, ...]
    refused: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"alone {self.alone:.2f} s, during them {len(self.waits)} questions: median"
            f" {np.median(self.waits):.2f} s, longest {max(self.waits):.2f} s"
        )


def expensive_text(part: float = PART) -> str:
    """Return the longest text whose predicted cost is `part` of the limit, with the widest beam."""
    cards = {path.parent.name: read_card(path) for path in CHECKPOINTS.glob("*/card.json")}
    costs, text = Costs(cards), (SENTENCE * 12)[:LONGEST]
    most = part * QUESTION_SECONDS.value()
    while costs.predict(Request(EXPENSIVE, text, method="beam", beam=BEAM)) > most:
        text = text[: len(text) - 10]
    return text


def cookie_of(app: Served, number: int) -> str:
    """Return the header of a reader's cookie."""
    return f"{name_reader_cookie(int(app.url.rsplit(':', 1)[1]))}={number:032x}"


def wait_beside(app: Served, cookies: str) -> Beside:
    """Return how long a reader waits while three sockets ask expensive questions."""
    text = expensive_text()
    of_attackers = {
        COOKIES[0]: [cookie_of(app, 7)] * ATTACKERS,
        COOKIES[1]: [cookie_of(app, 8 + number) for number in range(ATTACKERS)],
        COOKIES[2]: [""] * ATTACKERS,
    }[cookies]
    over = threading.Event()
    # Every measurement asks new questions, because answers are remembered.
    unseen = secrets.token_hex(3)

    def attack(cookie: str) -> list[str]:
        said: list[str] = []
        number = 0
        with Session.open(app.url, cookie) as session:
            while not over.is_set():
                number += 1
                asked = f"{unseen} {number} {cookie[-3:]} {text}"[: len(text)]
                link = {"model": EXPENSIVE, "text": asked, "method": "beam", "beam": BEAM}
                said += session.visit("translate", urlencode(link)).errors
        return said

    with Session.open(app.url, cookie_of(app, 1)) as reader, ThreadPoolExecutor(ATTACKERS) as pool:
        link = {"model": SHORT, "text": "A dog sees a cat."}
        reader.visit("translate", urlencode(link))
        alone = reader.write(LABEL, f"A cat sees a dog {unseen}.").seconds
        attacks = [pool.submit(attack, cookie) for cookie in of_attackers]
        waits = []
        try:
            for number in range(QUESTIONS):
                time.sleep(1.0)
                shown = reader.write(LABEL, f"A cat sees {number} dogs {unseen}.")
                assert not shown.errors, shown.errors
                waits.append(shown.seconds)
        finally:
            over.set()
        refused = tuple(sentence for one in attacks for sentence in one.result())
    return Beside(cookies, alone, tuple(waits), refused)


def readers_asking(app: Served, count: int, rest: float, rounds: int = ROUNDS) -> Load:
    """Return the figures of readers with a cookie each, who ask once every `rest` seconds."""
    return load(app, CHECKPOINTS, SHORT, count, rounds, rest)


@contextmanager
def fresh_app() -> Iterator[Served]:
    """Serve an app within the block."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder) / "log", {}) as app:
        yield app


def rows() -> Iterator[Row]:
    """Yield the results as rows of the table: quantity, target, result."""
    with fresh_app() as app:
        for cookies in COOKIES:
            name = f"a short question during {ATTACKERS} expensive ones, {cookies}"
            yield name, "below 2 s", str(wait_beside(app, cookies))
    with fresh_app() as app:
        one = readers_asking(app, 1, RESTS[1])
        yield f"1 reader, a question every {RESTS[1]:.0f} s", "", str(one)
        in_time = "none refused, p95 at most 5x one"
        targets = (in_time, in_time, "none refused, p95 at most 4 s")
        for rest, target in zip(RESTS, targets, strict=True):
            found = readers_asking(app, READERS, rest)
            print(*found.errors[:3], *found.wrong[:3], sep="\n", end="")
            name = f"{READERS} readers, a question every {rest:.0f} s"
            yield name, target, f"{found}: {found.p95 / one.p95:.1f}x one reader"


def main() -> None:
    """Measure and print, and write if requested."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write to docs/reliability.md")
    options = parser.parse_args()
    about = f"{processor()}, {datetime.now(UTC):%Y-%m-%d}"
    for row in rows():
        print(f"{row[0]}: {row[2]} (target: {row[1] or 'none'})", flush=True)
        if options.write:
            write(row, "waiting", about)


if __name__ == "__main__":
    main()
