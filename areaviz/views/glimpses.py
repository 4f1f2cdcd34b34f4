"""View of the glimpses of a model, in their order (Mnih et al. 2014, Fig. 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from areaviz.draw.marks import Dash, Key, Mark, Pair, Panel, Plot, Points, Stroke
from areaviz.draw.pictures import CASING, Box, Pixels
from areaviz.draw.theme import SCREEN_WIDTH, Drawing
from areaviz.draw.tiles import draw_cased_line, make_picture_marks, make_stage_axes
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.drawing.gaze_steps import (
    Answer,
    choose_ink,
    choose_steps,
    compute_centres,
    compute_view_box,
    fits_glimpses,
    get_picture,
    get_step_colour,
    list_step_answers,
)
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus

# Opacity of steps that are not focused, and of scales wider than the finest.
_FAINT, _WIDER = 0.3, 0.55
_TRAIL = "#FFFFFF"
_LINES: tuple[tuple[Pair, Dash], ...] = (((2.2, 1.5), "solid"), ((1.2, 0.9), "dot"))
"""Width and dash of the box of the finest scale, and of wider scales."""


@dataclass(frozen=True, slots=True, eq=False)
class GlimpsePath(Drawing):
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
        """The steps in drawing order. Focused steps are last and drawn over the others."""
        return sorted(range(len(self.answers)), key=lambda step: step in self.chosen)

    def opacity(self, step: int, scale: int = 0) -> float:
        """Return the opacity of a step's box. Focused steps and the finest scale are strongest."""
        opacity = 1.0 if step in self.chosen else _FAINT
        return _WIDER * opacity if scale else opacity

    def colour(self, step: int) -> str:
        """Return the colour of a step."""
        return get_step_colour(step, len(self.answers))

    def iterate_outlines(self) -> Iterator[tuple[int, int, FloatArray]]:
        """Yield step, scale and closed outline [5, 2] of each patch, the widest scale first."""
        for scale in reversed(range(self.gaze.corners.shape[1])):
            for step in self.order:
                yield step, scale, self.gaze.corners[step, scale, [0, 1, 2, 3, 0]]


def find_path(trace: Trace, focus: Focus) -> GlimpsePath:
    """Find the glimpses of a gaze and the position of their numbers."""
    gaze, picture = trace.gazes[focus.site], get_picture(trace)
    wider = "; dotted: wider scales" if gaze.seen.shape[1] > 1 else ""
    box = compute_view_box(picture, gaze.corners)
    left, top, right, bottom = box
    return GlimpsePath(
        title="Where the model looked, glimpse after glimpse",
        note=(
            f"numbers: order of glimpses; boxes: their finest scale{wider}; key: the label after"
            " each"
        ),
        caption=figure_caption(trace, focus),
        picture=picture,
        gaze=gaze,
        chosen=choose_steps(gaze, focus),
        # Numbers that are closer than this would overlap.
        places=number_places(gaze, 0.07 * max(right - left, bottom - top)),
        box=box,
        answers=list_step_answers(trace, gaze),
    )


def number_places(gaze: Gaze, near: float) -> FloatArray:
    """Return the position of each glimpse's number: float32 [Q, 2].

    The number is at the centre of its glimpse, or at a corner of its box if another number is
    within `near` px of the centre.
    """
    places: list[FloatArray] = []
    for step, middle in enumerate(compute_centres(gaze)):
        place = middle
        for option in (middle, *np.roll(gaze.corners[step, 0], -step, axis=0)):
            if all(np.hypot(*(option - other)) >= near for other in places):
                place = option
                break
        places.append(place)
    return np.array(places, dtype=np.float32)


def plot(drawn: GlimpsePath) -> Plot:
    """Draw the path on the picture. The key lists the label after each glimpse."""
    left, top, right, bottom = drawn.box
    share = (bottom - top) / (right - left)
    # An entry of the key is about 92 px wide.
    rows = 1 + len(drawn.answers) * 92.0 // SCREEN_WIDTH
    across, down = make_stage_axes(drawn.box)
    return Plot(
        drawing=drawn,
        panels=[Panel(marks=list(_make_marks(drawn)), across=across, down=down, is_square=True)],
        height=(float(np.clip(500 * share, 180, 420)), float(np.clip(5.2 * share, 1.5, 4.2))),
        above=4,
        below=16 + 22 * rows,
        key=Key("right", "label after each glimpse"),
    )


def _make_marks(drawn: GlimpsePath) -> Iterator[Mark]:
    yield from make_picture_marks(drawn.picture)
    for step, scale, outline in drawn.iterate_outlines():
        width, dash = _LINES[scale > 0]
        yield draw_cased_line(
            outline,
            drawn.colour(step),
            width,
            drawn.opacity(step, scale),
            dash,
        )
    middles = compute_centres(drawn.gaze)
    yield draw_cased_line(middles, _TRAIL, (1.4, 1.0), 0.9)
    # Keep a dot at the centre of every glimpse on screen, because its number may be at a corner.
    colours = [drawn.colour(step) for step in range(len(middles))]
    x, y = middles.T
    yield Points(
        x,
        y,
        (7, 0),
        colours,
        Stroke(CASING, (1, 0)),
    )
    for step in drawn.order:
        yield _make_number(drawn, step, *middles[step])


def _make_number(
    drawn: GlimpsePath,
    step: int,
    middle_x: float,
    middle_y: float,
) -> Points:
    colour, (x, y) = drawn.colour(step), drawn.places[step].tolist()
    number, answer = step + 1, drawn.answers[step].text
    hover = f"glimpse {number} at {middle_x:.0f}, {middle_y:.0f} px\nthen {answer}"
    return Points(
        [x],
        [y],
        (19, 12),
        colour,
        Stroke(CASING, (1.2, 0.7)),
        texts=[str(number)],
        text_colour=choose_ink(colour),
        opacity=max(drawn.opacity(step), 0.5),
        hovers=[hover],
        name=f"{number}: {answer}",
        rank=number,
    )


def tabulate(drawn: GlimpsePath) -> Table:
    """Return a table with a row per glimpse and scale: its place, and the label after it."""
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


VIEW = view_of_marks(
    "glimpses",
    "Glimpse path",
    "Where did the model look, and in what order?",
    fits_glimpses,
    find_path,
    plot,
    tabulate,
    how_to_read=(
        "Boxes show what each glimpse covered, numbered in order. Small boxes are read at"
        " full resolution, large ones at low resolution."
    ),
)
