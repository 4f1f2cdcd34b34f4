"""What the queries of a map are to lose: what each points at most, or as much by chance.

A query of a language model sees what stands before it alone. Where that is no more than it is to
lose, there is nothing to choose: it keeps all.

Shapes: Q queries, N items, A areas, W widths, K chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.evaluation.contrast import Contrast
from areaviz.metrics.words import visible_items
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Change, Weigh
from areaviz.trace.limits import check_range, choice
from areaviz.trace.query import is_one_text, item_shares
from areaviz.trace.record import AttentionMap, IntArray, Trace

UNITS = ("item", "area")
CHOSEN, DRAWS = (1, 1000), (2, 100)
# What a map is measured of where nothing is said, and there is such a one.
USUAL = "encoder-decoder"


@dataclass(frozen=True, slots=True)
class Probe:
    """Which map is measured, and how.

    Args:
        site: of the map; "" is that from output to input, else the model's first that fits.
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

    site: str = USUAL
    layer: int = 0
    head: int | None = None
    k: int = 5
    unit: str = "item"
    draws: int = 5
    seed: int = 0
    contrast: Contrast | None = None

    def check(self) -> None:
        """InputError where an option is outside its range."""
        check_range("k", self.k, CHOSEN)
        check_range("draws", self.draws, DRAWS)
        choice("unit", self.unit, UNITS)


class TooFew(InputError):
    """An input has not more items, or areas, than each query is to lose."""


def probed(trace: Trace, probe: Probe) -> AttentionMap:
    """The map of a trace that is measured.

    Raises:
        TooFew: it has not more than k items or areas.
        InputError: it does not exist, or does not attend to an input.
    """
    # What is written stands beside the input, but of a language model is all that there is.
    inputs = []
    for site, attention in trace.maps.items():
        if attention.memory != "history" or is_one_text(trace):
            inputs.append(site)
    site = probe.site or (USUAL if USUAL in inputs else (inputs or [""])[0])
    if site not in inputs:
        raise InputError(
            f'"{site}" does not attend to an input here; choose one of: {", ".join(inputs)}.'
        )
    attention = trace.maps[site]
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


def losing_queries(trace: Trace, attention: AttentionMap, probe: Probe) -> npt.NDArray[np.bool_]:
    """Whether each query sees more items, or areas, than it is to lose: bool [Q]."""
    seen_Q = visible_items(attention, trace.fields[attention.memory])
    if attention.memory != "history":
        return np.ones(len(seen_Q), np.bool_)
    if probe.unit == "area":
        shorter_W = np.arange(attention.grid.max_width)
        seen_Q = np.maximum(seen_Q[:, None] - shorter_W, 0).sum(1)
    more_Q: npt.NDArray[np.bool_] = seen_Q > probe.k
    return more_Q


def pointed(attention: AttentionMap, probe: Probe) -> IntArray:
    """What each query points at most, heaviest first, of equals the first: int64 [Q, K]."""
    if probe.unit == "item":
        values_QN = item_shares(attention, probe.layer, probe.head)
    else:
        heads = attention.weights[probe.layer]
        values_QN = heads.mean(0) if probe.head is None else heads[probe.head]
    order: IntArray = np.argsort(-values_QN, axis=1, kind="stable")[:, : probe.k]
    return order


def by_chance(
    trace: Trace, attention: AttentionMap, probe: Probe, queries: Sequence[int]
) -> list[IntArray]:
    """As many by chance for some queries, one array [Q, K] a draw; areas of the same shapes.

    They are among those that the query sees; other queries have -1. Queries that a word and a foil
    share get the same.
    """
    pointed_QK, found = pointed(attention, probe), []
    seen_Q = visible_items(attention, trace.fields[attention.memory]).tolist()
    for draw in range(probe.draws):
        rng = np.random.default_rng((probe.seed, draw))
        drawn_QK = np.full_like(pointed_QK, -1)
        for query in queries:
            if probe.unit == "item":
                drawn_QK[query] = rng.choice(seen_Q[query], probe.k, replace=False)
            else:
                drawn_QK[query] = _alike(pointed_QK[query], attention.grid, seen_Q[query], rng)
        found.append(drawn_QK)
    return found


def _alike(areas_K: IntArray, grid: AreaGrid, seen: int, rng: np.random.Generator) -> IntArray:
    """As many areas of each shape, anywhere among the first items that are seen."""
    shapes = [(area.height, area.width) for area in map(grid.area, areas_K.tolist())]
    drawn = []
    for shape in sorted(set(shapes)):
        first, rows, columns = grid.slab(*shape)
        # Where not all is seen, the memory is a text, whose areas lie one after the other.
        places = min(rows * columns, seen - shape[1] + 1) if seen < grid.items else rows * columns
        drawn.append(first + rng.choice(places, shapes.count(shape), replace=False))
    return np.concatenate(drawn)


def losses(
    attention: AttentionMap, probe: Probe, chosen_QK: IntArray, queries: Sequence[int], keep: bool
) -> tuple[Change, ...]:
    """Some queries without their own, or with them alone."""
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
