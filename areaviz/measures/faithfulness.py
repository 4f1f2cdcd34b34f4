"""Faithfulness of attention: how an output changes when attended items are removed.

Contrasts with another word come first, then the choice of the items to remove.
`measure_faithfulness` is in the last section.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from areaviz.measures.spans import count_visible_items, find_word_runs
from areaviz.trace.areas import AreaGrid, IntArray
from areaviz.trace.changes import Change, Hide, Weigh
from areaviz.trace.errors import InputError, check_choice, check_range, shorten
from areaviz.trace.query import format_given_output, is_one_text, item_shares
from areaviz.trace.record import AttentionMap, Field, Run, Trace
from areaviz.trace.request import Counted, Request

# Contrastive measures of how much more probable a model finds its own word than another word.
#
# “Why did the model write er?” has no final answer, but “Why er and not sie?” has one that can be
# measured (contrastive explanations: Yin and Neubig 2022). The other word is called the foil. It
# replaces the word after the same items, so the model reads it as its own output. Two numbers are
# compared, each the product of the probabilities of the items:
#
#     p(word | items before) and p(foil | items before)
#
# Shapes: T output items.


MAX_FOIL_CHARACTERS = 200
"""Maximum number of characters in a foil."""
_LEAST = 1e-38
"""Lower limit of probabilities, so that their logarithms are finite."""


class SplitOtherwise(InputError):
    """Raised if the model splits the text before a foil into different items."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Items of an output, and a foil that could have been written instead."""

    # Item indices, counted from 0. `last` is exclusive.
    first: int
    last: int
    foil: str


@dataclass(frozen=True, slots=True)
class Odds:
    """Probabilities of the word and the foil after the same items, above 0 and at most 1."""

    word: float
    foil: float

    @property
    def difference(self) -> float:
        """The difference p(word) - p(foil), -1 to 1."""
        return self.word - self.foil

    @property
    def log_ratio(self) -> float:
        """The natural logarithm of p(word) / p(foil)."""
        return math.log(self.word / self.foil)


def find_output_words(output: Field) -> list[tuple[int, int]]:
    """Return the words of an output as items (start, end), without surrounding punctuation."""
    found = []
    for run in find_word_runs(output):
        inside = [item for item in range(*run) if any(map(str.isalnum, output.labels[item]))]
        if inside:
            found.append((inside[0], inside[-1] + 1))
    return found


def join_items(output: Field, first: int, last: int) -> str:
    """Return the text of some items of an output."""
    text: str = output.raw[output.anchors[first, 0] : output.anchors[last - 1, 1]]
    return text.strip()


def make_foil_request(trace: Trace, contrast: Contrast) -> Request:
    """Return a request whose given output is the trace's output up to the word, and then the foil.

    For a language model, the text of the request contains both.

    Raises:
        InputError: The foil is empty, too long or equal to the word.
    """
    output = trace.fields[trace.output.field]
    foil = contrast.foil.strip()
    if not foil or len(foil) > MAX_FOIL_CHARACTERS:
        raise InputError(
            f"Another word has 1 to {MAX_FOIL_CHARACTERS} characters. Type a word that fits this"
            f" place."
        )
    if foil == join_items(output, contrast.first, contrast.last):
        raise InputError(f"“{shorten(foil)}” is the word at this place. Type another one.")
    read = output.raw[: output.anchors[contrast.first, 0]] + foil
    if is_one_text(trace):
        return replace(trace.request, text=read, target="")
    return replace(trace.request, target=read)


def find_foil_items(trace: Trace, read: Trace, contrast: Contrast) -> slice:
    """Return the items of the foil in a run that read the foil.

    Raises:
        SplitOtherwise: The model splits the text before the foil into different items.
    """
    before, after = trace.fields[trace.output.field], read.fields[read.output.field]
    first = contrast.first
    starts, ends = after.anchors.T
    # A language model's output has one more item, its most probable continuation. It is not text.
    whole = read.fields.get("history", after).raw
    last = int(((starts < ends) & (ends <= len(whole))).sum())
    same = before.labels[:first] == after.labels[:first]
    if not same or last <= first:
        raise SplitOtherwise(
            f"With “{shorten(contrast.foil)}” the text before it is split into different"
            " items, so the two cannot be compared. Choose a whole word."
        )
    return slice(first, last)


def keep_shared_changes(trace: Trace, first: int) -> tuple[Change, ...]:
    """Return the changes of a run without those that concern items after the word.

    The word starts with item `first`. Neither the word nor its foil can attend to later items, and
    the output with the foil may not have such items.
    """
    memories = {site: attention.memory for site, attention in trace.maps.items()}
    kept: list[Change] = []
    for change in trace.request.changes:
        if isinstance(change, Hide) and change.field == "history":
            change = replace(change, items=_limit_items(change.items, first))
            if not change.items:
                continue
        # With `rest`, all areas that are not listed change. Leaving out a listed area would change
        # it.
        elif (
            isinstance(change, Weigh) and not change.rest and memories.get(change.site) == "history"
        ):
            areas = tuple(one for one in change.areas if one.left + one.width <= first + 1)
            change = replace(change, items=_limit_items(change.items, first), areas=areas)
            if not change.items and not change.areas:
                continue
        kept.append(change)
    return tuple(kept)


def _limit_items(items: tuple[int, ...], last: int) -> tuple[int, ...]:
    return tuple(item for item in items if item <= last)


def compute_probability(trace: Trace, items: slice) -> float:
    """Return the joint probability of some items of an output, each given the items before it."""
    return float(np.prod(trace.output.probabilities[items].astype(np.float64)))


def compute_odds(trace: Trace, contrast: Contrast, run: Run, changed: Trace | None = None) -> Odds:
    """Return the probabilities of the word and the foil.

    Args:
        trace: Trace of the output as the model wrote it.
        contrast: The word in that output, and the foil.
        run: Function that runs the model on the foil.
        changed: A changed run over the output. Its changes also apply to the foil. None for no
            changes.

    Raises:
        InputError: See `make_foil_request` and `find_foil_items`.
    """
    seen = trace if changed is None else changed
    changes = keep_shared_changes(seen, contrast.first)
    asked = replace(make_foil_request(trace, contrast), changes=changes)
    read = run(replace(asked, picture=seen.request.picture))
    items = find_foil_items(trace, read, contrast)
    word = compute_probability(seen, slice(contrast.first, contrast.last))
    return Odds(max(word, _LEAST), max(compute_probability(read, items), _LEAST))


# The choice of the items or areas that a map's queries lose: the top ones or random ones.
#
# A query of a language model sees only the items before it. If these are not more than it would
# lose, there is nothing to choose, and the query loses nothing.
#
# Shapes: Q queries, N items, A areas, W widths, K chosen.


UNITS = ("item", "area")
CHOSEN_LIMITS, DRAW_LIMITS = (1, 1000), (2, 100)
# The site that is measured by default, if the model has it.
DEFAULT_SITE = "encoder-decoder"


@dataclass(frozen=True, slots=True)
class Probe:
    """The map to measure, and how to measure it.

    Args:
        site: Site of the map. "" is the site from output to input if there is one, otherwise the
            first that fits.
        layer: Layer of the map, counted from 0.
        head: Head of the map, counted from 0. None is the mean of the heads.
        k: Number of items or areas that each query loses or keeps.
        unit: "item" ranks items by the attention they receive. Losing an item means losing every
            area that contains it. "area" ranks areas by weight. Areas that overlap a lost area are
            kept.
        draws: Number of random choices for comparison.
        seed: Seed of the random choices.
        contrast: A word of the output and a foil. The difference of their probabilities is measured
            instead of the output's probability.
    """

    site: str = DEFAULT_SITE
    layer: int = 0
    head: int | None = None
    k: int = 5
    unit: str = "item"
    draws: int = 5
    seed: int = 0
    contrast: Contrast | None = None

    def check(self) -> None:
        """Check that every option is in its range.

        Raises:
            InputError: An option is outside its range.
        """
        check_range("k", self.k, CHOSEN_LIMITS)
        check_range("draws", self.draws, DRAW_LIMITS)
        check_choice("unit", self.unit, UNITS)


class TooFew(InputError):
    """An input does not have more items or areas than each query would lose."""


def get_probed_map(trace: Trace, probe: Probe) -> AttentionMap:
    """Return the map of a trace that the probe selects.

    Raises:
        TooFew: The map does not have more than k items or areas.
        InputError: The map does not exist or does not attend to an input.
    """
    # The output so far is an input only in a language model, which has no other input.
    inputs = []
    for site, attention in trace.maps.items():
        if attention.memory != "history" or is_one_text(trace):
            inputs.append(site)
    site = probe.site or (DEFAULT_SITE if DEFAULT_SITE in inputs else (inputs or [""])[0])
    if site not in inputs:
        raise InputError(
            f'"{site}" does not attend to an input here. Choose one of: {", ".join(inputs)}.'
        )
    attention = trace.maps[site]
    if not (0 <= probe.layer < attention.layers and 0 <= (probe.head or 0) < attention.heads):
        raise InputError(
            f"The map has {attention.layers} layers and {attention.heads} heads. Choose one"
            " of them."
        )
    there = attention.grid.items if probe.unit == "item" else attention.grid.count
    if probe.k >= there:
        raise TooFew(
            f"The input has {there} {probe.unit}s, so fewer than {there} can be removed."
            " Choose a smaller number."
        )
    return attention


def find_losing_queries(
    trace: Trace, attention: AttentionMap, probe: Probe
) -> npt.NDArray[np.bool_]:
    """Return whether each query sees more items or areas than it would lose: bool [Q]."""
    seen_Q = count_visible_items(attention, trace.fields[attention.memory])
    if attention.memory != "history":
        return np.ones(len(seen_Q), np.bool_)
    if probe.unit == "area":
        shorter_W = np.arange(attention.grid.max_width)
        seen_Q = np.maximum(seen_Q[:, None] - shorter_W, 0).sum(1)
    more_Q: npt.NDArray[np.bool_] = seen_Q > probe.k
    return more_Q


def find_top_choices(attention: AttentionMap, probe: Probe) -> IntArray:
    """Return the top k items or areas of each query, heaviest first: int64 [Q, K].

    Ties are ordered by index.
    """
    if probe.unit == "item":
        values_QN = item_shares(attention, probe.layer, probe.head)
    else:
        heads = attention.weights[probe.layer]
        values_QN = heads.mean(0) if probe.head is None else heads[probe.head]
    order: IntArray = np.argsort(-values_QN, axis=1, kind="stable")[:, : probe.k]
    return order


def draw_random_choices(
    trace: Trace, attention: AttentionMap, probe: Probe, queries: Sequence[int]
) -> list[IntArray]:
    """Draw random items, or areas of the same shapes, for some queries: one array [Q, K] per draw.

    Only items or areas that the query sees are drawn. Other queries have -1. A word and its foil
    get equal draws for the queries that they share.
    """
    pointed_QK, found = find_top_choices(attention, probe), []
    seen_Q = count_visible_items(attention, trace.fields[attention.memory]).tolist()
    for draw in range(probe.draws):
        rng = np.random.default_rng((probe.seed, draw))
        drawn_QK = np.full_like(pointed_QK, -1)
        for query in queries:
            if probe.unit == "item":
                drawn_QK[query] = rng.choice(seen_Q[query], probe.k, replace=False)
            else:
                drawn_QK[query] = _draw_areas_alike(
                    pointed_QK[query], attention.grid, seen_Q[query], rng
                )
        found.append(drawn_QK)
    return found


def _draw_areas_alike(
    areas_K: IntArray, grid: AreaGrid, seen: int, rng: np.random.Generator
) -> IntArray:
    """Draw the same number of areas of each shape, anywhere among the first `seen` items."""
    shapes = [(area.height, area.width) for area in map(grid.area, areas_K.tolist())]
    drawn = []
    for shape in sorted(set(shapes)):
        first, rows, columns = grid.slab(*shape)
        # If some items are not seen, the memory is a text, whose areas of one shape are ordered by
        # position.
        places = min(rows * columns, seen - shape[1] + 1) if seen < grid.items else rows * columns
        drawn.append(first + rng.choice(places, shapes.count(shape), replace=False))
    return np.concatenate(drawn)


def make_loss_changes(
    attention: AttentionMap, probe: Probe, chosen_QK: IntArray, queries: Sequence[int], keep: bool
) -> tuple[Change, ...]:
    """Return changes by which some queries lose the chosen items or areas.

    With `keep`, the queries lose all except the chosen ones.
    """
    changes = []
    for query in queries:
        row = chosen_QK[query].tolist()
        if probe.unit == "area":
            areas = tuple(map(attention.grid.area, row))
            changes.append(Weigh(attention.site, areas=areas, query=query, rest=keep))
        else:
            lost = set(range(attention.grid.items)) - set(row) if keep else set(row)
            changes.append(Weigh(attention.site, tuple(sorted(lost)), query=query))
    return tuple(changes)


# Faithfulness of an attention map: the effect on the output of removing attended items.
#
# Comprehensiveness and sufficiency (DeYoung et al. 2020, Eq. 1-2) are measured for one map of a
# model, on the model's own output. Attention is not by itself an explanation (Jain and Wallace
# 2019; Wiegreffe and Pinter 2019). These two numbers, compared with those of randomly chosen areas,
# say how well this map explains the output. Shapes: Q queries, T output items, K chosen.


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """Mean falls of the probability of output items, -1 to 1.

    p_t is the probability of output item t given the items before it. S_t contains the items or
    areas with most attention from query t:

        comprehensiveness = 1/T sum_t [p_t - p_t(every query without its S)]
        sufficiency = 1/T sum_t [p_t - p_t(every query with its S alone)]

    If the map is faithful, comprehensiveness is high and sufficiency is low.

    All layers and heads of the site lose S. Every query loses its own S at once, so an earlier
    output item cannot pass on what it has read. random_comprehensiveness and random_sufficiency
    have one value per draw of a random S_t with as many items, or with areas of the same shapes.
    probability is 1/T sum_t p_t. items is T.

    For a language model, t covers only the items that see more than they lose (`Probe`).

    With a contrast, p(word) - p(foil) replaces 1/T sum_t p_t. The contrast counts as one item, and
    falls are between -2 and 2.
    """

    comprehensiveness: float
    sufficiency: float
    random_comprehensiveness: tuple[float, ...]
    random_sufficiency: tuple[float, ...]
    probability: float
    items: int


def compute_mean_and_deviation(values: Sequence[float]) -> tuple[float, float]:
    """Return the mean and standard deviation (n - 1) of draws."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def measure_faithfulness(
    request: Request, probe: Probe, run: Run, progress: Counted | None = None
) -> Faithfulness:
    """Measure one map on one input, over the given output or the model's own.

    This takes 1 or 2 runs over the output, 2 more for the map, and 2 for each draw. A contrast
    takes the same number of runs again over the output with the foil.

    Raises:
        TooFew: The map does not have more than k items or areas.
        InputError: The map does not exist or does not attend to an input, or the foil is not valid.
        BackendError: See `run`.
    """
    probe.check()
    texts = _make_texts(request, probe, run)
    sets = [one.sets() for one in texts]
    falls: list[tuple[float, float]] = []
    for done in range(1 + probe.draws):
        if progress:
            progress(done, 1 + probe.draws)
        without = alone = 0.0
        for one, chosen in zip(texts, sets, strict=True):
            without += one.compute_fall(chosen[done], False, run)
            alone += one.compute_fall(chosen[done], True, run)
        falls.append((without, alone))
    (comprehensiveness, sufficiency), chance = falls[0], falls[1:]
    return Faithfulness(
        comprehensiveness,
        sufficiency,
        tuple(one for one, _ in chance),
        tuple(one for _, one in chance),
        sum(one.value(one.base) for one in texts),
        1 if probe.contrast else texts[0].count,
    )


def measure_inputs(requests: Sequence[Request], probe: Probe, run: Run) -> tuple[Faithfulness, int]:
    """Measure several inputs together.

    Returns:
        The figures, and the number of inputs that were measured. Inputs with too few items or areas
        are not measured.

    Raises:
        InputError: See `measure_faithfulness`. Also raised if no input has enough items or areas.
        BackendError: See `run`.
    """
    found: list[Faithfulness] = []
    for request in requests:
        try:
            found.append(measure_faithfulness(request, probe, run))
        except TooFew:
            continue
    if not found:
        raise InputError(
            f"None of the {len(requests):,} inputs has more than {probe.k:,} {probe.unit}s."
            " Choose fewer items to remove."
        )
    return pool_faithfulness(found), len(found)


def pool_faithfulness(found: Sequence[Faithfulness]) -> Faithfulness:
    """Return the figures of several inputs together, as means over all output items.

    Draw d of the result combines draw d of every input.
    """
    counts = np.array([one.items for one in found], dtype=np.float64)

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=counts))

    def draws(parts: Sequence[Sequence[float]]) -> tuple[float, ...]:
        return tuple(mean(values) for values in zip(*parts, strict=True))

    return Faithfulness(
        mean([one.comprehensiveness for one in found]),
        mean([one.sufficiency for one in found]),
        draws([one.random_comprehensiveness for one in found]),
        draws([one.random_sufficiency for one in found]),
        mean([one.probability for one in found]),
        int(counts.sum()),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Text:
    """A given output, the map that is measured on it, and the probabilities that are averaged."""

    request: Request
    probe: Probe
    base: Trace
    attention: AttentionMap
    # Queries that lose something.
    queries: tuple[int, ...]
    # Items whose joint probability is measured. None for the mean probability of all items.
    items: slice | None = None
    # 1 for the word, -1 for a foil.
    sign: float = 1.0

    @classmethod
    def of(cls, request: Request, probe: Probe, base: Trace) -> Self:
        """Make a text from a run over a given output.

        Raises:
            TooFew: See `get_probed_map`.
            InputError: See `get_probed_map`.
        """
        attention = get_probed_map(base, probe)
        losing_Q = find_losing_queries(base, attention, probe)
        queries = tuple(np.flatnonzero(losing_Q).tolist())
        return cls(request, probe, base, attention, queries)

    @property
    def is_own(self) -> bool:
        """True if the text attends to itself, so that each query is one of its items."""
        return self.attention.memory == "history"

    @property
    def count(self) -> int:
        """The number of output items that are measured."""
        return len(self.queries) if self.is_own else len(self.base.output.probabilities)

    def sets(self) -> list[IntArray]:
        """Return each query's top k, then one random choice of equal size per draw: each [Q, K]."""
        drawn = draw_random_choices(self.base, self.attention, self.probe, self.queries)
        return [find_top_choices(self.attention, self.probe), *drawn]

    def value(self, trace: Trace) -> float:
        """Return the measured value of a run over this output."""
        if self.items is not None:
            return self.sign * compute_probability(trace, self.items)
        likely_T = trace.output.probabilities.astype(np.float64)
        return float((likely_T[list(self.queries)] if self.is_own else likely_T).mean())

    def compute_fall(self, chosen_QK: IntArray, keep: bool, run: Run) -> float:
        """Return the fall of the value if queries lose their chosen items, or keep only those."""
        changes = make_loss_changes(self.attention, self.probe, chosen_QK, self.queries, keep)
        after = run(replace(self.request, changes=self.request.changes + changes))
        return self.value(self.base) - self.value(after)


def _make_texts(request: Request, probe: Probe, run: Run) -> list[_Text]:
    """Return the output as a text, and the output with the foil if there is one.

    Each text has its own attention weights.
    """
    if request.target is None:
        request = replace(request, target=format_given_output(run(request)))
    text, contrast = _Text.of(request, probe, run(request)), probe.contrast
    if contrast is None:
        return [text]
    if text.is_own and contrast.first not in text.queries:
        raise TooFew(
            f"Before the word there are not more than {probe.k:,} {probe.unit}s, so that"
            " number cannot be removed. Choose a smaller number, or a later word."
        )
    asked = make_foil_request(text.base, contrast)
    other = _Text.of(asked, probe, run(asked))
    foil = find_foil_items(text.base, other.base, contrast)
    word = slice(contrast.first, contrast.last)
    return [replace(text, items=word), replace(other, items=foil, sign=-1.0)]
