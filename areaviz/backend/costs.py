"""How long a question will take, known before it runs, so that no reader asks for too much at once.

The processor time of a question is predicted from what is read, how much is written and how wide
the beam is:

    start + steps * (step + item * beam * (read + steps / 2) * areas) + gradients

`read` counts the items that the model attends to. `steps / 2` is the mean length of what was
already written. `areas` is the largest area asked for, as a share of the one that the model was
trained with. Where attribution is asked for, each output takes a pass backwards.

`costs.json` has the factors of every shipped model; `python -m benchmarks.costs --write` measures
them. This machine may be faster or slower: every run of a question corrects the prediction.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import TYPE_CHECKING

from areaviz.cards.card import Card
from areaviz.shares.limits import QUESTION_SECONDS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

if TYPE_CHECKING:
    from areaviz.backend.job import Job

TABLE = "costs.json"

# A run that takes this many times its limit is stopped, because its prediction was wrong.
OVERRUN = 2.0

# The share of the newest run in the speed of a model on this machine, and the bounds of the speed.
# A machine that is busy for a while must not refuse what it answers at other times.
NEWEST, SLOWEST, FASTEST = 0.2, 2.0, 0.125

# Items that are read: characters of a token or word on average, cells of a picture, and items of a
# second of sound.
CHARACTERS, CELLS, ITEMS_PER_SECOND = 4.3, 64, 12.5

# Outputs beyond this number get no gradients (`areaviz/attention/gradients.py`).
MOST_GRADIENTS = 256


@dataclass(frozen=True, slots=True)
class Cost:
    """What a model takes on the machine that was measured, in seconds of one processor.

    Args:
        start: for reading the input and recording the trace.
        step: for writing an item.
        item: for attending to one item in one step of one hypothesis.
        written: items that are written for each item read, 0 where the number does not depend on
            what is read.
        fixed: items that are written in any case.
        gradient: for the pass backwards from one output.
        gradient_item: more of it for each item read or written.
    """

    start: float = 0.05
    step: float = 0.01
    item: float = 0.0
    written: float = 0.0
    fixed: float = 0.0
    gradient: float = 0.05
    gradient_item: float = 0.0


class Costs:
    """Predicts the time of questions, and refuses those that would take too long.

    Args:
        cards: the models, by name.
        table: the cost of models, by name; a model without one is never refused in advance.
    """

    def __init__(self, cards: Mapping[str, Card], table: Mapping[str, Cost] | None = None) -> None:
        self._cards = cards
        self._table = read_costs() if table is None else table
        # How many times longer than predicted runs take here, by model.
        self._speeds: dict[str, float] = {}

    def predict(self, request: Request) -> float:
        """Return the seconds of one processor that a request will take, about."""
        cost = self._table.get(request.model, Cost())
        return self._speeds.get(request.model, 1.0) * _seconds(cost, request, self._card(request))

    def learn(self, request: Request, seconds: float) -> None:
        """Correct the predictions for a model by how long a request really took."""
        predicted = _seconds(self._table.get(request.model, Cost()), request, self._card(request))
        seen = min(max(seconds / max(predicted, 1e-3), FASTEST), SLOWEST)
        before = self._speeds.get(request.model, 1.0)
        self._speeds[request.model] = NEWEST * seen + (1 - NEWEST) * before

    def check(self, request: Request) -> None:
        """Refuse a question that would take too long.

        Raises:
            InputError: it would; the message says what to do.
        """
        seconds, most = self.predict(request), QUESTION_SECONDS.value()
        if seconds > most and request.model in self._table:
            raise InputError(
                f"This question would take about {_rounded(seconds)} seconds of computation."
                f" {QUESTION_SECONDS.said()} {_advice(request)}"
            )

    def check_running(self, jobs: Iterable[Job], seconds: float) -> None:
        """Stop a run of readers that has taken much longer than one question may.

        Raises:
            InputError: it has; the message says what to do.
        """
        running = list(jobs)
        most = OVERRUN * QUESTION_SECONDS.value() * len(running)
        if seconds > most and all(job.visitor is not None for job in running):
            raise InputError(
                f"This question was stopped after {_rounded(seconds)} seconds of computation."
                f" {QUESTION_SECONDS.said()} {_advice(running[0].request)}"
            )

    def _card(self, request: Request) -> Card | None:
        return self._cards.get(request.model)


def read_costs() -> dict[str, Cost]:
    """Return the measured costs of the shipped models, by name."""
    content = json.loads((files("areaviz.backend") / TABLE).read_text("utf-8"))
    names = [one.name for one in fields(Cost)]
    found = {}
    for model, entry in content["models"].items():
        found[model] = Cost(**{name: float(entry[name]) for name in names})
    return found


def items_read(request: Request, card: Card | None) -> float:
    """Return how many items a model reads of a request, about."""
    is_by_character = card is not None and card.level == "character"
    items = len(request.text) / (1.0 if is_by_character else CHARACTERS)
    if request.picture is not None:
        items += CELLS
    if request.sound is not None:
        items += ITEMS_PER_SECOND * request.sound.seconds
    if request.clip is not None:
        items += request.clip.frames
    return items


def attended(request: Request, card: Card | None, steps: float) -> float:
    """Return how many items are attended to by all hypotheses in one step, on average."""
    beam = request.beam if request.method == "beam" else 1
    trained = card.config.get("area_size", 0) if card is not None else 0
    areas = request.area_size / trained if request.area_size and trained else 1.0
    return beam * (items_read(request, card) + steps / 2) * areas


def _seconds(cost: Cost, request: Request, card: Card | None) -> float:
    read = items_read(request, card)
    written = _written(cost, request, card)
    seconds = cost.start
    if request.target is None:
        seconds += written * (cost.step + cost.item * attended(request, card, written))
    if request.attribution:
        outputs = min(written, MOST_GRADIENTS)
        seconds += outputs * (cost.gradient + cost.gradient_item * (read + written))
    return seconds


def _written(cost: Cost, request: Request, card: Card | None) -> float:
    """Return how many items are written, about."""
    if request.target is not None:
        return items_read(Request(request.model, request.target), card)
    read = items_read(request, card)
    written = cost.fixed + cost.written * read
    limit = card.length_limit if card is not None else None
    if limit is None or request.picture is not None:
        return written
    # A wide beam searches until no open hypothesis can win, which is often at the limit.
    most = float(limit(round(read)))
    return most if request.method == "beam" and request.beam > 4 else min(written, most)


def _rounded(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _advice(request: Request) -> str:
    """Return what a reader can change about a question so that it takes less time."""
    ways = ["shorten the text"] if request.text else []
    if request.method == "beam":
        ways.append("choose a smaller beam")
    if request.area_size is not None:
        ways.append("choose a smaller largest area")
    if request.attribution:
        ways.append("leave out what the output depends on")
    ways.append("choose a smaller model")
    sentence = ", ".join(ways[:-1]) + (" or " if len(ways) > 1 else "") + ways[-1]
    return sentence[0].upper() + sentence[1:] + "."
