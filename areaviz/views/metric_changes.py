"""Bar chart of the change of a metric from one system to another, with a bar per example."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.draw.labels import escape, truncate
from areaviz.draw.theme import ACCENT, EDGE, RULE, SECOND, Drawing, screen_figure

_HEIGHT, _FONT, _LABEL = 400, 14, 34
"""Height of the chart and font size in px, and maximum number of characters of a label."""
_LOWERED = 8
"""Distance in px from the marks of unchanged examples to the text below them."""


def change_bars(
    changes: Sequence[float],
    texts: Sequence[str],
    labels: Mapping[int, str],
    chosen: int,
) -> Figure:
    """Draw the changes of all examples as bars. An example without a change is a dot.

    The `customdata` of a mark is the position of its example, from 0.

    Args:
        changes: the changes, in the order in which they are drawn.
        texts: the texts of the examples, shown on hover.
        labels: texts next to some of the bars, by position.
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
                "cornerradius": 4,
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
        text = escape(truncate(label, _LABEL))
        figure.add_annotation(
            x=place + 0.6,
            y=changes[place],
            text=f"<b>{text}</b>" if place == chosen else text,
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": _FONT},
        )
    _say_counts(figure, changes)
    figure.update_layout(clickmode="event+select", dragmode=False, showlegend=False, bargap=0.25)
    figure.update_layout(height=_HEIGHT, margin={"l": 12, "r": 12, "t": 12, "b": 12})
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(
        tickfont={"size": _FONT}, gridcolor=RULE, showgrid=True, zeroline=True, zerolinecolor=EDGE
    )


def _say_counts(figure: Figure, changes: Sequence[float]) -> None:
    """Write the number of unchanged examples below their marks, and the number of better ones."""
    still = [place for place, change in enumerate(changes) if not change]
    better = [place for place, change in enumerate(changes) if change > 0]
    for places, word, side in ((still, "the same", "center"), (better, "better", "right")):
        if not places:
            continue
        is_still = side == "center"
        figure.add_annotation(
            x=(places[0] + places[-1]) / 2 if is_still else places[0] - 0.6,
            y=0 if is_still else changes[places[0]],
            text=f"{len(places)} {word}" if is_still else f"<b>{len(places)} {word}</b>",
            showarrow=False,
            xanchor=side,
            yanchor="top" if is_still else "middle",
            yshift=-_LOWERED if is_still else 0,
            font={"size": _FONT},
        )
