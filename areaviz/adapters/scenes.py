"""Scenes, which are the images that a vision-language model sees and the grids of cells over them.

A model may read several pictures, the tiles of a large one, or the frames of a clip. Its vision
tower reads patches, and its words may attend to coarser cells. Every grid becomes a field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, sqrt

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from areaviz.trace.areas import Area, format_area
from areaviz.trace.record import Field
from areaviz.trace.request import MAX_PICTURE_SIDE, Picture

# An image, uint8 [height, width, 3].
Pixels = npt.NDArray[np.uint8]
# Left, top, right and bottom as shares of an image's width and height.
Box = tuple[float, float, float, float]
WHOLE_PICTURE: Box = (0.0, 0.0, 1.0, 1.0)
# Width in pixels of the gap between two images that are shown in one picture.
_GAP = 4
_GREY = 128


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Cells in rows and columns over an image, or over a part of it."""

    rows: int
    columns: int
    # Index of each cell among the items, row by row: int64 [rows * columns].
    order: Tensor
    # Index of the image, and the part of it that the cells cover.
    image: int = 0
    box: Box = WHOLE_PICTURE
    # Index of the picture to which the grid belongs, if a vision tower reads several pictures
    # separately.
    unit: int = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.rows, self.columns

    def is_over(self, other: Grid) -> bool:
        """Return whether both grids have the same cells."""
        return (self.shape, self.image, self.box) == (other.shape, other.image, other.box)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Everything that a model sees of one input."""

    images: Sequence[Pixels]
    # The cells that words attend to. Their `order` has indices of picture tokens of the text.
    words: Sequence[Grid] = ()
    # The patches of the vision tower. Their `order` has indices of items of the picture that it
    # reads.
    tower: Sequence[Grid] = ()

    def list_word_names(self) -> list[str]:
        """Return the field name of each grid that words attend to."""
        return _number_names("picture", len(self.words))

    def list_tower_names(self) -> list[str]:
        """Return the field name of each tower grid.

        A tower grid that has the same cells as a grid in `words` gets the name of that grid.
        """
        own = _number_names("patches", len(self.tower))
        names = list(zip(self.words, self.list_word_names(), strict=True))
        for place, grid in enumerate(self.tower):
            own[place] = next((name for one, name in names if one.is_over(grid)), own[place])
        return own if self.words else _number_names("picture", len(self.tower))

    def picture(self) -> tuple[Picture, list[tuple[int, int, int, int]]]:
        """Return one picture that shows all images, and the place of each image in it.

        Returns:
            The picture, and left, top, right and bottom of every image in its pixels.
        """
        columns = ceil(sqrt(len(self.images)))
        rows = ceil(len(self.images) / columns)
        widest = max(image.shape[1] for image in self.images)
        tallest = max(image.shape[0] for image in self.images)
        free = [MAX_PICTURE_SIDE - _GAP * (count - 1) for count in (columns, rows)]
        scale = min(1.0, free[0] / (columns * widest), free[1] / (rows * tallest))
        wide, high = (max(1, int(side * scale)) for side in (widest, tallest))
        size = (rows * (high + _GAP) - _GAP, columns * (wide + _GAP) - _GAP, 3)
        pixels, boxes = np.full(size, _GREY, np.uint8), []
        for number, image in enumerate(self.images):
            row, column = divmod(number, columns)
            left, top = column * (wide + _GAP), row * (high + _GAP)
            sides = [max(1, int(side * scale)) for side in image.shape[1::-1]]
            small = np.asarray(Image.fromarray(image).resize((sides[0], sides[1])))
            pixels[top : top + sides[1], left : left + sides[0]] = small
            boxes.append((left, top, left + sides[0], top + sides[1]))
        return Picture.of("yours", pixels), boxes

    def fields(self, boxes: Sequence[tuple[int, int, int, int]]) -> dict[str, Field]:
        """Return the field of every grid by its name.

        Args:
            boxes: Place of each image in the picture, as `picture` returns it.
        """
        named = [*zip(self.list_tower_names(), self.tower, strict=True)]
        named += zip(self.list_word_names(), self.words, strict=True)
        return {name: make_cell_field(name, grid, boxes[grid.image]) for name, grid in named}


def make_cell_field(name: str, grid: Grid, place: tuple[int, int, int, int]) -> Field:
    """Return a field of cells.

    Args:
        name: Name of the field.
        grid: The cells.
        place: Left, top, right and bottom of the image in pixels of the shown picture.
    """
    left, top, right, bottom = place
    wide, high = right - left, bottom - top
    lefts = left + wide * np.linspace(grid.box[0], grid.box[2], grid.columns + 1)
    tops = top + high * np.linspace(grid.box[1], grid.box[3], grid.rows + 1)
    x, y = lefts.round().astype(np.int64), tops.round().astype(np.int64)
    row, column = np.divmod(np.arange(grid.rows * grid.columns), grid.columns)
    anchors = np.stack([x[column], y[row], x[column + 1], y[row + 1]], 1)
    labels = [format_area(Area(int(r), int(c), 1, 1)) for r, c in zip(row, column, strict=True)]
    return Field(name, "picture", "", tuple(labels), anchors)


def make_picture_tokens(scene: Scene | None, count: int) -> Field:
    """Return the field "pictures" with all picture tokens in order.

    Its items have no place in the text. Each is labelled by its picture and its cell, or by its
    number if it is not a cell.
    """
    labels = [f"⟨picture token {number}⟩" for number in range(1, count + 1)]
    for name, grid in zip(scene.list_word_names(), scene.words, strict=True) if scene else ():
        for cell, token in enumerate(grid.order.tolist()):
            row, column = divmod(cell, grid.columns)
            labels[token] = f"⟨{name}, row {row + 1}, column {column + 1}⟩"
    return Field("pictures", "text", "", tuple(labels), np.zeros((count, 2), np.int64))


def convert_to_image(values_CHW: Tensor) -> Pixels:
    """Return pixel values as an image, with the smallest value black and the largest white."""
    values_CHW = torch.as_tensor(values_CHW).detach().float().cpu()
    low, high = values_CHW.min(), values_CHW.max()
    grey_CHW = (values_CHW - low) / (high - low).clamp_min(1e-6) * 255
    found: Pixels = grey_CHW.nan_to_num(0).expand(3, -1, -1).permute(1, 2, 0).byte().numpy()
    return np.ascontiguousarray(found)


def _number_names(name: str, count: int) -> list[str]:
    return [name] if count == 1 else [f"{name} {number}" for number in range(1, count + 1)]


def find_tensor(given: Mapping[str, object], *names: str) -> Tensor | None:
    """Return the first of these inputs that is given as a tensor, or None."""
    for name in names:
        if given.get(name) is not None:
            return torch.as_tensor(given[name])
    return None
