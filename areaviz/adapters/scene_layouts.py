"""Layouts, which find the places of a vision-language model's picture tokens in the picture.

A layout is a function that takes a `Sight`. It returns the scene, or None if the layout does not
fit. The number of picture tokens has to match the layout exactly, so a wrong layout is never used.

Shapes: N pictures, C colours, H, W pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import ceil

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.scenes import Grid, Pixels, Scene, convert_to_image, find_tensor
from areaviz.adapters.vision_input import VisionInput, compute_merged_shape


def make_scene(sight: VisionInput) -> Scene | None:
    """Return the scene that a model sees, or None if its picture tokens have no known places."""
    if not sight.tokens and not sight.frames:
        return _find_fitting_layout(sight, _OF_TOWERS)
    parts = []
    if sight.tokens:
        parts.append(_find_fitting_layout(replace(sight, frames=0), _OF_PICTURES))
    if sight.frames:
        parts.append(_find_fitting_layout(replace(sight, tokens=0), _OF_CLIPS))
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else _join_scenes(known[0], known[1], sight.tokens)


def _find_fitting_layout(sight: VisionInput, layouts: Sequence[Layout]) -> Scene | None:
    for layout in layouts:
        scene = layout(sight)
        if scene is not None:
            return scene
    return None


def _join_scenes(pictures: Scene, clip: Scene, tokens: int) -> Scene:
    """Return one scene with the pictures first and then the frames, without the towers' grids."""
    moved = []
    for grid in clip.words:
        image = grid.image + len(pictures.images)
        moved.append(replace(grid, order=grid.order + tokens, image=image))
    return Scene([*pictures.images, *clip.images], [*pictures.words, *moved])


def _lay_out_counted_patches(sight: VisionInput) -> Scene | None:
    """Lay out models whose processor counts frames, rows and columns of patches, as in Qwen-VL."""
    names = ("video_grid_thw",) if sight.frames else ("image_grid_thw",)
    counts, values = find_tensor(sight.given, *names), sight.values
    side = int(sight.said("spatial_merge_size") or 1)
    if counts is None or values is None:
        return None
    images: list[Pixels] = []
    words: list[Grid] = []
    tower: list[Grid] = []
    token = row = 0
    for times, high, wide in counts.tolist():
        rows, columns = high // side, wide // side
        for _ in range(times):
            part = values[row : row + high * wide]
            images.append(_join_patches(sight, part, (high, wide), side))
            cells = torch.arange(rows * columns)
            words.append(Grid(rows, columns, cells + token, len(images) - 1))
            order = _order_in_blocks(high, wide, side)
            tower.append(Grid(high, wide, order, len(images) - 1, unit=len(tower)))
            token, row = token + rows * columns, row + high * wide
    return Scene(images, words, tower) if token == sight.count else None


def _order_in_blocks(high: int, wide: int, side: int) -> Tensor:
    """Return the place at which each patch is stored, in blocks of patches that are merged."""
    blocks = torch.arange(high * wide).view(high // side, wide // side, side, side)
    return blocks.permute(0, 2, 1, 3).reshape(-1)


def _join_patches(sight: VisionInput, values: Tensor, shape: tuple[int, int], side: int) -> Pixels:
    """Return the image of patches [patches, C * times * height * width].

    It is grey if the number of values does not fit the shape.
    """
    high, wide = shape
    patch, times = sight.patch or (14, 14), int(sight.said("temporal_patch_size") or 1)
    if values.numel() != high * wide * 3 * times * patch[0] * patch[1]:
        return np.full((high * 8, wide * 8, 3), 128, np.uint8)
    blocks = values.float().view(high // side, wide // side, side, side, 3, times, *patch)[
        :, :, :, :, :, 0
    ]
    pixels = blocks.permute(4, 0, 2, 5, 1, 3, 6).reshape(3, high * patch[0], wide * patch[1])
    return convert_to_image(pixels)


def _lay_out_shapes(sight: VisionInput) -> Scene | None:
    """Lay out models that read a sequence of patches and their shapes: SigLIP 2, LFM2-VL."""
    shapes = find_tensor(sight.given, "spatial_shapes")
    values, patch = sight.values, sight.patch
    if shapes is None or values is None or values.dim() != 3 or patch is None:
        return None
    side = int(sight.said("downsample_factor") or 1)
    images, words, tower, token = [], [], [], 0
    for unit, (high, wide) in enumerate(shapes.tolist()):
        patches = values[unit, : high * wide].float()
        images.append(
            convert_to_image(
                patches.view(high, wide, *patch, -1)
                .permute(4, 0, 2, 1, 3)
                .reshape(-1, high * patch[0], wide * patch[1])
            )
        )
        rows, columns = ceil(high / side), ceil(wide / side)
        words.append(Grid(rows, columns, torch.arange(rows * columns) + token, unit))
        tower.append(Grid(high, wide, torch.arange(high * wide), unit, unit=unit))
        token += rows * columns
    if sight.tokens and token != sight.tokens:
        return None
    return Scene(images, words if sight.tokens else (), tower)


def _lay_out_sizes(sight: VisionInput) -> Scene | None:
    """Lay out models that read pictures of any size in one sequence of patches, as in Pixtral."""
    sizes, values = (find_tensor(sight.given, name) for name in ("image_sizes", "pixel_values"))
    if sizes is None or values is None or values.dim() != 4 or len(sizes) != len(values):
        return None
    side = int(getattr(sight.config, "spatial_merge_size", None) or 1)
    images, words, tower, token, item = [], [], [], 0, 0
    for number, (height, width) in enumerate(sizes.tolist()):
        image = values[number, :, :height, :width]
        shape = sight.grids(image)
        if shape is None:
            return None
        images.append(convert_to_image(image))
        rows, columns = shape[0] // side, shape[1] // side
        words.append(Grid(rows, columns, torch.arange(rows * columns) + token, number))
        tower.append(Grid(*shape, torch.arange(shape[0] * shape[1]) + item, number))
        token, item = token + rows * columns, item + shape[0] * shape[1]
    return Scene(images, words, tower) if token == sight.tokens else None


def _lay_out_tiles(sight: VisionInput) -> Scene | None:
    """Lay out LLaVA-NeXT, which reads the whole picture and then its tiles as one grid.

    The tiles are cut back to the picture's own shape. Each row of the grid ends with a token that
    is not a cell.
    """
    sizes, values = (find_tensor(sight.given, name) for name in ("image_sizes", "pixel_values"))
    pinpoints = getattr(sight.config, "image_grid_pinpoints", None)
    if sizes is None or values is None or values.dim() != 5 or not pinpoints:
        return None
    images: list[Pixels] = []
    words: list[Grid] = []
    tower: list[Grid] = []
    token = 0
    for size, tiles in zip(sizes.tolist(), values, strict=True):
        shape = sight.grids(tiles[0])
        if shape is None:
            return None
        whole = Grid(*shape, torch.arange(shape[0] * shape[1]) + token, len(images))
        images.append(convert_to_image(tiles[0]))
        tower.append(replace(whole, order=torch.arange(len(whole.order)), unit=len(tower)))
        words.append(whole)
        token += len(whole.order)
        file = import_module("transformers.models.llava_next.modeling_llava_next")
        down, across = file.get_anyres_image_grid_shape(size, pinpoints, tiles.shape[-1])
        if len(tiles) < 2:
            token += 1
            continue
        if len(tiles) < 1 + down * across:
            return None
        stitched, cut = _stitch(tiles[1:], down, across), _cut_back(size, (down, across), shape)
        rows, columns = cut.stop[0] - cut.start[0], cut.stop[1] - cut.start[1]
        rows, columns = _remove_padding_cells(sight, rows, columns, shape)
        order = torch.arange(rows)[:, None] * (columns + 1) + torch.arange(columns)
        box = cut.box(down * shape[0], across * shape[1])
        words.append(Grid(rows, columns, order.flatten() + token, len(images), box))
        for tile in range(down * across):
            row, column = divmod(tile, across)
            box = (column / across, row / down, (column + 1) / across, (row + 1) / down)
            inner = torch.arange(shape[0] * shape[1])
            tower.append(Grid(*shape, inner, len(images), box, len(tower)))
        images.append(convert_to_image(stitched))
        token += rows * (columns + 1)
    return Scene(images, words, tower) if token == sight.tokens else None


@dataclass(frozen=True, slots=True)
class _Cut:
    """The rows and columns of cells that are kept from the tiles."""

    start: tuple[int, int]
    stop: tuple[int, int]

    def box(self, rows: int, columns: int) -> tuple[float, float, float, float]:
        """Return the kept part as shares of all rows and columns."""
        top, left = self.start[0] / rows, self.start[1] / columns
        return left, top, self.stop[1] / columns, self.stop[0] / rows


def _cut_back(size: Sequence[int], tiles: tuple[int, int], shape: tuple[int, int]) -> _Cut:
    """Return the cells that LLaVA-NeXT keeps, which show the picture and not its padding."""
    rows, columns = tiles[0] * shape[0], tiles[1] * shape[1]
    height, width = size
    if width / height > columns / rows:
        spare = (rows - int(round(height * (columns / width), 7))) // 2
        return _Cut((spare, 0), (rows - spare, columns))
    spare = (columns - int(round(width * (rows / height), 7))) // 2
    return _Cut((0, spare), (rows, columns - spare))


def _remove_padding_cells(
    sight: VisionInput, rows: int, columns: int, shape: tuple[int, int]
) -> tuple[int, int]:
    """Return the rows and columns that remain in models with a limit, such as LLaVA-OneVision.

    In other models, all rows and columns remain.
    """
    ratio = str(getattr(sight.config, "vision_aspect_ratio", "") or "")
    most = ratio.rpartition("anyres_max_")[2]
    if not most.isdecimal():
        return rows, columns
    factor = float((rows * columns / (int(most) * shape[0] ** 2)) ** 0.5)
    return (int(rows // factor), int(columns // factor)) if factor > 1.1 else (rows, columns)


def _stitch(tiles: Tensor, down: int, across: int) -> Tensor:
    """Return tiles [N, C, H, W] as one image [C, height, width]."""
    _, colours, high, wide = tiles.shape
    placed = tiles[: down * across].view(down, across, colours, high, wide)
    return placed.permute(2, 0, 3, 1, 4).reshape(colours, down * high, across * wide)


def _lay_out_one_by_one(sight: VisionInput) -> Scene | None:
    """Lay out models that read every picture, tile or frame in the same way, with one grid each."""
    values = sight.values
    if values is None or values.dim() < 4 or values.shape[-3] not in (1, 3):
        return None
    if values.dim() == 5 and getattr(sight.config, "image_grid_pinpoints", None) and sight.tokens:
        # The tiles of these models do not all have one layout.
        return None
    values = values.flatten(0, -4)
    count = sight.count
    shape = sight.grids(values)
    if shape is None or not len(values):
        return None
    if count % len(values) and bool((values.flatten(1) == 0).all(1).any()):
        # All-zero pictures fill up a batch. The model drops them.
        values = values[(values.flatten(1) != 0).any(1)]
    each, left = divmod(count, max(1, len(values)))
    if left > (1 if sight.frames else 0):
        return None
    cells = compute_merged_shape(shape, each)
    if cells is None and count:
        return None
    images, words, tower = [], [], []
    for unit, value in enumerate(values):
        images.append(convert_to_image(value))
        tower.append(Grid(*shape, torch.arange(shape[0] * shape[1]), unit, unit=unit))
        if cells is not None and count:
            # If the class token is kept, it comes first.
            before = each - cells[0] * cells[1]
            order = torch.arange(cells[0] * cells[1]) + unit * each + before
            words.append(Grid(*cells, order, unit))
    return Scene(images, words, tower)


Layout = Callable[[VisionInput], Scene | None]
# Layouts from the most specific to the most general one. The first one that fits is used.
_OF_PICTURES: tuple[Layout, ...] = (
    _lay_out_counted_patches,
    _lay_out_shapes,
    _lay_out_tiles,
    _lay_out_sizes,
    _lay_out_one_by_one,
)
_OF_TOWERS: tuple[Layout, ...] = (_lay_out_shapes, _lay_out_one_by_one)
_OF_CLIPS: tuple[Layout, ...] = (_lay_out_counted_patches, _lay_out_one_by_one)
