"""The change of a metric from one system to another, one bar per example, the worst first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.drawing.labels import escape, truncate
from areaviz.drawing.theme import ACCENT, EDGE, RULE, SECOND, Drawing, screen_figure

_HEIGHT, _FONT, _LABEL = 360.0, 14, 34
"""Height of the chart and size of its text in px, and the longest label in characters."""


def change_bars(
    changes: Sequence[float],
    texts: Sequence[str],
    labels: Mapping[int, str],
    chosen: int,
) -> Figure:
    """Draw the changes of all examples as bars; an example without a change is a dot.

    The `customdata` of a mark is the position of its example, from 0.

    Args:
        changes: the changes, in the order in which they are drawn.
        texts: the texts of the examples, shown on hover.
        labels: texts beside some of the bars, by position.
        chosen: the position of the outlined example.
    """
    figure = screen_figure(Drawing("", "", ""), _HEIGHT)
    moved = [place for place, change in enumerate(changes) if change]
    still = [place for place, change in enumerate(changes) if not change]
    figure.add_trace(
        Bar(
            x=moved,
            y=[changes[place] for place in moved],
            customdata=moved,
            hovertext=[escape(texts[place]) for place in moved],
            hovertemplate="%{hovertext}<br>%{y:+.1f}<extra></extra>",
            marker={
                "color": [SECOND if changes[place] < 0 else ACCENT for place in moved],
                "opacity": [1.0 if place == chosen else 0.7 for place in moved],
                "line": {"color": EDGE, "width": [3 if place == chosen else 0 for place in moved]},
            },
        )
    )
    figure.add_trace(
        Scatter(
            x=still,
            y=[0] * len(still),
            customdata=still,
            hovertext=[escape(texts[place]) for place in still],
            hovertemplate="%{hovertext}<br>no change<extra></extra>",
            mode="markers",
            marker={"color": EDGE, "size": [12 if place == chosen else 8 for place in still]},
        )
    )
    for place, label in labels.items():
        figure.add_annotation(
            x=place + 0.6,
            y=changes[place],
            text=escape(truncate(label, _LABEL)),
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": _FONT},
        )
    figure.update_layout(clickmode="event+select", dragmode=False, showlegend=False, bargap=0.25)
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(
        tickfont={"size": _FONT}, gridcolor=RULE, showgrid=True, zeroline=True, zerolinecolor=EDGE
    )
