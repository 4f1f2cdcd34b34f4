"""Decoding: greedy search, beam search, and outputs that a grammar constrains.

Decoding uses a model only through `Stepper`, which comes first. The grammar of trees stands
after the searches.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import nlargest
from math import inf
from operator import itemgetter
from typing import Protocol, Self

import torch
from torch import Tensor

from areaviz.cards.card import Card
from areaviz.models.tokenizer import END, Tokenizer
from areaviz.trace.kinds import WORD, is_closing, is_opening
from areaviz.trace.request import Request

# The interface of models that decoding uses, and the result of decoding.


class Stepper(Protocol):
    """A batch of growing hypotheses, which predicts the next token of each.

    Rows are grouped by sentence: with `width` hypotheses per sentence, row = sentence * width +
    rank. The number of rows and the sentence of a row never change. Values that depend only on the
    sentence (the encoded source and its keys and values) are therefore indexed by row // width and
    never reordered.
    """

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row and extend the state by it.

        Args:
            tokens: int64 [rows], on the CPU (the stepper moves it to its device). The first token
                is the start symbol. Rows of finished hypotheses are still fed.

        Returns:
            Natural log-probabilities of the next token, float [rows, vocabulary] on any device.
            Those of finished hypotheses are ignored.
        """

    def select(self, rows: Tensor) -> None:
        """Replace the state of row i by that of `rows[i]`, a row of the same sentence.

        Only values that grow with the hypotheses (self-attention caches, recurrent states) are
        reordered.

        Args:
            rows: int64 [rows], on the CPU.
        """


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A decoded sentence."""

    # Token ids without the start symbol, with the end symbol if it was generated.
    ids: tuple[int, ...]
    # Natural log-probability of `ids` given the source, without a length penalty.
    log_probability: float
    # True if the end symbol was generated within the limit.
    finished: bool


def check_limits(limits: Sequence[int]) -> None:
    """Check that every sentence may have at least one token.

    Raises:
        ValueError: if a limit is below one.
    """
    if any(limit < 1 for limit in limits):
        raise ValueError(f"Every length limit must be at least 1 token, got {min(limits)}.")


# Greedy decoding, which always picks the most probable next token.


@torch.no_grad()
def greedy_search(
    stepper: Stepper, start: int, end: int, limits: Sequence[int]
) -> list[Hypothesis]:
    """Decode a batch of sentences, one row each, until all have ended or reached their limit.

    A sentence's result does not depend on the rest of the batch.

    Args:
        stepper: the model, with one row for each sentence.
        start: id of the symbol before a sentence.
        end: id of the symbol after a sentence.
        limits: largest number of tokens of each sentence, including its end symbol.

    Raises:
        ValueError: if a limit is below one.
    """
    check_limits(limits)
    ids: list[list[int]] = [[] for _ in limits]
    totals = [0.0] * len(limits)
    tokens = [start] * len(limits)
    open_rows = list(range(len(limits)))
    while open_rows:
        log_probabilities = stepper.step(torch.tensor(tokens))
        # Beam search also uses `topk`, so a beam of one breaks ties in the same way.
        best, choice = log_probabilities.topk(1, dim=-1)
        values, tokens = best[:, 0].tolist(), choice[:, 0].tolist()
        for row in open_rows:
            ids[row].append(tokens[row])
            totals[row] += values[row]
        open_rows = [row for row in open_rows if tokens[row] != end and len(ids[row]) < limits[row]]
    return [Hypothesis(tuple(i), total, i[-1] == end) for i, total in zip(ids, totals, strict=True)]


# Beam search, which keeps the most probable hypotheses of each length and returns the best.


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


# Constrained decoding by a stepper that masks the tokens that a grammar forbids.


class State(Protocol):
    """The state of a hypothesis in a grammar. States are immutable, so beams can share them."""

    def advance(self, token: int) -> Self:
        """Return the state after `token`."""

    def find_allowed_tokens(self) -> Tensor:
        """Return which tokens can follow: bool [vocabulary], true for at least one."""


class MaskedStepper:
    """A stepper that gives forbidden tokens a probability of zero.

    Allowed tokens keep the model's log-probabilities without normalisation, so the
    log-probabilities of masked and unmasked outputs can be compared.
    """

    def __init__(self, inner: Stepper, states: Sequence[State]) -> None:
        """Mask a stepper.

        Args:
            inner: the stepper.
            states: one state per sentence, before its first token.
        """
        self._inner, self._first = inner, states
        self._states: list[State] = []

    def step(self, tokens: Tensor) -> Tensor:
        """Feed one token for each row.

        Returns:
            Log-probabilities of the next token, -inf for forbidden tokens.
        """
        log_probabilities_NV = self._inner.step(tokens)
        if not self._states:
            # The first token is the start symbol, which is in no grammar. Rows are grouped by
            # sentence.
            width = len(tokens) // len(self._first)
            self._states = [state for state in self._first for _ in range(width)]
        else:
            written = zip(self._states, tokens.tolist(), strict=True)
            self._states = [state.advance(token) for state, token in written]
        allowed_NV = torch.stack([state.find_allowed_tokens() for state in self._states])
        forbidden_NV = ~allowed_NV.to(log_probabilities_NV.device)
        return log_probabilities_NV.masked_fill(forbidden_NV, -torch.inf)

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows."""
        self._inner.select(rows)
        self._states = [self._states[row] for row in rows.tolist()]


# The grammar of linearised trees, with balanced brackets and one token per word of the sentence.
#
# See `areaviz.trace.kinds` for the format. The tree has one root, and every bracket contains a
# word.


@dataclass(frozen=True, slots=True, eq=False)
class TreeTokens:
    """The roles of a vocabulary's tokens in a tree.

    Args:
        count: number of tokens.
        end: id of the symbol after a tree.
        word: id of the token that represents a word.
        closing: for each opening token, the token that closes its bracket.
    """

    count: int
    end: int
    word: int
    closing: dict[int, int]

    @classmethod
    def from_labels(cls, labels: Sequence[str], end: int) -> Self:
        """Find the roles from the labels of all tokens.

        Opening brackets without a closing token are left out.

        Raises:
            ValueError: if no token represents a word.
        """
        places = {label: number for number, label in enumerate(labels)}
        closing = {}
        for label, number in places.items():
            if is_opening(label) and is_closing(f"){label[1:]}") and f"){label[1:]}" in places:
                closing[number] = places[f"){label[1:]}"]
        if WORD not in places:
            raise ValueError(f"A vocabulary of trees needs the token {WORD}, which this one lacks.")
        return cls(len(labels), end, places[WORD], closing)

    def make_first_state(self, words: int, limit: int) -> TreeState:
        """Return the state before a tree of `words` words.

        The tree may have `limit` tokens, including the end symbol.
        """
        return TreeState(self, words, self.raise_limit(words, limit))

    @staticmethod
    def raise_limit(words: int, limit: int) -> int:
        """Return the limit, raised to the size of the smallest tree: one bracket and the end."""
        return max(limit, words + 3)


@dataclass(frozen=True, slots=True, eq=False)
class TreeState:
    """A partial tree.

    Args:
        tokens: the roles of the vocabulary's tokens.
        words: number of words that are still missing.
        left: number of tokens that may still be written, including the end.
        open: the tokens that close the open brackets, the innermost last.
        is_empty: whether the innermost bracket has no word yet.
    """

    tokens: TreeTokens
    words: int
    left: int
    open: tuple[int, ...] = ()
    is_empty: bool = True

    def advance(self, token: int) -> TreeState:
        """Return the state after `token`.

        A token that is not part of a tree changes only the length.
        """
        left = max(0, self.left - 1)
        if token in self.tokens.closing:
            opened = (*self.open, self.tokens.closing[token])
            return replace(self, left=left, open=opened, is_empty=True)
        if token == self.tokens.word:
            return replace(self, left=left, words=max(0, self.words - 1), is_empty=False)
        if self.open and token == self.open[-1]:
            return replace(self, left=left, open=self.open[:-1], is_empty=False)
        return replace(self, left=left)

    def find_allowed_tokens(self) -> Tensor:
        """Return which tokens can follow: bool [vocabulary]."""
        allowed_V = torch.zeros(self.tokens.count, dtype=torch.bool)
        if not self.words and not self.open:
            allowed_V[self.tokens.end] = True
            return allowed_V
        # The rest needs at least the missing words, the closing brackets, and the end.
        needed = self.words + len(self.open) + 1
        if self.words and self.left >= needed + 2:
            allowed_V[list(self.tokens.closing)] = True
        if self.words and self.open:
            allowed_V[self.tokens.word] = True
        # The root may close only after the last word, because a second root would start a second
        # tree.
        if self.open and not self.is_empty and (len(self.open) > 1 or not self.words):
            allowed_V[self.open[-1]] = True
        return allowed_V


# The grammars that can constrain outputs, by their name in a recipe.


class Grammar(Protocol):
    """A grammar of outputs for a vocabulary."""

    def make_first_state(self, words: int, limit: int) -> State:
        """Return the state before an output for `words` words, of at most `limit` tokens."""

    def raise_limit(self, words: int, limit: int) -> int:
        """Return the limit, raised if the grammar has no output that short."""


GRAMMARS: Mapping[str, Callable[[Sequence[str], int], Grammar]] = {"trees": TreeTokens.from_labels}
"""Functions that build a grammar from the label of every token and the id of the end symbol."""


# Generation of outputs that follow a grammar.


def constrain_to_grammar(
    stepper: Stepper,
    limits: Sequence[int],
    card: Card,
    tokenizer: Tokenizer,
    requests: Sequence[Request],
) -> tuple[Stepper, Sequence[int]]:
    """Constrain a stepper and the output lengths to the card's grammar, if it has one.

    Args:
        stepper: the decoder for the requests.
        limits: largest number of tokens of each output, which is raised if the grammar needs more.
        card: the model's card.
        tokenizer: the model's tokenizer.
        requests: the requests to answer. A grammar counts their words.

    Returns:
        The stepper and the limits, unchanged if there is no grammar.
    """
    if not card.grammar:
        return stepper, limits
    grammar = GRAMMARS[card.grammar](tokenizer.labels(), END)
    words = [len(request.text.split()) for request in requests]
    limits = [grammar.raise_limit(*one) for one in zip(words, limits, strict=True)]
    states = [grammar.make_first_state(*one) for one in zip(words, limits, strict=True)]
    return MaskedStepper(stepper, states), limits
