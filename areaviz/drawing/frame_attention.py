"""Data to draw a clip with the frames that each word attends to.

Shapes: T words, N frames of the clip that the model reads ("watched frames").
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.draw.labels import escape_controls, truncate
from areaviz.draw.pictures import Pixels
from areaviz.draw.select import find_top_span
from areaviz.draw.theme import HEAD_COLOURS, Drawing
from areaviz.draw.view import figure_caption
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

GOLD = "acts in frames"
"""Key in `Trace.details` for the first and last frames of actions, alternating, from 1."""
FULL = 0.86
"""Height of the highest bar, as a share of its row."""
_DIGITS = 9
"""Maximum number of digits of a frame number. A trace may come from an untrusted file."""
_COLOURS = len(HEAD_COLOURS) - 1
"""Number of colours for words. The last colour, grey, is left out, because it means no colour."""

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, eq=False)
class FrameAttention(Drawing):
    """The frames and the bars.

    Rows count downwards from the first word. The frames are above row 0.
    """

    # The watched frames in the clip's own pixels: uint8 [N, H, W, 3].
    frames: Pixels
    # Number of each frame in the clip, from 1.
    numbers: tuple[int, ...]
    # The words, and the attention of each to every frame, float32 [T, N]. Rows sum to 1.
    words: tuple[str, ...]
    weights: FloatArray
    # For each word, the first frame and the end (exclusive) of its top area, and its weight.
    spans: tuple[Span, ...]
    shares: tuple[float, ...]
    # Indices of the framed rows.
    marked: tuple[int, ...]
    # Start and end of each action as positions between frames, or () if they are unknown.
    actions: tuple[tuple[float, float], ...]

    def bars(self, row: int) -> FloatArray:
        """Return the heights of a word's bars, in rows: [N].

        Heights are relative to the word's largest weight, so the highest bars of all words are
        equal.
        """
        highest = max(float(self.weights[row].max()), 1e-6)
        heights_N: FloatArray = self.weights[row] / highest * FULL
        return heights_N

    def colour(self, row: int) -> str:
        """Return the colour of a word."""
        return HEAD_COLOURS[row % _COLOURS]


def find_frame_attention(trace: Trace, focus: Focus) -> FrameAttention:
    """Find the attention of all words to the frames."""
    attention, source = trace.maps[focus.site], trace.request.clip
    assert source is not None, "a field of a clip has a request with one"
    memory, query = trace.fields[attention.memory], trace.fields[attention.query]
    chosen_N = memory.anchors[:, 0]
    place = attention, focus.layer, focus.head
    tops = [find_top_span(*place, word) for word in range(len(query))]
    known = find_action_intervals(trace, chosen_N)
    lines = "; dotted: where an action begins and ends" if known else ""
    return FrameAttention(
        title=f"Seen: {truncate(escape_controls(query.raw), 60)}",
        note="bars: attention per frame, scaled to each word's maximum; outline: the word's"
        f" top area{lines}",
        caption=figure_caption(trace, focus),
        frames=source.pixels[chosen_N],
        numbers=tuple((chosen_N + 1).tolist()),
        words=tuple(escape_controls(label) for label in query.labels),
        weights=item_shares(attention, focus.layer, focus.head),
        spans=tuple(span for span, _ in tops),
        shares=tuple(share for _, share in tops),
        marked=tuple(sorted(set(focus.items))) if focus.side == "query" else (),
        actions=known,
    )


def find_action_intervals(
    trace: Trace, chosen_N: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> tuple[Span, ...]:
    """Return the start and end of each known action, as positions among the watched frames."""
    numbers = trace.details.get(GOLD, "").split()
    if not all(one.isdecimal() and len(one) <= _DIGITS for one in numbers):
        return ()
    frames = [int(one) for one in numbers]
    starts = np.searchsorted(chosen_N + 1, frames[::2]).tolist()
    ends = np.searchsorted(chosen_N + 1, frames[1::2], side="right").tolist()
    return tuple(zip(starts, ends, strict=False))
