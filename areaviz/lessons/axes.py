"""What the teaching page's charts with axes share: a legend on top, fixed ranges, units on the
axes.
"""

from __future__ import annotations

from typing import Any

from areaviz.lessons.board import base_layout


def axes_layout(height: float, x_title: str, y_title: str, legend_rows: int = 1) -> dict[str, Any]:
    """Layout of a chart with axes; `legend_rows` is how many lines its legend needs where it is
    narrow.
    """
    legend = {
        "orientation": "h",
        "x": 0,
        "y": 1,
        "xanchor": "left",
        "yanchor": "bottom",
        "itemclick": False,
    }
    return base_layout(height) | {
        "margin": {"l": 56, "r": 8, "t": 6 + 24 * legend_rows, "b": 46},
        "showlegend": True,
        "legend": legend | {"itemdoubleclick": False, "title": {"text": ""}},
        "xaxis": {"fixedrange": True, "zeroline": False, "title": {"text": x_title}},
        "yaxis": {"fixedrange": True, "zeroline": False, "title": {"text": y_title}},
    }


def dots(x: Any, y: Any, name: str, colour: str, size: float, opacity: float = 1) -> dict[str, Any]:
    """Points that tell their numbers under the pointer."""
    marker = {"color": colour, "size": size, "opacity": opacity}
    hover = f"{name}: (%{{x:.3g}}, %{{y:.3g}})<extra></extra>"
    return {
        "type": "scatter",
        "mode": "markers",
        "x": x,
        "y": y,
        "name": name,
        "marker": marker,
    } | {"hovertemplate": hover}
