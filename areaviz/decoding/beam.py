"""Beam search: the most probable hypotheses of each length stay open; the best are returned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from math import inf
from operator import itemgetter

import torch

from areaviz.decoding.stepper import Hypothesis, Stepper, check_limits


def length_penalty(length: int, alpha: float) -> float:
    """What a log-probability is divided by: ((5 + n) / 6)^alpha, n with the end symbol.

    Wu et al. 2016, Eq. 14.
    """
    return float(((5 + length) / 6) ** alpha)


@torch.no_grad()
def beam_search(
    stepper: Stepper,
    start: int,
    end: int,
    limits: Sequence[int],
    width: int = 4,
    alpha: float = 0.6,
) -> list[list[Hypothesis]]:
    """For each sentence of a batch at most `width` hypotheses, best first.

    At each length the `width` most probable continuations of a sentence's open hypotheses are
    taken: those that end are kept, the others stay open. Kept ones are ranked by log-probability /
    `length_penalty`; those cut off at the limit come after all that ended. A sentence stops as soon
    as nothing open can change its result, which does not depend on its neighbours. A width of 1 is
    greedy decoding.

    Args:
        stepper: the model, with `width` rows for each sentence.
        start: id of the symbol before a sentence.
        end: id of the symbol after a sentence.
        limits: for each sentence the most tokens it may have, its end symbol included.
        width: open hypotheses of a sentence.
        alpha: 0 ranks by probability, more favours long hypotheses.

    Raises:
        ValueError: when a limit or the width is below one, or alpha below zero.
    """
    return search_by_alpha(stepper, start, end, limits, width, (alpha,))[0]


@torch.no_grad()
def search_by_alpha(
    stepper: Stepper,
    start: int,
    end: int,
    limits: Sequence[int],
    width: int,
    alphas: Sequence[float],
) -> list[list[list[Hypothesis]]]:
    """What `beam_search` finds under each of several penalties: [alpha][sentence][rank].

    Which hypotheses stay open does not depend on the penalty, so one search finds all of them; it
    only goes on until nothing can change under any.

    Raises:
        ValueError: as there.
    """
    check_limits(limits)
    if width < 1 or min(alphas) < 0:
        raise ValueError(
            "The beam width must be at least 1 and alpha at least 0, got"
            f" {width} and {min(alphas)}."
        )
    beams = [_Beam(end, limit, width, tuple(alphas)) for limit in limits]
    tokens = [start] * (width * len(beams))
    while not all(beam.done for beam in beams):
        log_probabilities = stepper.step(torch.tensor(tokens))
        # The best continuations of a sentence are among the best of each of its rows: only these
        # leave the device.
        values, choices = log_probabilities.topk(min(width, log_probabilities.shape[-1]), dim=-1)
        rows = _advance(beams, values.tolist(), choices.tolist())
        tokens = [token for beam in beams for token in beam.last_tokens()]
        if rows != list(range(len(rows))):
            stepper.select(torch.tensor(rows))
    return [[beam.best(place) for beam in beams] for place in range(len(alphas))]


def _advance(
    beams: Sequence[_Beam], values: Sequence[list[float]], choices: Sequence[list[int]]
) -> list[int]:
    """Let every sentence take its best continuations; returns the row that each row continues."""
    rows: list[int] = []
    for beam in beams:
        first, after = len(rows), len(rows) + beam.width
        if beam.done:
            rows += range(first, after)
        else:
            beam.extend(values[first:after], choices[first:after])
            rows += [first + parent for parent in beam.parents()]
    return rows


@dataclass(frozen=True, slots=True)
class _Open:
    """A hypothesis that has not ended."""

    ids: tuple[int, ...]
    log_probability: float
    # The rank of the one it continues.
    parent: int


@dataclass(slots=True)
class _Beam:
    """The hypotheses of one sentence."""

    end: int
    limit: int
    width: int
    alphas: tuple[float, ...]
    open: list[_Open] = field(default_factory=lambda: [_Open((), 0.0, 0)])
    # For each alpha those that ended, best first, at most `width`.
    kept: list[list[Hypothesis]] = field(init=False)
    done: bool = False

    def __post_init__(self) -> None:
        self.kept = [[] for _ in self.alphas]

    def extend(self, values: Sequence[list[float]], choices: Sequence[list[int]]) -> None:
        """Take the best continuations of the open hypotheses.

        Args:
            values: their log-probabilities, [width, continuations].
            choices: their ids, [width, continuations].
        """
        continuations = (
            (old.log_probability + value, rank, token)
            for rank, old in enumerate(self.open)
            for value, token in zip(values[rank], choices[rank], strict=True)
            if value > -inf
        )
        best = nlargest(self.width, continuations, key=itemgetter(0))
        before, self.open = self.open, []
        ended = []
        for total, rank, token in best:
            ids = (*before[rank].ids, token)
            if token == self.end:
                ended.append(Hypothesis(ids, total, True))
            else:
                self.open.append(_Open(ids, total, rank))
        for place, alpha in enumerate(self.alphas):
            ranked = sorted(
                self.kept[place] + ended, key=partial(_score, alpha=alpha), reverse=True
            )
            self.kept[place] = ranked[: self.width]
        self.done = all(self._is_done(place) for place in range(len(self.alphas)))

    def parents(self) -> list[int]:
        """The ranks that the rows continue; rows without a hypothesis continue themselves."""
        return [new.parent for new in self.open] + list(range(len(self.open), self.width))

    def last_tokens(self) -> list[int]:
        """What the rows are fed next; rows without a hypothesis are fed the end symbol."""
        unused = self.width - len(self.open)
        return [old.ids[-1] for old in self.open] + [self.end] * unused

    def best(self, place: int) -> list[Hypothesis]:
        """The result under one alpha: those that ended, then those cut off at the limit."""
        cut = [Hypothesis(old.ids, old.log_probability, False) for old in self.open]
        return [*self.kept[place], *cut][: self.width]

    def _is_done(self, place: int) -> bool:
        """Whether nothing open can come into the result under one alpha.

        A log-probability only falls as a hypothesis grows and the penalty is largest at the limit,
        so an open hypothesis will never score more than its present log-probability under the
        penalty of the limit.
        """
        if not self.open or len(self.open[0].ids) == self.limit:
            return True
        kept, alpha = self.kept[place], self.alphas[place]
        reachable = self.open[0].log_probability / length_penalty(self.limit, alpha)
        return len(kept) == self.width and reachable <= _score(kept[-1], alpha)


def _score(hypothesis: Hypothesis, alpha: float) -> float:
    return hypothesis.log_probability / length_penalty(len(hypothesis.ids), alpha)
