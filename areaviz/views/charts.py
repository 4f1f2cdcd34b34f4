"""Figures that are not views of one trace: metrics over many examples, and training loss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from numpy.typing import NDArray
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.cards.card import Card
from areaviz.drawing.axes import make_legend
from areaviz.drawing.base import Table
from areaviz.drawing.labels import escape, prepare_words_for_print
from areaviz.drawing.theme import (
    ACCENT,
    EDGE,
    PRINT_EDGE,
    PRINT_FONT,
    PRINT_RULE,
    RULE,
    SECOND,
    Drawing,
    Layout,
    finish_figure,
    get_head_colour,
    print_figure,
    screen_figure,
)
from areaviz.trace.areas import FloatArray

_HEIGHT, _SQUARE = 190.0, 360.0
"""Height in px of a bar chart, and of a plot with equal axes."""
_BINS = 30
_BESIDE = 0.05
"""Margin of an axis beyond the outermost points, as a share of their range."""
_CURVES = {
    "train_loss": ("Training", SECOND, "dot"),
    "valid_loss": ("Validation", ACCENT, "solid"),
}
"""Name, colour and dash of each loss curve. Readers who do not see the colours see the dashes."""


OTHER = "other or no value"
"""Name of the grey group for examples that are in no other group."""
_OTHER_COLOUR, _KEY_HEIGHT = 7, 24
"""Index of grey among the colours, and height in px of the key above a plot."""
Groups = Mapping[str, NDArray[np.bool_]]
NO_GROUPS: Groups = {}


def _make_marker(number: int) -> Layout:
    return {"color": get_head_colour(number), "line": {"width": 0.5, "color": EDGE}}


def _group_marker(number: int, name: str) -> Layout:
    return _make_marker(_OTHER_COLOUR if name == OTHER else number)


def draw_histogram(
    values: FloatArray, title: str, note: str = "", groups: Groups = NO_GROUPS
) -> Figure:
    """Draw the number of examples in each of 30 ranges of values. NaN is left out.

    The `customdata` of a bar is its number. When a user clicks a bar, `compute_bin_edges` gives the
    range of values for this number.

    Args:
        values: value of each example. NaN means no value.
        title: title of the figure.
        note: text below the title.
        groups: masks of the examples of each colour, or {} for a single colour.
    """
    edges = compute_bin_edges(values)
    figure = screen_figure(Drawing(title, note, ""), _HEIGHT, above=_KEY_HEIGHT if groups else 0)
    tallest = 0
    for number, (name, is_in) in enumerate((groups or _make_single_group(values)).items()):
        counts, _ = np.histogram(values[is_in & np.isfinite(values)], edges)
        tallest += int(counts.max(initial=0))
        about = f"<br>{escape(name)}" if groups else ""
        figure.add_trace(
            Bar(
                x=((edges[:-1] + edges[1:]) / 2).tolist(),
                y=counts.tolist(),
                width=float(edges[1] - edges[0]),
                customdata=list(range(len(counts))),
                name=escape(name),
                hovertemplate=f"%{{y}} examples{about}<extra></extra>",
                marker=_group_marker(number, name) | {"opacity": 0.75},
            )
        )
    figure.update_layout(dragmode="select", selectdirection="h", bargap=0, barmode="stack")
    _show_key(figure, bool(groups))
    figure.update_xaxes(range=[float(edges[0]), float(edges[-1])])
    # Prevent axis ticks at half an example when counts are small.
    step = 1 if tallest < 6 else None
    return figure.update_yaxes(title="Examples", gridcolor=RULE, rangemode="tozero", dtick=step)


def compute_bin_edges(values: FloatArray) -> NDArray[np.float64]:
    """Return the rising bin edges of `draw_histogram`. The last bin includes its upper edge."""
    known = values[np.isfinite(values)].astype(np.float64)
    return np.linspace(*_get_range(known), _BINS + 1)


def _get_range(known: NDArray[np.float64]) -> tuple[float, float]:
    """Return the range of the axis for the given values.

    The range goes from the smallest to the largest value. If all values are equal, it goes from 0
    to 1, extended to include the value.
    """
    if not len(known):
        return 0.0, 1.0
    low, high = float(known.min()), float(known.max())
    return (low, high) if low < high else (min(0.0, low), max(1.0, high))


def draw_scatter(
    x: FloatArray,
    y: FloatArray,
    names: Sequence[str],
    titles: tuple[str, str],
    title: str,
    diagonal: bool = False,
    groups: Groups = NO_GROUPS,
) -> Figure:
    """Draw one point per example.

    The `customdata` of a point is the index of its example, so a selection of points gives
    examples.

    Args:
        x: value of each example. NaN means no value.
        y: second value of each example. NaN means no value.
        names: names of the examples.
        titles: titles of the x axis and the y axis.
        title: title of the figure.
        diagonal: whether to draw the line of equality, because both axes show the same metric.
        groups: masks of the examples of each colour, or {} for a single colour.
    """
    places = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    note = "drag to keep examples, click a point to open its example, double-click to show all"
    figure = screen_figure(Drawing(title, note, ""), _SQUARE, above=_KEY_HEIGHT if groups else 0)
    if diagonal and len(places):
        both = np.concatenate([x[places], y[places]])
        ends = [float(both.min()), float(both.max())]
        figure.add_trace(Scatter(x=ends, y=ends, mode="lines", line={"color": EDGE, "dash": "dot"}))
        figure.data[0].hoverinfo, figure.data[0].showlegend = "skip", False
    for number, (name, is_in) in enumerate((groups or _make_single_group(x)).items()):
        inside = places[is_in[places]]
        about = f"<br>{escape(name)}" if groups else ""
        figure.add_trace(
            Scatter(
                x=x[inside],
                y=y[inside],
                mode="markers",
                name=escape(name),
                # Use a list, because the browser would return each index of an array as an object.
                customdata=inside.tolist(),
                text=[escape(names[place]) for place in inside.tolist()],
                hovertemplate=f"%{{text}}<br>%{{x:.3g}}, %{{y:.3g}}{about}<extra></extra>",
                marker=_group_marker(number, name) | {"size": 8, "opacity": 0.7},
            )
        )
    figure.update_layout(dragmode="select")
    _show_key(figure, bool(groups))
    figure.update_xaxes(title=escape(titles[0]), gridcolor=RULE, showgrid=True)
    figure.update_yaxes(title=escape(titles[1]), gridcolor=RULE, showgrid=True)
    for update, values in ((figure.update_xaxes, x[places]), (figure.update_yaxes, y[places])):
        if len(places) and values.min() == values.max():
            low, high = _get_range(values.astype(np.float64))
            beside = _BESIDE * (high - low)
            update(range=[low - beside, high + beside])
    return figure


def _make_single_group(values: FloatArray) -> Groups:
    """Return all examples as one group."""
    return {"": np.ones(len(values), np.bool_)}


def _show_key(figure: Figure, is_shown: bool) -> None:
    """Show or hide the key of group colours above a plot."""
    figure.update_layout(showlegend=is_shown, legend=make_legend(1, xanchor="left"))


def draw_bars(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> Figure:
    """Draw one group of bars per bucket, with one colour per model.

    The `customdata` of a bar is the number of its bucket, from 0.

    Args:
        names: names of the buckets.
        values: for each model one value per bucket. NaN means no value.
        axes: titles of the x axis and the y axis.
        title: title of the figure.
    """
    several = len(values) > 1
    figure = screen_figure(Drawing(title, "", ""), _HEIGHT, above=24 if several else 0)
    for number, (model, heights) in enumerate(values.items()):
        figure.add_trace(
            Bar(
                x=[escape(name) for name in names],
                y=list(heights),
                customdata=list(range(len(names))),
                name=escape(model),
                marker=_make_marker(number),
                hovertemplate=f"{escape(model)}<br>%{{x}}: %{{y:.3g}}<extra></extra>",
            )
        )
    key = make_legend(1, xanchor="left")
    figure.update_layout(
        clickmode="event+select",
        dragmode=False,
        barmode="group",
        bargap=0.25,
        showlegend=several,
        legend=key,
    )
    figure.update_xaxes(title=escape(axes[0]), type="category")
    return figure.update_yaxes(
        title=escape(axes[1]),
        gridcolor=RULE,
        showgrid=True,
    )


def draw_bars_for_print(
    names: Sequence[str], values: Mapping[str, Sequence[float]], axes: tuple[str, str], title: str
) -> PrintFigure:
    """Draw the bar chart of `draw_bars` for print. A value NaN has no bar."""
    result, plot = print_figure(Drawing(title, "", ""), 1.7)
    width = 0.75 / len(values)
    for number, (model, heights) in enumerate(values.items()):
        places = np.arange(len(names)) + (number - (len(values) - 1) / 2) * width
        plot.bar(
            places,
            np.nan_to_num(np.asarray(heights, float)),
            width,
            label=prepare_words_for_print(model),
            color=get_head_colour(number),
            edgecolor=PRINT_EDGE,
            linewidth=0.4,
        )
    plot.set_xticks(range(len(names)), [prepare_words_for_print(name) for name in names])
    plot.set_xlabel(prepare_words_for_print(axes[0]), fontsize=PRINT_FONT)
    plot.set_ylabel(prepare_words_for_print(axes[1]), fontsize=PRINT_FONT)
    plot.grid(axis="y", color=PRINT_RULE, linewidth=0.5)
    plot.set_axisbelow(True)
    if len(values) > 1:
        plot.legend(
            loc="lower left",
            bbox_to_anchor=(0, 1),
            ncols=2,
            frameon=False,
            fontsize=PRINT_FONT,
            borderpad=0,
        )
    return finish_figure(result)


_LEGIBLE = 14
"""Font size in px of a chart at the top of a page, which must be easy to read."""


def history_figure(card: Card) -> Figure:
    """Draw the loss in nats per item against training steps.

    Losses that the card does not have are left out.
    """
    figure = screen_figure(
        Drawing("Loss during training", "", f"Loss of {card.name} at every validation"), 220
    )
    for measure, (name, colour, dash) in _CURVES.items():
        entries = [entry for entry in card.history if "step" in entry and measure in entry]
        if entries:
            figure.add_trace(
                Scatter(
                    x=[entry["step"] for entry in entries],
                    y=[entry[measure] for entry in entries],
                    name=name,
                    mode="lines+markers",
                    line_color=colour,
                    line_dash=dash,
                    line_width=2,
                    marker_size=4,
                )
            )
    figure.update_layout(hovermode="x unified", showlegend=True, legend_font_size=_LEGIBLE)
    for update in (figure.update_xaxes, figure.update_yaxes):
        update(tickfont_size=_LEGIBLE, title_font_size=_LEGIBLE)
    figure.update_layout(title_font_size=_LEGIBLE)
    figure.update_xaxes(title_text="Training step", rangemode="tozero")
    return figure.update_yaxes(
        title_text="Loss (nats per item)", showgrid=True, gridcolor=RULE, hoverformat=".3f"
    )


def history_table(card: Card) -> Table:
    """Return a table with a row per validation and a column for every value in the history."""
    columns = tuple(dict.fromkeys(name for entry in card.history for name in entry))
    rows = [tuple(entry.get(name, float("nan")) for name in columns) for entry in card.history]
    return Table(columns, rows)
