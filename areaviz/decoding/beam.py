"""Beam search, which keeps the most probable hypotheses of each length and returns the best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from heapq import nlargest
from math import inf
from operator import itemgetter

import torch

from areaviz.decoding.stepper import Hypothesis, Stepper, check_limits


def compute_length_penalty(length: int, alpha: float) -> float:
    """Return the divisor of a log-probability: ((5 + n) / 6)^alpha, n with the end symbol.

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
    """Find at most `width` hypotheses for each sentence of a batch, best first.

    At each length, the `width` most probable continuations of a sentence's open hypotheses are
    selected. Those that end are kept, and the rest stay open. Kept hypotheses are ranked by
    log-probability / `compute_length_penalty`. Hypotheses that are cut off at the limit come after
    all that ended. A sentence stops as soon as no open hypothesis can change its result. The result
    does not depend on the rest of the batch. A width of 1 is greedy decoding.

    Args:
        stepper: the model, with `width` rows for each sentence.
        start: id of the symbol before a sentence.
        end: id of the symbol after a sentence.
        limits: largest number of tokens of each sentence, including its end symbol.
        width: number of open hypotheses of a sentence.
        alpha: 0 ranks by probability. Larger values favour long hypotheses.

    Raises:
        ValueError: if a limit or the width is below one, or alpha is below zero.
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
    """Run `beam_search` for each of several penalties at once: [alpha][sentence][rank].

    The penalty does not affect which hypotheses stay open, so one search finds the results for all
    penalties. It continues until nothing can change under any of them.

    Raises:
        ValueError: as for `beam_search`.
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
        # The best continuations of a sentence are among the best ones of each of its rows, so only
        # these are copied from the device.
        values, choices = log_probabilities.topk(min(width, log_probabilities.shape[-1]), dim=-1)
        rows = _advance_beams(beams, values.tolist(), choices.tolist())
        tokens = [token for beam in beams for token in beam.list_last_tokens()]
        if rows != list(range(len(rows))):
            stepper.select(torch.tensor(rows))
    return [[beam.rank_hypotheses(place) for beam in beams] for place in range(len(alphas))]


def _advance_beams(
    beams: Sequence[_Beam], values: Sequence[list[float]], choices: Sequence[list[int]]
) -> list[int]:
    """Extend every sentence by its best continuations.

    Returns:
        For each row, the index of the row that it continues.
    """
    rows: list[int] = []
    for beam in beams:
        first, after = len(rows), len(rows) + beam.width
        if beam.done:
            rows += range(first, after)
        else:
            beam.extend(values[first:after], choices[first:after])
            rows += [first + parent for parent in beam.list_parents()]
    return rows


@dataclass(frozen=True, slots=True)
class _OpenHypothesis:
    """A hypothesis that has not ended."""

    ids: tuple[int, ...]
    log_probability: float
    # The rank of the hypothesis that it continues.
    parent: int


@dataclass(slots=True)
class _Beam:
    """The hypotheses of one sentence."""

    end: int
    limit: int
    width: int
    alphas: tuple[float, ...]
    open: list[_OpenHypothesis] = field(default_factory=lambda: [_OpenHypothesis((), 0.0, 0)])
    # For each alpha, the hypotheses that ended, best first, at most `width`.
    kept: list[list[Hypothesis]] = field(init=False)
    done: bool = False

    def __post_init__(self) -> None:
        self.kept = [[] for _ in self.alphas]

    def extend(self, values: Sequence[list[float]], choices: Sequence[list[int]]) -> None:
        """Select the best continuations of the open hypotheses.

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
                self.open.append(_OpenHypothesis(ids, total, rank))
        for place, alpha in enumerate(self.alphas):
            ranked = sorted(
                self.kept[place] + ended, key=partial(_score_hypothesis, alpha=alpha), reverse=True
            )
            self.kept[place] = ranked[: self.width]
        self.done = all(self._is_done(place) for place in range(len(self.alphas)))

    def list_parents(self) -> list[int]:
        """Return the rank of the row that each row continues. Unused rows continue themselves."""
        return [new.parent for new in self.open] + list(range(len(self.open), self.width))

    def list_last_tokens(self) -> list[int]:
        """Return the next inputs of the rows: the end symbol for rows without a hypothesis."""
        unused = self.width - len(self.open)
        return [old.ids[-1] for old in self.open] + [self.end] * unused

    def rank_hypotheses(self, place: int) -> list[Hypothesis]:
        """Return the result under one alpha: those that ended, then those that were cut off."""
        cut = [Hypothesis(old.ids, old.log_probability, False) for old in self.open]
        return [*self.kept[place], *cut][: self.width]

    def _is_done(self, place: int) -> bool:
        """Return whether no open hypothesis can enter the result under one alpha.

        A log-probability only falls as a hypothesis grows, and the penalty is largest at the limit.
        An open hypothesis can therefore never score more than its present log-probability under the
        penalty of the limit.
        """
        if not self.open or len(self.open[0].ids) == self.limit:
            return True
        kept, alpha = self.kept[place], self.alphas[place]
        reachable = self.open[0].log_probability / compute_length_penalty(self.limit, alpha)
        return len(kept) == self.width and reachable <= _score_hypothesis(kept[-1], alpha)


def _score_hypothesis(hypothesis: Hypothesis, alpha: float) -> float:
    return hypothesis.log_probability / compute_length_penalty(len(hypothesis.ids), alpha)
