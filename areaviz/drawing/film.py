"""The frames of a film: for every word the picture, dimmed where nothing attends.

The idea is that of Xu et al. (2015), figure 3. Shapes: G rows and M columns of cells, H height and
W width in pixels, Q queries, N cells, R runs of queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from areaviz.drawing.base import caption
from areaviz.drawing.labels import visible
from areaviz.drawing.pictures import Box, Pixels, fitted, outlined, scaled
from areaviz.drawing.select import FocusedMap, Runs, field_name, fits_map, groups, select
from areaviz.drawing.theme import SECOND, Drawing, head_colour
from areaviz.trace import query
from areaviz.trace.query import Attended
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus

MOST_FRAMES = 200
"""Words or items of one film: a frame takes .05 s, and a longer text would hold up the page."""
DIM = 0.2
"""Brightness of what receives no attention."""
GROUND = 96
"""The grey that black becomes in frames of a dark picture: light on black is not seen."""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One word or item."""

    # Its first item, 0-based.
    first: int
    label: str
    # Of all its items, given those before; None where the model did not produce them.
    probability: float | None
    # Item shares: float32 [G, M], which sum to 1.
    shares: FloatArray
    # The area with most weight, on the mean of its items; None where nothing has any.
    heaviest: Attended | None
    # Of hard attention what each drawn head read, in pixels of the picture, and its colour.
    read: Sequence[tuple[Box, str]]


@dataclass(frozen=True, slots=True, eq=False)
class Film(Drawing):
    """The frames of one picture."""

    picture: Pixels
    cells: Field
    frames: Sequence[Frame]
    # The share of a cell that is drawn at full brightness, the same in all frames.
    top: float

    def stills(self, longest: int, dim: float = DIM) -> Stills:
        """What draws the frames.

        Args:
            longest: of the sides, in pixels.
            dim: brightness of what receives no attention.
        """
        small = fitted(self.picture, longest)
        return Stills(
            self,
            small,
            lifted(small),
            max(2, longest // 90),
            dim,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Stills:
    """Draws the frames of a film as pictures of one size."""

    film: Film
    # The picture itself: uint8 [H, W, 3].
    plain: Pixels
    # The same, `lifted`.
    light: FloatArray
    # How wide outlines are, in pixels.
    line: int
    dim: float

    def of(self, frame: Frame) -> Pixels:
        """A frame: uint8 [H, W, 3]."""
        whole, drawn = self.film.picture.shape, self.plain.shape
        share_HW = spread(frame.shares, self.film.cells, whole, drawn)
        light_HW = self.dim + (1 - self.dim) * np.clip(share_HW / self.film.top, 0, 1)
        lit = (self.light * light_HW[..., None]).round().astype(np.uint8)
        scale = drawn[1] / whole[1]
        boxes = [(scaled(box, scale), colour) for box, colour in frame.read]
        return outlined(lit, boxes, self.line)


def fits_film(trace: Trace, focus: Focus) -> bool:
    """Whether text attends to cells of a picture, and a film can be as long as what is focused."""
    if not fits_map(trace, focus) or trace.request.picture is None:
        return False
    attention = trace.maps[focus.site]
    words = trace.fields[attention.query]
    if words.kind != "text" or trace.fields[attention.memory].kind != "picture":
        return False
    chosen = set(focus.items) if focus.side == "query" else set()
    return 0 < len(chosen or words) <= MOST_FRAMES


def film(trace: Trace, focus: Focus) -> Film:
    """The frames of the focused items, of all words where none is focused.

    With `focus.unit` "word" items are joined to words.
    """
    chosen = select(trace, focus)
    assert trace.request.picture is not None
    runs = groups(chosen.query, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RN = query.merge_items(shares_QN, runs)
    top = float(shares_RN.max()) or 1.0
    least = query.smallest_area(chosen.attention, focus)
    frames = [
        _frame(trace, chosen, runs[run], shares_RN[run], least) for run in _shown(chosen, runs)
    ]
    note = (
        f"brightness: {DIM:.0%} without attention, full at {top:.1%} in a cell, the same in every"
        " frame"
    )
    if any(frame.read for frame in frames):
        note += "; outlined: what was read"
    unit = f"{field_name(chosen.query)} {unit_name(chosen.query, focus.unit)}"
    return Film(
        title=f"Where the model looks for each {unit}, {chosen.head_words}",
        note=note,
        caption=f"{caption(trace, focus)} · full brightness: {top:.1%} of the attention in a cell",
        picture=trace.request.picture.pixels,
        cells=chosen.memory,
        frames=frames,
        top=top,
    )


def spread(
    shares_GM: FloatArray, cells: Field, size: tuple[int, ...], drawn: tuple[int, ...]
) -> FloatArray:
    """Shares at every drawn pixel, bilinear between the middles of the cells: float32 [H, W].

    Where there are no cells the share is 0.

    Args:
        size: height and width of the picture.
        drawn: the same as it is drawn.
    """
    boxes = cells.anchors.reshape(*shares_GM.shape, 4)
    left_M, right_M = boxes[..., 0].mean(0), boxes[..., 2].mean(0)
    top_G, bottom_G = boxes[..., 1].mean(1), boxes[..., 3].mean(1)
    down_HG = _along(top_G, bottom_G, size[0], drawn[0])
    across_WM = _along(left_M, right_M, size[1], drawn[1])
    return (down_HG @ shares_GM @ across_WM.T).astype(np.float32)


def lifted(pixels_HWC: Pixels) -> FloatArray:
    """The picture, of a dark one with a grey ground and its light parts as they are: float32."""
    ground = GROUND if np.median(pixels_HWC) < 32 else 0
    return (ground + pixels_HWC * np.float32(1 - ground / 255)).astype(np.float32)


def _along(
    starts: FloatArray,
    ends: FloatArray,
    length: int,
    drawn: int,
) -> FloatArray:
    """How much each of the cells along one axis counts at every drawn pixel: [drawn, cells]."""
    places = (np.arange(drawn) + 0.5) * length / drawn
    middles = (starts + ends) / 2
    weights = np.stack([np.interp(places, middles, unit) for unit in np.eye(len(starts))], 1)
    outside = (places < starts.min()) | (places > ends.max())
    return np.where(outside[:, None], 0, weights).astype(np.float32)


def _shown(chosen: FocusedMap, runs: Runs) -> Sequence[int]:
    """The runs that get a frame: focused ones, else those that stand for text, else all."""
    anchors, raw = chosen.query.anchors, chosen.query.raw
    focused, found = set(chosen.queries), []
    for number, (start, end) in enumerate(runs):
        if chosen.focused:
            wanted = not focused.isdisjoint(range(start, end))
        else:
            wanted = bool(raw[anchors[start, 0] : anchors[end - 1, 1]].strip())
        if wanted:
            found.append(number)
    return found or range(len(runs))


def _frame(
    trace: Trace, chosen: FocusedMap, run: tuple[int, int], shares_N: FloatArray, least: int
) -> Frame:
    start, end = run
    labels, grid = chosen.query.labels[start:end], chosen.attention.grid
    likely = None
    if trace.output.field == chosen.query.name:
        likely = float(np.prod(trace.output.probabilities[start:end]))
    heaviest = query.attended(chosen.weights(slice(start, end)), grid, 1, min_size=least)
    return Frame(
        first=start,
        label=visible("".join(labels).strip() or labels[0]),
        probability=likely,
        shares=shares_N.reshape(grid.height, grid.width),
        heaviest=heaviest[0] if heaviest else None,
        read=list(_read(chosen, range(start, end))),
    )


def _read(chosen: FocusedMap, items: range) -> Iterator[tuple[Box, str]]:
    """What hard attention read for items, by head."""
    attention = chosen.attention
    if attention.chosen is None:
        return
    for item, head in product(items, chosen.heads):
        index = int(attention.chosen[chosen.layer, head, item])
        colour = SECOND if chosen.head is not None else head_colour(head)
        yield area_box(attention, chosen.memory, index), colour


def area_box(
    attention: AttentionMap,
    cells: Field,
    index: int,
) -> Box:
    """The pixels of the picture that an area of cells takes up."""
    grid = attention.grid
    area = grid.area(index)
    boxes = cells.anchors.reshape(grid.height, grid.width, 4)
    boxes = boxes[area.top : area.top + area.height, area.left : area.left + area.width]
    left, top = boxes[..., :2].min((0, 1)).tolist()
    right, bottom = boxes[..., 2:].max((0, 1)).tolist()
    return float(left), float(top), float(right), float(bottom)


def unit_name(field: Field, unit: str) -> str:
    """What is looked at one by one: "word", also where every item is a whole word, else "item"."""
    runs = query.words(field)
    are_words = len(runs) > 2 and all(end - start == 1 for start, end in runs)
    return "word" if unit == "word" or are_words else "item"
