"""Drawing of the parts that a model read at one step, for any kind of attention to pictures.

Shapes: Q steps, K scales, G rows and M columns of cells, H and W of the picture in pixels.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from areaviz.draw.pictures import CASING, Pixels, draw_boxes, scale_box, shrink_to_fit
from areaviz.draw.theme import HEAD_COLOURS
from areaviz.drawing.film import DIM_BRIGHTNESS, find_brightest, get_area_box, interpolate_shares
from areaviz.drawing.gaze_steps import compute_centres, get_picture
from areaviz.trace.query import map_of
from areaviz.trace.record import AttentionMap, Gaze, Trace

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
    trace: Trace,
    attention: AttentionMap,
    step: int,
    small: Pixels,
    scale: float,
    against: str,
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


def _draw_gaze(
    gaze: Gaze,
    step: int,
    small: Pixels,
    scale: float,
) -> Pixels:
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
