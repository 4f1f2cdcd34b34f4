"""The pictures of Home's tiles (SVG) and of the four kinds of attention (PNG), from stored traces.

A tile is 160 x 104 px. Its colours are of middle lightness, because one file serves the light and
the dark theme.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.show.looks.looks import count_steps, draw_picture_at_step, get_picture
from areaviz.trace.areas import Area
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.trace.safe_files import write_whole
from areaviz.ui.forms.mechanisms_form import MECHANISMS
from areaviz.ui.home.stored_results import StoredResult
from areaviz.ui.home.tiles import TILES

TILE_WIDTH_PX, TILE_HEIGHT_PX = 160, 104
LIT_COLOUR, DIM_COLOUR, FRAME_COLOUR = "#2E86C1", "#8A9499", "#E07B00"
DIGIT_SIDE_PX = 150
"""Height in pixels of a picture of the four kinds of attention."""
_FRAME_COUNT, _BAR_COUNT = 4, 40
"""Frames of a clip, and bars of a recording, that fit into a tile."""


def draw_pictures(openings: Iterable[StoredResult], folder: Path) -> list[Path]:
    """Draw the picture of every tile that has one, and one for each kind of attention."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*folder.glob("*.png"), *folder.glob("*.svg")):
        path.unlink()
    made = []
    tiles = {way.example: way for way in TILES if way.example}
    for opening in openings:
        way = tiles.get(opening.example) if opening.example else None
        if way is not None and way.page in TILE_PAINTERS:
            drawn = TILE_PAINTERS[way.page](opening.traces[0], opening.focus)
            made.append(_write_picture(drawn.encode(), way.picture, folder))
        elif opening.example is None and opening.page == "four_ways":
            made += _write_mechanisms(opening.traces, folder)
    return made


def _write_picture(content: bytes, path: Path, folder: Path) -> Path:
    write_whole(folder / path.name, content)
    return folder / path.name


def _write_mechanisms(traces: Iterable[Trace], folder: Path) -> list[Path]:
    """Write the last glimpse of every mechanism, and the tile of Four ways to look."""
    made = []
    for way, trace in zip(MECHANISMS, traces, strict=True):
        look = draw_picture_at_step(trace, count_steps(trace) - 1)
        made.append(_write_picture(_encode_png(_centre_glimpse(look)), Path(way.file_name), folder))
        if way.mechanism == "location-wise hard":
            tile = _wrap_in_svg(
                _draw_image(
                    look, (TILE_WIDTH_PX - TILE_HEIGHT_PX) / 2, 0, TILE_HEIGHT_PX, TILE_HEIGHT_PX
                )
            )
            made.append(_write_picture(tile.encode(), Path("four_ways.svg"), folder))
    return made


def _centre_glimpse(look: npt.NDArray[np.uint8]) -> Image.Image:
    """Return a glimpse centred on black, twice as wide as it is high, with few colours."""
    glimpse = Image.fromarray(look)
    glimpse.thumbnail((DIGIT_SIDE_PX, DIGIT_SIDE_PX), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (2 * DIGIT_SIDE_PX, DIGIT_SIDE_PX), "black")
    card.paste(glimpse, ((2 * DIGIT_SIDE_PX - glimpse.width) // 2, 0))
    return card.quantize(128)


def draw_picture_tile(trace: Trace, focus: Focus) -> str:
    """Draw the part of a picture around a word's top area, and a frame around the area."""
    pixels = get_picture(trace)
    side = pixels.shape[1]
    height = round(side * TILE_HEIGHT_PX / TILE_WIDTH_PX)
    left, top, right, bottom = _get_top_box(trace, focus)
    first = int(np.clip((top + bottom - height) // 2, 0, pixels.shape[0] - height))
    scale = TILE_WIDTH_PX / side
    frame = _draw_rectangle(
        left * scale, (top - first) * scale, (right - left) * scale, (bottom - top) * scale
    )
    return _wrap_in_svg(
        _draw_image(pixels[first : first + height], 0, 0, TILE_WIDTH_PX, TILE_HEIGHT_PX) + frame
    )


def _get_top_box(trace: Trace, focus: Focus) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the top area in pixels of the picture."""
    attention = trace.maps[focus.site]
    items = list(attention.grid.items_of(_get_top_area(trace, focus, focus.items[0])))
    cells_N4 = trace.fields[attention.memory].anchors[items]
    left, top = cells_N4[:, :2].min(0).tolist()
    right, bottom = cells_N4[:, 2:].max(0).tolist()
    return left, top, right, bottom


def draw_facts_tile(trace: Trace, focus: Focus) -> str:
    """Draw a bar per fact, the top fact of every hop, and the path of the hops to the answer."""
    attention = trace.maps[focus.site]
    count = len(trace.fields[attention.memory])
    step = (TILE_HEIGHT_PX - 20) / count
    tops = []
    for hop in range(attention.layers):
        tops.append(_get_top_area(trace, Focus(focus.site, hop), focus.items[0]).left)
    drawn = []
    for fact in range(count):
        colour = LIT_COLOUR if fact in tops else DIM_COLOUR
        drawn.append(_draw_bar(22, 10 + step * fact, 70, step * 0.6, colour, fact in tops))
    dots = [(104 + 14 * hop, 10 + step * (fact + 0.3)) for hop, fact in enumerate(tops)]
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    line = f'<path d="M{path}" fill="none" stroke="{LIT_COLOUR}" stroke-width="2.5"/>'
    circles = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{LIT_COLOUR}"/>' for x, y in dots]
    return _wrap_in_svg("".join([*drawn, line, *circles]))


def draw_clip_tile(trace: Trace, focus: Focus) -> str:
    """Draw frames of a clip, and a bar below those that the last marked word attends to."""
    attention, clip = trace.maps[focus.site], trace.request.clip
    assert clip is not None
    area = _get_top_area(trace, focus, focus.items[-1])
    count = len(trace.fields[attention.memory])
    chosen = np.linspace(0, len(clip.pixels) - 1, _FRAME_COUNT).round().astype(int)
    side = TILE_WIDTH_PX / _FRAME_COUNT
    frames = [
        _draw_image(clip.pixels[frame], place * side, 24, side - 2, side - 2)
        for place, frame in enumerate(chosen)
    ]
    left, width = TILE_WIDTH_PX * area.left / count, TILE_WIDTH_PX * area.width / count
    return _wrap_in_svg("".join(frames) + _draw_bar(left, 70, width, 7, LIT_COLOUR, True))


def draw_sound_tile(trace: Trace, focus: Focus) -> str:
    """Draw the loudness of a recording over time, bright where the marked item attends."""
    attention, sound = trace.maps[focus.site], trace.request.sound
    assert sound is not None
    starts_N = trace.fields[attention.memory].anchors[:, 0]
    weights_N = attention.weights[focus.layer].mean(0)[focus.items[0]]
    lit_N = starts_N[weights_N >= weights_N.max() / 8]
    step = TILE_WIDTH_PX / _BAR_COUNT
    loud = [float(np.abs(part).max()) for part in np.array_split(sound.samples / 32768, _BAR_COUNT)]
    length = len(sound.samples) / _BAR_COUNT
    drawn = []
    for bar, value in enumerate(loud):
        is_lit = bool(((lit_N >= bar * length) & (lit_N < (bar + 1) * length)).any())
        height = 4 + 76 * value / max(loud)
        colour = LIT_COLOUR if is_lit else DIM_COLOUR
        drawn.append(
            _draw_bar(
                bar * step + 0.7, (TILE_HEIGHT_PX - height) / 2, step - 1.4, height, colour, is_lit
            )
        )
    return _wrap_in_svg("".join(drawn))


TILE_PAINTERS: Mapping[str, Callable[[Trace, Focus], str]] = {
    "caption": draw_picture_tile,
    "reason": draw_facts_tile,
    "watch": draw_clip_tile,
    "listen": draw_sound_tile,
}
"""The picture of a tile, by the name of its page. A page of texts shows text instead."""


def _get_top_area(trace: Trace, focus: Focus, item: int) -> Area:
    """Return the top area of an item that attends."""
    attention = trace.maps[focus.site]
    return top_areas(attention, focus.layer, focus.head, item, k=1)[0].area


def _wrap_in_svg(content: str) -> str:
    width, height = TILE_WIDTH_PX, TILE_HEIGHT_PX
    size = f'viewBox="0 0 {width} {height}" width="{2 * width}" height="{2 * height}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{content}</svg>\n'


def _draw_bar(x: float, y: float, width: float, height: float, colour: str, is_lit: bool) -> str:
    opacity = "1" if is_lit else "0.5"
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
        f' fill="{colour}" opacity="{opacity}"/>'
    )


def _draw_rectangle(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="2"'
        f' fill="none" stroke="{FRAME_COLOUR}" stroke-width="3"/>'
    )


def _draw_image(
    pixels: npt.NDArray[np.uint8], x: float, y: float, width: float, height: float
) -> str:
    """Return an SVG image of pixels, at most twice as large as it is drawn."""
    picture = Image.fromarray(pixels)
    picture.thumbnail((round(2 * width), round(2 * height)), Image.Resampling.LANCZOS)
    data = base64.b64encode(_encode_png(picture.quantize(128))).decode()
    return (
        f'<image x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}"'
        f' href="data:image/png;base64,{data}"/>'
    )


def _encode_png(image: Image.Image) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()
