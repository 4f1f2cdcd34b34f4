"""The film: its frames, and the two views that show them as a strip or one after another."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import matplotlib
import numpy as np
from PIL import Image, ImageDraw, ImageFont

from areaviz.draw import tiles
from areaviz.draw.labels import replace_undrawable, show_invisibles, truncate
from areaviz.draw.marks import Plot
from areaviz.draw.pictures import (
    Box,
    Pixels,
    draw_boxes,
    repeat_to_minimum_size,
    scale_box,
    shrink_to_fit,
    to_data_uri,
)
from areaviz.draw.select import FocusedMap, Runs, fits_map, group_items, name_field, select
from areaviz.draw.theme import SECOND, Drawing, get_head_colour
from areaviz.draw.tiles import Sheet, Tile
from areaviz.draw.view import Animation, Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray, format_area
from areaviz.trace.query import Attended, map_of
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

# Frames of a film. Each word has a frame: the picture, dimmed where there is little attention.
#
# The idea is from Xu et al. (2015), Fig. 3. Shapes: G rows and M columns of cells, H height and W
# width in pixels, Q queries, N cells, R runs of queries.


MOST_FRAMES = 200
"""Maximum number of frames of a film. A frame takes 0.05 s, so more would delay the page."""
DIM_BRIGHTNESS = 0.2
"""Brightness of cells without attention."""
GROUND = 96
"""Grey level that replaces black in frames of a dark picture, because black cannot be dimmed."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """The frame of one word or item."""

    # First item, 0-based.
    first: int
    label: str
    # Product of the probabilities of the word's items, each given the items before it. None if the
    # model did not produce the word.
    probability: float | None
    # Item shares, which sum to 1: float32 [G, M].
    shares: FloatArray
    # Brightness of each cell relative to `find_brightest`, 0..1: float32 [G, M].
    light: FloatArray
    # Top area of the mean over the word's items, or None if all weights are zero.
    heaviest: Attended | None
    # Whether the word is locked.
    marked: bool
    # For hard attention, the box in pixels of the picture that each drawn head read, with the
    # colour of the head.
    read: Sequence[tuple[Box, str]]


@dataclass(frozen=True, slots=True, eq=False)
class Film(Drawing):
    """The frames of one picture."""

    picture: Pixels
    cells: Field
    frames: Sequence[Frame]

    def stills(self, longest: int, dim: float = DIM_BRIGHTNESS) -> Stills:
        """Return the renderer of the frames.

        Args:
            longest: maximum side in pixels.
            dim: brightness of cells without attention.
        """
        small = shrink_to_fit(self.picture, longest)
        return Stills(self, small, brighten_dark_picture(small), max(2, longest // 90), dim)


@dataclass(frozen=True, slots=True, eq=False)
class Stills:
    """Renderer of the frames of a film, as pictures of equal size."""

    film: Film
    # The picture itself: uint8 [H, W, 3].
    plain: Pixels
    # The picture after `brighten_dark_picture`.
    light: FloatArray
    # Width of outlines in pixels.
    line: int
    dim: float

    def of(self, frame: Frame) -> Pixels:
        """Render a frame: uint8 [H, W, 3]."""
        whole, drawn = self.film.picture.shape, self.plain.shape
        lit_HW = interpolate_shares(frame.light, self.film.cells, whole, drawn)
        light_HW = self.dim + (1 - self.dim) * np.clip(lit_HW, 0, 1)
        lit = (self.light * light_HW[..., None]).round().astype(np.uint8)
        scale = drawn[1] / whole[1]
        boxes = [(scale_box(box, scale), colour) for box, colour in frame.read]
        return draw_boxes(lit, boxes, self.line)


def fits_film(trace: Trace, focus: Focus) -> bool:
    """Return whether a text attends to a picture and has at most `MOST_FRAMES` frames to show."""
    if not fits_map(trace, focus) or trace.request.picture is None:
        return False
    attention = trace.maps[focus.site]
    words = trace.fields[attention.query]
    if words.kind != "text" or trace.fields[attention.memory].kind != "picture":
        return False
    return 0 < len(_choose_runs(select(trace, focus), group_items(words, "item"))) <= MOST_FRAMES


def find_film(trace: Trace, focus: Focus) -> Film:
    """Return the frames of all words, with the focused words marked.

    If there are too many words, only the focused words get frames. With `focus.unit` "word", items
    are merged into words. The brightness of a cell depends on its share, or on how much more it
    gets than on average. Each frame has its own scale, up to its brightest cell.
    """
    chosen = select(trace, focus)
    assert trace.request.picture is not None
    runs = group_items(chosen.query, focus.unit)
    place = chosen.attention, chosen.layer, chosen.head
    shares_RN = map_of(*place, "nothing", runs)
    light_RN = shares_RN
    if focus.against == "average":
        light_RN = np.maximum(map_of(*place, "average", runs), 0)
    least = query.find_smallest_area_size(chosen.attention, focus)
    frames = []
    for run in _choose_runs(chosen, runs):
        light_N = light_RN[run] / find_brightest(light_RN[run], focus.against)
        frames.append(_make_frame(trace, chosen, runs[run], shares_RN[run], light_N, least))
    note = f"brightness: {DIM_BRIGHTNESS:.0%} without attention, full in each frame's largest cell"
    if focus.against == "average":
        note = f"brightness: {DIM_BRIGHTNESS:.0%} up to the head's average, "
        note += "full where a frame is most above"
    if any(frame.read for frame in frames):
        note += "; outlined: what was read"
    unit = f"{name_field(chosen.query)} {name_unit(chosen.query, focus.unit)}"
    return Film(
        title=f"Where the model looks for each {unit}, {chosen.head_words}",
        note=note,
        caption=f"{figure_caption(trace, focus)} · each frame lit up to its own largest cell",
        picture=trace.request.picture.pixels,
        cells=chosen.memory,
        frames=frames,
    )


def find_brightest(light_N: FloatArray, against: str) -> float:
    """Return the value that is drawn at full brightness in a frame.

    If values are relative to the average, it is at least 1, which means a doubling. A frame with
    average attention therefore stays dark.
    """
    most = float(light_N.max())
    return max(most, 1.0) if against == "average" else most or 1.0


def interpolate_shares(
    shares_GM: FloatArray, cells: Field, size: tuple[int, ...], drawn: tuple[int, ...]
) -> FloatArray:
    """Interpolate shares for every drawn pixel: float32 [H, W].

    Interpolation is bilinear between the centres of the cells. The share is 0 outside all cells.

    Args:
        shares_GM: share of each cell.
        cells: the field of the picture's cells.
        size: height and width of the picture.
        drawn: height and width of the picture as drawn.
    """
    boxes = cells.anchors.reshape(*shares_GM.shape, 4)
    left_M, right_M = boxes[..., 0].mean(0), boxes[..., 2].mean(0)
    top_G, bottom_G = boxes[..., 1].mean(1), boxes[..., 3].mean(1)
    down_HG = _interpolate_along(top_G, bottom_G, size[0], drawn[0])
    across_WM = _interpolate_along(left_M, right_M, size[1], drawn[1])
    return (down_HG @ shares_GM @ across_WM.T).astype(np.float32)


def brighten_dark_picture(pixels_HWC: Pixels) -> FloatArray:
    """Return a dark picture with grey instead of black, or a bright picture unchanged: float32."""
    ground = GROUND if np.median(pixels_HWC) < 32 else 0
    return (ground + pixels_HWC * np.float32(1 - ground / 255)).astype(np.float32)


def _interpolate_along(starts: FloatArray, ends: FloatArray, length: int, drawn: int) -> FloatArray:
    """Return the weight of each cell along one axis for every drawn pixel: [drawn, cells]."""
    places = (np.arange(drawn) + 0.5) * length / drawn
    middles = (starts + ends) / 2
    weights = np.stack([np.interp(places, middles, unit) for unit in np.eye(len(starts))], 1)
    outside = (places < starts.min()) | (places > ends.max())
    return np.where(outside[:, None], 0, weights).astype(np.float32)


def _choose_runs(chosen: FocusedMap, runs: Runs) -> Sequence[int]:
    """Return the indices of the runs that get a frame.

    They are the focused runs and the runs with visible text, or all runs if there are no such runs.
    If they are too many, only focused runs are kept.
    """
    anchors, raw = chosen.query.anchors, chosen.query.raw
    focused, found = [], []
    for number, (start, end) in enumerate(runs):
        is_focused = _is_marked(chosen, (start, end))
        if is_focused:
            focused.append(number)
        if is_focused or raw[anchors[start, 0] : anchors[end - 1, 1]].strip():
            found.append(number)
    if focused and len(found) > MOST_FRAMES:
        return focused
    return found or range(len(runs))


def _is_marked(chosen: FocusedMap, run: tuple[int, int]) -> bool:
    """Return whether a run contains a locked item."""
    return chosen.focused and not set(chosen.queries).isdisjoint(range(*run))


def _make_frame(
    trace: Trace,
    chosen: FocusedMap,
    run: tuple[int, int],
    shares_N: FloatArray,
    light_N: FloatArray,
    least: int,
) -> Frame:
    start, end = run
    labels, grid = chosen.query.labels[start:end], chosen.attention.grid
    likely = None
    if trace.output.field == chosen.query.name:
        likely = float(np.prod(trace.output.probabilities[start:end]))
    heaviest = query.find_top_combined_areas(
        chosen.weights(slice(start, end)), grid, 1, min_size=least
    )
    return Frame(
        first=start,
        label=show_invisibles("".join(labels).strip() or labels[0]),
        probability=likely,
        shares=shares_N.reshape(grid.height, grid.width),
        light=light_N.reshape(grid.height, grid.width),
        heaviest=heaviest[0] if heaviest else None,
        marked=_is_marked(chosen, run),
        read=list(_iterate_boxes_read(chosen, range(start, end))),
    )


def _iterate_boxes_read(chosen: FocusedMap, items: range) -> Iterator[tuple[Box, str]]:
    """Yield the box that each head read under hard attention, with the colour of the head."""
    attention = chosen.attention
    if attention.chosen is None:
        return
    for item, head in product(items, chosen.heads):
        index = int(attention.chosen[chosen.layer, head, item])
        colour = SECOND if chosen.head is not None else get_head_colour(head)
        yield get_area_box(attention, chosen.memory, index), colour


def get_area_box(attention: AttentionMap, cells: Field, index: int) -> Box:
    """Return the pixels of the picture that an area of cells covers."""
    grid = attention.grid
    area = grid.area(index)
    boxes = cells.anchors.reshape(grid.height, grid.width, 4)
    boxes = boxes[area.top : area.top + area.height, area.left : area.left + area.width]
    left, top = boxes[..., :2].min((0, 1)).tolist()
    right, bottom = boxes[..., 2:].max((0, 1)).tolist()
    return float(left), float(top), float(right), float(bottom)


def name_unit(field: Field, unit: str) -> str:
    """Return "word" if items are merged into words or are whole words, and "item" otherwise."""
    runs = query.find_words(field)
    are_words = len(runs) > 2 and all(end - start == 1 for start, end in runs)
    return "word" if unit == "word" or are_words else "item"


# Film strip and playback, which have a picture for each word, bright where the model attends.
#
# On a page, the film strip shows all frames at once, and playback shows one large frame at a time
# above the sentence. In a file, the film is an animated GIF.


PLAYED_LONGEST, PLAYED_LEAST = 420, 32
"""Maximum and minimum side of a played frame, in px."""
_MILLISECONDS = 700

# Minimum width of the GIF, and maximum and minimum side of its picture, in px.
_NARROWEST, _LONGEST, _LEAST = 256, 480, 32
_FONT_PX, _LINE_PX, _MARGIN_PX, _SAMPLE_PX = 16, 24, 10, 64
_PAPER, _INK, _QUIET = "#FFFFFF", "#111111", "#707070"

Placed = tuple[float, int, str]
"""Left edge in px, line (0-based) and text of a word."""


def arrange_sheet(drawn: Film, longest: int) -> Sheet:
    """Arrange the plain picture and all frames, with sides of at most `longest` px."""
    # Many frames get smaller pictures to keep the figure small.
    stills = drawn.stills(longest if len(drawn.frames) <= 16 else longest * 2 // 3)
    found = [Tile(stills.plain, ("the picture", ""), ("the picture as it is",))]
    for frame in drawn.frames:
        share = f"{frame.heaviest.weight:.0%}" if frame.heaviest else ""
        found.append(
            Tile(
                _render_still(stills, frame),
                (truncate(frame.label, 14), share),
                _make_hover(drawn, frame),
            )
        )
    height, width = drawn.picture.shape[:2]
    return Sheet(
        drawn.title,
        f"{drawn.note}; percentage: weight of the word's top area",
        drawn.caption,
        tiles=found,
        across=min(5, len(found)),
        height=float(np.clip(128 * height / width, 60, 180)),
    )


def _render_still(stills: Stills, frame: Frame) -> Pixels:
    """Return the picture of a frame, with an outline if its word is focused."""
    still = stills.of(frame)
    if not frame.marked:
        return still
    (height, width), edge = still.shape[:2], 1.5 * stills.line
    around = edge, edge, width - edge, height - edge
    return draw_boxes(still, [(around, SECOND)], 2 * stills.line)


def _make_hover(drawn: Film, frame: Frame) -> tuple[str, ...]:
    most = f"{describe_brightest_cell(drawn, frame)} of the attention"
    return describe_frame(frame), most, f"heaviest area: {_describe_area(frame)}"


def describe_frame(frame: Frame) -> str:
    """Return a word's label and position and, if the model produced it, its probability."""
    text = f"{frame.label} (item {frame.first + 1})"
    likely = frame.probability
    return text if likely is None else f"{text}, probability {likely:.1%}"


def describe_brightest_cell(drawn: Film, frame: Frame) -> str:
    """Return the cell that gets the most attention, with its share, as text."""
    cell = show_invisibles(drawn.cells.labels[int(frame.shares.argmax())])
    return f"most on {cell}: {frame.shares.max():.1%}"


def _describe_area(frame: Frame) -> str:
    """Return the top area with its weight as text, or "none"."""
    top = frame.heaviest
    return f"{format_area(top.area)} ({top.weight:.1%})" if top else "none"


def plot(drawn: Film) -> Plot:
    """Draw the plain picture, then one frame per word."""
    return tiles.plot_tiles_on_screen(arrange_sheet(drawn, 250))


def print_plot(drawn: Film) -> Plot:
    """Draw the pictures of `plot` with more pixels, for print."""
    return tiles.plot_tiles_in_print(arrange_sheet(drawn, 400))


def tabulate(drawn: Film) -> Table:
    """Return a table with a row per frame: word, probability, top area, and share of every cell."""
    cells = drawn.cells.labels
    rows = []
    for frame in drawn.frames:
        likely = "" if frame.probability is None else frame.probability
        shares = frame.shares.ravel().tolist()
        rows.append((frame.first + 1, frame.label, likely, _describe_area(frame), *shares))
    return Table(("position", "item", "probability", "heaviest area", *cells), rows)


def render_animation(trace: Trace, focus: Focus) -> Animation:
    """Render larger frames, which the browser plays without asking the server."""
    drawn = find_film(trace, focus)
    stills = drawn.stills(PLAYED_LONGEST)
    return Animation(
        drawn.title,
        drawn.note,
        drawn.caption,
        words=tuple(frame.label for frame in drawn.frames),
        pictures=tuple(
            to_data_uri(repeat_to_minimum_size(_render_still(stills, frame), PLAYED_LEAST))
            for frame in drawn.frames
        ),
        milliseconds=_MILLISECONDS,
    )


def render_gif(trace: Trace, focus: Focus) -> bytes:
    """Render the film as an endless animated GIF with 0.7 seconds per frame."""
    drawn = find_film(trace, focus)
    height, width = drawn.picture.shape[:2]
    wide, high = compute_drawn_size(width, height)
    broad = max(wide, _NARROWEST)
    regular, bold = _load_font("DejaVuSans"), _load_font("DejaVuSans-Bold")
    words = [replace_undrawable(frame.label) for frame in drawn.frames]
    placed = break_into_lines(words, bold, broad - 2 * _MARGIN_PX)
    foot = 2 * _MARGIN_PX + _LINE_PX * (placed[-1][1] + 1)
    stills, images = drawn.stills(max(wide, high)), []
    for current, frame in enumerate(drawn.frames):
        still = Image.fromarray(_render_still(stills, frame)).resize(
            (wide, high), Image.Resampling.NEAREST
        )
        image = Image.new("RGB", (broad, high + foot), _PAPER)
        image.paste(still, ((broad - wide) // 2, 0))
        _write(ImageDraw.Draw(image), placed, current, high + _MARGIN_PX, regular, bold)
        images.append(image)
    colours = _find_palette(images)
    first, *others = [image.quantize(palette=colours, dither=Image.Dither.NONE) for image in images]
    buffer = io.BytesIO()
    first.save(
        buffer,
        "GIF",
        save_all=True,
        append_images=others,
        duration=_MILLISECONDS,
        loop=0,
        disposal=1,
    )
    return buffer.getvalue()


def compute_drawn_size(width: int, height: int) -> tuple[int, int]:
    """Return the width and height of a picture in the GIF.

    The proportions are kept, unless the limits on the sides prevent it.
    """
    scale = min(float(np.clip(width, _NARROWEST, _LONGEST)) / width, _LONGEST / height)
    wide, high = (np.clip(round(side * scale), _LEAST, _LONGEST) for side in (width, height))
    return int(wide), int(high)


def _find_palette(images: Sequence[Image.Image]) -> Image.Image:
    """Return a palette for all frames. It is found on small copies, because this is faster."""
    sheet = Image.new("RGB", (_SAMPLE_PX, _SAMPLE_PX * len(images)))
    for number, image in enumerate(images):
        small = image.resize((_SAMPLE_PX, _SAMPLE_PX), Image.Resampling.NEAREST)
        sheet.paste(small, (0, number * _SAMPLE_PX))
    return sheet.quantize(256, dither=Image.Dither.NONE)


def break_into_lines(
    words: Sequence[str], font: ImageFont.FreeTypeFont, room: float
) -> list[Placed]:
    """Break a sentence into lines of `room` px.

    A word that is wider than a line gets a line of its own.
    """
    blank, x, line = font.getlength(" "), 0.0, 0
    placed: list[Placed] = []
    for word in words:
        length = font.getlength(word)
        if x and x + length > room:
            x, line = 0.0, line + 1
        placed.append((x, line, word))
        x += length + blank
    return placed


def _write(
    pen: ImageDraw.ImageDraw,
    placed: Sequence[Placed],
    current: int,
    top: int,
    regular: ImageFont.FreeTypeFont,
    bold: ImageFont.FreeTypeFont,
) -> None:
    """Write the sentence, with the current word bold and underlined."""
    for number, (x, line, word) in enumerate(placed):
        left, upper = x + _MARGIN_PX, top + line * _LINE_PX
        if number != current:
            pen.text((left, upper), word, font=regular, fill=_QUIET)
            continue
        pen.text((left, upper), word, font=bold, fill=_INK)
        right, under = left + bold.getlength(word), upper + _FONT_PX + 4
        pen.line((left, under, right, under), fill=_INK, width=2)


def _load_font(name: str) -> ImageFont.FreeTypeFont:
    """Load a font that is bundled with matplotlib and therefore always available."""
    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return ImageFont.truetype(folder / f"{name}.ttf", _FONT_PX)


VIEW = replace(
    view_of_marks(
        "film",
        "Film strip",
        "Which part of the picture does the model attend to for each word or label?",
        fits_film,
        find_film,
        plot,
        tabulate,
        print_plot=print_plot,
        how_to_read=(
            "One picture per word, in output order. Bright regions received most of that"
            " word's attention. “Relative to average” under “More” hides what all words"
            " attend to."
        ),
    ),
    movie=render_gif,
)
PLAYBACK = replace(
    VIEW,
    name="playback",
    title="Playback",
    question="Where does the model look for each output word?",
    played=render_animation,
)
