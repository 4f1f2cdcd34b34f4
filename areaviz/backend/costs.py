"""The run time of requests: its prediction, its measurement, and the limits of each user."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib.resources import files
from typing import TYPE_CHECKING

from areaviz.backend.backend import OWN_WORK, Backend, Caller, Wrapper
from areaviz.cards.card import Card
from areaviz.shares import QUESTION_SECONDS, QUESTIONS_AT_ONCE, Shares
from areaviz.trace.derived import Logits
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request

if TYPE_CHECKING:
    from areaviz.backend.worker import Job


# Prediction of a request's run time, so that no user takes too much computing time at once.
#
# The processor time of a question is predicted from the input length, the output length and the
# beam width:
#
#     start + steps * (step + item * beam * (read + steps / 2) * areas) + gradients
#
# `read` is the number of items that the model attends to. `steps / 2` is the mean length of the
# output so far. `areas` is the requested largest area divided by the trained one. With attribution,
# each output takes one backward pass.
#
# `costs.json` contains the factors of every shipped model. `python -m benchmarks.costs --write`
# measures them. This machine may be faster or slower, so every run of a question corrects the
# prediction.


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


# Measurement of run times, and choice of the batch size of analyses while users are active.


# Maximum time of an analysis batch while users are active.
SLICE_SECONDS = 0.15

# Time after a request for which a user counts as active.
ACTIVE_SECONDS = 10.0

# Number of kinds of requests whose times are kept.
KINDS = 32

# Interval at which a run checks its time.
CHECK_SECONDS = 0.05

# Weight of the newest batch in the average time of a request.
NEWEST_BATCH_WEIGHT = 0.5


@dataclass(slots=True)
class RunClock:
    """The processor time of one run, without the time of other runs during its pauses.

    It starts with the first step, because loading the model before that step does not count.

    Attributes:
        started: start time, None before the start.
        paused: seconds of the runs during its pauses.
    """

    started: float | None = None
    paused: float = 0.0
    _checked: float = float("-inf")

    def start(self) -> None:
        """Start the clock if it is not running."""
        if self.started is None:
            self.started = time.thread_time()

    def is_check_due(self) -> bool:
        """Return whether the time of the run is due for a check, at most every `CHECK_SECONDS`.

        Reading the processor time of a thread is slow, and a run has hundreds of steps.
        """
        now = time.monotonic()
        if now - self._checked < CHECK_SECONDS:
            return False
        self._checked = now
        return True

    def seconds(self) -> float:
        """Return the processor seconds of this thread since the start, without the pauses."""
        return 0.0 if self.started is None else time.thread_time() - self.started - self.paused


class BackgroundBudget:
    """The batch times of each kind of request, and the batch size that follows from them.

    One thread uses it, except for `reader_came`.

    Args:
        clock: returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reader_came = float("-inf")
        self._seconds: OrderedDict[Request, float] = OrderedDict()

    def reader_came(self) -> None:
        """Note that a user sent a request."""
        self._reader_came = self._clock()

    @property
    def readers_active(self) -> bool:
        """True if a user sent a request recently and is likely to send another one."""
        return self._clock() - self._reader_came < ACTIVE_SECONDS

    def batch_size(self, kind: Request, max_batch: int) -> int:
        """Return how many requests of a kind may run together, or 1 if their time is unknown."""
        if not self.readers_active:
            return max_batch
        seconds = self._seconds.get(kind, SLICE_SECONDS)
        return max(1, min(max_batch, int(SLICE_SECONDS / max(seconds, 1e-6))))

    def add(self, kind: Request, count: int, seconds: float) -> None:
        """Record the time of a batch of requests of a kind."""
        new = seconds / count
        old = self._seconds.pop(kind, new)
        self._seconds[kind] = NEWEST_BATCH_WEIGHT * new + (1 - NEWEST_BATCH_WEIGHT) * old
        while len(self._seconds) > KINDS:
            self._seconds.popitem(last=False)


# A backend that limits the questions of each user, in front of an app's other backends.


class FairBackend(Wrapper):
    """A backend that refuses questions beyond the share of their user or network address.

    Analyses are counted by their jobs (`areaviz/sets/jobs.py`), not here.

    Attributes:
        questions: number of running and waiting questions per user.

    Args:
        inner: runs the requests.
    """

    def __init__(self, inner: Backend) -> None:
        super().__init__(inner)
        self.questions = Shares(QUESTIONS_AT_ONCE)
        self._table = read_costs()
        self._lock = threading.Lock()
        # The predicted seconds of running and waiting questions, by user.
        self._seconds: defaultdict[str, float] = defaultdict(float)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        """Run a request, see `Backend`. Raise OverLimit if its user has too many questions."""
        with self._counted(request, caller):
            return self._inner.trace(request, progress, caller)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        """Return the terms of logits, see `Explaining`. Raise OverLimit as `trace`."""
        with self._counted(request, caller):
            return super().logits(request, site, layer, progress, caller)

    def load_by_reader(self) -> list[dict[str, object]]:
        """Return the current load of each user, for the operator.

        Returns:
            For each user with questions: a mark, the number of running and waiting questions, and
            their predicted seconds of computation.
        """
        found: list[dict[str, object]] = []
        for reader, count in self.questions.by_reader().items():
            with self._lock:
                seconds = round(self._seconds.get(reader, 0.0), 1)
            mark = find_mark(reader)
            found.append({"reader": mark, "questions": int(count), "seconds": seconds})
        return found

    @contextmanager
    def _counted(self, request: Request, caller: Caller) -> Iterator[None]:
        visitor = caller.visitor
        if visitor is None or caller.in_background:
            yield
            return
        seconds = Costs(self.models(), self._table).predict(request)
        with self.questions.holding(visitor):
            self._add(visitor.reader, seconds)
            try:
                yield
            finally:
                self._add(visitor.reader, -seconds)

    def _add(self, reader: str, seconds: float) -> None:
        with self._lock:
            self._seconds[reader] += seconds
            if self._seconds[reader] < 1e-6:
                del self._seconds[reader]


def find_mark(reader: str) -> str:
    """Return a short mark of a user for the operator. It does not give access to the session."""
    if not reader:
        return "without a cookie"
    return hashlib.sha256(reader.encode()).hexdigest()[:8]
