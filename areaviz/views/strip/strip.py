"""The film strip of a clip: the weights of its frames, the view, and the component's data."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from areaviz.draw.labels import Ticks, escape_controls, truncate
from areaviz.draw.marks import Axis, Bars, Frame, Hover, Image, Mark, Panel, Plot, Rule, Stroke
from areaviz.draw.pictures import Pixels, to_data_uri
from areaviz.draw.select import find_top_span, fits_map
from areaviz.draw.theme import EDGE, HEAD_COLOURS, PRINT_EDGE, SECOND, Drawing
from areaviz.draw.view import Row, Table, figure_caption, view_of_marks
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import WAYS
from areaviz.trace.query import item_shares, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Focus
from areaviz.views.ribbon.table import list_unsure_items

# Data to draw a clip with the frames that each word attends to.
#
# Shapes: T words, N frames of the clip that the model reads ("watched frames").


GOLD_FRAMES = "acts in frames"
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
    numbers = trace.details.get(GOLD_FRAMES, "").split()
    if not all(one.isdecimal() and len(one) <= _DIGITS for one in numbers):
        return ()
    frames = [int(one) for one in numbers]
    starts = np.searchsorted(chosen_N + 1, frames[::2]).tolist()
    ends = np.searchsorted(chosen_N + 1, frames[1::2], side="right").tolist()
    return tuple(zip(starts, ends, strict=False))


# Film strip of a clip with the frames that each word attends to (multimedia paper, Fig. 7).
#
# Below the frames there is one row per word, with one bar per frame in the word's colour. Shapes: T
# words, N frames that are watched.


STRIP = 2.0
"""Height of the frames, in rows."""
_BROAD = 0.88
"""Width of a bar, as a share of its column."""
_FRAMED = Stroke(SECOND, (2, 0.9), print_colour=PRINT_EDGE)
"""Line around a top area."""


def fits(trace: Trace, focus: Focus) -> bool:
    """Return whether the focused map attends to a clip."""
    return fits_map(trace, focus) and trace.fields[trace.maps[focus.site].memory].kind == "clip"


def plot(drawn: FrameAttention) -> Plot:
    """Draw the frames, and below them a row of bars for each word."""
    rows, count = len(drawn.words), len(drawn.numbers)
    marks: list[Mark] = []
    for number, pixels in enumerate(drawn.frames):
        box = number - 0.48, -0.5 - STRIP, number + 0.48, -0.7
        marks.append(Image(pixels, box, is_whole=True))
    for row in range(rows):
        base = [row + FULL / 2] * count
        places, edge = list(range(count)), Stroke(EDGE, (0.5, 0))
        marks.append(Bars(places, -drawn.bars(row), drawn.colour(row), _BROAD, base, edge=edge))
    marks.append(Hover(*_list_hovers(drawn), 22))
    marks += [Frame(*box, _FRAMED) for box in _iterate_frames(drawn)]
    for place in sorted({one for pair in drawn.actions for one in pair}):
        marks.append(Rule(place - 0.5, Stroke(SECOND, (1.2, 0.7), "dot")))
    numbers = Ticks(tuple(range(count)), tuple(map(str, drawn.numbers)))
    panel = Panel(
        marks=marks,
        across=Axis(title="frame", ends=(-0.5, count - 0.5), ticks=numbers),
        down=Axis(ends=(rows - 0.5, -0.5 - STRIP), ticks=Ticks(tuple(range(rows)), drawn.words)),
    )
    high = rows + STRIP
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(float(np.clip(30 * high, 200, 640)), float(np.clip(0.26 * high, 1.6, 5.0))),
        below=40,
    )


def _list_hovers(drawn: FrameAttention) -> tuple[list[float], list[float], list[str]]:
    """Return the positions of the hover texts, and the texts."""
    across: list[float] = []
    down: list[float] = []
    texts = []
    for row, word in enumerate(drawn.words):
        for place, number in enumerate(drawn.numbers):
            across.append(place)
            down.append(row)
            share = float(drawn.weights[row, place])
            texts.append(f"{word} → frame {number}\n{share:.1%}")
    return across, down, texts


def _iterate_frames(drawn: FrameAttention) -> Iterator[tuple[float, float, float, float]]:
    """Yield a box around the top area of each focused word, or of each word without a focus."""
    for row in drawn.marked or range(len(drawn.words)):
        first, behind = drawn.spans[row]
        if behind > first:
            yield first - 0.5, row - 0.48, behind - first, 0.96


def tabulate(drawn: FrameAttention) -> Table:
    """Return a table with a row per word: its top area and weight, and attention to all frames."""
    names = [f"frame {number}" for number in drawn.numbers]
    rows: list[Row] = []
    for row, word in enumerate(drawn.words):
        first, behind = drawn.spans[row]
        area = (drawn.numbers[first], drawn.numbers[behind - 1]) if behind > first else ("", "")
        weights = map(float, drawn.weights[row])
        rows.append((row + 1, word, *area, drawn.shares[row], *weights))
    columns = ("item", "word", "heaviest area from frame", "to frame", "its weight", *names)
    return Table(columns, rows)


VIEW = view_of_marks(
    "watching",
    "Film strip",
    "Which frames does each word attend to?",
    fits,
    find_frame_attention,
    plot,
    tabulate,
    how_to_read=(
        "Time runs left to right. Each row is a word, and higher bars mean more attention to"
        " that frame. The outline is the word's top area, several frames taken as one. Dotted"
        " lines mark where an action begins and ends, if known. Its words should attend"
        " between them."
    ),
)


# Data of the strip component: the frames of a clip as a film strip, and top areas of every word.
#
# The script in `areaviz/views/strip` draws them. Users can pin words.


AREAS, LEAST = 4, 0.02
"""Maximum number of bars in a lane, and the minimum weight of a bar."""
Frames = Callable[[Clip, tuple[int, ...]], list[str]]


def encode_frames(clip: Clip, numbers: tuple[int, ...]) -> list[str]:
    """Return the frames with these numbers, from 1, as data URLs."""
    return [to_data_uri(clip.pixels[number - 1]) for number in numbers]


def make_strip_payload(
    trace: Trace, focus: Focus, frames: Frames = encode_frames
) -> dict[str, dict[str, Any]]:
    """Return the frames and the areas, with a digest as `header["id"]`.

    In the header, `areas` has the heaviest areas of each word, heaviest first. Each area has its
    first frame, its number of frames and its weight in thousandths. `actions` has the start and end
    of each known action, as positions between frames.

    Args:
        trace: a trace in which words attend to a clip.
        focus: names the site, the layer, and a head if only one head is shown.
        frames: `encode_frames`, or a function that caches its results.
    """
    drawn, attention = find_frame_attention(trace, replace(focus, items=())), trace.maps[focus.site]
    clip = trace.request.clip
    assert clip is not None, "a field of a clip has a request with one"
    areas = []
    for word in range(len(drawn.words)):
        tops = top_areas(attention, focus.layer, focus.head, word, k=AREAS)
        areas.append(
            [
                [top.area.left, top.area.width, round(1000 * top.weight)]
                for top in tops
                if top.weight >= LEAST
            ]
        )
    digest = hashlib.sha256(json.dumps([areas, drawn.words, drawn.numbers]).encode()).hexdigest()
    header = {
        "id": f"{clip.digest} {digest[:12]}",
        "label": f"{drawn.title}: the frames that were attended to for each word",
        "verb": "depends most on" if focus.site.endswith(tuple(WAYS)) else "attends most to",
        "words": list(drawn.words),
        "numbers": list(drawn.numbers),
        "frames": frames(clip, drawn.numbers),
        "milliseconds": clip.milliseconds * clip.frames // len(drawn.numbers),
        "areas": areas,
        "unsure": list_unsure_items(trace, attention.query),
        "actions": [list(action) for action in drawn.actions],
        "colours": list(HEAD_COLOURS),
    }
    return {"header": header, "arrays": {}}
