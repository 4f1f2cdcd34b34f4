"""Python code for users that draws a figure again from the downloaded trace."""

from __future__ import annotations

import re
from dataclasses import fields

from areaviz.draw.view import Paper
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

MAX_LABEL_CHARACTERS = 20
"""Maximum number of characters of an item's label in a file name."""


def make_file_stem(name: str, trace: Trace, focus: Focus) -> str:
    """Return a figure's file name of model, layer, head, first selected item and view.

    An example is "char-tiny-area_L1_H2_dog_pyramid". Parts that are not selected are left out.
    """
    parts = [trace.request.model or "attention"]
    attention = trace.maps.get(focus.site)
    if attention is not None:
        parts.append(f"L{focus.layer + 1}")
        if focus.head is not None:
            parts.append(f"H{focus.head + 1}")
        field = trace.fields[attention.query if focus.side == "query" else attention.memory]
        if focus.items and focus.items[0] < len(field):
            parts.append(re.sub(r"\W+", "", field.labels[focus.items[0]])[:MAX_LABEL_CHARACTERS])
    return "_".join(part for part in (*parts, name) if part)


def write_python_lines(name: str, trace: Trace, focus: Focus, paper: Paper, trace_file: str) -> str:
    """Return the code that writes a view's figure as a PDF. It uses only public functions.

    Args:
        name: the name of the view.
        trace: the trace of the figure.
        focus: the selection.
        paper: the size of the figure.
        trace_file: the name of the trace's file.
    """
    figure = f"{make_file_stem(name, trace, focus)}.pdf"
    lines = [
        "import areaviz",
        "",
        f"trace = areaviz.load({trace_file!r})",
        f"focus = areaviz.Focus({_format_arguments(focus)})",
    ]
    size = ""
    if paper != Paper():
        lines.append(f"paper = areaviz.Paper(width={paper.width!r}, letters={paper.letters!r})")
        size = ", paper=paper"
    lines.append(f"areaviz.export(trace, {figure!r}, focus=focus, view={name!r}{size})")
    return "\n".join(lines)


def _format_arguments(focus: Focus) -> str:
    """Return the arguments that differ from their defaults, as keywords."""
    given = [f"site={focus.site!r}"]
    for field in fields(Focus):
        value = getattr(focus, field.name)
        if field.name != "site" and value != field.default:
            given.append(f"{field.name}={value!r}")
    return ", ".join(given)
