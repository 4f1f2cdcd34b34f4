"""One look at a picture, whatever the kind of attention: what was read at one step, as a single
image.

Shapes: Q steps, K scales, H, W of the picture in pixels.
"""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageDraw

from areaviz.drawing import gazes, pictures
from areaviz.drawing.film_frames import DIM, spread
from areaviz.drawing.pictures import CASING, Pixels
from areaviz.drawing.theme import HEAD_COLOURS
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap, Gaze, Trace

LONGEST = 300
_READ, _BEFORE = HEAD_COLOURS[4], "#FFFFFF"


def steps(trace: Trace) -> int:
    """How many looks a trace has: one for each item it produced."""
    return len(trace.fields[trace.output.field])


def look_picture(trace: Trace, step: int) -> Pixels:
    """What was read at a step (0-based): uint8 [H, W, 3], the long side at most 300 pixels, more
    than 150.

    Soft attention to cells: the picture, dimmed where little attention went. Hard attention: the
    cell that was read is outlined as well. Glimpses: the boxes of this look, and the middles of
    those before. A spatial
    transformer: the quadrilateral it cut out. A model without attention: the picture.
    """
    gaze = next(iter(trace.gazes.values()), None)
    if gaze is not None:
        return _gazed(trace, gaze, min(step, len(gaze.seen) - 1))
    attention = next(
        (one for one in trace.maps.values() if trace.fields[one.memory].kind == "picture"), None
    )
    if attention is not None:
        return _attended(trace, attention, step)
    return pictures.fitted(gazes.picture_of(trace), LONGEST)


def _attended(trace: Trace, attention: AttentionMap, step: int) -> Pixels:
    """The picture under the mean of the last layer's heads, full where the most
    attended cell is.
    """
    picture, cells = gazes.picture_of(trace), trace.fields[attention.memory]
    small = pictures.fitted(picture, LONGEST)
    shares_GM = item_shares(attention, attention.layers - 1, None)[step].reshape(
        attention.grid.height, -1
    )
    share_HW = spread(shares_GM, cells, picture.shape[:2], small.shape[:2])
    light_HW = DIM + (1 - DIM) * share_HW / (share_HW.max() or 1)
    veil = np.full(3, 120.0)  # a grey veil, so that attention shows on a black ground too
    light_HW1 = light_HW[..., None]
    lit: Pixels = (
        np.clip(light_HW1 * (small + veil * 0.55 * (small < 60)), 0, 255).round().astype(np.uint8)
    )
    if attention.chosen is None:
        return lit
    scale = small.shape[1] / picture.shape[1]
    area = attention.grid.area(int(attention.chosen[-1, 0, step]))
    left, top, right, bottom = cells.anchors[area.top * attention.grid.width + area.left] * scale
    return pictures.outlined(
        lit, [((float(left), float(top), float(right), float(bottom)), _READ)], 3
    )


def _gazed(trace: Trace, gaze: Gaze, step: int) -> Pixels:
    picture = gazes.picture_of(trace)
    small = pictures.fitted(picture, LONGEST)
    scale = small.shape[1] / picture.shape[1]
    image = Image.fromarray(small)
    pen = ImageDraw.Draw(image)
    for corners_42 in gaze.corners[step, ::-1]:
        _outline(pen, [(float(x) * scale, float(y) * scale) for x, y in corners_42])
    if len(gaze.seen) > 1:
        _trail(
            pen, [(float(x) * scale, float(y) * scale) for x, y in gazes.centres(gaze)[: step + 1]]
        )
    return np.asarray(image)


def _outline(pen: ImageDraw.ImageDraw, corners: list[tuple[float, float]]) -> None:
    around = [*corners, corners[0]]
    pen.line(around, fill=CASING, width=6, joint="curve")
    pen.line(around, fill=_READ, width=3, joint="curve")


def _trail(pen: ImageDraw.ImageDraw, places: list[tuple[float, float]]) -> None:
    """The middles of the looks so far, joined; the newest is filled."""
    pen.line(places, fill=_BEFORE, width=2)
    for x, y in places:
        newest = (x, y) == places[-1]
        pen.ellipse((x - 4, y - 4, x + 4, y + 4), fill=_READ if newest else CASING, outline=_BEFORE)
