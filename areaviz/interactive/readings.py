"""Data for readings other than top areas: smallest areas, averages and attention sinks.

`areaviz.trace.reading` computes the data. The browser selects what belongs to the items under the
pointer. Shapes: H heads, Q queries, N items, R rows (each query, then each word of several items),
M masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.theme import ACCENT, SECOND
from areaviz.interactive.message import narrow, quantised
from areaviz.trace.query import Groups, find_words, item_shares
from areaviz.trace.reading import EVEN, MASSES, average_map, find_densest_areas, find_sink
from areaviz.trace.record import AttentionMap, Field
from areaviz.trace.request import Focus

WORK = 1 << 22
"""Maximum number of places in which smallest areas are searched, about 0.4 s. Beyond it they are
computed for one mass instead of all seven, or for none if one mass exceeds it as well."""
STEEPEST = 4.0
"""End of the scale of ratios in doublings: 16 times the average, or a sixteenth of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Data sent in addition to the top areas.

    Args:
        arrays: `densest` [H, R, M, 2], first and last item of the smallest areas; `densest_weight`
            [H, R, M], the share they hold; `average` [H, N], every head's average map.
        header: "masses", those of `densest` in per cent; "sinks", [head, item, share]; "even", the
            share that `reading.against_average` spreads evenly; "signed", the colours of less and
            more than average; "steepest", the end of their scale in doublings.
    """

    arrays: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]


def readings(attention: AttentionMap, layer: int, query: Field) -> Readings:
    """Compute the readings of a site and layer, unless they are too large."""
    rows = rows_of(query)
    masses = offered_masses(attention, len(rows))
    averages, resting, kept_HQN = [], [], []
    # Keep the shares of all heads only if smallest areas are searched. They may need more memory
    # than the weights of a large layer.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        if masses:
            kept_HQN.append(shares_QN)
        averages.append(average_map(shares_QN))
        at_rest = find_sink(shares_QN, head)
        if at_rest:
            resting.append([head, at_rest.item, round(at_rest.share, 4)])
    arrays: dict[str, npt.NDArray[Any]] = {
        "average": quantised(np.stack(averages).astype(np.float32), np.uint16)
    }
    if masses:
        found = find_densest_areas(np.stack(kept_HQN), attention.grid, rows, masses)
        arrays["densest"] = narrow(found.ends, attention.grid.items)
        arrays["densest_weight"] = quantised(found.share, np.uint16)
    header = {
        "masses": list(masses),
        "sinks": resting,
        "even": EVEN,
        "signed": [ACCENT, SECOND],
        "steepest": STEEPEST,
    }
    return Readings(arrays, header)


def rows_of(query: Field) -> list[tuple[int, int]]:
    """Return the runs of queries that get smallest areas: every item, then every longer word."""
    single = [(item, item + 1) for item in range(len(query))]
    longer = find_words(query) if query.is_text else []
    return [*single, *(run for run in longer if run[1] - run[0] > 1)]


def offered_masses(attention: AttentionMap, rows: int) -> tuple[int, ...]:
    """Return the masses of the smallest areas: all, the default one or, for long texts, none."""
    grid = attention.grid
    places = attention.heads * rows * grid.items * grid.height
    if places * len(MASSES) <= WORK:
        return MASSES
    return (Focus("").mass,) if places <= WORK else ()


def chosen_runs(query: Field, items: Sequence[int], unit: str) -> Groups:
    """Return the rows of `rows_of` for the selected items: whole words if the unit is a word."""
    if unit != "word" or not query.is_text:
        return [(item, item + 1) for item in items]
    chosen = set(items)
    return [run for run in find_words(query) if not chosen.isdisjoint(range(*run))]
