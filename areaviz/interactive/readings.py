"""What ribbon and grid send of the readings beside heaviest areas: densest areas, averages, sinks.

All of it is worked out by `areaviz.trace.reading`; the browser picks what belongs to the items that
are pointed at. Shapes: H heads, Q queries, N items, R rows (each query, then each word of several
items), M masses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.drawing.theme import ACCENT, SECOND
from areaviz.interactive.message import narrow, quantised
from areaviz.trace.query import Groups, item_shares, words
from areaviz.trace.reading import EVEN, MASSES, average_map, densities, sink
from areaviz.trace.record import AttentionMap, Field
from areaviz.trace.request import Focus

WORK = 1 << 22
"""Densest areas are looked for in so many places at the most, some .4 s: at one mass where seven
take more, and not at all where one does."""
STEEPEST = 4.0
"""The end of the scale of ratios: 16 times as much as on average, or a sixteenth."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """What travels beside the heaviest areas.

    Args:
        arrays: `densest` [H, R, M, 2], first and last item of densest areas, `densest_weight`
            [H, R, M], what they hold; `average` [H, N], every head's average map.
        header: "masses", in per cent, those of `densest`; "sinks", [head, item, share]; "even",
            what `reading.against_average` spreads; "signed", the colours of less and more than on
            average; "steepest", the end of their scale, in doublings.
    """

    arrays: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]


def readings(attention: AttentionMap, layer: int, query: Field) -> Readings:
    """The readings of a site and layer, as far as they are not too large."""
    rows = rows_of(query)
    masses = offered_masses(attention, len(rows))
    averages, resting, kept_HQN = [], [], []
    # Shares of all heads are kept only where densest areas are searched. Otherwise they may take
    # more memory than the weights of a large layer.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        if masses:
            kept_HQN.append(shares_QN)
        averages.append(average_map(shares_QN))
        at_rest = sink(shares_QN, head)
        if at_rest:
            resting.append([head, at_rest.item, round(at_rest.share, 4)])
    arrays: dict[str, npt.NDArray[Any]] = {
        "average": quantised(np.stack(averages).astype(np.float32), np.uint16)
    }
    if masses:
        found = densities(np.stack(kept_HQN), attention.grid, rows, masses)
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
    """The runs of queries that densest areas are sent of: every item, then every longer word."""
    single = [(item, item + 1) for item in range(len(query))]
    longer = words(query) if query.kind == "text" else []
    return [*single, *(run for run in longer if run[1] - run[0] > 1)]


def offered_masses(attention: AttentionMap, rows: int) -> tuple[int, ...]:
    """The masses that densest areas are sent for: all, the usual one or, of long texts, none."""
    grid = attention.grid
    places = attention.heads * rows * grid.items * grid.height
    if places * len(MASSES) <= WORK:
        return MASSES
    return (Focus("").mass,) if places <= WORK else ()


def chosen_runs(query: Field, items: Sequence[int], unit: str) -> Groups:
    """The rows of `rows_of` that stand for chosen items: words where words are pointed at."""
    if unit != "word" or query.kind != "text":
        return [(item, item + 1) for item in items]
    chosen = set(items)
    return [run for run in words(query) if not chosen.isdisjoint(range(*run))]
