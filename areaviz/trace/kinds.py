"""The kinds of fields: what their anchors are, and which conditions the anchors must meet.

The input itself is in the request: its text, picture, sound or clip. A new kind whose input can be
written as text therefore needs one file like `points.py` and one line in `KINDS`. Files, links and
the wire then carry it.

Shapes: N items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from areaviz.trace.facts import facts_problem
from areaviz.trace.points import points_problem
from areaviz.trace.record import Field
from areaviz.trace.request import Request


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of field."""

    # Number of integers per anchor.
    anchor: int
    # Returns what is wrong with a field of a request, as in "The field has ...", or "" if nothing
    # is.
    problem: Callable[[Field, Request], str]
    # Whether anchors are the start and end of each item in `Field.raw`, in characters.
    in_text: bool = False


def text_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in `raw`, in characters."""
    start_N, end_N = field.anchors.T
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= len(field.raw))
    return "" if np.all(inside_N) else f"has anchors outside its {len(field.raw)} characters"


def picture_problem(field: Field, request: Request) -> str:
    """Check that anchors are left, top, right and bottom in the request's picture, in pixels."""
    picture = request.picture
    if picture is None:
        return "is a picture's but the request has none"
    left_N, top_N, right_N, bottom_N = field.anchors.T
    inside_N = (left_N >= 0) & (left_N <= right_N) & (right_N <= picture.width)
    inside_N &= (top_N >= 0) & (top_N <= bottom_N) & (bottom_N <= picture.height)
    if np.all(inside_N):
        return ""
    return f"has anchors outside its {picture.width} x {picture.height} pixels"


def sound_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in the request's sound, in samples."""
    sound = request.sound
    if sound is None:
        return "is a sound's but the request has none"
    start_N, end_N = field.anchors.T
    count = len(sound.samples)
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= count)
    return "" if np.all(inside_N) else f"has anchors outside its {count:,} samples"


def clip_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in the request's clip, in frames."""
    clip = request.clip
    if clip is None:
        return "is a clip's but the request has none"
    start_N, end_N = field.anchors.T
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= clip.frames)
    return "" if np.all(inside_N) else f"has anchors outside its {clip.frames} frames"


KINDS: Mapping[str, Kind] = {
    "text": Kind(2, text_problem, in_text=True),
    "picture": Kind(4, picture_problem),
    "sound": Kind(2, sound_problem),
    "clip": Kind(2, clip_problem),
    "points": Kind(2, points_problem),
    "facts": Kind(2, facts_problem, in_text=True),
}
"""Every kind, by `Field.kind`."""


def is_text(field: Field) -> bool:
    """Return whether the anchors of a field's items are positions in its raw text."""
    return KINDS[field.kind].in_text
