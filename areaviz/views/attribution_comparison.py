"""Comparison of attention with attribution, which measures how much the output depends on items.

The figure has a row for the attention of the focused layer and head, and a row for each attribution
method in the trace (`areaviz/trace/derived.py`). The note states their agreement in numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.drawing.base import Row, Table, figure_caption, view_of_marks
from areaviz.drawing.marks import Plot
from areaviz.drawing.matrix import Matrix, plot_matrix
from areaviz.drawing.numbers import number_text
from areaviz.drawing.select import FocusedMap, fits_spans, list_visible_labels, name_field, select
from areaviz.drawing.theme import round_up_scale
from areaviz.trace.derived import TOP, WAYS, compare_attributions, find_attributions_of_layer
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

COLUMNS = ("layer", "head", "beside", "rank correlation", f"top {TOP} in common", "by chance")


@dataclass(frozen=True, slots=True, eq=False)
class AttributionComparison:
    """The matrix to draw, and the agreement of every layer and head for the table."""

    drawn: Matrix
    rows: list[Row]


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus has 1-D attention and the trace has attributions for its queries."""
    return fits_spans(trace, focus) and bool(
        find_attributions_of_layer(trace.maps, focus.site, focus.layer)
    )


def find(trace: Trace, focus: Focus) -> AttributionComparison:
    """Compare the attention of the focused queries with each attribution method.

    The matrix has a row of item shares for each method. It is the mean over the focused queries, or
    over all queries if none is focused.
    """
    chosen = select(trace, focus)
    queries = list(chosen.queries)
    ways = find_attributions_of_layer(trace.maps, focus.site, focus.layer)
    values = [item_shares(chosen.attention, chosen.layer, chosen.head)[queries].mean(0)]
    for other, layer in ways.values():
        values.append(item_shares(other, layer, None)[queries].mean(0))
    values_WN = np.stack(values)
    drawn = Matrix(
        title=f"{chosen.subject}: attention and attribution, {chosen.head_words}",
        note=f"a row sums to 100%; {describe_agreement(trace, focus)}",
        caption=figure_caption(trace, focus),
        values=values_WN,
        rows=("attention", *(WAYS[ending] for ending in ways)),
        columns=list_visible_labels(chosen.memory),
        row_title="",
        column_title=f"{name_field(chosen.memory)} items",
        unit="share of row",
        top=min(1.0, round_up_scale(float(values_WN.max()))),
        marked_columns=focus.items if focus.side == "memory" else (),
    )
    return AttributionComparison(drawn, _make_rows(trace, chosen))


def describe_agreement(trace: Trace, focus: Focus) -> str:
    """Return a phrase on the agreement of each method with the focused map, for its queries."""
    queries = select(trace, focus).queries
    found = compare_attributions(trace.maps, focus.site, focus.layer, focus.head, queries)
    parts = []
    for way, (correlation, common, chance) in found.items():
        by_chance = f"by chance {_format_share(chance)}"
        shared = f"{_format_share(common)} of the top {TOP} in common ({by_chance})"
        parts.append(f"{way}: rank correlation {number_text(correlation, '+.2f')}, {shared}")
    return "; ".join(parts)


def _make_rows(trace: Trace, chosen: FocusedMap) -> list[Row]:
    """Return the agreement rows of every layer and head, and of the mean over a layer's heads."""
    attention, rows = chosen.attention, list[Row]()
    for layer in range(attention.layers):
        for head in (None, *range(attention.heads)):
            place = attention.site, layer, head
            for way, numbers in compare_attributions(trace.maps, *place, chosen.queries).items():
                named = "all" if head is None else head + 1
                rows.append((layer + 1, named, way, *numbers))
    return rows


def _format_share(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.0%}"


def _plot(found: AttributionComparison) -> Plot:
    return plot_matrix(found.drawn)


def _tabulate(found: AttributionComparison) -> Table:
    return Table(COLUMNS, found.rows)


VIEW = view_of_marks(
    "beside",
    "Beside attribution",
    "Does what was attended to match what the output depends on?",
    fits,
    find,
    _plot,
    _tabulate,
    how_to_read=(
        "Similar rows agree. Rollout follows attention through all layers up to this one."
        " Gradient × input measures how much an output's probability changes with an item."
        " The rank correlation is Spearman's: 1 means the same ranking. The table has every"
        " head."
    ),
    leads=lambda trace, focus: False,
)
