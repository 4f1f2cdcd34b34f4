"""The ribbon on paper: the chosen queries, and under the memory every head's spans (matplotlib, for SVG, PDF, PNG)."""

from __future__ import annotations

from matplotlib.figure import Figure

from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


def ribbon_print(trace: Trace, focus: Focus) -> Figure:
    raise NotImplementedError
