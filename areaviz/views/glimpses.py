"""Glimpse path: where a model looked, glimpse after glimpse (Mnih et al. 2014, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing.axes import legend
from areaviz.drawing.base import Table, figure_caption, view
from areaviz.drawing.gazes import (
    Answer,
    centres,
    chosen_steps,
    fits_glimpses,
    ink_on,
    picture_of,
    step_answers,
    step_colour,
    view_box,
)
from areaviz.drawing.labels import drawable, escape
from areaviz.drawing.pictures import CASING, Box, Pixels
from areaviz.drawing.stage import add_picture, cased, picture_axes, print_cased, print_picture
from areaviz.drawing.theme import (
    CLEAR,
    PRINT_FONT,
    SCREEN_FONT,
    SCREEN_WIDTH,
    Drawing,
    print_figure,
    screen_figure,
)
from areaviz.trace.record import FloatArray, Gaze, Trace
from areaviz.trace.request import Focus

# Opacity of steps that are not focused, and of scales wider than the finest.
_FAINT, _WIDER = 0.3, 0.55
_TRAIL = "#FFFFFF"


@dataclass(frozen=True, slots=True, eq=False)
class Path(Drawing):
    """The glimpses of a gaze, with the focused steps highlighted."""

    picture: Pixels
    gaze: Gaze
    # The focused steps, or all steps if none is focused.
    chosen: tuple[int, ...]
    # Position of each step's number: float32 [Q, 2].
    places: FloatArray
    # The visible part of the picture, in pixels of the picture.
    box: Box
    answers: tuple[Answer, ...]

    @property
    def order(self) -> list[int]:
        """The steps in drawing order: focused steps are last, on top."""
        return sorted(range(len(self.answers)), key=lambda step: step in self.chosen)

    def opacity(self, step: int, scale: int = 0) -> float:
        """Return the opacity of a step's box; focused steps and the finest scale are strongest."""
        opacity = 1.0 if step in self.chosen else _FAINT
        return _WIDER * opacity if scale else opacity

    def colour(self, step: int) -> str:
        """Return the colour of a step."""
        return step_colour(step, len(self.answers))

    def outlines(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield the step, scale and closed outline [5, 2] of everything read, wide scales first."""
        for scale in reversed(range(self.gaze.corners.shape[1])):
            for step in self.order:
                yield step, scale, self.gaze.corners[step, scale, [0, 1, 2, 3, 0]]


def path(trace: Trace, focus: Focus) -> Path:
    """Find the glimpses of a gaze and the position of their numbers."""
    gaze, picture = trace.gazes[focus.site], picture_of(trace)
    wider = "; dotted: wider scales" if gaze.seen.shape[1] > 1 else ""
    box = view_box(picture, gaze.corners)
    left, top, right, bottom = box
    return Path(
        title="Where the model looked, glimpse after glimpse",
        note=(
            f"numbers: order of glimpses; boxes: their finest scale{wider}; key: the label after"
            " each"
        ),
        caption=figure_caption(trace, focus),
        picture=picture,
        gaze=gaze,
        chosen=chosen_steps(gaze, focus),
        # Numbers that are closer than this would overlap.
        places=number_places(gaze, 0.07 * max(right - left, bottom - top)),
        box=box,
        answers=step_answers(trace, gaze),
    )


def number_places(gaze: Gaze, near: float) -> FloatArray:
    """Place the number of each glimpse: float32 [Q, 2].

    The number is at the centre of its glimpse, or at a corner of its box if another number is
    within `near` px of the centre.
    """
    places: list[FloatArray] = []
    for step, middle in enumerate(centres(gaze)):
        place = middle
        for option in (middle, *np.roll(gaze.corners[step, 0], -step, axis=0)):
            if all(np.hypot(*(option - other)) >= near for other in places):
                place = option
                break
        places.append(place)
    return np.array(places, dtype=np.float32)


def figure(drawn: Path) -> Figure:
    """Draw the path on the picture; the key below lists the label after each glimpse."""
    left, top, right, bottom = drawn.box
    height = float(np.clip(500 * (bottom - top) / (right - left), 180, 420))
    # An entry of the key is about 92 px wide.
    rows = 1 + len(drawn.answers) * 92.0 // SCREEN_WIDTH
    result = screen_figure(drawn, height, above=4, below=16 + 22 * rows)
    picture_axes(result, drawn.box)
    add_picture(result, drawn.picture)
    for step, scale, outline in drawn.outlines():
        dash, width = ("dot", 1.2) if scale else ("solid", 2.2)
        colour, opacity = drawn.colour(step), drawn.opacity(step, scale)
        result.add_traces(cased(outline, colour, width, opacity, dash))
    middles = centres(drawn.gaze)
    result.add_traces(cased(middles, _TRAIL, 1.4, 0.9))
    # Keep a dot at the centre of every glimpse, because its number may be at a corner.
    colours = [drawn.colour(step) for step in range(len(middles))]
    x, y = middles.T
    result.add_trace(
        Scatter(
            x=x,
            y=y,
            mode="markers",
            marker_size=7,
            marker_color=colours,
            marker_line_color=CASING,
            marker_line_width=1,
            hoverinfo="skip",
            showlegend=False,
        )
    )
    result.add_traces([_number(drawn, step, *middles[step]) for step in drawn.order])
    key = legend(
        0,
        itemclick=False,
        itemdoubleclick=False,
        bgcolor=CLEAR,
    )
    return result.update_layout(showlegend=True, legend=key)


def _number(
    drawn: Path,
    step: int,
    middle_x: float,
    middle_y: float,
) -> Scatter:
    colour, (x, y) = drawn.colour(step), drawn.places[step]
    number, answer = step + 1, escape(drawn.answers[step].text)
    return Scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[str(number)],
        name=f"{number}: {answer}",
        legendrank=number,
        opacity=max(drawn.opacity(step), 0.5),
        marker_size=19,
        marker_color=colour,
        marker_line_color=CASING,
        marker_line_width=1.2,
        textfont_color=ink_on(colour),
        textfont_size=SCREEN_FONT,
        textfont_weight=600,
        hovertemplate=(
            f"glimpse {number} at {middle_x:.0f}, {middle_y:.0f} px<br>then {answer}<extra></extra>"
        ),
    )


def paper(drawn: Path) -> PrintFigure:
    """Draw the figure for print."""
    left, top, right, bottom = drawn.box
    height = float(np.clip(5.2 * (bottom - top) / (right - left), 1.5, 4.2))
    result, axes = print_figure(drawn, height)
    print_picture(axes, drawn.picture, drawn.box)
    for step, scale, outline in drawn.outlines():
        dash, width = (":", 0.9) if scale else ("-", 1.5)
        colour, opacity = drawn.colour(step), drawn.opacity(step, scale)
        print_cased(
            axes,
            outline,
            colour,
            width,
            opacity,
            dash,
        )
    print_cased(
        axes,
        centres(drawn.gaze),
        _TRAIL,
        1.0,
        0.9,
    )
    for step in drawn.order:
        x, y = drawn.places[step].tolist()
        colour = drawn.colour(step)
        axes.text(
            x,
            y,
            str(step + 1),
            ha="center",
            va="center",
            fontsize=7,
            fontweight="bold",
            color=ink_on(colour),
            alpha=max(drawn.opacity(step), 0.5),
            bbox={
                "boxstyle": "circle,pad=0.25",
                "facecolor": colour,
                "edgecolor": CASING,
                "linewidth": 0.7,
            },
        )
    axes.legend(
        handles=list(_print_keys(drawn)),
        fontsize=PRINT_FONT,
        title="label after each glimpse",
        title_fontsize=PRINT_FONT,
        loc="center left",
        bbox_to_anchor=(1.02, 0.5),
        frameon=False,
    )
    return result


def _print_keys(drawn: Path) -> Iterator[Line2D]:
    for step, answer in enumerate(drawn.answers):
        yield Line2D(
            [],
            [],
            linestyle="",
            color=drawn.colour(step),
            label=drawable(f"{step + 1}: {answer.text}"),
            marker="o",
            markersize=6,
            markeredgecolor=CASING,
            markeredgewidth=0.6,
        )


def table(drawn: Path) -> Table:
    """Tabulate one row per glimpse and scale: its place in the picture, and the label after it."""
    rows = []
    for step, answer in enumerate(drawn.answers):
        likely = "" if answer.probability is None else answer.probability
        for scale, corners in enumerate(drawn.gaze.corners[step], 1):
            first, right, _, down = corners
            width, height = float(np.hypot(*(right - first))), float(np.hypot(*(down - first)))
            middle = corners.mean(0).tolist()
            rows.append((step + 1, scale, *middle, width, height, answer.label, likely))
    sizes = ("middle x (px)", "middle y (px)", "width (px)", "height (px)")
    return Table(("glimpse", "scale", *sizes, "label", "probability"), rows)


VIEW = view(
    "glimpses",
    "Glimpse path",
    "Where did the model look, and in what order?",
    fits_glimpses,
    path,
    figure,
    table,
    paper,
    how_to_read=(
        "Boxes show what each glimpse covered, numbered in order. Small boxes are read at"
        " full resolution, large ones at low resolution."
    ),
)
