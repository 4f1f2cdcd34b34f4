"""How the maps of two traces differ: what the second attends to more than the first, word by word.

Words are compared, so that models with characters and with subwords can be set against each other;
of the words written, those that both wrote, in the same order. Shapes: R words both wrote, C words
or cells attended to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing.axes import depth, screen_labels, screen_ticks
from areaviz.drawing.base import Row, Table
from areaviz.drawing.matrix import pair_texts, tall
from areaviz.drawing.select import group_labels, matched_words, spoken_words, word_groups
from areaviz.drawing.theme import ACCENT, SCREEN_FONT, SECOND, Drawing, nice_top, screen_figure
from areaviz.trace import query
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus

Run = tuple[int, int]
"""Items of a word, as (start, end), the end exclusive."""


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """What the second of two maps attends to more than the first."""

    # The second's share of attention less the first's: float32 [R, C], rows sum to 0.
    change: FloatArray
    # Jensen-Shannon divergence of the two rows in bits: float32 [R], 0 the same to 1 nothing
    # shared (Lin 1991).
    divergence: FloatArray
    # What rows and columns read as.
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    # Rows and columns of the picture's cells, None where a text is attended to.
    shape: tuple[int, int] | None
    # How many written words the other lacks, of the first and of the second.
    left_out: tuple[int, int]
    # Rows that are looked at.
    marked: tuple[int, ...] = ()

    @property
    def looked_at(self) -> Sequence[int]:
        """The marked rows, all where none is."""
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
        """Rows and columns of the memory."""
        return self.attention.grid.height, self.attention.grid.width

    def columns(self) -> Sequence[Run]:
        """The words of a text that is attended to, or the cells of a picture."""
        return word_groups(self.memory, "word" if self.memory.kind == "text" else "item")

    def shares(self, chosen: Sequence[Run]) -> FloatArray:
        """Shares [R, C] of the chosen words, over words or cells; rows sum to 1."""
        words = list(word_groups(self.query, "word"))
        shares_QN = query.item_shares(self.attention, self.focus.layer, self.focus.head)
        merged = query.merge_items(shares_QN, words, self.columns())
        picked: FloatArray = merged[[words.index(run) for run in chosen]]
        picked /= np.maximum(picked.sum(-1, keepdims=True), 1e-12)
        return picked


def fits(
    one: Trace,
    other: Trace,
    first: Focus,
    second: Focus,
) -> bool:
    """Whether both attend from a text to the same text, or to as many cells of the same picture."""
    if first.site != second.site or not (first.site in one.maps and second.site in other.maps):
        return False
    sides = _Side.of(one, first), _Side.of(other, second)
    left, right = sides
    kind = left.memory.kind
    if kind != right.memory.kind or not left.query.kind == right.query.kind == "text":
        return False
    if kind == "text":
        return left.memory.raw == right.memory.raw and bool(matched_words(left.query, right.query))
    pictures = {trace.request.picture and trace.request.picture.digest for trace in (one, other)}
    return (
        left.cells == right.cells
        and len(pictures) == 1
        and bool(matched_words(left.query, right.query))
    )


def difference(
    one: Trace,
    other: Trace,
    first: Focus,
    second: Focus,
) -> Difference:
    """The difference of two maps, each at the layer and head of its focus.

    Raises:
        ValueError: where `fits` does not hold.
    """
    if not fits(one, other, first, second):
        raise ValueError(
            "Only maps from words that both wrote to the same memory have a difference."
        )
    left, right = _Side.of(one, first), _Side.of(other, second)
    matched = matched_words(left.query, right.query)
    words = [run for run, _ in matched]
    before, after = left.shares(words), right.shares([run for _, run in matched])
    focused = set(first.items) if first.side == "query" else set()
    is_text = left.memory.kind == "text"
    labels = left.memory.labels
    return Difference(
        change=after - before,
        divergence=query.divergence(before, after),
        rows=group_labels(left.query, words),
        columns=group_labels(left.memory, left.columns()) if is_text else labels,
        shape=None if is_text else left.cells,
        left_out=(
            len(spoken_words(left.query)) - len(matched),
            len(spoken_words(right.query)) - len(matched),
        ),
        marked=tuple(n for n, run in enumerate(words) if not focused.isdisjoint(range(*run))),
    )


def difference_figure(found: Difference, titles: tuple[str, str]) -> Figure:
    """Orange: the second attends more, blue: the first.

    Of a text words by words; of a picture its cells, for the words that are looked at.
    """
    values, rows, columns = found.change, found.rows, found.columns
    if found.shape is not None:
        values = values[list(found.looked_at)].mean(0).reshape(found.shape)
        rows, columns = (tuple(str(n + 1) for n in range(side)) for side in found.shape)
    height = tall(len(values))
    across, down = screen_labels(columns), screen_labels(rows, height, upright=True)
    drawing = Drawing(_title(found), _note(found, titles), "")
    figure = screen_figure(
        drawing, height, above=depth(across) + 8, below=8, labels={"xaxis": columns}
    )
    top = nice_top(float(np.abs(values).max()))
    bar = {
        "title": {
            "text": "second less first",
            "side": "right",
            "font": {"size": SCREEN_FONT},
        },
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
            colorscale=[[0, ACCENT], [0.5, "rgba(128,128,128,0.12)"], [1, SECOND]],
            text=pair_texts(rows, columns),
            hovertemplate="%{text}<br>%{z:+.1%}<extra></extra>",
            colorbar=bar,
        )
    )
    figure.update_xaxes(screen_ticks(across), side="top", range=[-0.5, len(columns) - 0.5])
    figure.update_yaxes(screen_ticks(down), range=[len(rows) - 0.5, -0.5])
    if found.shape is not None:
        # Cells of a picture are squares.
        figure.update_yaxes(scaleanchor="x", constrain="domain")
    return figure


def _title(found: Difference) -> str:
    words = "all words that both wrote"
    if found.marked:
        words = ", ".join(f"“{found.rows[n]}”" for n in found.marked[:4])
    bits = float(np.mean(found.divergence[list(found.looked_at)]))
    return f"What the second attends to more or less: {words}, divergence {bits:.2f} bits"


def _note(found: Difference, titles: tuple[str, str]) -> str:
    pairs = zip(found.left_out, titles, strict=True)
    lacking = [f"{count} words of {title}" for count, title in pairs if count]
    if not lacking:
        return ""
    return f"left out, since the other did not write them: {' and '.join(lacking)}"


def difference_table(found: Difference) -> Table:
    """One line a word that both wrote: its divergence in bits, and the change of every column."""
    columns = [f"{n} {label}" for n, label in enumerate(found.columns, 1)]
    lines = zip(found.rows, found.divergence.tolist(), found.change.tolist(), strict=True)
    rows: list[Row] = [(word, bits, *change) for word, bits, change in lines]
    return Table(("Word", "Divergence (bits)", *columns), rows)
