"""One printed panel of the image grid: a picture, its cells tinted by their share, and frames
around areas.

Everything is drawn in axes that count inches from the top left. Shapes: N cells, H and W pixels, C
channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from areaviz.drawing.labels import for_print
from areaviz.drawing.theme import PRINT_FONT, SEQUENCE, head_colour
from areaviz.interactive.grid_table import Place, box_of
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.picture import Picture
from areaviz.trace.record import FloatArray, IntArray

LINE, TITLE = 0.15, 0.22  # inches: a line of the legend, a panel's title
COARSE = 112  # pixels; the squares of smaller pictures are kept
SHOWN = 2  # areas a head
READ = 0.03  # inches; room for the frame of what was read
SLIMMEST = (
    1 / 12
)  # of a picture's longer side; a thinner one is drawn wider than it is, so that it is seen
LANE = 0.028  # inches; every head has a lane of its own inside an area's edge


@dataclass(frozen=True, slots=True, eq=False)
class Panel:
    """What one picture shows; said: a line for each head. share_N: 0..1, outlined: the cells looked
    at.
    """

    title: str
    places: Sequence[Place]
    said: Sequence[tuple[int, str]]
    share_N: FloatArray
    outlined: Sequence[int]


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """Where a picture lies on paper: its left and top edge and width in inches; cells_N4: its cells
    in pixels.
    """

    axes: Axes
    picture: Picture
    grid: AreaGrid
    cells_N4: IntArray
    left: float
    top: float
    width: float

    @property
    def tall(self) -> float:
        """Its height in inches."""
        return self.width * drawn_shape(self.picture)

    def frame(
        self, area: Area, colour: str, thick: float, inset: float = 0, dashed: bool = False
    ) -> None:
        """A frame around an area, `thick` pt, `inset` inches inside its edge."""
        scale = np.array([self.width / self.picture.width, self.tall / self.picture.height])
        last = (area.top + area.height - 1) * self.grid.width + area.left + area.width - 1
        start = self.cells_N4[area.top * self.grid.width + area.left, :2] * scale
        extent = self.cells_N4[last, 2:] * scale - start
        inside = np.minimum(inset, extent / 3)
        x, y = np.array([self.left, self.top]) + start + inside
        width, height = np.maximum(extent - 2 * inside, 0.01)
        line = (0, (2, 1.5)) if dashed else "-"
        self.axes.add_patch(
            Rectangle(
                (x, y), width, height, fill=False, joinstyle="miter", ec=colour, lw=thick, ls=line
            )
        )

    def cased(
        self,
        area: Area,
        colour: str,
        case: str,
        thick: float,
        inset: float = 0,
        dashed: bool = False,
    ) -> None:
        """A frame that shows on any picture: a wider one in another colour lies behind it."""
        self.frame(area, case, thick + 1.1, inset)
        self.frame(area, colour, thick, inset, dashed)


def is_coarse(picture: Picture) -> bool:
    """Whether a picture is so small that its pixels are shown as squares."""
    return max(picture.width, picture.height) <= COARSE


def drawn_shape(picture: Picture) -> float:
    """Height over width of a picture as it is drawn."""
    return float(np.clip(picture.height / picture.width, SLIMMEST, 1 / SLIMMEST))


def panel_height(width: float, picture: Picture, heads: int) -> float:
    """Inches a panel takes with its title and its lines."""
    return TITLE + width * drawn_shape(picture) + LINE * (heads + 1) + 0.05


def draw_panel(spot: Spot, panel: Panel, heads: Sequence[int]) -> None:
    """Title above, picture, and a line for each head below; `spot` is where the picture lies."""
    write(spot.axes, spot.left, spot.top - TITLE / 2, panel.title, PRINT_FONT + 0.5)
    extent = (spot.left, spot.left + spot.width, spot.top + spot.tall, spot.top)
    smoothing = "nearest" if is_coarse(spot.picture) else "antialiased"
    spot.axes.imshow(spot.picture.pixels, extent=extent, interpolation=smoothing)
    if panel.share_N.any():
        spot.axes.imshow(_tint(spot, panel.share_N), extent=extent, interpolation="nearest")
    _frames(spot, panel, heads)
    y = spot.top + spot.tall + LINE * 0.8
    for order, (head, text) in enumerate(panel.said):
        box = (spot.left, y + LINE * order - 0.035), 0.09, 0.07
        spot.axes.add_patch(Rectangle(*box, color=head_colour(head), linewidth=0))
        write(spot.axes, spot.left + 0.14, y + LINE * order, text, PRINT_FONT - 0.7)
    if panel.share_N.any():
        most = f"the most of one cell: {panel.share_N.max():.1%}"
        write(spot.axes, spot.left + 0.14, y + LINE * len(panel.said), most, PRINT_FONT - 0.7)


def write(axes: Axes, x: float, y: float, text: str, size: float) -> None:
    """Text as it is typed, never mathematics."""
    axes.text(
        x,
        y,
        for_print(text).replace("␣", " "),
        va="center_baseline",
        fontsize=size,
        parse_math=False,
    )


def _frames(spot: Spot, panel: Panel, heads: Sequence[int]) -> None:
    """Weaker areas first, then every head's strongest, then what was read, then the cells looked
    at.
    """
    for strongest in (False, True):
        for order, head in enumerate(heads):
            own = [place for place in panel.places if place.head == head]
            for place in own[:1] if strongest else own[1:SHOWN]:
                inset = READ * place.read + min(
                    LANE, spot.width / spot.grid.width / (2.5 * len(heads))
                ) * (order + 0.5)
                spot.cased(
                    place.area, head_colour(head), "#202020", 1.5 if strongest else 0.6, inset
                )
    for place in panel.places:
        if place.read:
            spot.cased(place.area, "white", "black", 1.6)
    box = box_of(panel.outlined, spot.grid) if panel.outlined else None
    if box is not None and box.size == len(panel.outlined):
        spot.cased(box, "white", "black", 1.2, dashed=True)
    else:
        for item in panel.outlined:
            spot.cased(box_of([item], spot.grid), "white", "black", 1.2, dashed=True)


def _tint(spot: Spot, share_N: FloatArray) -> FloatArray:
    """The colours that lie over the picture: float32 [H, W, C], clear where a cell gets little."""
    colours_HWC = np.zeros((spot.picture.height, spot.picture.width, 4), np.float32)
    for (left, top, right, bottom), share in zip(
        spot.cells_N4.tolist(), (share_N / share_N.max()).tolist(), strict=True
    ):
        colours_HWC[top:bottom, left:right] = (*SEQUENCE(share)[:3], 0.08 + 0.57 * share)
    return colours_HWC
