"""Learned area keys from several features (Eq. 5-9, Li et al. 2019), and mixed keys.

Shapes: [...] batch and heads, M items, R areas, D width of a key (of one head).
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from areaviz.attention.pooling import box_mean, box_moments, choose_sum_dtype, expand_to_areas
from areaviz.trace.areas import AreaGrid


class ShapeEmbedding(nn.Module):
    """The key of an area's shape (Eq. 6-8): e W_e, e = [height embedding, width embedding].

    Args:
        width: D. Each embedding has half of this width.
        max_area: largest (height, width) of an area, in items.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        super().__init__()
        depth = max(1, width // 2)
        self.height_embedding = nn.Embedding(max_area[0], depth)
        self.width_embedding = nn.Embedding(max_area[1], depth)
        self.shape = nn.Linear(2 * depth, width, bias=False)

    def embed_shapes(self, grid: AreaGrid) -> Tensor:
        """Return one vector per area shape of the grid, in the order of the shapes: [shapes, D].

        Raises:
            ValueError: if an area of the grid is larger than `max_area`.
        """
        height, width = self.height_embedding.num_embeddings, self.width_embedding.num_embeddings
        if grid.max_height > height or grid.max_width > width:
            raise ValueError(
                f"Areas go up to {grid.max_height}x{grid.max_width} but these keys know"
                f" shapes up to {height}x{width}. Choose a smaller area size."
            )
        # This is the order of `AreaGrid.shapes`, in which the width changes fastest.
        device = self.shape.weight.device
        height_S = torch.arange(grid.max_height, device=device).repeat_interleave(grid.max_width)
        width_S = torch.arange(grid.max_width, device=device).repeat(grid.max_height)
        embedded = [self.height_embedding(height_S), self.width_embedding(width_S)]
        projected: Tensor = self.shape(torch.cat(embedded, 1))
        return projected


class AreaFeatures(ShapeEmbedding):
    """Area keys from mean, deviation and shape (Eq. 9): relu(mean W_mu + std W_sigma + e W_e) W_d.

    All heads share the parameters, which act on the last axis. Inputs are cast to the parameters'
    type, and results are cast back to the type of the key or query.

    Args:
        width: D. Each embedding has half of this width.
        max_area: largest (height, width) of an area, in items.
    """

    def __init__(self, width: int, max_area: tuple[int, int]) -> None:
        super().__init__(width, max_area)
        self.mean = nn.Linear(width, width, bias=False)
        self.std = nn.Linear(width, width, bias=False)
        self.down = nn.Linear(width, width, bias=False)

    def forward(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """Compute the key of every area (Eq. 9): [..., M, D] -> [..., R, D]."""
        area_key: Tensor = self.down(self.compute_hidden_keys(key, grid).to(self.down.weight.dtype))
        return area_key.to(key.dtype)

    def compute_hidden_keys(self, key: Tensor, grid: AreaGrid) -> Tensor:
        """Compute the area keys before W_d: [..., M, D] -> [..., R, D].

        The projection of the mean is linear, so it is applied to the items before pooling: there
        are fewer items than areas.

        Raises:
            ValueError: if an area of the grid is larger than `max_area`.
        """
        own = self.mean.weight.dtype
        mean_RD = box_mean(_flatten_rows(self.mean(key.to(own))), grid).unflatten(0, key.shape[:-2])
        std_RD = compute_area_std(key, grid).to(own)
        shape_RD = expand_to_areas(self.embed_shapes(grid).T, grid).T
        return torch.relu(mean_RD.to(own) + self.std(std_RD) + shape_RD).to(key.dtype)

    def fold_query(self, query: Tensor) -> Tensor:
        """Apply W_d to the query instead of the keys: [..., Q, D] -> [..., Q, D].

        This gives equal logits, since q . (x W_d) = (q W_d^T) . x.
        """
        weight = self.down.weight
        return (query.to(weight.dtype) @ weight).to(query.dtype)


def compute_area_std(x: Tensor, grid: AreaGrid) -> Tensor:
    """Compute the standard deviation of every area (Eq. 5): [..., M, D] -> [..., R, D].

    The result is float32 or wider. Where the variance is 0, the square root has no gradient, so 0
    is used.
    """
    _, variance_NRD = box_moments(_flatten_rows(x), grid)
    varied = variance_NRD > 0
    std_NRD = torch.where(varied, variance_NRD, 1.0).sqrt()
    return torch.where(varied, std_NRD, 0.0).view(*x.shape[:-2], grid.count, x.shape[-1])


def _flatten_rows(x: Tensor) -> Tensor:
    return x.flatten(0, -3).to(choose_sum_dtype(x.dtype))


class NeighbourConvolution(nn.Module):
    """A depthwise convolution that mixes neighbouring keys and values: out = x + conv(x).

    It is the control for area attention: it shows the gain from neighbours without any areas (So et
    al. 2021, Primer, section 4). It starts as the identity, so training starts from plain
    attention.

    Args:
        width: W, the number of channels, each with its own taps.
        taps: number of items in a window. It must be odd. On a grid, a window has as many rows as
            columns.
        shape: rows and columns of the memory. None for a sequence of any length.
    """

    def __init__(self, width: int, taps: int, shape: tuple[int, int] | None = None) -> None:
        super().__init__()
        if taps % 2 == 0:
            raise ValueError(
                f"A convolution needs an odd number of taps, so that it has a centre; got {taps}."
            )
        self.taps, self.shape = taps, shape
        self.weight = nn.Parameter(torch.zeros(width, 1, 1 if shape is None else taps, taps))

    def forward(self, x_BMW: Tensor, is_causal: bool = False) -> Tensor:
        """Mix neighbouring items: [B, M, W] -> [B, M, W].

        A window is centred on its item or, with `is_causal`, ends at it.
        """
        rows, columns = self.shape or (1, x_BMW.shape[1])
        x_BWHV = x_BMW.transpose(1, 2).unflatten(2, (rows, columns))
        half = self.taps // 2
        down = 0 if self.shape is None else half
        left, right = (self.taps - 1, 0) if is_causal else (half, half)
        padded = F.pad(x_BWHV, (left, right, down, down))
        mixed_BWHV = F.conv2d(padded, self.weight, groups=self.weight.shape[0])
        return x_BMW + mixed_BWHV.flatten(2).transpose(1, 2)
