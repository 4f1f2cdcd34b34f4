"""Prediction of a request's run time, so that no user takes too much computing time at once.

The processor time of a question is predicted from the input length, the output length and the beam
width:

    start + steps * (step + item * beam * (read + steps / 2) * areas) + gradients

`read` is the number of items that the model attends to. `steps / 2` is the mean length of the
output so far. `areas` is the requested largest area divided by the trained one. With attribution,
each output takes one backward pass.

`costs.json` contains the factors of every shipped model. `python -m benchmarks.costs --write`
measures them. This machine may be faster or slower, so every run of a question corrects the
prediction.
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

# A run is stopped after this multiple of its limit, because its prediction was wrong.
OVERRUN_FACTOR = 2.0

# Weight of the newest run in a model's speed on this machine, and bounds of the speed. The bounds
# keep a temporarily busy machine from refusing questions that it usually answers.
NEWEST_WEIGHT, SLOWEST, FASTEST = 0.2, 2.0, 0.125

# Characters per token or word on average, cells of a picture, and items per second of sound.
CHARACTERS, CELLS, ITEMS_PER_SECOND = 4.3, 64, 12.5

# No gradients are computed if there are more outputs than this (`areaviz/attention/gradients.py`).
MOST_GRADIENTS = 256


@dataclass(frozen=True, slots=True)
class Cost:
    """The costs of a model on the reference machine, in seconds of one processor.

    Args:
        start: reading the input and recording the trace.
        step: writing an item.
        item: attending to one item in one step of one hypothesis.
        written: items written per item read, 0 if the number does not depend on the input.
        fixed: items that are always written.
        gradient: the backward pass from one output.
        gradient_item: added to `gradient` for each item read or written.
    """

    start: float = 0.05
    step: float = 0.01
    item: float = 0.0
    written: float = 0.0
    fixed: float = 0.0
    gradient: float = 0.05
    gradient_item: float = 0.0


class Costs:
    """A predictor of the time of requests that also refuses requests that would take too long.

    Args:
        cards: the models, by name.
        table: the costs of models, by name. A model without costs is never refused in advance.
    """

    def __init__(self, cards: Mapping[str, Card], table: Mapping[str, Cost] | None = None) -> None:
        self._cards = cards
        self._table = read_costs() if table is None else table
        # Ratio of the time on this machine to the predicted time, by model.
        self._speeds: dict[str, float] = {}

    def predict(self, request: Request) -> float:
        """Return the approximate time of a request, in seconds of one processor."""
        cost = self._table.get(request.model, Cost())
        return self._speeds.get(request.model, 1.0) * _estimate_seconds(
            cost, request, self._card(request)
        )

    def learn(self, request: Request, seconds: float) -> None:
        """Correct the predictions for a model by the actual time of a request."""
        predicted = _estimate_seconds(
            self._table.get(request.model, Cost()), request, self._card(request)
        )
        seen = min(max(seconds / max(predicted, 1e-3), FASTEST), SLOWEST)
        before = self._speeds.get(request.model, 1.0)
        self._speeds[request.model] = NEWEST_WEIGHT * seen + (1 - NEWEST_WEIGHT) * before

    def check(self, request: Request) -> None:
        """Refuse a question that would take too long.

        Raises:
            InputError: if the question would take too long. The message says what to do.
        """
        seconds, most = self.predict(request), QUESTION_SECONDS.value()
        if seconds > most and request.model in self._table:
            raise InputError(
                f"This question would take about {_round_seconds(seconds)} seconds of computation."
                f" {QUESTION_SECONDS.said()} {_make_advice(request)}"
            )

    def check_running(self, jobs: Iterable[Job], seconds: float) -> None:
        """Stop a run of users that has far exceeded the time limit of a question.

        Raises:
            InputError: if the run has exceeded the limit. The message says what to do.
        """
        running = list(jobs)
        most = OVERRUN_FACTOR * QUESTION_SECONDS.value() * len(running)
        if seconds > most and all(job.visitor is not None for job in running):
            raise InputError(
                f"This question was stopped after {_round_seconds(seconds)} seconds of computation."
                f" {QUESTION_SECONDS.said()} {_make_advice(running[0].request)}"
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


def estimate_items_read(request: Request, card: Card | None) -> float:
    """Return the approximate number of items that a model reads for a request."""
    is_by_character = card is not None and card.level == "character"
    items = len(request.text) / (1.0 if is_by_character else CHARACTERS)
    if request.picture is not None:
        items += CELLS
    if request.sound is not None:
        items += ITEMS_PER_SECOND * request.sound.seconds
    if request.clip is not None:
        items += request.clip.frames
    return items


def count_attended_items(request: Request, card: Card | None, steps: float) -> float:
    """Return the mean number of items to which all hypotheses attend in one step."""
    beam = request.beam if request.method == "beam" else 1
    trained = card.config.get("area_size", 0) if card is not None else 0
    areas = request.area_size / trained if request.area_size and trained else 1.0
    return beam * (estimate_items_read(request, card) + steps / 2) * areas


def _estimate_seconds(cost: Cost, request: Request, card: Card | None) -> float:
    read = estimate_items_read(request, card)
    written = _estimate_items_written(cost, request, card)
    seconds = cost.start
    if request.target is None:
        seconds += written * (cost.step + cost.item * count_attended_items(request, card, written))
    if request.attribution:
        outputs = min(written, MOST_GRADIENTS)
        seconds += outputs * (cost.gradient + cost.gradient_item * (read + written))
    return seconds


def _estimate_items_written(cost: Cost, request: Request, card: Card | None) -> float:
    """Return the approximate number of items that are written."""
    if request.target is not None:
        return estimate_items_read(Request(request.model, request.target), card)
    read = estimate_items_read(request, card)
    written = cost.fixed + cost.written * read
    limit = card.length_limit if card is not None else None
    if limit is None or request.picture is not None:
        return written
    # A wide beam continues until no open hypothesis can win, which is often only at the limit.
    most = float(limit(round(read)))
    return most if request.method == "beam" and request.beam > 4 else min(written, most)


def _round_seconds(seconds: float) -> str:
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2g}"


def _make_advice(request: Request) -> str:
    """Return advice for users on how to make a question take less time."""
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
