"""The picture encoder: grids of every requested size, in which each cell sees its own part."""

from __future__ import annotations

import pytest
import torch

from areaviz.models.pictures import EncoderConfig, PictureEncoder


def encoder(*grids: int) -> PictureEncoder:
    torch.manual_seed(0)
    return PictureEncoder(EncoderConfig(128, 4, grids)).eval()


@pytest.mark.parametrize("grids", [(8,), (14,), (8, 14)])
def test_every_grid_has_its_cells_and_channels(grids: tuple[int, ...]) -> None:
    network = encoder(*grids)
    features = network(torch.zeros(2, 128, 128, 3, dtype=torch.uint8))
    assert {grid: tuple(x.shape) for grid, x in features.items()} == {
        grid: (2, grid**2, 32) for grid in grids
    }
    assert network.config.width == 32


@pytest.mark.parametrize("grid", [8, 14])
def test_corner_change_does_not_reach_far_corner(grid: int) -> None:
    """Cells are in the order of the picture, row by row, and each sees its surroundings."""
    plain = torch.full((1, 128, 128, 3), 90, dtype=torch.uint8)
    spotted = plain.clone()
    spotted[:, :16, 112:] = 250
    with torch.no_grad():
        change = (
            (encoder(grid)(spotted)[grid] - encoder(grid)(plain)[grid])
            .abs()
            .sum(2)
            .view(grid, grid)
        )
    assert change[:2, -2:].max() == change.max() > 0
    assert change[-3:, :3].max() < 1e-3 * change.max()


def test_cell_without_context_sees_only_its_part() -> None:
    torch.manual_seed(0)
    network = PictureEncoder(EncoderConfig(128, 4, (14,), context=False)).eval()
    plain = torch.full((1, 128, 128, 3), 90, dtype=torch.uint8)
    spotted = plain.clone()
    spotted[:, :16, 112:] = 250
    with torch.no_grad():
        change = (network(spotted)[14] - network(plain)[14]).abs().sum(2).view(14, 14)
    assert change.max() > 0 and change[6:, :8].max() == 0
    assert not [name for name in network.state_dict() if name.startswith("coarse")]


def test_batched_picture_equals_single_picture() -> None:
    pixels = torch.randint(
        0, 256, (3, 128, 128, 3), dtype=torch.uint8, generator=torch.Generator().manual_seed(0)
    )
    network = encoder(8)
    with torch.no_grad():
        torch.testing.assert_close(
            network(pixels)[8][1:2], network(pixels[1:2])[8], rtol=1e-4, atol=1e-5
        )
