"""How the maps of two traces differ: what the second attends to more than the first, signed, word
by word.

Words are compared, so that models with characters and with subwords can be set against each other;
of the words written, those that both wrote, in the same order. Shapes: R words both wrote, C words
or cells attended to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

import numpy as np
from plotly.graph_objects import Figure, Heatmap

from areaviz.drawing.axes import depth, screen_labels, screen_ticks
from areaviz.drawing.base import Table
from areaviz.drawing.labels import escape
from areaviz.drawing.theme import ACCENT, SCREEN_FONT, SECOND, nice_top, screen
from areaviz.trace import query
from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.trace.request import Focus
from areaviz.views.alignment import Runs, run_labels, runs

MIDDLE = "rgba(128,128,128,0.12)"


@dataclass(frozen=True, slots=True, eq=False)
class Difference:
    """change: float32 [R, C], the second's share of attention less the first's, rows sum to 0.
    divergence: float32 [R], Jensen-Shannon divergence of the two rows in bits, 0 the same to 1
    nothing shared (Lin 1991). rows, columns: what they read as. shape: rows and columns of the
    picture's cells, None where a text is attended to. left_out: how many written words the other
    lacks, of the first and the second. marked: rows that are looked at.
    """

    change: FloatArray
    divergence: FloatArray
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    shape: tuple[int, int] | None
    left_out: tuple[int, int]
    marked: tuple[int, ...] = ()


def fits(one: Trace, other: Trace, first: Focus, second: Focus) -> bool:
    """Whether both attend to the same text, or to as many cells of the same picture,
    from a text.
    """
    if first.site != second.site or not (first.site in one.maps and second.site in other.maps):
        return False
    maps = one.maps[first.site], other.maps[second.site]
    memories = [trace.fields[it.memory] for trace, it in zip((one, other), maps, strict=True)]
    queries = [trace.fields[it.query] for trace, it in zip((one, other), maps, strict=True)]
    if any(field.kind != "text" for field in queries) or memories[0].kind != memories[1].kind:
        return False
    if memories[0].kind == "text":
        return memories[0].raw == memories[1].raw and bool(_matched(*queries))
    same = all(
        (it.grid.height, it.grid.width) == (maps[0].grid.height, maps[0].grid.width) for it in maps
    )
    pictures = {trace.request.picture and trace.request.picture.digest for trace in (one, other)}
    return same and len(pictures) == 1 and bool(_matched(*queries))


def difference(one: Trace, other: Trace, first: Focus, second: Focus) -> Difference:
    """The difference of two maps, each at the layer and head of its focus; ValueError where `fits`
    does not hold.
    """
    if not fits(one, other, first, second):
        raise ValueError(
            "Only maps from words that both wrote to the same memory have a difference."
        )
    queries = [
        trace.fields[trace.maps[focus.site].query]
        for trace, focus in ((one, first), (other, second))
    ]
    matched = _matched(*queries)
    shares = [
        _rows(trace, focus, [pair[side] for pair in matched])
        for side, (trace, focus) in enumerate(((one, first), (other, second)))
    ]
    written = [_words(field) for field in queries]
    attention = one.maps[first.site]
    memory = one.fields[attention.memory]
    is_text = memory.kind == "text"
    looked = set(first.items) if first.side == "query" else set()
    return Difference(
        change=shares[1] - shares[0],
        divergence=query.divergence(*shares),
        rows=run_labels(queries[0], [pair[0] for pair in matched]),
        columns=run_labels(memory, runs(memory, "word")) if is_text else memory.labels,
        shape=None if is_text else (attention.grid.height, attention.grid.width),
        left_out=(len(written[0]) - len(matched), len(written[1]) - len(matched)),
        marked=tuple(
            n for n, ((start, end), _) in enumerate(matched) if looked & set(range(start, end))
        ),
    )


def difference_figure(found: Difference, titles: tuple[str, str]) -> Figure:
    """Orange: the second attends more, blue: the first. A text's words by words; a picture's cells,
    of the words that are looked at or else of all.
    """
    values = found.change if found.shape is None else _cells(found)
    title, note = _title(found), _note(found, titles)
    height = float(np.clip(21 * len(values), 84, 460))
    columns = (
        found.columns if found.shape is None else tuple(str(n + 1) for n in range(found.shape[1]))
    )
    rows = found.rows if found.shape is None else tuple(str(n + 1) for n in range(found.shape[0]))
    across, down = screen_labels(columns), screen_labels(rows, height, upright=True)
    figure = screen(title, note, "", height, above=depth(across) + 8, below=8)
    top = nice_top(float(np.abs(values).max()))
    figure.add_trace(
        Heatmap(
            z=values, zmin=-top, zmax=top, xgap=1, ygap=1,
            colorscale=[[0, ACCENT], [0.5, MIDDLE], [1, SECOND]],
            text=[[f"{escape(row)} → {escape(column)}" for column in columns] for row in rows],
            hovertemplate="%{text}<br>%{z:+.1%}<extra></extra>",
            colorbar={"title": {"text": "second less first", "side": "right", "font": {"size": SCREEN_FONT}},
                      "thickness": 10, "tickformat": "+.0%", "nticks": 5, "outlinewidth": 0,
                      "tickfont": {"size": SCREEN_FONT}},
        )
    )  # fmt: skip
    figure.update_xaxes(screen_ticks(across), side="top", range=[-0.5, len(columns) - 0.5])
    figure.update_yaxes(screen_ticks(down), range=[len(rows) - 0.5, -0.5])
    if found.shape is not None:
        figure.update_yaxes(scaleanchor="x", constrain="domain")
    return figure


def difference_table(found: Difference) -> Table:
    """One line a word that both wrote: its divergence in bits, and the change of every word or
    cell.
    """
    columns = (
        "Word",
        "Divergence (bits)",
        *(f"{n} {label}" for n, label in enumerate(found.columns, 1)),
    )
    lines = zip(found.rows, found.divergence, found.change, strict=True)
    return Table(
        columns, [(word, float(bits), *map(float, change)) for word, bits, change in lines]
    )


def _rows(trace: Trace, focus: Focus, chosen: Runs) -> FloatArray:
    """Shares [R, C] of the chosen words, over words or cells; rows sum to 1."""
    attention = trace.maps[focus.site]
    memory, words = trace.fields[attention.memory], runs(trace.fields[attention.query], "word")
    columns = runs(memory, "word" if memory.kind == "text" else "item")
    merged = query.merge_items(
        query.item_shares(attention, focus.layer, focus.head), words, columns
    )
    picked: FloatArray = merged[[words.index(run) for run in chosen]]
    picked /= np.maximum(picked.sum(-1, keepdims=True), 1e-12)
    return picked


def _matched(one: Field, other: Field) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """The runs of items of each word that both texts have, in order."""
    within = [_words(field) for field in (one, other)]
    first, second = (
        [_text(field, run) for run in found]
        for field, found in zip((one, other), within, strict=True)
    )
    blocks = SequenceMatcher(None, first, second, autojunk=False).get_matching_blocks()
    return [(within[0][b.a + n], within[1][b.b + n]) for b in blocks for n in range(b.size)]


def _words(field: Field) -> list[tuple[int, int]]:
    """The runs of items that hold a word; none that stands for no text."""
    return [run for run in runs(field, "word") if _text(field, run)]


def _text(field: Field, run: tuple[int, int]) -> str:
    start, end = field.anchors[run[0], 0], field.anchors[run[1] - 1, 1]
    return field.raw[start:end].strip()


def _cells(found: Difference) -> FloatArray:
    assert found.shape is not None
    rows: Sequence[int] = found.marked or range(len(found.rows))
    mean: FloatArray = found.change[list(rows)].mean(0).reshape(found.shape)
    return mean


def _title(found: Difference) -> str:
    rows: Sequence[int] = found.marked or range(len(found.rows))
    words = (
        ", ".join(f"“{found.rows[n]}”" for n in found.marked[:4])
        if found.marked
        else "all words that both wrote"
    )
    bits = float(np.mean(found.divergence[list(rows)]))
    return f"What the second attends to more or less: {words}, divergence {bits:.2f} bits"


def _note(found: Difference, titles: tuple[str, str]) -> str:
    lacking = [
        f"{count} words of {title}"
        for count, title in zip(found.left_out, titles, strict=True)
        if count
    ]
    return (
        f"left out, since the other did not write them: {' and '.join(lacking)}" if lacking else ""
    )
