"""Word alignment: links of attention, their error rate, and the heads that align best.

A statistical aligner comes first, as the baseline. `best_alignment` at the end chooses the
heads of any model on the user's examples.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from math import nan
from numbers import Integral, Real
from typing import Any, Generic, Literal, Self, TypeVar, cast

import numpy as np
import numpy.typing as npt

from areaviz.measures.pointing import (
    Box,
    PointedWords,
    bootstrap_hit_interval,
    find_centres_inside,
    find_coordinates_in_boxes,
)
from areaviz.measures.spans import Array, compute_word_attention, find_word_runs
from areaviz.trace.areas import AreaGrid, FloatArray, coverage_shares
from areaviz.trace.derived import (
    MOST_HEADS,
    STEPS,
    BestAlignment,
    Choice,
    make_best_map,
    shift_by_step,
)
from areaviz.trace.errors import InputError, describe_value
from areaviz.trace.query import coverage, item_shares
from areaviz.trace.record import AttentionMap, Field, Trace

# A statistical word aligner, the baseline for the links of attention.
#
# This is IBM model 1 with a prior that prefers the diagonal, as in fast_align (Dyer, Chahuneau and
# Smith 2013, Eq. 1-2). Target word j comes from source word i with probability proportional to
#
#     exp(-tension * |i / S - j / T|) * p(target word | source word)
#
# The word translation table is learned by expectation maximisation. The tension is given.
#
# Shapes: S source words, T target words, K pairs of words, E entries, one for each source and
# target word of one sentence.


Words = Sequence[str]
_MARKS = ".,;:!?\"'()"


@dataclass(frozen=True, slots=True, eq=False)
class Aligner:
    """Translation probabilities by (source word, target word), and the tension of the prior."""

    probabilities: dict[tuple[str, str], float]
    tension: float

    @classmethod
    def train(
        cls, pairs: Sequence[tuple[Words, Words]], iterations: int = 5, tension: float = 4.0
    ) -> Aligner:
        """Learn an aligner from sentence pairs, split into words.

        Args:
            pairs: Pairs (source words, target words). Sentences without words are skipped.
            iterations: Number of iterations of expectation maximisation.
            tension: Strength of the preference for the diagonal. 0 gives IBM model 1.
        """
        keys: dict[tuple[str, str], int] = {}
        entries, groups, priors = [], [], []
        count = 0  # number of target words
        for source, target in pairs:
            prior_TS = compute_diagonal_prior(len(source), len(target), tension)
            for word, prior_S in zip(target, prior_TS, strict=True):
                for other in source:
                    entries.append(
                        keys.setdefault((normalise_word(other), normalise_word(word)), len(keys))
                    )
                    groups.append(count)
                priors.append(prior_S)
                count += 1
        sources: dict[str, int] = {}
        source_K = np.array([sources.setdefault(word, len(sources)) for word, _ in keys], np.int64)
        entry_E, group_E = np.array(entries, np.int64), np.array(groups, np.int64)
        prior_E = np.concatenate(priors or [np.zeros(0)])
        table_K = np.ones(len(keys))
        for _ in range(iterations):
            joint_E = prior_E * table_K[entry_E]
            share_E = joint_E / np.bincount(group_E, joint_E, count)[group_E]
            counts_K = np.bincount(entry_E, share_E, len(keys))
            table_K = counts_K / np.bincount(source_K, counts_K)[source_K]
        return cls(dict(zip(keys, table_K.tolist(), strict=True)), tension)

    def links(self, source: Words, target: Words) -> frozenset[tuple[int, int]]:
        """Link every known target word to its best source word, as (source, target) from 0."""
        found = set()
        prior_TS = compute_diagonal_prior(len(source), len(target), self.tension)
        for j, word in enumerate(target):
            score_S = prior_TS[j]
            for i, other in enumerate(source):
                score_S[i] *= self.probabilities.get(
                    (normalise_word(other), normalise_word(word)), 0.0
                )
            if score_S.any():
                found.add((int(score_S.argmax()), j))
        return frozenset(found)


def compute_diagonal_prior(sources: int, targets: int, tension: float) -> npt.NDArray[np.float64]:
    """Return exp(-tension * |i / S - j / T|), with each row divided by its sum: [T, S]."""
    i = (np.arange(sources) + 0.5) / max(1, sources)
    j = (np.arange(targets) + 0.5) / max(1, targets)
    weights: npt.NDArray[np.float64] = np.exp(-tension * np.abs(i - j[:, None]))
    weights /= np.maximum(weights.sum(1, keepdims=True), np.finfo(float).tiny)
    return weights


def make_diagonal_links(sources: int, targets: int) -> frozenset[tuple[int, int]]:
    """Link target words to source words at equal relative positions, as (source, target) from 0."""
    found = set()
    if sources:
        for j in range(targets):
            found.add((min(sources - 1, int((j + 0.5) * sources / targets)), j))
    return frozenset(found)


def normalise_word(word: str) -> str:
    """Return a word in lower case without punctuation at its ends."""
    return word.lower().strip(_MARKS)


# Alignment error rate, which compares the links of attention with manual links (Och & Ney 2003).
#
# A link (i, j) joins word i of the source with word j of the target, both counted from 0. Shapes: S
# source words, T target words.


Links = Set[tuple[int, int]]
Direction = Literal["target", "source"]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of links. The counts of several sentences are added with `+`.

    The metrics are in 0..1, or NaN if their denominator is 0.
    """

    # Links that a system made (A), and links that annotators are sure of (S).
    made: int = 0
    sure: int = 0
    # Links made that are sure, and links made that are possible (P, which includes S).
    made_sure: int = 0
    made_possible: int = 0

    def __add__(self, other: LinkCounts) -> LinkCounts:
        return LinkCounts(
            self.made + other.made,
            self.sure + other.sure,
            self.made_sure + other.made_sure,
            self.made_possible + other.made_possible,
        )

    @property
    def precision(self) -> float:
        """The share of the links made that are possible: |A and P| / |A|."""
        return self.made_possible / self.made if self.made else nan

    @property
    def recall(self) -> float:
        """The share of the sure links that were made: |A and S| / |S|."""
        return self.made_sure / self.sure if self.sure else nan

    @property
    def error_rate(self) -> float:
        """The alignment error rate: 1 - (|A and S| + |A and P|) / (|A| + |S|). 0 is best."""
        total = self.made + self.sure
        return 1 - (self.made_sure + self.made_possible) / total if total else nan


def count_links(made: Links, sure: Links, possible: Links) -> LinkCounts:
    """Count the links of one sentence. Sure links always count as possible."""
    return LinkCounts(len(made), len(sure), len(made & sure), len(made & (sure | possible)))


def find_strongest_links(
    attention_TS: FloatArray, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """Link each word to the word with which it has the greatest attention, as (source, target).

    Words without attention get no link. Ties are resolved in favour of the first word. The links
    that both directions choose are fewer and more reliable.

    Args:
        attention_TS: Attention of target words to source words.
        choosing: The side whose words choose: "target", which is the direction of attention, or
            "source".
    """
    weights = attention_TS if choosing == "target" else attention_TS.T
    found = set()
    if weights.size:
        for word, other in enumerate(weights.argmax(1).tolist()):
            if weights[word, other] > 0:
                found.add((other, word) if choosing == "target" else (word, other))
    return frozenset(found)


def find_attention_links(
    trace: Trace, layer: int, head: int | None = None, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """Return the links between source and target words in a head's encoder-decoder attention.

    Area weights become item shares. They are summed over the items of a source word and averaged
    over those of a target word, which gives the attention between words. `find_strongest_links`
    then selects the links. Without a head, the mean of all heads is used.
    """
    attention = trace.maps["encoder-decoder"]
    shares_QN = item_shares(attention, layer, head)
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    return find_strongest_links(compute_word_attention(shares_QN, target, source), choosing)


# The greedy choice of a set of heads whose mean map has the smallest error.
#
# Shapes: L layers, H heads, Q queries, N items.


GAIN = 0.005
"""Smallest reduction of the error, 0..1, for which one more head is added."""
SITE = "encoder-decoder"
Score = Callable[[Sequence[Choice]], float]
"""Function that returns the error of a set of heads, 0..1."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """A set of heads, its error, and the error of the best single head at its own step."""

    heads: tuple[Choice, ...]
    error: float
    error_single: float


def choose_heads(layers: int, heads: int, error_of: Score, steps: Sequence[int] = STEPS) -> Chosen:
    """Choose a set of heads greedily.

    Each round adds the head and step that reduce the error most. The choice ends at `MOST_HEADS`
    heads, or if the error falls by less than `GAIN`. Of equal errors, the first one is chosen.

    Args:
        layers: Number of layers.
        heads: Number of heads of each layer.
        error_of: Returns the error of a set.
        steps: The allowed steps of a head, see `STEPS`.
    """
    every = [(lay, head, step) for step in steps for lay in range(layers) for head in range(heads)]
    alone = {one: error_of([one]) for one in every}
    first = min(every, key=lambda one: alone[one])
    chosen, error = [first], alone[first]
    while len(chosen) < MOST_HEADS:
        errors = {one: error_of([*chosen, one]) for one in every if one not in chosen}
        if not errors:
            break
        following = min(errors, key=lambda one: errors[one])
        if error - errors[following] < GAIN:
            break
        chosen.append(following)
        error = errors[following]
    single = min(value for (_, _, step), value in alone.items() if step == 0)
    return Chosen(tuple(chosen), error, single)


@dataclass(frozen=True, slots=True, eq=False)
class LinkedMaps:
    """The coverage of every head over one sentence pair with known links."""

    # float32 [L, H, Q, N]
    coverage: FloatArray
    query: Field
    memory: Field
    sure: Links
    possible: Links

    @classmethod
    def of(cls, trace: Trace, sure: Links, possible: Links, site: str = SITE) -> LinkedMaps:
        """Read the maps of a trace. Links are (source word, target word), counted from 0."""
        attention = trace.maps[site]
        rows = []
        for layer in range(attention.layers):
            rows.append([coverage(attention, layer, head) for head in range(attention.heads)])
        fields = trace.fields[attention.query], trace.fields[attention.memory]
        return cls(np.array(rows, np.float32), *fields, sure, possible)

    def words(self, heads: Sequence[Choice]) -> FloatArray:
        """Return the attention of target words to source words in the mean map of heads."""
        rows = [shift_by_step(self.coverage[layer, head], step) for layer, head, step in heads]
        shares_QN = coverage_shares(np.mean(rows, axis=0, dtype=np.float32))
        return compute_word_attention(shares_QN, self.query, self.memory)

    def counts(self, heads: Sequence[Choice]) -> LinkCounts:
        """Return the counts of the links that the mean map of heads makes."""
        return count_links(find_strongest_links(self.words(heads)), self.sure, self.possible)


def compute_alignment_error(maps: Sequence[LinkedMaps], heads: Sequence[Choice]) -> float:
    """Return the alignment error rate of the mean map of heads over all pairs, 0..1."""
    total = LinkCounts()
    for one in maps:
        total += one.counts(heads)
    return total.error_rate


def count_links_by_position(
    maps: Sequence[LinkedMaps], heads: Sequence[Choice]
) -> list[LinkCounts]:
    """Return the counts of links that follow from the position alone.

    The map of the next pair, which has other words, is stretched to the words of each pair.
    """
    found = []
    for number, one in enumerate(maps):
        own_TS = one.words(heads)
        other_TS = maps[(number + 1) % len(maps)].words(heads)
        stretched = other_TS[np.ix_(*map(_stretch_places, own_TS.shape, other_TS.shape))]
        found.append(count_links(find_strongest_links(stretched), one.sure, one.possible))
    return found


def bootstrap_interval(counts: Sequence[LinkCounts], rounds: int = 1000, seed: int = 1) -> Array:
    """Return the 2.5 and 97.5 % quantiles of the error rate over resampled sentences: [2]."""
    random = np.random.default_rng(seed)
    rates = []
    for _ in range(rounds):
        total = LinkCounts()
        for number in random.integers(len(counts), size=len(counts)):
            total += counts[number]
        rates.append(total.error_rate)
    ends: Array = np.quantile(rates, (0.025, 0.975))
    return ends


def _stretch_places(length: int, other: int) -> list[int]:
    """Return for each of `length` places the place at the same relative position of `other`."""
    return [min(other - 1, int((place + 0.5) * other / length)) for place in range(length)]


# Examples with known word links, which serve to choose the heads of any model.


WordLinks = Set[tuple[int, int]]
"""Links of an example: (word of the text attended to, word that attends), counted from 0."""


E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class KnownExamples(Generic[E]):
    """Examples for which the right targets of attention are known."""

    examples: Sequence[E]

    def halves(self) -> tuple[Self, Self]:
        """Split the examples into two halves, each with every second example."""
        return type(self)(self.examples[::2]), type(self)(self.examples[1::2])


class LinkedExamples(KnownExamples[LinkedMaps]):
    """Traces from text to text with their links."""

    noun = "links"
    measure = "alignment error"
    place = "the diagonal"

    @classmethod
    def read(cls, examples: Sequence[tuple[Trace, WordLinks]], site: str) -> Self:
        """Read the maps of examples.

        Raises:
            InputError: A map does not join two texts, or a link does not exist.
        """
        return cls([_check_example(number, *one, site) for number, one in enumerate(examples, 1)])

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the alignment error rate of the mean map of heads, 0..1."""
        return compute_alignment_error(self.examples, heads)

    def interval(self, heads: Sequence[Choice]) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the error."""
        low, high = bootstrap_interval([one.counts(heads) for one in self.examples])
        return float(low), float(high)

    def at_place(self) -> float:
        """Return the error of the links on the diagonal."""
        return _compute_error_rate([_count_diagonal_links(one) for one in self.examples])

    def by_position(self, heads: Sequence[Choice]) -> float:
        """Return the error of the links that these heads make in the next example."""
        return _compute_error_rate(count_links_by_position(self.examples, heads))


def _check_example(number: int, trace: Trace, links: WordLinks, site: str) -> LinkedMaps:
    _check_pairs(number, links)
    attention = trace.maps[site]
    fields = trace.fields[attention.memory], trace.fields[attention.query]
    if any(not field.is_text for field in fields):
        raise InputError(
            f"Example {number} does not attend from text to text, but links join words. Give boxes."
        )
    sizes = [len(find_word_runs(field)) for field in fields]
    if any(not (0 <= i < sizes[0] and 0 <= j < sizes[1]) for i, j in links):
        raise InputError(
            f"Example {number} has a link to a word that does not exist. Count words from 0."
        )
    known = frozenset(links)
    return LinkedMaps.of(trace, known, known, site)


def _check_pairs(number: int, links: Any) -> None:
    """Check that links are a collection of pairs of numbers.

    Raises:
        InputError: The links are not a collection, or one of them is not a pair of numbers.
    """
    if isinstance(links, str) or not isinstance(links, Collection):
        raise InputError(
            f"The links of example {number} are {describe_value(links)} but must be pairs of"
            " words. Give a set such as {(0, 0), (1, 2)}."
        )
    for link in links:
        if not (isinstance(link, tuple) and len(link) == 2 and all(map(is_count, link))):
            raise InputError(
                f"Example {number} has the link {describe_value(link)} but a link is a pair of"
                " words. Give their numbers, counted from 0, such as (1, 2)."
            )


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _count_diagonal_links(one: LinkedMaps) -> LinkCounts:
    made = make_diagonal_links(len(find_word_runs(one.memory)), len(find_word_runs(one.query)))
    return count_links(made, one.sure, one.possible)


def _compute_error_rate(counts: Sequence[LinkCounts]) -> float:
    total = LinkCounts()
    for one in counts:
        total += one
    return total.error_rate


# Examples with known boxes in the memory, which serve to choose the heads of any model.
#
# A query is right if the middle of its heaviest item is in one of its boxes. Shapes: L layers, H
# heads, Q queries, N items, W queries with boxes.


Boxes = Mapping[int, Sequence[Box]]
"""The boxes of an example by query, counted from 0.

A box is left, top, right, bottom as shares of the memory, 0 to 1. Texts, sounds and clips have one
row, so their boxes go from top 0 to bottom 1.
"""


@dataclass(frozen=True, slots=True)
class BoxedExample:
    """The queries of one example that have boxes, with the weights of every head."""

    words: PointedWords
    grid: AreaGrid
    queries: int
    boxes: Boxes

    @classmethod
    def of(cls, attention: AttentionMap, boxes: Boxes) -> Self:
        """Read the maps of an example."""
        layers = []
        for layer in range(attention.layers):
            layers.append([coverage(attention, layer, head) for head in range(attention.heads)])
        right = [find_centres_inside(attention.grid, boxes[query]) for query in boxes]
        words = PointedWords.of(np.array(layers), list(boxes), np.array(right))
        return cls(words, attention.grid, attention.weights.shape[2], boxes)


class BoxedExamples(KnownExamples[BoxedExample]):
    """Traces with boxes for some of their queries."""

    noun = "boxes"
    measure = "share of wrong queries"
    place = "the middle"

    @classmethod
    def read(cls, examples: Sequence[tuple[Trace, Boxes]], site: str) -> Self:
        """Read the maps of examples.

        Raises:
            InputError: A query does not exist, or a box is not a rectangle of the memory.
        """
        found = []
        for number, (trace, boxes) in enumerate(examples, 1):
            attention = trace.maps[site]
            _check(number, attention.weights.shape[2], boxes)
            found.append(BoxedExample.of(attention, boxes))
        return cls(found)

    def error(self, heads: Sequence[Choice]) -> float:
        """Return the share of queries that the mean map of heads points at wrongly, 0..1."""
        return self._words().error(heads)

    def interval(self, heads: Sequence[Choice]) -> tuple[float, float]:
        """Return the ends of the 95 % interval of the error."""
        words = self._words()
        low, high = bootstrap_hit_interval(words.hits(heads), words.examples)
        return 1.0 - high, 1.0 - low

    def at_place(self) -> float:
        """Return the error of the middle of the memory, or of equal distances if it has one row."""
        right = []
        for one in self.examples:
            for query, boxes in one.boxes.items():
                across = 0.5 if one.grid.height > 1 else (query + 0.5) / one.queries
                right.append(
                    find_coordinates_in_boxes(np.array([across]), np.array([0.5]), boxes).item()
                )
        return 1.0 - float(np.mean(right))

    def by_position(self, heads: Sequence[Choice]) -> float:
        """Return the error of the places where these heads point in the next example."""
        right = []
        for number, one in enumerate(self.examples):
            other = self.examples[(number + 1) % len(self.examples)]
            tops = other.words.tops(heads)
            for place, boxes in enumerate(one.boxes.values()):
                top = int(tops[min(place, len(tops) - 1)])
                row, column = divmod(top, other.grid.width)
                across = np.array([(column + 0.5) / other.grid.width])
                down = np.array([(row + 0.5) / other.grid.height])
                right.append(find_coordinates_in_boxes(across, down, boxes).item())
        return 1.0 - float(np.mean(right))

    def _words(self) -> PointedWords:
        return PointedWords.joined([one.words for one in self.examples])


def _check(number: int, queries: int, boxes: Any) -> None:
    """Check the boxes of an example.

    Raises:
        InputError: A query does not exist, or a box is not a rectangle of the memory.
    """
    if any(not is_count(query) or not 0 <= query < queries for query in boxes):
        raise InputError(
            f"Example {number} has a box for a query that does not exist. Count queries from 0."
        )
    for some in boxes.values():
        if isinstance(some, str) or not isinstance(some, Sequence) or not some:
            raise InputError(
                f"Example {number} has a query without a list of boxes. Give one or leave it out."
            )
        if not all(map(_is_box, some)):
            raise InputError(
                f"Example {number} has a box that is not a rectangle of the memory. Give left, top,"
                " right and bottom as shares from 0 to 1."
            )


def _is_box(box: Any) -> bool:
    if not isinstance(box, Sequence) or isinstance(box, str) or len(box) != 4:
        return False
    if not all(isinstance(edge, Real) and not isinstance(edge, bool) for edge in box):
        return False
    left, top, right, bottom = box
    return bool(0 <= left < right <= 1 and 0 <= top < bottom <= 1)


# The best alignment of any model.
#
# One half of the examples chooses it, and the other reports it.


FEWEST = 20
"""Smallest number of examples, including both halves."""
Linked = tuple[Trace, WordLinks | Boxes]
"""A trace with its links, or with boxes by query."""


@dataclass(frozen=True, slots=True)
class OwnAlignment:
    """A best alignment with its errors, 0..1, on examples that were not used to choose it.

    With links, the error is the alignment error rate. With boxes, it is the share of queries whose
    heaviest item is in no box.
    """

    site: str
    best: BestAlignment
    # Number of examples that report the errors, and the name of the error.
    reported_on: int
    measure: str
    # The error of the chosen heads, the ends of its 95 % interval, and the errors of three
    # baselines: `single` is the best single head of the choosing half. `at_place` is the diagonal
    # or the middle of the memory, as named in `place`. `position` uses the places of the chosen
    # heads in another example.
    error: float
    low: float
    high: float
    single: float
    place: str
    at_place: float
    position: float

    @property
    def sentence(self) -> str:
        """The result in words."""
        return (
            f"{self.best.sentence} On {self.reported_on} other examples the {self.measure} is"
            f" {self.error:.1%} (95 % from {self.low:.1%} to {self.high:.1%}). The best single head"
            f" has {self.single:.1%}, {self.place} {self.at_place:.1%}, and the position alone"
            f" {self.position:.1%}."
        )

    def map_of(self, trace: Trace) -> AttentionMap:
        """Return the best alignment of a trace of the same model as a map."""
        return make_best_map(trace.maps[self.site], self.best)


def best_alignment(examples: Sequence[Linked], site: str = SITE) -> OwnAlignment:
    """Choose the heads of a model that together align best with known links or boxes.

    Every second example is used to choose at most five heads, greedily. Each head is read at its
    own step or at the next one. The other examples are used to report the error and the baselines.

    Args:
        examples: At least 20 traces of one model, such as those of `attend` with a given target.
            Each trace comes with its links or its boxes. Links are a set of (word attended to, word
            that attends). Boxes are the rectangles of each query, such as {2: [(0.1, 0.2, 0.5,
            0.9)]}, with left, top, right and bottom as shares of the memory. Words and queries
            count from 0.
        site: The site of the map.

    Raises:
        InputError: There are fewer than 20 examples, an example is not a trace with its links or
            boxes, a link or box does not exist, a trace lacks the site, or the traces differ in
            layers or heads.
    """
    known = _read_examples(examples, site)
    shapes = {trace.maps[site].weights.shape[:2] for trace, _ in examples}
    if len(shapes) > 1:
        raise InputError("The traces have different layers or heads. Give traces of one model.")
    layers, heads = shapes.pop()
    choosing, reporting = known.halves()
    found = choose_heads(layers, heads, choosing.error)
    singles = [(layer, head, 0) for layer in range(layers) for head in range(heads)]
    single = min(singles, key=lambda one: choosing.error([one]))
    low, high = reporting.interval(found.heads)
    chosen = (len(examples) + 1) // 2
    best = BestAlignment(
        found.heads, chosen, f"examples with {known.noun}", found.error, found.error_single
    )
    return OwnAlignment(
        site,
        best,
        reported_on=len(examples) - chosen,
        measure=known.measure,
        error=reporting.error(found.heads),
        low=low,
        high=high,
        single=reporting.error([single]),
        place=known.place,
        at_place=reporting.at_place(),
        position=reporting.by_position(found.heads),
    )


def collect_errors(found: OwnAlignment) -> Mapping[str, float]:
    """Return the errors on the reporting half, by the name of the alignment or baseline."""
    return {
        "best alignment": found.error,
        "best single head": found.single,
        found.place.removeprefix("the "): found.at_place,
        "position only": found.position,
    }


def _read_examples(examples: Sequence[Linked], site: str) -> LinkedExamples | BoxedExamples:
    """Read examples that have either links or boxes.

    Raises:
        InputError: There are too few examples, or one of them lacks the site or its links or boxes.
    """
    if isinstance(examples, str) or not isinstance(examples, Sequence):
        raise InputError(
            f"The examples are {describe_value(examples)} but must be a list of traces with their"
            " links or boxes. Give a list such as [(trace, {(0, 0)}), ...]."
        )
    if len(examples) < FEWEST:
        raise InputError(
            f"There are {len(examples)} examples with links or boxes, and a choice of heads"
            f" needs at least {FEWEST}. Give more, because nothing is chosen on fewer."
        )
    for number, one in enumerate(examples, 1):
        if not isinstance(one, tuple) or len(one) != 2 or not isinstance(one[0], Trace):
            raise InputError(
                f"Example {number} is not a trace with its links or boxes. Give (trace, links)."
            )
        trace, marks = one
        if not isinstance(site, str) or site not in trace.maps:
            raise InputError(f'Example {number} has no attention "{site}". Give one of its sites.')
        if not marks:
            raise InputError(f"Example {number} has no links or boxes. Leave it out.")
    boxed = [isinstance(marks, Mapping) for _, marks in examples]
    if all(boxed):
        return BoxedExamples.read(cast(Sequence[tuple[Trace, Boxes]], examples), site)
    if any(boxed):
        raise InputError("Some examples have links and others boxes. Give one kind.")
    return LinkedExamples.read(cast(Sequence[tuple[Trace, WordLinks]], examples), site)
