"""Two views that are matrices: the alignment of two texts, and the coverage of every head.

The alignment matrix shows what each produced item attends to (Bahdanau et al. 2015, Fig. 3). The
coverage strip shows how much attention every memory item receives.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.drawing import matrix
from areaviz.drawing.base import figure_caption, view_of_marks
from areaviz.drawing.matrix import Matrix, Outlined
from areaviz.drawing.select import (
    FocusedMap,
    Runs,
    fits_text,
    get_noun,
    group_labels,
    group_words,
    list_visible_labels,
    name_field,
    quote_items,
    select,
)
from areaviz.drawing.theme import round_up_scale
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import find_area_of_each, map_of
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

OUTLINES = {"heaviest": "heaviest area", "coverage": "", "densest": "densest area"}
"""Name of the outlined area for each reading, or "" for no outline."""
MAX_RATIO = 3.0
"""End of the colour scale relative to the average, as a log₂ ratio."""


def build_alignment(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of item shares [Q, N], with the area of the reading outlined.

    A reading is a way to find an area, such as the heaviest or the densest one. Row t belongs to
    the item produced at step t. With `focus.unit` "word", rows and columns are words. Relative to
    the head's average, the values are log₂ ratios.
    """
    chosen = select(trace, focus)
    rows = group_words(chosen.query, focus.unit)
    columns = group_words(chosen.memory, focus.unit)
    place = chosen.attention, chosen.layer, chosen.head
    values = map_of(*place, focus.against, rows, columns)
    attends, unit = name_field(chosen.query), "word" if focus.unit == "word" else "item"
    is_signed = focus.against == "average"
    by_query = focus.side == "query"
    runs, items = rows if by_query else columns, set(focus.items)
    marked = tuple(n for n, run in enumerate(runs) if not items.isdisjoint(range(*run)))
    outline = "" if is_signed else OUTLINES[focus.reading]
    against = " against the head's average" if is_signed else ""
    return Matrix(
        title=f"What every {attends} {unit} attends to{against}, {chosen.head_words}",
        note=_make_note(focus, outline),
        caption=figure_caption(trace, focus),
        values=values,
        rows=group_labels(chosen.query, rows),
        columns=group_labels(chosen.memory, columns),
        row_title=f"{attends} {unit}s",
        column_title=f"{name_field(chosen.memory)} {unit}s",
        unit="times the average" if is_signed else "share of row",
        top=MAX_RATIO if is_signed else _find_top(values),
        marked_rows=marked if by_query else (),
        marked_columns=() if by_query else marked,
        is_signed=is_signed,
        outline=outline,
        outlined=_find_outlined(chosen, focus, rows, columns) if outline else (),
    )


def _make_note(focus: Focus, outline: str) -> str:
    """Explain how to read the matrix."""
    if focus.against == "average":
        return "orange: more than the head does on average over all rows, blue: less"
    note = "a row sums to 100%: coverage divided by the row's total"
    if focus.unit == "word":
        note += "; a word counts with the blank before it"
    if outline:
        note += f"; outlined: the {outline} of each row"
    if focus.reading == "densest":
        note += f", the smallest that holds at least {focus.mass}%"
    return note


def _find_outlined(
    chosen: FocusedMap, focus: Focus, rows: Runs, columns: Runs
) -> list[Outlined | None]:
    """Return the area that the reading finds in each row, as the columns that it covers."""
    column_of = {item: n for n, run in enumerate(columns) for item in range(*run)}
    found: list[Outlined | None] = []
    for one in find_area_of_each(chosen.attention, focus, rows):
        if one is None:
            found.append(None)
            continue
        items = range(one.area.left, one.area.left + one.area.width)
        text = quote_items(chosen.memory, items)[1:-1]
        ends = column_of[items[0]], column_of[items[-1]] + 1
        found.append(Outlined(*ends, text, len(items), one.weight))
    return found


def build_coverage(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of coverage [H, N], averaged over the focused queries.

    If no query is focused, the mean is over all queries.
    """
    chosen = select(trace, focus)
    heads, queries = range(chosen.attention.heads), list(chosen.queries)
    rows = [query.coverage(chosen.attention, chosen.layer, head)[queries].mean(0) for head in heads]
    values = np.stack(rows)
    return Matrix(
        title=f"{chosen.subject}: coverage by head",
        note=(
            f"coverage: attention on the areas that hold the {get_noun(chosen.memory)}; a row"
            f" sums to"
            " the mean area size, not to 100%"
        ),
        caption=figure_caption(trace, replace(focus, head=None)),
        values=values,
        rows=tuple(f"head {head + 1}" for head in heads),
        columns=list_visible_labels(chosen.memory),
        row_title="",
        column_title=f"{name_field(chosen.memory)} {get_noun(chosen.memory)}s",
        unit="coverage",
        top=_find_top(values),
        marked_rows=() if focus.head is None else (focus.head,),
        marked_columns=focus.items if focus.side == "memory" else (),
    )


def _find_top(values: FloatArray) -> float:
    return min(1.0, round_up_scale(float(values.max())))


ALIGNMENT = view_of_marks(
    "alignment",
    "Alignment matrix",
    "Which items does every produced item attend to?",
    fits_text,
    build_alignment,
    matrix.plot_matrix,
    matrix.tabulate,
    how_to_read=(
        "Rows are output items, columns are the items they can attend to. Brighter means more"
        " attention. A diagonal means that the model follows the order of the text."
    ),
)
COVERAGE = view_of_marks(
    "coverage",
    "Coverage strip",
    "How much of each head's attention does every item receive?",
    fits_text,
    build_coverage,
    matrix.plot_matrix,
    matrix.tabulate,
    how_to_read=(
        "One row per head. Brighter means that the item received more of the head's"
        " attention, summed over areas of every size."
    ),
    leads=lambda trace, focus: False,
)
