"""Two views that are a matrix: the alignment of two texts, and the coverage of every head.

The alignment matrix shows what each produced item attends to (Bahdanau et al. 2015, figure 3), the
coverage strip how much attention every memory item receives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.drawing import matrix
from areaviz.drawing.base import caption, view
from areaviz.drawing.matrix import Matrix
from areaviz.drawing.select import (
    field_name,
    fits_text,
    group_labels,
    select,
    shown,
    word_groups,
)
from areaviz.drawing.theme import nice_top
from areaviz.trace import query
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus


def alignment(trace: Trace, focus: Focus) -> Matrix:
    """Item shares [Q, N]: row t belongs to the item produced at t.

    With `focus.unit` "word" they are shares of words.
    """
    chosen = select(trace, focus)
    rows = word_groups(chosen.query, focus.unit)
    columns = word_groups(chosen.memory, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    values = query.merge_items(shares_QN, rows, columns)
    attends, unit = field_name(chosen.query), "item"
    note = "a row sums to 100%: coverage divided by the row's total"
    if focus.unit == "word":
        unit, note = "word", f"{note}; a word counts with the blank before it"
    by_query = focus.side == "query"
    runs, items = rows if by_query else columns, set(focus.items)
    marked = tuple(n for n, run in enumerate(runs) if not items.isdisjoint(range(*run)))
    return Matrix(
        title=f"What every {attends} {unit} attends to, {chosen.head_words}",
        note=note,
        caption=caption(trace, focus),
        values=values,
        rows=group_labels(chosen.query, rows),
        columns=group_labels(chosen.memory, columns),
        row_title=f"{attends} {unit}s",
        column_title=f"{field_name(chosen.memory)} {unit}s",
        unit="share of row",
        top=_top(values),
        marked_rows=marked if by_query else (),
        marked_columns=() if by_query else marked,
    )


def coverage(trace: Trace, focus: Focus) -> Matrix:
    """Coverage [H, N] of the focused queries (their mean; of all where none is focused)."""
    chosen = select(trace, focus)
    heads, queries = range(chosen.attention.heads), list(chosen.queries)
    rows = [query.coverage(chosen.attention, chosen.layer, head)[queries].mean(0) for head in heads]
    values = np.stack(rows)
    return Matrix(
        title=f"{chosen.subject}: coverage by head",
        note=(
            "coverage: attention on the areas that hold the item; a row sums to the mean area size,"
            " not to 100%"
        ),
        caption=caption(trace, replace(focus, head=None)),
        values=values,
        rows=tuple(f"head {head + 1}" for head in heads),
        columns=shown(chosen.memory),
        row_title="",
        column_title=f"{field_name(chosen.memory)} items",
        unit="coverage",
        top=_top(values),
        marked_rows=() if focus.head is None else (focus.head,),
        marked_columns=focus.items if focus.side == "memory" else (),
    )


def _top(values: FloatArray) -> float:
    return min(1.0, nice_top(float(values.max())))


ALIGNMENT = view(
    "alignment",
    "Alignment matrix",
    "Which items does every produced item attend to?",
    fits_text,
    alignment,
    matrix.draw,
    matrix.tabulate,
    matrix.draw_print,
)
COVERAGE = view(
    "coverage",
    "Coverage strip",
    "How much of each head's attention does every item receive?",
    fits_text,
    coverage,
    matrix.draw,
    matrix.tabulate,
    matrix.draw_print,
)
