"""Comparisons as figures: attention with attribution, and the maps of two traces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from areaviz.draw.labels import escape, number_text
from areaviz.draw.marks import Plot
from areaviz.draw.matrix import Matrix, matrix_height_px, plot_matrix
from areaviz.draw.select import (
    FocusedMap,
    fits_spans,
    group_labels,
    group_words,
    list_spoken_words,
    list_visible_labels,
    match_words,
    name_field,
    select,
)
from areaviz.draw.theme import (
    DIVERGING_STOPS,
    SCREEN_FONT,
    Drawing,
    choose_screen_labels,
    compute_label_depth,
    make_screen_ticks,
    round_up_scale,
    screen_figure,
)
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import TOP, WAYS, compare_attributions, find_attributions_of_layer
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

# Comparison of attention with attribution, which measures how much the output depends on items.
#
# The figure has a row for the attention of the focused layer and head, and a row for each
# attribution method in the trace (`areaviz/trace/derived.py`). The note states their agreement in
# numbers.


AGREEMENT_COLUMNS = (
    "layer",
    "head",
    "beside",
    "rank correlation",
    f"top {TOP} in common",
    "by chance",
)


@dataclass(frozen=True, slots=True, eq=False)
class AttributionComparison:
    """The matrix to draw, and the agreement of every layer and head for the table."""

    drawn: Matrix
    rows: list[Row]


def fits_attribution(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus has 1-D attention and the trace has attributions for its queries."""
    return fits_spans(trace, focus) and bool(
        find_attributions_of_layer(trace.maps, focus.site, focus.layer)
    )


def compare_with_attribution(trace: Trace, focus: Focus) -> AttributionComparison:
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
    return Table(AGREEMENT_COLUMNS, found.rows)


BESIDE_ATTRIBUTION = view_of_marks(
    "beside",
    "Beside attribution",
    "Does what was attended to match what the output depends on?",
    fits_attribution,
    compare_with_attribution,
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


# Difference between the maps of two traces, which shows where the second attends more.
#
# Maps are compared word by word, so models of characters and of subwords are comparable. Only words
# that both models wrote in the same order are compared. Shapes: R words that both models wrote, C
# attended words or cells.


Run = tuple[int, int]
"""Items of a word as (start, end). The end is exclusive."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """Difference of two maps: the second minus the first."""

    # Shares of attention in the second map minus those in the first: float32 [R, C]. Rows sum to 0.
    change: FloatArray
    # Jensen-Shannon divergence of the two rows in bits: float32 [R], from 0 for equal rows to 1 for
    # rows without overlap (Lin 1991).
    divergence: FloatArray
    # Labels of rows and columns.
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    # Numbers of rows and columns of the picture's cells, or None if the memory is a text.
    shape: tuple[int, int] | None
    # Number of words that only the first model wrote, and that only the second wrote.
    left_out: tuple[int, int]
    # Indices of the focused rows.
    marked: tuple[int, ...] = ()

    @property
    def looked_at(self) -> Sequence[int]:
        """The focused rows, or all rows if none is focused."""
        return self.marked or range(len(self.rows))


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """The map of one trace at its focus."""

    focus: Focus
    attention: AttentionMap
    query: Field
    memory: Field

    @classmethod
    def of(cls, trace: Trace, focus: Focus) -> _Side:
        attention = trace.maps[focus.site]
        query_field, memory = trace.fields[attention.query], trace.fields[attention.memory]
        return cls(focus, attention, query_field, memory)

    @property
    def cells(self) -> tuple[int, int]:
        """Numbers of rows and columns of the memory's grid."""
        return self.attention.grid.height, self.attention.grid.width

    def columns(self) -> Sequence[Run]:
        """Return the words of an attended text, or the cells of an attended picture."""
        return group_words(self.memory, "word" if self.memory.kind == "text" else "item")

    def shares(self, chosen: Sequence[Run]) -> FloatArray:
        """Return the shares [R, C] of the chosen words over words or cells. Rows sum to 1."""
        words = list(group_words(self.query, "word"))
        shares_QN = query.item_shares(self.attention, self.focus.layer, self.focus.head)
        merged = query.merge_items(shares_QN, words, self.columns())
        picked: FloatArray = merged[[words.index(run) for run in chosen]]
        picked /= np.maximum(picked.sum(-1, keepdims=True), 1e-12)
        return picked


def fits_difference(one: Trace, other: Trace, first: Focus, second: Focus) -> bool:
    """Return whether two maps can be compared.

    Both must attend from a text, and both to the same text or to the same cells of one picture.
    """
    if first.site != second.site or not (first.site in one.maps and second.site in other.maps):
        return False
    sides = _Side.of(one, first), _Side.of(other, second)
    left, right = sides
    kind = left.memory.kind
    if kind != right.memory.kind or not left.query.kind == right.query.kind == "text":
        return False
    if kind == "text":
        return left.memory.raw == right.memory.raw and bool(match_words(left.query, right.query))
    pictures = {trace.request.picture and trace.request.picture.digest for trace in (one, other)}
    return (
        left.cells == right.cells
        and len(pictures) == 1
        and bool(match_words(left.query, right.query))
    )


def compute_difference(one: Trace, other: Trace, first: Focus, second: Focus) -> Difference:
    """Compute the difference of two maps, each at the layer and head of its focus.

    Raises:
        ValueError: `fits_difference` is false.
    """
    if not fits_difference(one, other, first, second):
        raise ValueError(
            "These maps cannot be compared. Give maps of equal words that attend to one memory."
        )
    left, right = _Side.of(one, first), _Side.of(other, second)
    matched = match_words(left.query, right.query)
    words = [run for run, _ in matched]
    before, after = left.shares(words), right.shares([run for _, run in matched])
    focused = set(first.items) if first.side == "query" else set()
    is_text = left.memory.kind == "text"
    labels = left.memory.labels
    return Difference(
        change=after - before,
        divergence=query.compute_jensen_shannon_divergence(before, after),
        rows=group_labels(left.query, words),
        columns=group_labels(left.memory, left.columns()) if is_text else labels,
        shape=None if is_text else left.cells,
        left_out=(
            len(list_spoken_words(left.query)) - len(matched),
            len(list_spoken_words(right.query)) - len(matched),
        ),
        marked=tuple(n for n, run in enumerate(words) if not focused.isdisjoint(range(*run))),
    )


def difference_figure(found: Difference, titles: tuple[str, str]) -> Figure:
    """Draw the difference: orange where the second attends more, blue where the first does.

    If the memory is a text, the figure is a matrix of words by words. If it is a picture, the
    figure shows its cells, averaged over the focused words.
    """
    values, rows, columns = found.change, found.rows, found.columns
    if found.shape is not None:
        values = values[list(found.looked_at)].mean(0).reshape(found.shape)
        rows, columns = (tuple(str(n + 1) for n in range(side)) for side in found.shape)
    height = matrix_height_px(len(values))
    across, down = choose_screen_labels(columns), choose_screen_labels(rows, height, upright=True)
    drawing = Drawing(_make_title(found), _make_note(found, titles), "")
    figure = screen_figure(
        drawing, height, above=compute_label_depth(across) + 8, below=8, labels={"xaxis": columns}
    )
    top = round_up_scale(float(np.abs(values).max()))
    bar = {
        "title": {"text": "second less first", "side": "right", "font": {"size": SCREEN_FONT}},
        "thickness": 10,
        "tickformat": "+.0%",
        "nticks": 5,
        "outlinewidth": 0,
        "tickfont": {"size": SCREEN_FONT},
    }
    figure.add_trace(
        Heatmap(
            z=values,
            zmin=-top,
            zmax=top,
            xgap=1,
            ygap=1,
            colorscale=DIVERGING_STOPS,
            text=[[escape(f"{row} → {column}") for column in columns] for row in rows],
            hovertemplate="%{text}<br>%{z:+.1%}<extra></extra>",
            colorbar=bar,
        )
    )
    figure.update_xaxes(make_screen_ticks(across), side="top", range=[-0.5, len(columns) - 0.5])
    figure.update_yaxes(make_screen_ticks(down), range=[len(rows) - 0.5, -0.5])
    if found.shape is not None:
        # Draw the cells of a picture as squares.
        figure.update_yaxes(scaleanchor="x", constrain="domain")
    return figure


def _make_title(found: Difference) -> str:
    words = "all words that both wrote"
    if found.marked:
        words = ", ".join(f"“{found.rows[n]}”" for n in found.marked[:4])
    bits = float(np.mean(found.divergence[list(found.looked_at)]))
    return f"What the second attends to more or less: {words}, divergence {bits:.2f} bits"


def _make_note(found: Difference, titles: tuple[str, str]) -> str:
    pairs = zip(found.left_out, titles, strict=True)
    lacking = [f"{count} words of {title}" for count, title in pairs if count]
    if not lacking:
        return ""
    return f"left out, since the other did not write them: {' and '.join(lacking)}"


def difference_table(found: Difference) -> Table:
    """Return a table with a row per common word: divergence in bits, and change in every column."""
    columns = [f"{n} {label}" for n, label in enumerate(found.columns, 1)]
    lines = zip(found.rows, found.divergence.tolist(), found.change.tolist(), strict=True)
    rows: list[Row] = [(word, bits, *change) for word, bits, change in lines]
    return Table(("Word", "Divergence (bits)", *columns), rows)
