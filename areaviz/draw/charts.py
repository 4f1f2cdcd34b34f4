"""Charts over many examples: distributions, training loss, lengths, and pairs of digits.

General charts come first. The charts of the page Models come after them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from numpy.typing import NDArray
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import escape, number_text, prepare_words_for_print, truncate
from areaviz.draw.theme import (
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
    make_legend,
    print_figure,
    screen_figure,
)
from areaviz.draw.view import Row, Table
from areaviz.trace.areas import FloatArray

# Figures that are not views of one trace: metrics over many examples, and training loss.


_HEIGHT, _SQUARE = 190.0, 360.0
"""Height in px of a bar chart, and of a plot with equal axes."""
_BINS = 30
_BESIDE = 0.05
"""Margin of an axis beyond the outermost points, as a share of their range."""
_CURVES = {"train_loss": ("Training", SECOND, "dot"), "valid_loss": ("Validation", ACCENT, "solid")}
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
    return figure.update_yaxes(title=escape(axes[1]), gridcolor=RULE, showgrid=True)


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


# Translation quality by sentence length, with and without attention, drawn from model cards.
#
# This is not a view of one trace. Each card has BLEU for the shortest, middle and longest third of
# a test set, with the bounds of a 95 % interval (see `areaviz/lab/tasks/translation.py`).


THIRDS = ("short", "middle", "long")
"""Suffixes of the card's metric keys, from the shortest sentences to the longest."""
LENGTH_TITLE = "Quality by the length of sentences"
_LENGTH_HEIGHT = 260.0
_STYLES = {True: (ACCENT, "solid", "circle"), False: (SECOND, "dot", "square")}
"""Colour, dash and marker of a line, by whether its model has attention."""


def with_and_without(task: str, cards: Sequence[Card]) -> Sequence[Card]:
    """Return the cards of a task that compare attention with no attention by sentence length.

    A card qualifies if its language pair has a model without attention and both have results by
    length. The model without attention comes last.

    Returns:
        The cards, or [] if there are fewer than two mechanisms to compare.
    """
    known = [card for card in cards if "bleu_short" in _get_metrics(task, card)]
    blind = {card.pair for card in known if card.mechanism == "none"}
    found = [card for card in known if card.pair in blind]
    found.sort(key=lambda card: card.mechanism == "none")
    return found if len({card.mechanism for card in found}) > 1 else []


def length_figure(task: str, cards: Sequence[Card]) -> Figure:
    """Draw BLEU against the mean source length of each third, one line per model.

    Error bars are 95 % intervals.
    """
    caption = " ".join(filter(None, (describe_gain(task, card) for card in cards)))
    drawing = Drawing(LENGTH_TITLE, "thirds of the test set; bars: 95 % of its resamples", caption)
    figure = screen_figure(drawing, _LENGTH_HEIGHT, above=24)
    for card in cards:
        figures = _get_metrics(task, card)
        middle = [figures[f"bleu_{third}"] for third in THIRDS]
        above = [figures[f"bleu_{third}_high"] - figures[f"bleu_{third}"] for third in THIRDS]
        below = [figures[f"bleu_{third}"] - figures[f"bleu_{third}_low"] for third in THIRDS]
        colour, dash, mark = _STYLES[card.mechanism != "none"]
        figure.add_trace(
            Scatter(
                x=[figures[f"words_{third}"] for third in THIRDS],
                y=middle,
                error_y={"type": "data", "array": above, "arrayminus": below, "thickness": 1.2},
                name=escape(card.title),
                mode="lines+markers",
                line={"color": colour, "dash": dash, "width": 2},
                marker={"symbol": mark, "size": 8},
                hovertemplate="%{x:.1f} words: BLEU %{y:.1f}<extra></extra>",
            )
        )
    figure.update_layout(showlegend=True, legend=make_legend(1, xanchor="left"))
    figure.update_xaxes(title_text="Words of a sentence to translate, mean")
    return figure.update_yaxes(title_text="BLEU", showgrid=True, gridcolor=RULE, rangemode="tozero")


def length_table(task: str, cards: Sequence[Card]) -> Table:
    """Tabulate one row per model and third."""
    rows: list[Row] = []
    for card in cards:
        figures = _get_metrics(task, card)
        for third in THIRDS:
            key = f"bleu_{third}"
            values = figures[f"words_{third}"], figures[key]
            ends = figures[f"{key}_low"], figures[f"{key}_high"]
            rows.append((card.title, third, *values, *ends))
    return Table(("model", "third", "words", "BLEU", "from", "to"), rows)


def describe_gain(task: str, card: Card) -> str:
    """Describe a model's gain over its baseline by sentence length, or return "" if unknown."""
    figures = _get_metrics(task, card)
    others = [key.removesuffix(", growth") for key in figures if key.endswith(", growth")]
    if not others:
        return ""
    key = others[0]
    name = key.removeprefix("over ")
    parts = "short", "long", "growth", "growth_low", "growth_high"
    short, long, growth, low, high = (
        number_text(figures[f"{key}, {part}"], "+.1f") for part in parts
    )
    return (
        f"Against {name}, {card.name} has {short} BLEU in the shortest third and {long} in the"
        f" longest; the difference of both is {growth}, in 95 % of the resamples {low} to {high}."
    )


def _get_metrics(task: str, card: Card) -> Mapping[str, Any]:
    """Return the test metrics of a card for its task."""
    return card.figures.get(TASKS[task].headline, {})


# Classifiers of digit pairs: the rows of the survey's Table 1, and our models for each row.


@dataclass(frozen=True, slots=True)
class PairReader:
    """One mechanism for reading two digits.

    Args:
        title: Name for users.
        family: Family of our networks, as in `Card.family`.
        published: Share of wrongly read pairs as the survey reports it, or None.
        options: Required entries of a network's config.
    """

    title: str
    family: str
    published: float | None
    options: Mapping[str, Any] = field(default_factory=dict)

    def error(self, cards: Iterable[Card]) -> float | None:
        """Return the lowest error of our models of this kind on held-out pairs, or None."""
        errors = []
        for card in cards:
            wanted = {"kind": "pairs", **self.options}.items()
            is_meant = card.family == self.family and wanted <= card.config.items()
            measured = card.figures.get(TASKS["digits"].headline, {}).get("error")
            if is_meant and measured is not None:
                errors.append(float(measured))
        return min(errors, default=None)


PAIR_READERS: Sequence[PairReader] = (
    PairReader("One layer of glimpses", "ram", 0.09),
    PairReader("Two layers, no coarse look", "dram", 0.07, {"context": False}),
    PairReader("Two layers after a coarse look", "dram", 0.05, {"context": True}),
    PairReader("Spatial transformer, look by look", "rnn-stn", None),
)
"""The rows of the table (Ba, Mnih and Kavukcuoglu 2015, as quoted by the survey), and one row of
ours.
"""


# Chart of errors on pairs of digits, of our models and of the survey's Table 1.


PAIRS_TITLE = "Pairs of digits, read one after the other"
PAIRS_CAPTION = (
    "The survey's figures are of Ba et al. (2015): pairs of MNIST in 100×100 pixels, as here, read"
    " by other networks. Ours are one run each, and do not tell what a second layer is worth: the"
    " one layer has patches as wide as the picture, and was told where the digits are in all of its"
    " updates, the others in their first ones. A reader without a bar has no model here."
)
_PAIRS_HEIGHT = 300.0


def has_pairs(cards: Sequence[Card]) -> bool:
    """Return whether any of our models was evaluated on pairs."""
    return any(reader.error(cards) is not None for reader in PAIR_READERS)


def pairs_figure(cards: Sequence[Card]) -> Figure:
    """Draw two bars per kind of model: the survey's share of wrongly read pairs, and ours."""
    figure = screen_figure(
        Drawing(PAIRS_TITLE, "pairs with any digit wrong", PAIRS_CAPTION), _PAIRS_HEIGHT, above=24
    )
    titles = [reader.title for reader in PAIR_READERS]
    reported = [reader.published for reader in PAIR_READERS]
    ours = [reader.error(cards) for reader in PAIR_READERS]
    for name, errors, colour in (("Survey", reported, SECOND), ("Ours", ours, ACCENT)):
        figure.add_trace(
            Bar(
                x=errors,
                y=titles,
                orientation="h",
                name=name,
                marker={"color": colour},
                text=[_format_percent(error) for error in errors],
                textposition="outside",
                cliponaxis=False,
                hovertemplate="%{y}: %{x:.1%}<extra></extra>",
            )
        )
    figure.update_layout(barmode="group", bargap=0.3, showlegend=True)
    figure.update_layout(legend=make_legend(1, xanchor="left"))
    figure.update_xaxes(title_text="Error", tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(showgrid=True, gridcolor=RULE)
    return figure.update_yaxes(autorange="reversed")


def pairs_table(cards: Sequence[Card]) -> Table:
    """Return a table with a row per kind of model: the survey's error and ours."""
    rows: list[Row] = []
    for reader in PAIR_READERS:
        rows.append(
            (reader.title, _format_percent(reader.published), _format_percent(reader.error(cards)))
        )
    return Table(("reader", "survey", "ours"), rows)


def _format_percent(error: float | None) -> str:
    return "–" if error is None else f"{error:.1%}"


# Bar chart of the change of a metric from one system to another, with a bar per example.


_CHANGE_HEIGHT, _CHANGE_FONT, _CHANGE_LABEL = 400, 14, 34
"""Height of the chart and font size in px, and maximum number of characters of a label."""
_CHANGE_LOWERED = 8
"""Distance in px from the marks of unchanged examples to the text below them."""


def change_bars(
    changes: Sequence[float], texts: Sequence[str], labels: Mapping[int, str], chosen: int
) -> Figure:
    """Draw the changes of all examples as bars. An example without a change is a dot.

    The `customdata` of a mark is the position of its example, from 0.

    Args:
        changes: the changes, in the order in which they are drawn.
        texts: the texts of the examples, shown on hover.
        labels: texts next to some of the bars, by position.
        chosen: the position of the outlined example.
    """
    figure = screen_figure(Drawing("", "", ""), _CHANGE_HEIGHT)
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
        text = escape(truncate(label, _CHANGE_LABEL))
        figure.add_annotation(
            x=place + 0.6,
            y=changes[place],
            text=f"<b>{text}</b>" if place == chosen else text,
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            font={"size": _CHANGE_FONT},
        )
    _say_change_counts(figure, changes)
    figure.update_layout(clickmode="event+select", dragmode=False, showlegend=False, bargap=0.25)
    figure.update_layout(height=_CHANGE_HEIGHT, margin={"l": 12, "r": 12, "t": 12, "b": 12})
    figure.update_xaxes(visible=False)
    return figure.update_yaxes(
        tickfont={"size": _CHANGE_FONT},
        gridcolor=RULE,
        showgrid=True,
        zeroline=True,
        zerolinecolor=EDGE,
    )


def _say_change_counts(figure: Figure, changes: Sequence[float]) -> None:
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
            yshift=-_CHANGE_LOWERED if is_still else 0,
            font={"size": _CHANGE_FONT},
        )
