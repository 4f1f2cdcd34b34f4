"""The glimpse path: where a model looked at a picture, glimpse after glimpse (Mnih et al. 2014,
figure 4).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from plotly.graph_objects import Figure, Scatter

from areaviz.drawing import gazes, stage, theme
from areaviz.drawing.base import Table, View, caption
from areaviz.drawing.labels import drawable, escape
from areaviz.drawing.pictures import CASING, Box, Pixels
from areaviz.trace.record import FloatArray, Gaze, Trace
from areaviz.trace.request import Focus

_TITLE = "Where the model looked, glimpse after glimpse"
_KEY_TITLE = "label after each glimpse"
_FAINT, _WIDER = 0.3, 0.55
"""Opacity of steps that are not focused, and of wider scales beside the finest."""
_ENTRY_PX = 92.0
_NEAR = 0.07
"""Numbers nearer to each other than this share of the picture would overlap."""
_TRAIL = "#FFFFFF"


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """places: float32 [Q, 2], where the numbers stand. box: what the figure shows, in pixels of the
    picture.
    """

    picture: Pixels
    gaze: Gaze
    chosen: tuple[int, ...]
    places: FloatArray
    box: Box
    answers: tuple[str, ...]
    note: str
    caption: str

    @property
    def order(self) -> list[int]:
        """The steps as they are drawn, the chosen ones last and so on top."""
        return sorted(range(len(self.answers)), key=lambda step: step in self.chosen)

    def opacity(self, step: int) -> float:
        """Chosen steps stand out."""
        return 1.0 if step in self.chosen else _FAINT

    def colour(self, step: int) -> str:
        """The colour of a step."""
        return gazes.step_colour(step, len(self.answers))

    def outlines(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Step, scale and closed outline [5, 2] of everything that was read, wide scales first."""
        for scale in reversed(range(self.gaze.corners.shape[1])):
            for step in self.order:
                yield step, scale, self.gaze.corners[step, scale, [0, 1, 2, 3, 0]]


def path(trace: Trace, focus: Focus) -> Path:
    """The places of a gaze, the focused steps standing out."""
    gaze, picture = trace.gazes[focus.site], gazes.picture_of(trace)
    wider = "; dotted: wider scales" if gaze.seen.shape[1] > 1 else ""
    note = (
        f"numbers: order of glimpses; boxes: their finest scale{wider}; key: the label after each"
    )
    box = gazes.view_box(picture, gaze.corners)
    answers = tuple(gazes.answer_text(trace, gaze, step) for step in range(len(gaze.seen)))
    places = number_places(gaze, _NEAR * max(box[2] - box[0], box[3] - box[1]))
    return Path(
        picture,
        gaze,
        gazes.chosen_steps(gaze, focus),
        places,
        box,
        answers,
        note,
        caption(trace, focus),
    )


def number_places(gaze: Gaze, near: float) -> FloatArray:
    """Each number at its glimpse's middle, or at a corner of its box where another one stands:
    float32 [Q, 2].
    """
    places: list[FloatArray] = []
    for step, middle in enumerate(gazes.centres(gaze)):
        options = [middle, *np.roll(gaze.corners[step, 0], -step, axis=0)]
        gaps = [
            min((float(np.hypot(*(option - other))) for other in places), default=near)
            for option in options
        ]
        places.append(
            next((option for option, gap in zip(options, gaps, strict=True) if gap >= near), middle)
        )
    return np.array(places, dtype=np.float32)


def figure(trace: Trace, focus: Focus) -> Figure:
    """The picture with the path on it; the label after each glimpse in the key below."""
    drawn = path(trace, focus)
    left, top, right, bottom = drawn.box
    height = float(np.clip(500 * (bottom - top) / (right - left), 180, 420))
    rows = 1 + len(drawn.answers) * _ENTRY_PX // theme.SCREEN_WIDTH
    result = theme.screen(_TITLE, drawn.note, drawn.caption, height, above=4, below=16 + 22 * rows)
    stage.axes(result, drawn.box)
    stage.lay(result, drawn.picture)
    for step, scale, outline in drawn.outlines():
        dash, width, share = ("dot", 1.2, _WIDER) if scale else ("solid", 2.2, 1.0)
        result.add_traces(
            stage.cased(outline, drawn.colour(step), width, share * drawn.opacity(step), dash)
        )
    result.add_traces(stage.cased(gazes.centres(drawn.gaze), _TRAIL, 1.4, 0.9))
    result.add_traces([*_middles(drawn), *(_number(drawn, step) for step in drawn.order)])
    key = {
        "orientation": "h",
        "x": 0,
        "y": 0,
        "yref": "container",
        "yanchor": "bottom",
        "itemclick": False,
    }
    key |= {"itemdoubleclick": False, "bgcolor": theme.CLEAR}
    return result.update_layout(showlegend=True, legend=key)


def _middles(drawn: Path) -> list[Scatter]:
    """A dot in the middle of every glimpse, which its number may have had to leave."""
    x, y = gazes.centres(drawn.gaze).T
    colours = [drawn.colour(step) for step in range(len(x))]
    marker = {"size": 7, "color": colours, "line": {"color": CASING, "width": 1}}
    return [Scatter(x=x, y=y, mode="markers", marker=marker, hoverinfo="skip", showlegend=False)]


def _number(drawn: Path, step: int) -> Scatter:
    colour, (x, y) = drawn.colour(step), drawn.places[step]
    middle = gazes.centres(drawn.gaze)[step]
    return Scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[str(step + 1)],
        name=f"{step + 1}: {escape(drawn.answers[step])}",
        legendrank=step + 1,
        opacity=max(drawn.opacity(step), 0.5),
        marker={"size": 19, "color": colour, "line": {"color": CASING, "width": 1.2}},
        textfont={"color": gazes.ink_on(colour), "size": 11, "weight": 600},
        hovertemplate=f"glimpse {step + 1} at {middle[0]:.0f}, {middle[1]:.0f} px<br>"
        f"then {escape(drawn.answers[step])}<extra></extra>",
    )


def table(trace: Trace, focus: Focus) -> Table:
    """One line a glimpse and scale: its middle and extent in pixels of the picture, and the label
    after it.
    """
    gaze = trace.gazes[focus.site]
    columns = (
        "glimpse",
        "scale",
        "middle x (px)",
        "middle y (px)",
        "width (px)",
        "height (px)",
        "label",
        "probability",
    )
    rows: list[tuple[str | int | float, ...]] = []
    for step, scale in np.ndindex(gaze.seen.shape[:2]):
        corners = gaze.corners[step, scale]
        sides = (float(np.hypot(*(corners[end] - corners[0]))) for end in (1, 3))
        label, likely = gazes.answer(trace, gaze, step)
        x, y = map(float, corners.mean(0))
        rows.append((step + 1, scale + 1, x, y, *sides, label, "" if likely is None else likely))
    return Table(columns, rows)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = path(trace, focus)
    left, top, right, bottom = drawn.box
    height = float(np.clip(5.2 * (bottom - top) / (right - left), 1.5, 4.2))
    result, axes = theme.paper(_TITLE, drawn.note, drawn.caption, height)
    stage.print_axes(axes, drawn.picture, drawn.box)
    for step, scale, outline in drawn.outlines():
        dash, width, share = (":", 0.9, _WIDER) if scale else ("-", 1.5, 1.0)
        stage.print_cased(
            axes, outline, drawn.colour(step), width, share * drawn.opacity(step), dash
        )
    stage.print_cased(axes, gazes.centres(drawn.gaze), _TRAIL, 1.0, 0.9)
    for step in drawn.order:
        x, y = drawn.places[step]
        colour = drawn.colour(step)
        mark = {
            "boxstyle": "circle,pad=0.25",
            "facecolor": colour,
            "edgecolor": CASING,
            "linewidth": 0.7,
        }
        shown: dict[str, Any] = {
            "ha": "center",
            "va": "center",
            "fontsize": 7,
            "fontweight": "bold",
            "color": gazes.ink_on(colour),
        }
        axes.text(
            float(x),
            float(y),
            str(step + 1),
            bbox=mark,
            alpha=max(drawn.opacity(step), 0.5),
            **shown,
        )
    place: dict[str, Any] = {
        "loc": "center left",
        "bbox_to_anchor": (1.02, 0.5),
        "frameon": False,
        "title_fontsize": theme.PRINT_FONT,
    }
    axes.legend(handles=_print_keys(drawn), fontsize=theme.PRINT_FONT, title=_KEY_TITLE, **place)
    return theme.finish(result)


def _print_keys(drawn: Path) -> list[Line2D]:
    style: dict[str, Any] = {
        "marker": "o",
        "markersize": 6,
        "markeredgecolor": CASING,
        "markeredgewidth": 0.6,
    }
    texts = [drawable(f"{step}: {answer}") for step, answer in enumerate(drawn.answers, 1)]
    return [
        Line2D([], [], ls="", color=drawn.colour(k), label=text, **style)
        for k, text in enumerate(texts)
    ]


VIEW = View(
    name="glimpses",
    title="Glimpse path",
    question="Where did the model look, and in what order?",
    fits=gazes.steps_fit,
    figure=figure,
    table=table,
    print=paper,
)
