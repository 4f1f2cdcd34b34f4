"""Whether an attention map is faithful: does the output suffer when what it points at is removed?

Comprehensiveness and sufficiency (DeYoung et al. 2020, Eq. 1-2), of one map of a model, on the
model's own output. Attention is not by itself an explanation (Jain and Wallace 2019; Wiegreffe and
Pinter 2019): these two numbers, beside the same of areas picked by chance, say how far this map is
one.
Shapes: Q queries, N items, A areas, K chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.evaluation.contrast import Contrast, foil_items, foil_request, probability
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Change, Weigh
from areaviz.trace.limits import check_range, choice
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, IntArray, Run, Trace
from areaviz.trace.request import Counted, Request

UNITS = ("item", "area")
CHOSEN, DRAWS = (1, 1000), (2, 100)


@dataclass(frozen=True, slots=True)
class Probe:
    """Which map is measured, and how.

    Args:
        site: of the map.
        layer: of the map, 0-based.
        head: of the map, 0-based; None is the mean of the heads.
        k: how many each query loses or keeps.
        unit: "item", by the share of the attention each item receives, and losing one is losing
            every area that holds it; or "area", by weight, and the areas that overlap them stay.
        draws: how often as many are picked by chance.
        seed: of chance.
        contrast: a word of the output and a foil, whose difference of probability is measured in
            place of the probability of the output.
    """

    site: str = "encoder-decoder"
    layer: int = 0
    head: int | None = None
    k: int = 5
    unit: str = "item"
    draws: int = 5
    seed: int = 0
    contrast: Contrast | None = None


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """How far the probability of the output falls, means over its items, -1..1.

    With p_t the probability of output item t given those before it and S_t what query t points at
    most:

        comprehensiveness = 1/T sum_t [p_t - p_t(every query without its S)]
        sufficiency = 1/T sum_t [p_t - p_t(every query with its S alone)]

    Where the map is faithful, the first is high and the second low.

    All layers and heads of the site lose it, and every query loses its own at once, so what an
    earlier output item read is not handed on. random_*: the same with S_t picked by chance, one a
    draw: as many items, or areas of the same shapes. probability: 1/T sum_t p_t. items: T.

    Of a contrast, p(word) - p(foil) stands in place of 1/T sum_t p_t; it is one item, and falls
    are -2..2.
    """

    comprehensiveness: float
    sufficiency: float
    random_comprehensiveness: tuple[float, ...]
    random_sufficiency: tuple[float, ...]
    probability: float
    items: int


class TooFew(InputError):
    """An input has not more items, or areas, than each query is to lose."""


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) of draws."""
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def faithfulness(
    request: Request, probe: Probe, run: Run, progress: Counted | None = None
) -> Faithfulness:
    """Measure one map on one input, over the given output or what the model writes.

    Takes 1 or 2 runs, and 2 for the map and each draw, all over the given output; for a contrast as
    many again over the foil's.

    Raises:
        TooFew: the map has not more than k items or areas.
        InputError: the map does not exist or does not attend to an input, or there is no such foil.
        BackendError: as `run`.
    """
    check_range("k", probe.k, CHOSEN)
    check_range("draws", probe.draws, DRAWS)
    choice("unit", probe.unit, UNITS)
    texts = _texts(request, probe, run)
    sets = [[_pointed(one.attention, probe), *_random(one, probe)] for one in texts]
    falls: list[tuple[float, float]] = []
    for done in range(1 + probe.draws):
        if progress:
            progress(done, 1 + probe.draws)
        without = alone = 0.0
        for one, chosen in zip(texts, sets, strict=True):
            without += one.fall(_changes(one.attention, probe, chosen[done], keep=False), run)
            alone += one.fall(_changes(one.attention, probe, chosen[done], keep=True), run)
        falls.append((without, alone))
    (comprehensiveness, sufficiency), chance = falls[0], falls[1:]
    return Faithfulness(
        comprehensiveness,
        sufficiency,
        tuple(one for one, _ in chance),
        tuple(one for _, one in chance),
        sum(one.value(one.base) for one in texts),
        1 if probe.contrast else len(texts[0].base.output.probabilities),
    )


def measured(requests: Sequence[Request], probe: Probe, run: Run) -> tuple[Faithfulness, int]:
    """Several inputs as one, and how many were measured, as some have too few items or areas.

    Raises:
        InputError: as `faithfulness`, and where no input has enough.
        BackendError: as `run`.
    """
    found: list[Faithfulness] = []
    for request in requests:
        try:
            found.append(faithfulness(request, probe, run))
        except TooFew:
            continue
    if not found:
        raise InputError(
            f"None of the {len(requests):,} inputs has more than {probe.k:,} {probe.unit}s; choose"
            " fewer to be lost."
        )
    return pooled(found), len(found)


def pooled(found: Sequence[Faithfulness]) -> Faithfulness:
    """Several inputs as one: means over all output items; draw d of the whole is draw d of each."""
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
    """A given output, and what of its probability counts."""

    request: Request
    base: Trace
    attention: AttentionMap
    # Items whose joint probability counts; None for the mean of all.
    items: slice | None = None
    # -1 for a foil.
    sign: float = 1.0

    def value(self, trace: Trace) -> float:
        """What is measured of a run over this output."""
        if self.items is not None:
            return self.sign * probability(trace, self.items)
        return float(trace.output.probabilities.astype(np.float64).mean())

    def fall(self, changes: tuple[Change, ...], run: Run) -> float:
        """How far it falls under changes beside the request's."""
        after = run(replace(self.request, changes=self.request.changes + changes))
        return self.value(self.base) - self.value(after)


def _texts(request: Request, probe: Probe, run: Run) -> list[_Text]:
    """The output, and the foil's where there is one: each has weights of its own."""
    if request.target is None:
        found = run(request)
        request = replace(request, target=found.fields[found.output.field].raw)
    base = run(request)
    attention, contrast = _map(base, probe), probe.contrast
    if contrast is None:
        return [_Text(request, base, attention)]
    word = slice(contrast.first, contrast.last)
    asked = foil_request(base, contrast)
    read = run(asked)
    foil = foil_items(base, read, contrast)
    return [
        _Text(request, base, attention, word),
        _Text(asked, read, _map(read, probe), foil, sign=-1.0),
    ]


def _map(trace: Trace, probe: Probe) -> AttentionMap:
    attention = trace.maps.get(probe.site)
    if attention is None or attention.memory == "history":
        inputs = [site for site, one in trace.maps.items() if one.memory != "history"]
        raise InputError(
            f'"{probe.site}" does not attend to an input here; choose one of: {", ".join(inputs)}.'
        )
    if not (0 <= probe.layer < attention.layers and 0 <= (probe.head or 0) < attention.heads):
        raise InputError(
            f"The map has {attention.layers} layers and {attention.heads} heads; choose a layer and"
            " a head of them."
        )
    there = attention.grid.items if probe.unit == "item" else attention.grid.count
    if probe.k >= there:
        raise TooFew(
            f"The input has {there} {probe.unit}s, so fewer than {there} can be lost; choose fewer."
        )
    return attention


def _pointed(attention: AttentionMap, probe: Probe) -> IntArray:
    """What each query points at most, heaviest first, of equals the first: int64 [Q, K]."""
    if probe.unit == "item":
        values_QN = item_shares(attention, probe.layer, probe.head)
    else:
        heads = attention.weights[probe.layer]
        values_QN = heads.mean(0) if probe.head is None else heads[probe.head]
    order: IntArray = np.argsort(-values_QN, axis=1, kind="stable")[:, : probe.k]
    return order


def _random(text: _Text, probe: Probe) -> list[IntArray]:
    """As many for each query by chance, one array [Q, K] a draw; areas of the same shapes.

    Queries that a word and a foil share get the same.
    """
    attention, found = text.attention, []
    pointed_QK, queries = _pointed(attention, probe), len(text.base.fields[attention.query])
    for draw in range(probe.draws):
        rng = np.random.default_rng((probe.seed, draw))
        rows = []
        for query in range(queries):
            if probe.unit == "item":
                rows.append(rng.choice(attention.grid.items, probe.k, replace=False))
            else:
                rows.append(_alike(pointed_QK[query], attention.grid, rng))
        found.append(np.stack(rows))
    return found


def _alike(areas_K: IntArray, grid: AreaGrid, rng: np.random.Generator) -> IntArray:
    """As many areas of each shape, anywhere."""
    shapes = [(area.height, area.width) for area in map(grid.area, areas_K.tolist())]
    drawn = []
    for shape in sorted(set(shapes)):
        first, rows, columns = grid.slab(*shape)
        drawn.append(first + rng.choice(rows * columns, shapes.count(shape), replace=False))
    return np.concatenate(drawn)


def _changes(
    attention: AttentionMap, probe: Probe, chosen_QK: IntArray, keep: bool
) -> tuple[Change, ...]:
    """Every query without its own, or with them alone."""
    changes = []
    for query, row in enumerate(chosen_QK.tolist()):
        if probe.unit == "area":
            areas = tuple(map(attention.grid.area, row))
            changes.append(Weigh(attention.site, areas=areas, query=query, rest=keep))
        else:
            lost = set(range(attention.grid.items)) - set(row) if keep else set(row)
            changes.append(Weigh(attention.site, tuple(sorted(lost)), query=query))
    return tuple(changes)
