"""A figure as the lines of Python that make it again from the downloaded trace."""

from __future__ import annotations

import re
from dataclasses import fields

from areaviz.drawing.export import Paper
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

LONGEST = 20
"""Letters of an item in a file's name."""


def file_stem(name: str, trace: Trace, focus: Focus) -> str:
    """What a figure's file is called: model, layer, head, the first item that is looked at, view.

    Such as "char-tiny-area_L1_M_pyramid"; what the figure does not choose is left out.
    """
    parts = [trace.request.model or "attention"]
    attention = trace.maps.get(focus.site)
    if attention is not None:
        parts.append(f"L{focus.layer + 1}")
        if focus.head is not None:
            parts.append(f"H{focus.head + 1}")
        field = trace.fields[attention.query if focus.side == "query" else attention.memory]
        if focus.items and focus.items[0] < len(field):
            parts.append(re.sub(r"\W+", "", field.labels[focus.items[0]])[:LONGEST])
    return "_".join(part for part in (*parts, name) if part)


def python_lines(name: str, trace: Trace, focus: Focus, paper: Paper, trace_file: str) -> str:
    """The lines that write a view's figure as a PDF, by public functions alone.

    Args:
        name: of the view.
        trace: that the figure is of.
        focus: what is looked at.
        paper: how large the figure is.
        trace_file: the name of the trace's file.
    """
    figure = f"{file_stem(name, trace, focus)}.pdf"
    lines = [
        "import areaviz",
        "",
        f"trace = areaviz.load({trace_file!r})",
        f"focus = areaviz.Focus({_arguments(focus)})",
    ]
    size = ""
    if paper != Paper():
        lines.append(f"paper = areaviz.Paper(width={paper.width!r}, letters={paper.letters!r})")
        size = ", paper=paper"
    lines.append(f"areaviz.export(trace, {figure!r}, focus=focus, view={name!r}{size})")
    return "\n".join(lines)


def _arguments(focus: Focus) -> str:
    """What differs from the defaults, as keywords."""
    given = [f"site={focus.site!r}"]
    for field in fields(Focus):
        value = getattr(focus, field.name)
        if field.name != "site" and value != field.default:
            given.append(f"{field.name}={value!r}")
    return ", ".join(given)
