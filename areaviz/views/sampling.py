"""What the sampling grid is drawn from: the quadrilateral, some of its points, the output, and one
sample.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.drawing import gazes
from areaviz.drawing.base import Table, caption
from areaviz.drawing.bilinear import Sample, places, sample
from areaviz.drawing.pictures import Box, Pixels
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Focus

TITLE = "What the spatial transformer cut out"
PANELS = ("the picture", "what was read", "one sample")
CORNERS = ("top left", "top right", "bottom right", "bottom left")
COLOURS = ("#0072B2", "#F0E442", "#CC79A7", "#009E73")
"""Of the corners, from Okabe and Ito; the sample is drawn in the theme's second colour."""
_POINTS = 7


@dataclass(frozen=True, slots=True, eq=False)
class Sampling:
    """corners: float32 [4, 2]. points: float32 [P, 2], where some of the samples lie. seen: uint8
    [S, S].

    dots: float32 [P, 2], the same samples in pixels of the output. sample: in pixels of what the
    network got, see `gazes.source_of`. middle: its place (x, y) in the picture. read: what the
    model got for it, 0..255.
    """

    picture: Pixels
    corners: FloatArray
    points: FloatArray
    dots: FloatArray
    seen: Pixels
    sample: Sample
    middle: tuple[float, float]
    read: int
    box: Box
    note: str
    caption: str

    @property
    def outline(self) -> FloatArray:
        """The quadrilateral, closed: [5, 2]."""
        return self.corners[[0, 1, 2, 3, 0]]

    @property
    def edges(self) -> FloatArray:
        """The corners of the output in its own pixels, in the same order: [4, 2]."""
        side = self.seen.shape[0]
        return np.array([[0, 0], [side, 0], [side, side], [0, side]], dtype=np.float32)

    @property
    def sum_lines(self) -> tuple[str, ...]:
        """What the sample is and the weighted sum, in short lines."""
        one = self.sample
        terms = [f"{n.value:.0f} × {n.weight:.2f}" for n in one.neighbours]
        return (
            f"Row {one.row + 1}, column {one.column + 1} of what was",
            f"read lies at {one.x:.2f}, {one.y:.2f} px:",
            " + ".join(terms[:2]),
            "+ " + " + ".join(terms[2:]),
            f"= {one.total:.0f}; the model read {self.read}",
        )


def sampling(trace: Trace, focus: Focus) -> Sampling:
    """The finest scale of the first step; the focused pixel of the output, or its middle one."""
    gaze, picture = trace.gazes[focus.site], gazes.picture_of(trace)
    corners, seen = gaze.corners[0, 0], gaze.seen[0, 0]
    source, in_source = gazes.source_of(trace, corners)
    side = len(seen)
    index = focus.items[0] if focus.items else (side // 2) * side + side // 2
    chosen = sample(source, in_source, side, index)
    x, y = places(corners, side, [(chosen.row, chosen.column)])[0].tolist()
    pixels = np.array([divmod(k, min(_POINTS, side)) for k in range(min(_POINTS, side) ** 2)])
    pixels = np.linspace(0, side - 1, min(_POINTS, side)).round().astype(np.int64)[pixels]
    points = f"points: {len(pixels)} of the {side}×{side} samples"
    made = (
        f"; the model got {source.shape[1]}×{source.shape[0]} px"
        if source.shape[:2] != picture.shape[:2]
        else ""
    )
    note = (
        f"{points}; corners of one colour and shape belong together; dotted: overlaps are"
        f" weights{made}"
    )
    return Sampling(
        picture=picture,
        corners=corners,
        points=places(corners, side, pixels),
        dots=(pixels[:, ::-1] + 0.5).astype(np.float32),
        seen=seen,
        sample=chosen,
        middle=(x, y),
        read=int(seen[chosen.row, chosen.column]),
        box=gazes.view_box(picture, corners, 1.0),
        note=note,
        caption=caption(trace, focus),
    )


def sampling_table(trace: Trace, focus: Focus) -> Table:
    """The corners, the place of the sample, and its four pixels with value, weight and product;
    pixels count from 1.
    """
    drawn = sampling(trace, focus)
    corners = zip(CORNERS, drawn.corners.tolist(), strict=True)
    rows: list[tuple[str | int | float, ...]] = [
        (f"{name} corner", x, y, "", "", "") for name, (x, y) in corners
    ]
    one = drawn.sample
    rows.append(
        (f"sample of output row {one.row + 1}, column {one.column + 1}", *drawn.middle, "", "", "")
    )
    rows.append(("the same in pixels of what the model got", one.x, one.y, "", "", ""))
    for pixel in one.neighbours:
        name = f"pixel in row {pixel.row + 1}, column {pixel.column + 1}"
        rows.append(
            (name, pixel.column + 0.5, pixel.row + 0.5, pixel.value, pixel.weight, pixel.product)
        )
    rows.append(("sum", "", "", "", sum(pixel.weight for pixel in one.neighbours), one.total))
    rows.append(("read by the model", "", "", drawn.read, "", ""))
    return Table(("what", "x (px)", "y (px)", "value", "weight", "product"), rows)
