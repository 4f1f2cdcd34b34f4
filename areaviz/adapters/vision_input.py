"""The visual input of a vision-language model, and the grids of patches computed from its size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from torch import Tensor

from areaviz.adapters.scenes import Grid, find_tensor

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
