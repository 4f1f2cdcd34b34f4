"""Facts in every hop of a memory network: data for the component, and the view.

`areaviz.views.views` lists both.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from areaviz.draw.labels import escape_controls, truncate
from areaviz.draw.matrix import Matrix, plot_matrix
from areaviz.draw.select import fits_map
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.changes import Hide
from areaviz.trace.kinds import EXPECTED, list_gold_facts
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import serialise_message

# Data of the hops component: the weight of every fact in every hop, and the answer.
#
# The script in `areaviz/views/facts` draws it, and lets users edit the facts.


def make_hops_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the data of all hops. `header["id"]` is a digest of the data.

    Args:
        trace: a trace in which a question attends to facts.
        focus: names the site.
    """
    attention = trace.maps[focus.site]
    weights_KM = np.round(attention.weights[:, 0, 0].astype(float), 4)
    header = {
        "heads": attention.heads,
        "facts": list(trace.fields[attention.memory].labels),
        "question": trace.fields[attention.query].raw,
        "answer": trace.fields[trace.output.field].raw,
        "sure": round(float(trace.output.probabilities[0]), 4),
        "expected": trace.details.get(EXPECTED, ""),
        "needed": list(list_gold_facts(trace)),
        "hidden": list(_list_hidden_facts(trace, attention.memory)),
        "weights": weights_KM.tolist(),
        "caption": figure_caption(trace, focus, all_layers=True),
    }
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}


def _list_hidden_facts(trace: Trace, memory: str) -> list[int]:
    """Return the indices of the facts that were hidden from the model."""
    found: set[int] = set()
    for change in trace.request.changes:
        if isinstance(change, Hide) and change.field == memory:
            found |= set(change.items)
    return sorted(found)


# View of the facts of a story that a memory network attended to in each hop.
#
# See Sukhbaatar et al. 2015, Fig. 2.


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
