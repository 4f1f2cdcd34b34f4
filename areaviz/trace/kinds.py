"""The kinds of fields: everything that the program knows about each kind of input.

The input itself is in the request: its text, picture, sound or clip. A new kind whose input can be
written as text needs one file like `points.py` and its name in `KINDS`. Files, links, messages,
sentences about its items and the forms of What if then support it.

Shapes: N items.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from areaviz.trace.errors import InputError
from areaviz.trace.facts import FACTS
from areaviz.trace.kind import Kind
from areaviz.trace.limits import shorten
from areaviz.trace.points import POINTS
from areaviz.trace.record import Field
from areaviz.trace.request import Request


def find_text_problem(field: Field, request: Request) -> str:
    """Check that anchors are start and end (exclusive) in `raw`, in characters."""
    start_N, end_N = field.anchors.T
    inside_N = (start_N >= 0) & (start_N <= end_N) & (end_N <= len(field.raw))
    return "" if np.all(inside_N) else f"has anchors outside its {len(field.raw)} characters"


def find_picture_problem(field: Field, request: Request) -> str:
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


def find_sound_problem(field: Field, request: Request) -> str:
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


TEXT = Kind("text", "words", 2, find_text_problem, "A small dog runs.", in_text=True)
PICTURE = Kind("picture", "cells", 4, find_picture_problem)
SOUND = Kind(
    "sound", "moments", 2, find_sound_problem, sites={"encoder-decoder": "Output to sound"}
)
CLIP = Kind(
    "clip",
    "frames",
    2,
    clip_problem,
    named="{}",
    hidden="The model sees the previous frame in its place, so the motion is hidden too.",
    sites={"encoder-decoder": "Words to frames"},
)
KINDS: Mapping[str, Kind] = {
    kind.name: kind for kind in (TEXT, PICTURE, SOUND, CLIP, POINTS, FACTS)
}
"""Every kind, by `Field.kind`."""


def find_kind_of_field(field: Field) -> Kind:
    """Return the kind of a field.

    Raises:
        InputError: The kind is unknown.
    """
    if field.kind not in KINDS:
        raise InputError(
            f'The field "{shorten(field.name)}" is of the unknown kind "{shorten(field.kind)}"; use'
            f" one of: {', '.join(KINDS)}."
        )
    return KINDS[field.kind]


def has_text_positions(field: Field) -> bool:
    """Return whether the anchors of a field's items are positions in its raw text."""
    return find_kind_of_field(field).in_text
