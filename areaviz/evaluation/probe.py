"""The choice of the items or areas that a map's queries lose: the top ones or random ones.

A query of a language model sees only the items before it. If these are not more than it would lose,
there is nothing to choose, and the query loses nothing.

Shapes: Q queries, N items, A areas, W widths, K chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.evaluation.contrastive import Contrast
from areaviz.metrics.word_areas import count_visible_items
from areaviz.trace.areas import AreaGrid, IntArray
from areaviz.trace.changes import Change, Weigh
from areaviz.trace.errors import InputError, check_choice, check_range
from areaviz.trace.query import is_one_text, item_shares
from areaviz.trace.record import AttentionMap, Trace

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
