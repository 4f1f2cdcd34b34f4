"""Spatial transformers with affine maps whose results are known by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from areaviz.attention.hard import find_corners_px, sample_quadrilateral

IDENTITY = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
ZOOM = [[0.5, 0.0, 0.0], [0.0, 0.5, 0.0]]
QUARTER = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0]]
"""A quarter turn: output (x, y) is read at input (-y, x)."""


def theta(*rows: Sequence[Sequence[float]]) -> Tensor:
    return torch.tensor(rows)


def random_pictures(count: int = 2, channels: int = 3, side: int = 4) -> Tensor:
    return torch.rand(count, channels, side, side, generator=torch.Generator().manual_seed(0))


def at(picture_HW: Tensor, x: float, y: float) -> Tensor:
    """Read the picture at a place in pixels, with bilinear interpolation written out.

    The interpolation is between the middles of pixels. Outside the picture it reads 0.
    """
    height, width = picture_HW.shape
    total = torch.zeros(())
    for row in range(height):
        for column in range(width):
            near_x, near_y = max(0.0, 1 - abs(x - column - 0.5)), max(0.0, 1 - abs(y - row - 0.5))
            total = total + near_x * near_y * picture_HW[row, column]
    return total


def test_identity_returns_the_picture() -> None:
    pictures = random_pictures()
    torch.testing.assert_close(
        sample_quadrilateral(pictures, theta(IDENTITY, IDENTITY), 4), pictures
    )


def test_identity_at_half_size_averages_four_pixels() -> None:
    pictures = random_pictures(1, 1)
    means = pictures.view(2, 2, 2, 2).mean((1, 3)).view(1, 1, 2, 2)
    torch.testing.assert_close(sample_quadrilateral(pictures, theta(IDENTITY), 2), means)


def test_translation_moves_whole_pixels_and_fills_zeros() -> None:
    pictures = random_pictures(1)
    # A pixel is 2 / 4 wide, so this reads one column to the right and two rows up.
    moved = sample_quadrilateral(pictures, theta([[1, 0, 0.5], [0, 1, -1.0]]), 4)
    wanted = torch.zeros_like(pictures)
    wanted[:, :, 2:, :3] = pictures[:, :, :2, 1:]
    torch.testing.assert_close(moved, wanted)


def test_zoom_reads_the_middle() -> None:
    pictures = random_pictures(1)
    torch.testing.assert_close(
        sample_quadrilateral(pictures, theta(ZOOM), 2), pictures[:, :, 1:3, 1:3]
    )


def test_quarter_turn_rotates_the_picture() -> None:
    pictures = random_pictures()
    turned = sample_quadrilateral(pictures, theta(QUARTER, QUARTER), 4)
    torch.testing.assert_close(turned, pictures.rot90(1, (2, 3)))
    # The top left of the output is read at the top right of the input.
    torch.testing.assert_close(turned[:, :, 0, 0], pictures[:, :, 0, 3])
    torch.testing.assert_close(turned[:, :, 0, 3], pictures[:, :, 3, 3])


def test_each_picture_has_its_own_bilinear_map() -> None:
    pictures = random_pictures(3, 2, 5)
    maps = torch.randn(3, 2, 3, generator=torch.Generator().manual_seed(1)) * 0.6
    found = sample_quadrilateral(pictures, maps, 3)
    middle = (torch.arange(3) + 0.5) / 3 * 2 - 1
    for picture, one, seen in zip(pictures, maps, found, strict=True):
        for row, v in enumerate(middle):
            for column, u in enumerate(middle):
                x, y = ((one @ torch.stack([u, v, torch.ones(())]) + 1) / 2 * 5).tolist()
                wanted = torch.stack([at(channel, x, y) for channel in picture])
                torch.testing.assert_close(seen[:, row, column], wanted, rtol=0, atol=1e-5)


def test_corners_of_known_maps() -> None:
    turned = [
        [math.cos(math.pi / 4), -math.sin(math.pi / 4), 0],
        [math.sin(math.pi / 4), math.cos(math.pi / 4), 0],
    ]
    half = [[0.5, 0, 0.5], [0, 0.25, -0.75]]
    corners = find_corners_px(theta(IDENTITY, half, QUARTER, turned), height=40, width=80)
    assert corners[0].tolist() == [[0, 0], [80, 0], [80, 40], [0, 40]]
    assert corners[1].tolist() == [[40, 0], [80, 0], [80, 10], [40, 10]]
    assert corners[2].tolist() == [[80, 0], [80, 40], [0, 40], [0, 0]]
    # After a turn by an eighth, the corners are sqrt(2) from the middle, times half the picture's
    # height or width.
    tips = [
        (40, 20 - 20 * 2**0.5),
        (40 + 40 * 2**0.5, 20),
        (40, 20 + 20 * 2**0.5),
        (40 - 40 * 2**0.5, 20),
    ]
    assert corners[3].flatten().tolist() == pytest.approx(
        [value for tip in tips for value in tip], abs=1e-4
    )


def test_sampled_pixels_lie_in_the_quadrilateral() -> None:
    # A map onto exactly one pixel reads that pixel, and its corners are the pixel's corners.
    one = theta([[0.25, 0, 0.25], [0, 0.25, -0.75]])
    pictures = random_pictures(1, 1)
    assert find_corners_px(one, 4, 4)[0].tolist() == [[2, 0], [3, 0], [3, 1], [2, 1]]
    torch.testing.assert_close(
        sample_quadrilateral(pictures, one, 1).flatten(), pictures[0, 0, 0, 2][None]
    )


def test_gradients_reach_the_picture_and_the_map() -> None:
    pictures = random_pictures(2, 1).double().requires_grad_()
    # No output is at the middle of a pixel, where bilinear interpolation is not differentiable.
    maps = theta(
        [[0.71, 0.13, 0.07], [-0.11, 0.83, 0.05]], [[0.37, -0.29, 0.21], [0.31, 0.47, -0.17]]
    )
    assert torch.autograd.gradcheck(
        lambda p, m: sample_quadrilateral(p, m, 3), (pictures, maps.double().requires_grad_())
    )
    assert torch.autograd.gradcheck(
        lambda m: find_corners_px(m, 4, 6), (maps.double().requires_grad_(),)
    )
