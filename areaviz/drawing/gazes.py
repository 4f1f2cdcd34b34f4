"""What a focus picks out of a gaze: the places of a picture that were read one after the other.

Shapes: Q steps, K scales, S side of a patch.
"""

from __future__ import annotations

import numpy as np

from areaviz.drawing import theme
from areaviz.drawing.labels import visible
from areaviz.drawing.pictures import Pixels
from areaviz.trace.record import FloatArray, Gaze, Trace
from areaviz.trace.request import Focus

GLIMPSES, TRANSFORMER, CANVAS = "glimpses", "transformer", "canvas"
CONTEXT, WITHOUT = "context", "without context"
"""Of a model with a coarse look first: that look, and the glimpses without it."""
_DARKEST = 0.4
"""Where the colours of steps begin on the scale: all of them stand out from a black picture."""


def has_gaze(trace: Trace, focus: Focus) -> bool:
    """Whether the focus names a gaze that looked at something, and there is a picture to show it
    on.
    """
    gaze = trace.gazes.get(focus.site)
    return gaze is not None and gaze.seen.size > 0 and trace.request.picture is not None


def steps_fit(trace: Trace, focus: Focus) -> bool:
    """Whether the focus names glimpses that this trace has, all of them or some steps."""
    if focus.site != GLIMPSES or not has_gaze(trace, focus):
        return False
    return focus.side == "query" and all(
        0 <= item < len(trace.gazes[focus.site].seen) for item in focus.items
    )


def sampling_fits(trace: Trace, focus: Focus) -> bool:
    """Whether the focus names a spatial transformer, with all its output or pixels of it."""
    if focus.site != TRANSFORMER or not has_gaze(trace, focus):
        return False
    return focus.side == "query" and all(
        0 <= item < trace.gazes[focus.site].seen[0, 0].size for item in focus.items
    )


def picture_of(trace: Trace) -> Pixels:
    """The request's picture: uint8 [H, W, 3]."""
    assert trace.request.picture is not None
    return trace.request.picture.pixels


def source_of(trace: Trace, corners_42: FloatArray) -> tuple[Pixels, FloatArray]:
    """What the network cut from, uint8 [H, W, 1 or 3], and corners (x, y) of the request's picture
    in its pixels.

    It is smaller than a large picture, grey, and perhaps inverted. Where that was not recorded: the
    picture itself.
    """
    if CANVAS not in trace.gazes:
        return picture_of(trace), corners_42
    canvas = trace.gazes[CANVAS]
    pixels, frame_42 = canvas.seen[0, 0], canvas.corners[0, 0]
    share_42 = (corners_42 - frame_42[0]) / (frame_42[2] - frame_42[0])
    moved: FloatArray = (share_42 * pixels.shape[::-1]).astype(np.float32)
    return pixels[..., None], moved


def chosen_steps(gaze: Gaze, focus: Focus) -> tuple[int, ...]:
    """The focused steps, all where none is focused."""
    return tuple(sorted(set(focus.items))) or tuple(range(len(gaze.seen)))


def centres(gaze: Gaze) -> FloatArray:
    """The middle (x, y) of what was read at each step, in pixels of the picture: float32 [Q, 2]."""
    middle: FloatArray = gaze.corners[:, 0].mean(1)
    return middle


def answer(trace: Trace, gaze: Gaze, step: int) -> tuple[str, float | None]:
    """The label after a step and its probability; None where the output has none for steps."""
    label = visible(trace.fields[gaze.query].labels[step])
    return label, float(
        trace.output.probabilities[step]
    ) if trace.output.field == gaze.query else None


def answer_text(trace: Trace, gaze: Gaze, step: int) -> str:
    """The label after a step and its probability, in words."""
    label, likely = answer(trace, gaze, step)
    return label if likely is None else f"{label} ({likely:.0%})"


def step_colour(step: int, steps: int) -> str:
    """The colour of a step (0-based) of `steps`, from early to late along the theme's sequence."""
    place = _DARKEST + (1 - _DARKEST) * (step / (steps - 1) if steps > 1 else 1)
    return "#{:02x}{:02x}{:02x}".format(*theme.SEQUENCE(place, bytes=True)[:3])


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on a colour ("#rrggbb")."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return "#111111" if 0.299 * red + 0.587 * green + 0.114 * blue > 120 else "#FFFFFF"


def view_box(
    pixels: Pixels, corners: FloatArray, beyond: float = 0.3
) -> tuple[float, float, float, float]:
    """What a figure shows: the picture and the corners (x, y) [..., 2] around it, as left, top,
    right, bottom.

    beyond: corners further outside than this share of the picture's side are cut off.
    """
    height, width = pixels.shape[:2]
    points = corners.reshape(-1, 2)
    low = np.maximum(np.minimum(points.min(0), 0), [-beyond * width, -beyond * height])
    high = np.minimum(
        np.maximum(points.max(0), [width, height]), [(1 + beyond) * width, (1 + beyond) * height]
    )
    edge = 0.01 * max(width, height)
    return float(low[0]) - edge, float(low[1]) - edge, float(high[0]) + edge, float(high[1]) + edge
