"""Visual inputs of vision-language models: pictures, grids of cells, and attention to them.

A `Scene` is a set of pictures with grids of cells. The layouts find the place of each picture
token in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import ceil, sqrt
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image
from torch import Tensor

from areaviz.adapters.heads import ENCODER, Found, Heads, Site, name_picture_site, select_items
from areaviz.adapters.pictures import make_extra_items, warn_about_left_out_items
from areaviz.adapters.run import CLASS_TOKEN
from areaviz.trace.areas import Area, format_area
from areaviz.trace.record import Field
from areaviz.trace.request import MAX_PICTURE_SIDE, Picture

# Scenes, which are the images that a vision-language model sees and the grids of cells over them.
#
# A model may read several pictures, the tiles of a large one, or the frames of a clip. Its vision
# tower reads patches, and its words may attend to coarser cells. Every grid becomes a field.


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


# The visual input of a vision-language model, and the grids of patches computed from its size.


_PIXELS = ("pixel_values", "pixel_values_images")
_CLIP = ("pixel_values_videos",)
# Model types whose vision tower has its class token after the patches.
_CLASS_BEHIND = {"llama4_vision_model"}
# Maximum side, in patches, of a square that is merged into one cell.
_LARGEST_MERGE = 64


@dataclass(frozen=True, slots=True, eq=False)
class VisionInput:
    """The visual input of a model, and the number of text tokens that represent it."""

    config: Any
    given: Mapping[str, Any]
    # Number of tokens that represent pictures, and number of tokens that represent frames of a
    # clip.
    tokens: int
    frames: int = 0

    def said(self, *names: str) -> Any:
        """Return the first of these entries in the configuration, or None.

        The vision part's configuration is read before the configuration of the whole model.
        """
        for config in (getattr(self.config, "vision_config", None), self.config):
            for name in names:
                value = getattr(config, name, None)
                if value is not None:
                    return value
        return None

    @property
    def patch(self) -> tuple[int, int] | None:
        """Height and width of a patch in pixels, or None."""
        strides = self.said("patch_stride")
        if isinstance(strides, list | tuple):
            side = int(np.prod(strides))
            return side, side
        patch = self.said("patch_size")
        if isinstance(patch, int):
            return patch, patch
        return (int(patch[0]), int(patch[1])) if patch is not None and len(patch) == 2 else None

    def grids(self, values: Tensor) -> tuple[int, int] | None:
        """Return the rows and columns of patches of pixel values [..., H, W], or None."""
        if self.patch is None:
            return None
        rows, columns = (values.shape[-2] // self.patch[0], values.shape[-1] // self.patch[1])
        return (rows, columns) if rows and columns else None

    @property
    def values(self) -> Tensor | None:
        """The pixel values of the pictures or of the clip."""
        return find_tensor(self.given, *(_CLIP if self.frames else _PIXELS))

    @property
    def count(self) -> int:
        """The number of tokens that represent the visual input."""
        return self.frames or self.tokens


def compute_merged_shape(shape: tuple[int, int], items: int) -> tuple[int, int] | None:
    """Return the rows and columns of the items after squares of patches were merged, or None.

    If no patches were merged, there may be one further item, a class token.
    """
    rows, columns = shape
    if 0 <= items - rows * columns <= 1:
        return shape
    for side in range(2, min(_LARGEST_MERGE, max(rows, columns)) + 1):
        down = {(rows // side, columns // side), (ceil(rows / side), ceil(columns / side))}
        for one in sorted(down):
            if one[0] * one[1] == items and min(one):
                return one
    return None


def find_tower_cells(grid: Grid, others: Sequence[Grid], items: int, config: Any) -> Tensor | None:
    """Return the indices of a grid's cells among the items of a tower, or None if they do not fit.

    Args:
        grid: A grid of the tower.
        others: All grids of the tower that are read in one call.
        items: Number of items in the call.
        config: Configuration of the vision tower.
    """
    patches = sum(len(one.order) for one in others)
    registers = int(getattr(config, "num_register_tokens", 0) or 0)
    if not 0 <= items - patches <= registers + 2:
        return None
    is_behind = getattr(config, "model_type", "") in _CLASS_BEHIND
    return grid.order + (0 if is_behind else items - patches)


# Layouts, which find the places of a vision-language model's picture tokens in the picture.
#
# A layout is a function that takes a `VisionInput`. It returns the scene, or None if the layout
# does not fit. The number of picture tokens has to match the layout exactly, so a wrong layout is
# never used.
#
# Shapes: N pictures, C colours, H, W pixels.


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


# Sites of a vision-language model: attention to pictures, and the layers of its tower.


def look_sites(
    site: str, query: str, looks: Sequence[Heads], scene: Scene | None, details: dict[str, str]
) -> list[Site]:
    """Return the sites of attention to picture tokens: to all tokens, and to each of several grids.

    Args:
        site: Name of the first site.
        query: Field that attends.
        looks: Heads of each layer over all picture tokens.
        scene: What the model sees, if known.
        details: Gets a sentence if the tokens have no known place.
    """
    if not looks:
        return []
    items = looks[0].shape[2]
    if scene is None or not scene.words:
        details[f"{site} places"] = _UNPLACED
        return [Site(site, query, "pictures", (1, items), looks)]
    cut = make_grid_sites(site, query, looks, scene)
    if len(cut) == 1:
        details |= warn_about_left_out_items(looks, scene.words[0].order, 0)
        return [replace(cut[0], name=site)]
    details["pictures"] = f"{len(cut)} pictures, tiles or frames, each with a site of its own"
    return [*cut, Site(site, query, "pictures", (1, items), looks)]


def make_grid_sites(site: str, query: str, looks: Sequence[Heads], scene: Scene) -> list[Site]:
    """Return a site for each grid of cells, such as "encoder-decoder picture 2".

    Args:
        site: Start of the sites' names.
        query: Field that attends.
        looks: Heads of each layer over all picture tokens.
        scene: What the model sees.
    """
    every, sites = torch.arange(looks[0].shape[1]), []
    for grid, name in zip(scene.words, scene.list_word_names(), strict=True):
        over = [select_items(heads, every, grid.order) for heads in looks]
        sites.append(Site(f"{site} {name}", query, name, grid.shape, over))
    return sites


_UNPLACED = "its picture tokens are shown in a row, as they have no known place in the picture"


def make_tower_sites(
    found: Found, scene: Scene | None, model: Any, fields: dict[str, Field], details: dict[str, str]
) -> list[Site]:
    """Return the sites of the pictures' self-attention, if the items are cells with known places.

    Args:
        found: Recorded heads by site.
        scene: What the model sees.
        model: Model with the tower.
        fields: Gets the fields of items that are not cells.
        details: Gets a sentence if some layers or items are not shown.
    """
    if not any(name == ENCODER or name.startswith(f"{ENCODER} ") for name in found):
        return []
    sites: list[Site] = []
    config = getattr(model.config, "vision_config", model.config)
    names = scene.list_tower_names() if scene else []
    for grid, name in zip(scene.tower, names, strict=True) if scene else ():
        layers = found.get(name_picture_site(ENCODER, grid.unit), [])
        together = [one for one in scene.tower if one.unit == grid.unit] if scene else []
        placed = [(one, find_tower_cells(grid, together, one.shape[-1], config)) for one in layers]
        kept = [(one, cells) for one, cells in placed if cells is not None]
        if not kept or len({one.shape for one, _ in kept}) > 1:
            continue
        number = f" {name}" if len(scene.tower if scene else ()) > 1 else ""
        sites += _make_tower_site(grid, name, number, kept, fields, len(together) == 1)
        if len(kept) < len(layers):
            details["encoder self"] = f"{len(kept)} of {len(layers)} layers attend to all cells"
        if len(together) == 1:
            extra = kept[0][0].shape[-1] - len(kept[0][1])
            details |= warn_about_left_out_items([one for one, _ in kept], kept[0][1], extra)
    if not sites:
        details["encoder self"] = "not shown, as its items have no known place in the picture"
    return sites


def _make_tower_site(
    grid: Grid,
    name: str,
    number: str,
    kept: Sequence[tuple[Heads, Tensor]],
    fields: dict[str, Field],
    is_alone: bool,
) -> list[Site]:
    """Return the sites from a picture's cells and from its other items to the cells."""
    sites = []
    cells, items = kept[0][1], kept[0][0].shape[-1]
    others = torch.tensor(sorted(set(range(items)) - set(cells.tolist())), dtype=torch.int64)
    if is_alone and len(others):
        extra = f"{CLASS_TOKEN}{number}"
        fields[extra] = make_extra_items(extra, len(others))
        looks = [select_items(heads, others, cells) for heads, _ in kept]
        sites.append(Site(extra, extra, name, grid.shape, looks))
    inner = [select_items(heads, cells, cells) for heads, _ in kept]
    return [*sites, Site(f"{ENCODER}{number}", name, name, grid.shape, inner)]
