"""Looks at a picture: the steps of a gaze, their drawing, and the data for the component."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from areaviz.draw.labels import show_invisibles
from areaviz.draw.pictures import (
    CASING,
    Box,
    Pixels,
    draw_boxes,
    scale_box,
    shrink_to_fit,
    to_data_uri,
)
from areaviz.draw.select import CANVAS, has_items
from areaviz.draw.theme import HEAD_COLOURS, colour_at
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import map_of
from areaviz.trace.record import AttentionMap, Gaze, Trace
from areaviz.trace.request import Focus
from areaviz.views.film.film import DIM_BRIGHTNESS, find_brightest, get_area_box, interpolate_shares
from areaviz.views.message import serialise_message

# Selection of the steps of a gaze, which are places of a picture that were read in sequence.
#
# Shapes: Q steps, K scales, S side of a patch.


GLIMPSES, TRANSFORMER = "glimpses", "transformer"
# Sites of a model that first sees a coarse overview of the picture: the overview, and the glimpses
# of a run without it.
CONTEXT, WITHOUT = "context", "without context"
# Position of the first step's colour on the colour scale. Darker colours are hard to see on black.
_DARKEST = 0.4


def has_gaze(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on a gaze that read patches of a picture in the request."""
    gaze = trace.gazes.get(focus.site)
    return gaze is not None and gaze.seen.size > 0 and trace.request.picture is not None


def fits_glimpses(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on the glimpses of a trace, and its items are existing steps."""
    return _fits(trace, focus, GLIMPSES) and has_items(focus, len(trace.gazes[GLIMPSES].seen))


def fits_transformer(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on a spatial transformer, and its items are output pixels."""
    if not _fits(trace, focus, TRANSFORMER):
        return False
    return has_items(focus, trace.gazes[TRANSFORMER].seen[:, 0].size)


def _fits(trace: Trace, focus: Focus, site: str) -> bool:
    return focus.site == site and focus.side == "query" and has_gaze(trace, focus)


def get_picture(trace: Trace) -> Pixels:
    """Return the request's picture: uint8 [H, W, 3]."""
    assert trace.request.picture is not None
    return trace.request.picture.pixels


def get_source(trace: Trace, corners_42: FloatArray) -> tuple[Pixels, FloatArray]:
    """Return the network's input, and corners of the picture in pixels of that input.

    The input may be a reduced, grey, or inverted version of the picture. If the trace does not
    contain the input, the picture and the unchanged corners are returned.

    Args:
        trace: a trace with a picture.
        corners_42: (x, y) in pixels of the request's picture.

    Returns:
        The input, uint8 [H, W, 1 or 3], and the corners in its pixels.
    """
    canvas = trace.gazes.get(CANVAS)
    if canvas is None:
        return get_picture(trace), corners_42
    pixels, frame_42 = canvas.seen[0, 0], canvas.corners[0, 0]
    share_42 = (corners_42 - frame_42[0]) / (frame_42[2] - frame_42[0])
    moved_42: FloatArray = (share_42 * pixels.shape[::-1]).astype(np.float32)
    return pixels[..., None], moved_42


def choose_steps(gaze: Gaze, focus: Focus) -> tuple[int, ...]:
    """Return the focused steps, or all steps if none is focused."""
    return tuple(sorted(set(focus.items))) or tuple(range(len(gaze.seen)))


def compute_centres(gaze: Gaze) -> FloatArray:
    """Return the centre (x, y) of each step in pixels of the picture: float32 [Q, 2]."""
    middle_Q2: FloatArray = gaze.corners[:, 0].mean(1)
    return middle_Q2


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's prediction after a step."""

    # Visible label.
    label: str
    # Probability of the label, or None if the output has no probabilities per step.
    probability: float | None

    @property
    def text(self) -> str:
        """The label, with its probability if known."""
        if self.probability is None:
            return self.label
        return f"{self.label} ({self.probability:.0%})"


def list_step_answers(trace: Trace, gaze: Gaze) -> tuple[Answer, ...]:
    """Return the prediction after each step."""
    labels = map(show_invisibles, trace.fields[gaze.query].labels)
    if trace.output.field != gaze.query:
        return tuple(Answer(label, None) for label in labels)
    return tuple(map(Answer, labels, trace.output.probabilities.tolist()))


def get_step_colour(step: int, steps: int) -> str:
    """Return the colour of a step (0-based) of `steps`, dark for early and light for late steps."""
    late = step / (steps - 1) if steps > 1 else 1
    return colour_at(_DARKEST + (1 - _DARKEST) * late)


def split_channels(colour: str) -> tuple[int, int, int]:
    """Return red, green and blue of a colour "#rrggbb", 0..255."""
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


def choose_ink(colour: str) -> str:
    """Return black or white, whichever is more legible on a colour ("#rrggbb")."""
    red, green, blue = split_channels(colour)
    # Perceived brightness of a colour (ITU-R BT.601).
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 120 else "#FFFFFF"


def compute_view_box(pixels: Pixels, corners: FloatArray, beyond: float = 0.3) -> Box:
    """Return the box that a figure shows: the picture and the corners around it.

    Args:
        pixels: the picture.
        corners: (x, y) in its pixels, [..., 2].
        beyond: maximum distance that the box reaches beyond the picture, as a share of its side.
    """
    size = np.array(pixels.shape[1::-1])
    points = corners.reshape(-1, 2)
    edge = 0.01 * size.max()
    low = np.clip(points.min(0), -beyond * size, 0) - edge
    high = np.clip(points.max(0), size, (1 + beyond) * size) + edge
    return float(low[0]), float(low[1]), float(high[0]), float(high[1])


# Drawing of the parts that a model read at one step, for any kind of attention to pictures.
#
# Shapes: Q steps, K scales, G rows and M columns of cells, H and W of the picture in pixels.


MAX_SIDE_PX = 300
_READ, _BEFORE = HEAD_COLOURS[4], "#FFFFFF"


def count_steps(trace: Trace) -> int:
    """Return the number of steps of a trace, which is the number of output items."""
    return len(trace.fields[trace.output.field])


def draw_picture_at_step(trace: Trace, step: int, against: str = "nothing") -> Pixels:
    """Return a picture of the parts read at one step: uint8 [H, W, 3], longest side 151 to 300.

    - For soft attention to cells, the picture is dimmed where there was little attention.
    - For hard attention, the area that was read is also outlined.
    - For glimpses, the boxes of the step and the centres of all steps so far are drawn.
    - For a spatial transformer, the quadrilateral that it cut out is drawn.
    - Without attention, the picture is unchanged.

    Args:
        trace: trace of a model that reads pictures.
        step: the step, 0-based.
        against: "average" brightens cells that get more than their average over all steps. With
            "nothing", brightness depends on the share.
    """
    picture = get_picture(trace)
    small = shrink_to_fit(picture, MAX_SIDE_PX)
    scale = small.shape[1] / picture.shape[1]
    for gaze in trace.gazes.values():
        return _draw_gaze(gaze, min(step, len(gaze.seen) - 1), small, scale)
    for attention in trace.maps.values():
        if trace.fields[attention.memory].kind == "picture":
            return _dim_unattended(trace, attention, step, small, scale, against)
    return small


def _dim_unattended(
    trace: Trace, attention: AttentionMap, step: int, small: Pixels, scale: float, against: str
) -> Pixels:
    """Dim the picture where the last layer's heads attend little on average."""
    cells, grid = trace.fields[attention.memory], attention.grid
    light_N = np.maximum(map_of(attention, attention.layers - 1, None, against)[step], 0)
    light_GM = (light_N / find_brightest(light_N, against)).reshape(grid.height, grid.width)
    share_HW = interpolate_shares(light_GM, cells, get_picture(trace).shape, small.shape)
    light_HW = DIM_BRIGHTNESS + (1 - DIM_BRIGHTNESS) * share_HW
    # Add grey to dark pixels, so that attention is also visible on black.
    lit = light_HW[..., None] * (small + 66.0 * (small < 60))
    shown: Pixels = np.clip(lit, 0, 255).round().astype(np.uint8)
    if attention.chosen is None:
        return shown
    box = get_area_box(attention, cells, int(attention.chosen[-1, 0, step]))
    return draw_boxes(shown, [(scale_box(box, scale), _READ)])


def _draw_gaze(gaze: Gaze, step: int, small: Pixels, scale: float) -> Pixels:
    image = Image.fromarray(small)
    pen = ImageDraw.Draw(image)
    for corners_42 in gaze.corners[step, ::-1].astype(float) * scale:
        around = corners_42[[0, 1, 2, 3, 0]].ravel().tolist()
        pen.line(around, fill=CASING, width=6, joint="curve")
        pen.line(around, fill=_READ, width=3, joint="curve")
    if len(gaze.seen) > 1:
        # Join the centres of the steps so far. The latest one is filled.
        trail = compute_centres(gaze)[: step + 1].astype(float) * scale
        pen.line(trail.ravel().tolist(), fill=_BEFORE, width=2)
        for place in trail:
            fill = _READ if (place == trail[-1]).all() else CASING
            pen.ellipse([*(place - 4), *(place + 4)], fill=fill, outline=_BEFORE)
    return np.asarray(image)


# Data of the looks component: the parts of a picture that digit readers read, step by step.
#
# A digit reader is a model that reads digits, and a look is one step of its reading. The script in
# `areaviz/views/looks` draws the looks of one reader, or of several readers side by side. A
# page of one trace draws frames on the picture of the page. Several readers, some of which may have
# soft attention, get a picture for each look.


LOOK_DESCRIPTIONS = {
    GLIMPSES: "It reads glimpses. Frames show what it read at this step, the smallest one in"
    " most detail. The line joins the middles of the glimpses, and the filled dot"
    " is the latest.",
    TRANSFORMER: "It crops the part of the picture in the frame, straightens it and reads it.",
}
"""Explanation of the drawing for each site with looks."""
Pictures = Callable[[Trace, str], list[str]]


@dataclass(frozen=True, slots=True, eq=False)
class DigitReading:
    """One model's reading of a picture.

    Args:
        title: the name of the model.
        what: one sentence that explains how the model looks at the picture.
        trace: the trace of its run.
        notes: sentences below its answer, such as reasons to doubt the answer.
    """

    title: str
    what: str
    trace: Trace
    notes: Sequence[str] = ()


def fits_looks(trace: Trace, focus: Focus) -> bool:
    """Return whether the focus is on a site with looks, which is a gaze of the trace."""
    return focus.site in LOOK_DESCRIPTIONS and focus.site in trace.gazes


def make_looks_payload(trace: Trace, focus: Focus) -> dict[str, Any]:
    """Return the places, labels and probabilities of all looks, with a digest as `header["id"]`.

    Args:
        trace: a trace of a model that read parts of a picture.
        focus: names the site.
    """
    gaze, picture = trace.gazes[focus.site], trace.request.picture
    assert picture is not None
    reader = {
        "title": trace.request.model,
        "what": LOOK_DESCRIPTIONS[focus.site],
        "size": [picture.width, picture.height],
        "corners": np.round(gaze.corners.astype(float), 1).tolist(),
        "notes": [trace.details["warning"]] if "warning" in trace.details else [],
    }
    return _make_message("", [reader | _make_reader(trace)])


def encode_looks(trace: Trace, against: str) -> list[str]:
    """Return a picture of each look as a data URL. See `draw_picture_at_step` for `against`."""
    return [
        to_data_uri(draw_picture_at_step(trace, step, against))
        for step in range(count_steps(trace))
    ]


def make_readings_payload(
    readings: Sequence[DigitReading],
    digits: str,
    against: str = "nothing",
    pictures: Pictures = encode_looks,
) -> dict[str, Any]:
    """Return a picture, a label and its probability for every look of several models.

    Args:
        readings: the readings of the models.
        digits: the digits in the picture, or "" if they are unknown.
        against: see `draw_picture_at_step`.
        pictures: `encode_looks`, or a function that caches its results.
    """
    readers = []
    for reading in readings:
        reader = {
            "title": reading.title,
            "what": reading.what,
            "pictures": pictures(reading.trace, against),
            "notes": list(reading.notes),
        }
        readers.append(reader | _make_reader(reading.trace))
    return _make_message(digits, readers)


def _make_reader(trace: Trace) -> dict[str, Any]:
    """Return a model's label and its probability in per cent after each look, and its answer."""
    return {
        "labels": list(trace.fields[trace.output.field].labels),
        "sure": [round(100 * float(one)) for one in trace.output.probabilities],
        "answer": trace.details.get("answer", ""),
    }


def _make_message(digits: str, readers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    header = {"digits": digits, "readers": readers}
    digest = hashlib.sha256(serialise_message(header, {})).hexdigest()[:16]
    return {"header": {"id": digest, **header}, "arrays": {}}
