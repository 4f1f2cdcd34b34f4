"""View of the facts of a story that a memory network attended to in each hop.

See Sukhbaatar et al. 2015, Fig. 2.
"""

from __future__ import annotations

from areaviz.draw.labels import escape_controls, truncate
from areaviz.draw.matrix import Matrix, plot_matrix
from areaviz.draw.select import fits_map
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.kinds import list_gold_facts
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

_LONGEST = 48


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to facts."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "facts"


def build_fact_matrix(trace: Trace, focus: Focus) -> Matrix:
    """Build the matrix of weights [M, K] of M facts in K hops, with the gold facts framed."""
    attention = trace.maps[focus.site]
    field, marked = trace.fields[attention.memory], list_gold_facts(trace)
    values = attention.weights[:, 0, 0].T
    labels = []
    for number, label in enumerate(field.labels, start=1):
        labels.append(f"{number}  {truncate(escape_controls(label), _LONGEST)}")
    question = escape_controls(trace.fields[attention.query].raw)
    answer = escape_controls(trace.fields[trace.output.field].raw)
    framed = "; framed: the facts that answer the question" if marked else ""
    return Matrix(
        title=f"{truncate(question, _LONGEST)} {answer}",
        note=f"a column sums to 100%: what one hop reads{framed}",
        caption=figure_caption(trace, focus, all_layers=True),
        values=values,
        rows=tuple(labels),
        columns=tuple(f"hop {hop + 1}" for hop in range(attention.layers)),
        row_title="facts, the oldest first",
        column_title="",
        unit="weight",
        top=1.0,
        marked_rows=marked,
        longest=_LONGEST,
    )


def tabulate(drawn: Matrix) -> Table:
    """Return a table with a row per fact: its weight in every hop, and whether it is gold."""
    columns = ("fact", *drawn.columns, "answers the question")
    rows: list[Row] = []
    for number, (label, weights) in enumerate(zip(drawn.rows, drawn.values, strict=True)):
        is_gold = "yes" if number in drawn.marked_rows else ""
        rows.append((label, *map(float, weights), is_gold))
    return Table(columns, rows)


VIEW = view_of_marks(
    "facts",
    "Facts by hops",
    "Which facts did every hop read?",
    fits,
    build_fact_matrix,
    plot_matrix,
    tabulate,
    how_to_read=(
        "Columns are hops, rows are facts. Brighter means more attention to the fact. A good"
        " answer has a bright cell in every framed row."
    ),
)
