"""What the film strip is made of: for every word the picture, dimmed where nothing attends (Xu et
al. 2015, figure 3).

Shapes: G rows and M columns of cells, H height and W width in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.drawing import pictures, theme
from areaviz.drawing.base import caption
from areaviz.drawing.labels import visible
from areaviz.drawing.pictures import Box, Pixels
from areaviz.drawing.select import Selection, fits, groups, name, select
from areaviz.trace import query
from areaviz.trace.query import Attended
from areaviz.trace.record import AttentionMap, Field, FloatArray, Trace
from areaviz.trace.request import Focus

MOST_FRAMES = 200
"""Words or items of one film: each frame takes some .05 s to draw, and a longer text would hold up
the page.
"""
DIM = 0.2
"""Brightness of what receives no attention."""
GROUND, _DARK = 96, 32
"""The grey that black becomes in frames of a picture whose median is below `_DARK`: light on black
is not seen.
"""


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """One word or item.

    first: its first item (0-based). probability: of all its items, given those before; None where
    the model did not produce them. shares: float32 [G, M],
    item shares, which sum to 1. heaviest: the area with most weight, on the mean of its items, None
    where nothing has any. read: of hard attention, the box that was read (pixels of the picture)
    and its colour, for each head drawn.
    """

    first: int
    label: str
    probability: float | None
    shares: FloatArray
    heaviest: Attended | None
    read: tuple[tuple[Box, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Film:
    """The frames of one picture. top: the share of a cell that is drawn at full brightness, the
    same in all frames.
    """

    picture: Pixels
    cells: Field
    frames: tuple[Frame, ...]
    top: float
    title: str
    note: str
    caption: str

    def stills(self, longest: int, dim: float = DIM) -> Stills:
        """What draws the frames, sides of at most `longest` pixels; dim: brightness of what
        receives no attention.
        """
        small = pictures.fitted(self.picture, longest)
        return Stills(self, small, lifted(small), max(2, longest // 90), dim)


@dataclass(frozen=True, slots=True, eq=False)
class Stills:
    """The frames of a film as pictures of one size. plain: the picture itself, [H, W, 3]; light:
    the same, `lifted`.
    """

    film: Film
    plain: Pixels
    light: FloatArray
    line: int
    dim: float

    def of(self, frame: Frame) -> Pixels:
        """A frame: uint8 [H, W, 3]."""
        whole = self.film.picture.shape
        share_HW = spread(frame.shares, self.film.cells, whole[:2], self.plain.shape[:2])
        light_HW = self.dim + (1 - self.dim) * np.clip(share_HW / self.film.top, 0, 1)
        lit = (self.light * light_HW[..., None]).round().astype(np.uint8)
        scale = self.plain.shape[1] / whole[1]
        return pictures.outlined(
            lit, [(_scaled(box, scale), colour) for box, colour in frame.read], self.line
        )


def film_fits(trace: Trace, focus: Focus) -> bool:
    """Whether text attends to the cells of a picture, and what is focused is no longer than a film
    can be.
    """
    if not fits(trace, focus) or trace.request.picture is None:
        return False
    attention = trace.maps[focus.site]
    kinds = [trace.fields[side].kind for side in (attention.query, attention.memory)]
    if kinds != ["text", "picture"]:
        return False
    chosen = set(focus.items) if focus.side == "query" else set()
    return 0 < len(chosen or trace.fields[attention.query]) <= MOST_FRAMES


def film(trace: Trace, focus: Focus) -> Film:
    """The frames of the focused items, of all words where none is focused; `focus.unit` "word"
    joins items to words.
    """
    chosen = select(trace, focus)
    assert trace.request.picture is not None
    runs = groups(chosen.query, focus.unit)
    shares_QN = query.item_shares(chosen.attention, chosen.layer, chosen.head)
    shares_RN = query.merge_items(shares_QN, runs)
    top = float(shares_RN.max()) or 1.0
    shown = _shown(chosen, runs)
    least = query.smallest_area(chosen.attention, focus)
    frames = tuple(_frame(trace, chosen, runs[run], shares_RN[run], least) for run in shown)
    unit = unit_name(chosen.query, focus.unit)
    scale = (
        f"brightness: {DIM:.0%} without attention, full at {top:.1%} in a cell, the same in every"
        " frame"
    )
    read = "; outlined: what was read" if any(frame.read for frame in frames) else ""
    title = f"Where the model looks for each {name(chosen.query)} {unit}, {chosen.head_words}"
    whole = f"{caption(trace, focus)} · full brightness: {top:.1%} of the attention in a cell"
    return Film(
        trace.request.picture.pixels, chosen.memory, frames, top, title, f"{scale}{read}", whole
    )


def spread(
    shares_GM: FloatArray, cells: Field, size: tuple[int, ...], drawn: tuple[int, ...]
) -> FloatArray:
    """Shares at every drawn pixel, bilinear between the middles of the cells, 0 where there are
    none: float32 [H, W].

    size, drawn: height and width of the picture, and as it is drawn.
    """
    anchors = cells.anchors.reshape(*shares_GM.shape, 4)
    down_HG = _along(anchors[:, :, 1].mean(1), anchors[:, :, 3].mean(1), size[0], drawn[0])
    across_WM = _along(anchors[:, :, 0].mean(0), anchors[:, :, 2].mean(0), size[1], drawn[1])
    spread_HW: FloatArray = (down_HG @ shares_GM @ across_WM.T).astype(np.float32)
    return spread_HW


def lifted(pixels_HWC: Pixels) -> FloatArray:
    """The picture, with a grey ground where it is mostly black and its light parts as they are:
    float32 [H, W, 3].
    """
    ground = GROUND if np.median(pixels_HWC) < _DARK else 0
    return (ground + pixels_HWC * np.float32(1 - ground / 255)).astype(np.float32)


def _along(starts: FloatArray, ends: FloatArray, length: int, drawn: int) -> FloatArray:
    """How much each of the cells along one axis counts at every drawn pixel: [drawn, cells]."""
    places = (np.arange(drawn) + 0.5) * length / drawn
    weights = np.stack(
        [np.interp(places, (starts + ends) / 2, unit) for unit in np.eye(len(starts))], 1
    )
    outside = (places < starts.min()) | (places > ends.max())
    return np.where(outside[:, None], 0, weights).astype(np.float32)


def _shown(chosen: Selection, runs: Sequence[tuple[int, int]]) -> list[int]:
    """The runs that get a frame: focused ones, else those that stand for text, else all."""
    if chosen.focused:
        return [
            number
            for number, (start, end) in enumerate(runs)
            if any(start <= q < end for q in chosen.queries)
        ]
    anchors, raw = chosen.query.anchors, chosen.query.raw
    texts = [raw[anchors[start, 0] : anchors[end - 1, 1]] for start, end in runs]
    return [number for number, text in enumerate(texts) if text.strip()] or list(range(len(runs)))


def _frame(
    trace: Trace, chosen: Selection, run: tuple[int, int], shares_N: FloatArray, least: int
) -> Frame:
    items, grid = range(*run), chosen.attention.grid
    produced = trace.output.field == chosen.query.name
    likely = float(np.prod(trace.output.probabilities[list(items)])) if produced else None
    label = (
        "".join(chosen.query.labels[item] for item in items).strip() or chosen.query.labels[run[0]]
    )
    heads_HQA = chosen.attention.weights[
        chosen.layer, chosen.heads.start : chosen.heads.stop, run[0] : run[1]
    ]
    top = query.attended(heads_HQA.mean((0, 1)), grid, 1, min_size=least)
    read = tuple(box for item in items for box in _read(chosen, item))
    shares_GM = shares_N.reshape(grid.height, grid.width)
    return Frame(run[0], visible(label), likely, shares_GM, next(iter(top), None), read)


def _read(chosen: Selection, item: int) -> list[tuple[Box, str]]:
    """What hard attention read for an item, by head."""
    if chosen.attention.chosen is None:
        return []
    several = len(chosen.heads) > 1
    indices = [
        (head, int(chosen.attention.chosen[chosen.layer, head, item])) for head in chosen.heads
    ]
    colours = [theme.head_colour(head) if several else theme.SECOND for head, _ in indices]
    boxes = [area_box(chosen.attention, chosen.memory, index) for _, index in indices]
    return list(zip(boxes, colours, strict=True))


def area_box(attention: AttentionMap, cells: Field, index: int) -> Box:
    """The pixels of the picture that an area of cells takes up."""
    area, grid = attention.grid.area(index), attention.grid
    anchors = cells.anchors.reshape(grid.height, grid.width, 4)
    left, top, right, bottom = np.moveaxis(
        anchors[area.top : area.top + area.height, area.left : area.left + area.width].reshape(
            -1, 4
        ),
        1,
        0,
    )
    return float(left.min()), float(top.min()), float(right.max()), float(bottom.max())


def unit_name(field: Field, unit: str) -> str:
    """What is looked at one by one: "word", also where every item is a whole word of several, else
    "item".
    """
    runs = query.words(field)
    are_words = len(runs) > 2 and all(end - start == 1 for start, end in runs)
    return "word" if unit == "word" or are_words else "item"


def _scaled(box: Box, scale: float) -> Box:
    left, top, right, bottom = (round(side * scale) for side in box)
    return left, top, right, bottom
