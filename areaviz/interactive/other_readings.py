"""Data for readings other than top areas: smallest areas, averages and attention sinks.

A reading is a way to find areas in a map. For a given share of attention, called a mass, the
smallest area is the smallest one that receives at least this share. `areaviz.trace.query`
computes the data. The browser selects the data of the items under the pointer. Shapes: H heads, Q
queries, N items, R rows (each query, then each word of several items), M masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.draw.theme import ACCENT, SECOND
from areaviz.interactive.message import quantise, shrink_integers
from areaviz.trace.query import (
    EVEN_SHARE,
    MASSES,
    Groups,
    average_map,
    find_densest_areas,
    find_sink,
    find_words,
    item_shares,
)
from areaviz.trace.record import AttentionMap, Field
from areaviz.trace.request import Focus

MAX_WORK = 1 << 22
"""Maximum number of places in which to search smallest areas, which takes about 0.4 s. If all seven
masses need more, only one mass is computed. If even one mass needs more, none is computed."""
MAX_RATIO = 4.0
"""End of the logarithmic scale of ratios: 4 doublings, which is 16 times the average."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Data sent in addition to the top areas.

    Args:
        arrays: `densest` [H, R, M, 2], the first and last item of the smallest areas.
            `densest_weight` [H, R, M], their shares. `average` [H, N], the average map of every
            head.
        header: "masses", the masses of `densest` in per cent. "sinks", attention sinks as [head,
            item, share]. "even", the share that `compare_with_average` spreads evenly. "signed",
            the colours for less and more than average. "steepest", the end of the scale of ratios.
    """

    arrays: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]


def list_readings(attention: AttentionMap, layer: int, query: Field) -> Readings:
    """Return the readings of a site and layer.

    Smallest areas are left out if they take too long.
    """
    rows = list_query_runs(query)
    masses = choose_masses(attention, len(rows))
    averages, resting, kept_HQN = [], [], []
    # Keep the shares of all heads only to search smallest areas. For a large layer, they may need
    # more memory than its weights.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        if masses:
            kept_HQN.append(shares_QN)
        averages.append(average_map(shares_QN))
        at_rest = find_sink(shares_QN, head)
        if at_rest:
            resting.append([head, at_rest.item, round(at_rest.share, 4)])
    arrays: dict[str, npt.NDArray[Any]] = {
        "average": quantise(np.stack(averages).astype(np.float32), np.uint16)
    }
    if masses:
        found = find_densest_areas(np.stack(kept_HQN), attention.grid, rows, masses)
        arrays["densest"] = shrink_integers(found.ends, attention.grid.items)
        arrays["densest_weight"] = quantise(found.share, np.uint16)
    header = {
        "masses": list(masses),
        "sinks": resting,
        "even": EVEN_SHARE,
        "signed": [ACCENT, SECOND],
        "steepest": MAX_RATIO,
    }
    return Readings(arrays, header)


def list_query_runs(query: Field) -> list[tuple[int, int]]:
    """Return the runs of queries for which smallest areas are computed, as (start, end).

    They are all single items, followed by all words of several items.
    """
    single = [(item, item + 1) for item in range(len(query))]
    longer = find_words(query) if query.is_text else []
    return [*single, *(run for run in longer if run[1] - run[0] > 1)]


def choose_masses(attention: AttentionMap, rows: int) -> tuple[int, ...]:
    """Return the masses for which smallest areas are computed: all, only the default, or none.

    The fewer, the longer the texts are.

    Args:
        attention: the map.
        rows: number of runs of queries.
    """
    grid = attention.grid
    places = attention.heads * rows * grid.items * grid.height
    if places * len(MASSES) <= MAX_WORK:
        return MASSES
    return (Focus("").mass,) if places <= MAX_WORK else ()


def choose_runs(query: Field, items: Sequence[int], unit: str) -> Groups:
    """Return the runs of `list_query_runs` for the selected items, or their words."""
    if unit != "word" or not query.is_text:
        return [(item, item + 1) for item in items]
    chosen = set(items)
    return [run for run in find_words(query) if not chosen.isdisjoint(range(*run))]
