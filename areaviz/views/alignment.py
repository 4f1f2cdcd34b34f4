"""The alignment matrix: what each produced item attends to (Bahdanau et al. 2015, figure 3)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Figure

from areaviz.drawing import matrix
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import visible
from areaviz.drawing.matrix import Matrix
from areaviz.drawing.select import fits_text, name, select
from areaviz.drawing.theme import nice_top
from areaviz.trace import query
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

Runs = Sequence[tuple[int, int]]
_WORD_NOTE = "; a word counts with the blank before it"


def alignment(trace: Trace, focus: Focus) -> Matrix:
    """Item shares [Q, N]: row t belongs to the item produced at t. With `focus.unit` "word", shares
    of words.
    """
    chosen = select(trace, focus)
    rows, columns = (runs(field, focus.unit) for field in (chosen.query, chosen.memory))
    shares = query.merge_items(
        query.item_shares(chosen.attention, chosen.layer, chosen.head), rows, columns
    )
    unit = "words" if focus.unit == "word" else "items"
    marked = tuple(
        sorted({_run_of(rows if focus.side == "query" else columns, item) for item in focus.items})
    )
    return Matrix(
        values=shares,
        rows=run_labels(chosen.query, rows),
        columns=run_labels(chosen.memory, columns),
        row_title=f"{name(chosen.query)} {unit}",
        column_title=f"{name(chosen.memory)} {unit}",
        title=f"What every {name(chosen.query)} {unit[:-1]} attends to, {chosen.head_words}",
        note=(
            "a row sums to 100%: coverage divided by the row's"
            f" total{_WORD_NOTE * (focus.unit == 'word')}"
        ),
        caption=caption(trace, focus),
        unit="share of row",
        top=min(1.0, nice_top(float(shares.max()))),
        marked_rows=marked if focus.side == "query" else (),
        marked_columns=marked if focus.side == "memory" else (),
    )


def runs(field: Field, unit: str) -> Runs:
    """The items of every row or column; a word takes the blanks before it along, so that no row is
    blank.
    """
    if unit != "word":
        return [(i, i + 1) for i in range(len(field))]
    found: list[tuple[int, int]] = []
    blank_from = None
    for start, end in query.words(field):
        is_blank = "".join(field.labels[start:end]).isspace()
        if is_blank and end < len(field) and field.anchors[end, 0] < field.anchors[end, 1]:
            blank_from = start
            continue
        found.append((start if blank_from is None else blank_from, end))
        blank_from = None
    return found


def run_labels(field: Field, within: Runs) -> tuple[str, ...]:
    """What runs of items read as, a word without the blanks around it."""
    texts = ("".join(field.labels[start:end]) for start, end in within)
    return tuple(
        visible(text if end - start == 1 else text.strip() or text)
        for text, (start, end) in zip(texts, within, strict=True)
    )


def _run_of(within: Runs, item: int) -> int:
    return next(i for i, (start, end) in enumerate(within) if start <= item < end)


def figure(trace: Trace, focus: Focus) -> Figure:
    """Rows are what was produced, columns what was attended to."""
    return matrix.draw(alignment(trace, focus))


def table(trace: Trace, focus: Focus) -> Table:
    """One line a query, one column a memory item or word."""
    return matrix.tabulate(alignment(trace, focus))


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    return matrix.draw_print(alignment(trace, focus))


VIEW = View(
    name="alignment",
    title="Alignment matrix",
    question="Which items does every produced item attend to?",
    fits=fits_text,
    figure=figure,
    table=table,
    print=paper,
)
