"""Data of the strip component: the frames of a clip as a film strip, and top areas of every word.

The script in `areaviz/components/strip` draws them. Users can pin words.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from areaviz.draw.pictures import to_data_uri
from areaviz.draw.theme import HEAD_COLOURS
from areaviz.drawing.frame_attention import find_frame_attention
from areaviz.interactive.ribbon_table import list_unsure_items
from areaviz.trace.derived import WAYS
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Clip, Focus

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
