"""Selection of the steps of a gaze, which are places of a picture that were read in sequence.

Shapes: Q steps, K scales, S side of a patch.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.draw.labels import show_invisibles
from areaviz.draw.pictures import Box, Pixels
from areaviz.draw.select import CANVAS, has_items
from areaviz.draw.theme import colour_at
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus

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


def _fits(
    trace: Trace,
    focus: Focus,
    site: str,
) -> bool:
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


def compute_view_box(
    pixels: Pixels,
    corners: FloatArray,
    beyond: float = 0.3,
) -> Box:
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
