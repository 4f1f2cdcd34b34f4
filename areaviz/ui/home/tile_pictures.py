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

from areaviz.drawing.gaze_steps import get_picture
from areaviz.drawing.step_picture import count_steps, draw_picture_at_step
from areaviz.trace.areas import Area
from areaviz.trace.files import write_whole
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.forms.mechanisms_form import MECHANISMS
from areaviz.ui.home.stored_results import StoredResult
from areaviz.ui.home.tiles import WAYS_IN

WIDTH, HEIGHT = 160, 104
LIT, DIM, FRAME = "#2E86C1", "#8A9499", "#E07B00"
DIGIT_SIDE = 150
"""Height in pixels of a picture of the four kinds of attention."""
_FRAMES, _BARS = 4, 40
"""Frames of a clip, and bars of a recording, that fit into a tile."""


def draw_pictures(openings: Iterable[StoredResult], folder: Path) -> list[Path]:
    """Draw the picture of every tile that has one, and one for each kind of attention."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in (*folder.glob("*.png"), *folder.glob("*.svg")):
        path.unlink()
    made = []
    tiles = {way.example: way for way in WAYS_IN if way.example}
    for opening in openings:
        way = tiles.get(opening.example) if opening.example else None
        if way is not None and way.page in PICTURES:
            drawn = PICTURES[way.page](opening.traces[0], opening.focus)
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
            tile = _wrap_in_svg(_draw_image(look, (WIDTH - HEIGHT) / 2, 0, HEIGHT, HEIGHT))
            made.append(_write_picture(tile.encode(), Path("four_ways.svg"), folder))
    return made


def _centre_glimpse(look: npt.NDArray[np.uint8]) -> Image.Image:
    """Return a glimpse centred on black, twice as wide as it is high, with few colours."""
    glimpse = Image.fromarray(look)
    glimpse.thumbnail((DIGIT_SIDE, DIGIT_SIDE), Image.Resampling.LANCZOS)
    card = Image.new("RGB", (2 * DIGIT_SIDE, DIGIT_SIDE), "black")
    card.paste(glimpse, ((2 * DIGIT_SIDE - glimpse.width) // 2, 0))
    return card.quantize(128)


def picture_tile(trace: Trace, focus: Focus) -> str:
    """Draw the part of a picture around a word's top area, and a frame around the area."""
    pixels = get_picture(trace)
    side = pixels.shape[1]
    height = round(side * HEIGHT / WIDTH)
    left, top, right, bottom = _get_top_box(trace, focus)
    first = int(np.clip((top + bottom - height) // 2, 0, pixels.shape[0] - height))
    scale = WIDTH / side
    frame = _draw_rectangle(
        left * scale, (top - first) * scale, (right - left) * scale, (bottom - top) * scale
    )
    return _wrap_in_svg(_draw_image(pixels[first : first + height], 0, 0, WIDTH, HEIGHT) + frame)


def _get_top_box(trace: Trace, focus: Focus) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the top area in pixels of the picture."""
    attention = trace.maps[focus.site]
    items = list(attention.grid.items_of(_get_top_area(trace, focus, focus.items[0])))
    cells_N4 = trace.fields[attention.memory].anchors[items]
    left, top = cells_N4[:, :2].min(0).tolist()
    right, bottom = cells_N4[:, 2:].max(0).tolist()
    return left, top, right, bottom


def facts_tile(trace: Trace, focus: Focus) -> str:
    """Draw a bar per fact, the top fact of every hop, and the path of the hops to the answer."""
    attention = trace.maps[focus.site]
    count = len(trace.fields[attention.memory])
    step = (HEIGHT - 20) / count
    tops = []
    for hop in range(attention.layers):
        tops.append(_get_top_area(trace, Focus(focus.site, hop), focus.items[0]).left)
    drawn = []
    for fact in range(count):
        colour = LIT if fact in tops else DIM
        drawn.append(_draw_bar(22, 10 + step * fact, 70, step * 0.6, colour, fact in tops))
    dots = [(104 + 14 * hop, 10 + step * (fact + 0.3)) for hop, fact in enumerate(tops)]
    path = " L".join(f"{x:.1f},{y:.1f}" for x, y in dots)
    line = f'<path d="M{path}" fill="none" stroke="{LIT}" stroke-width="2.5"/>'
    circles = [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{LIT}"/>' for x, y in dots]
    return _wrap_in_svg("".join([*drawn, line, *circles]))


def clip_tile(trace: Trace, focus: Focus) -> str:
    """Draw frames of a clip, and a bar below those that the last marked word attends to."""
    attention, clip = trace.maps[focus.site], trace.request.clip
    assert clip is not None
    area = _get_top_area(trace, focus, focus.items[-1])
    count = len(trace.fields[attention.memory])
    chosen = np.linspace(0, len(clip.pixels) - 1, _FRAMES).round().astype(int)
    side = WIDTH / _FRAMES
    frames = [
        _draw_image(clip.pixels[frame], place * side, 24, side - 2, side - 2)
        for place, frame in enumerate(chosen)
    ]
    left, width = WIDTH * area.left / count, WIDTH * area.width / count
    return _wrap_in_svg("".join(frames) + _draw_bar(left, 70, width, 7, LIT, True))


def sound_tile(trace: Trace, focus: Focus) -> str:
    """Draw the loudness of a recording over time, bright where the marked item attends."""
    attention, sound = trace.maps[focus.site], trace.request.sound
    assert sound is not None
    starts_N = trace.fields[attention.memory].anchors[:, 0]
    weights_N = attention.weights[focus.layer].mean(0)[focus.items[0]]
    lit_N = starts_N[weights_N >= weights_N.max() / 8]
    step = WIDTH / _BARS
    loud = [float(np.abs(part).max()) for part in np.array_split(sound.samples / 32768, _BARS)]
    length = len(sound.samples) / _BARS
    drawn = []
    for bar, value in enumerate(loud):
        is_lit = bool(((lit_N >= bar * length) & (lit_N < (bar + 1) * length)).any())
        height = 4 + 76 * value / max(loud)
        colour = LIT if is_lit else DIM
        drawn.append(
            _draw_bar(bar * step + 0.7, (HEIGHT - height) / 2, step - 1.4, height, colour, is_lit)
        )
    return _wrap_in_svg("".join(drawn))


PICTURES: Mapping[str, Callable[[Trace, Focus], str]] = {
    "caption": picture_tile,
    "reason": facts_tile,
    "watch": clip_tile,
    "listen": sound_tile,
}
"""The picture of a tile, by the name of its page. A page of texts shows text instead."""


def _get_top_area(trace: Trace, focus: Focus, item: int) -> Area:
    """Return the top area of an item that attends."""
    attention = trace.maps[focus.site]
    return top_areas(attention, focus.layer, focus.head, item, k=1)[0].area


def _wrap_in_svg(content: str) -> str:
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{2 * WIDTH}" height="{2 * HEIGHT}"'
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
        f' fill="none" stroke="{FRAME}" stroke-width="3"/>'
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
