"""The retina against a loop over pixels."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from areaviz.attention.glimpse import Retina, exact

SOME = settings(deadline=None, max_examples=40)
PLACE = st.floats(-1.5, 1.5, width=32)


def pixel(picture_HW: Tensor, x: int, y: int) -> float:
    """One pixel; 0 outside the picture."""
    height, width = picture_HW.shape
    return float(picture_HW[y, x]) if 0 <= x < width and 0 <= y < height else 0.0


def slow_patch(picture_HW: Tensor, left: int, top: int, side: int, step: int) -> Tensor:
    """The mean of every `step` x `step` block of the box, pixel by pixel."""
    patch = torch.zeros(side, side)
    for row in range(side):
        for column in range(side):
            first_x, first_y = left + column * step, top + row * step
            block = [
                pixel(picture_HW, first_x + x, first_y + y)
                for y in range(step)
                for x in range(step)
            ]
            patch[row, column] = sum(block) / step**2
    return patch


def random_pictures(count: int, height: int, width: int) -> Tensor:
    return torch.rand(count, height, width, generator=torch.Generator().manual_seed(0))


@SOME
@given(
    height=st.integers(1, 9),
    width=st.integers(1, 9),
    side=st.integers(1, 4),
    scales=st.integers(1, 3),
    places=st.lists(st.tuples(PLACE, PLACE), min_size=1, max_size=2),
)
def test_every_scale_is_the_mean_of_its_box(
    height: int, width: int, side: int, scales: int, places: list[tuple[float, float]]
) -> None:
    pictures = random_pictures(len(places), height, width)
    patches, boxes = Retina(pictures, side, scales).read(torch.tensor(places))
    assert patches.shape == (len(places), scales, side, side)
    assert patches.dtype == torch.float32
    assert boxes.dtype == torch.int64
    for row, (place, picture) in enumerate(zip(places, pictures, strict=True)):
        middle = [(min(max(place[axis], -1), 1) + 1) / 2 * (width, height)[axis] for axis in (0, 1)]
        for scale in range(scales):
            left, top, right, bottom = boxes[row, scale].tolist()
            assert right - left == bottom - top == side * 2**scale
            # Corners lie on whole pixels, so the middle is off by half a pixel at most.
            assert ((left + right) / 2, (top + bottom) / 2) == pytest.approx(middle, abs=0.5001)
            slow = slow_patch(picture, left, top, side, 2**scale)
            torch.testing.assert_close(patches[row, scale], slow, rtol=0, atol=1e-6)


def test_crops_by_hand() -> None:
    picture = torch.arange(16.0).view(1, 4, 4)
    patches, boxes = Retina(picture, 2, 2).read(torch.tensor([[0.0, 0.0]]))
    assert boxes.tolist() == [[[1, 1, 3, 3], [0, 0, 4, 4]]]
    assert patches.tolist() == [[[[5, 6], [9, 10]], [[2.5, 4.5], [10.5, 12.5]]]]


def test_places_are_x_then_y() -> None:
    picture = torch.zeros(1, 4, 8)
    picture[0, 1, 6] = 1
    # The middle of column 6 of 8 and row 1 of 4.
    patches, boxes = Retina(picture, 1, 1).read(torch.tensor([[13 / 8 - 1, 3 / 4 - 1]]))
    assert boxes.tolist() == [[[6, 1, 7, 2]]]
    assert patches.item() == 1


def test_what_lies_outside_is_zero() -> None:
    patches, boxes = Retina(torch.ones(1, 4, 4), 2, 2).read(torch.tensor([[-1.0, 1.0]]))
    assert boxes.tolist() == [[[-1, 3, 1, 5], [-2, 2, 2, 6]]]
    assert patches.tolist() == [[[[0, 1], [0, 0]], [[0, 1], [0, 0]]]]


def test_places_beyond_the_edge_are_those_on_the_edge() -> None:
    retina = Retina(random_pictures(1, 5, 5), 3, 2)
    for beyond, edge in (((-7.0, 3.0), (-1.0, 1.0)), ((1.01, -1.01), (1.0, -1.0))):
        for found, wanted in zip(
            retina.read(torch.tensor([beyond])), retina.read(torch.tensor([edge])), strict=True
        ):
            assert torch.equal(found, wanted)


def test_each_picture_is_read_at_its_own_place() -> None:
    pictures, places = (
        random_pictures(3, 6, 7),
        torch.tensor([[0.0, 0.5], [-1.0, 0.2], [0.7, -0.9]]),
    )
    together, _ = Retina(pictures, 2, 2).read(places)
    alone = [Retina(pictures[i : i + 1], 2, 2).read(places[i : i + 1])[0] for i in range(3)]
    assert torch.equal(together, torch.cat(alone))


def test_sums_are_as_exact_as_a_device_allows() -> None:
    assert exact(torch.device("mps")) == torch.float32, "it has no double"
    assert exact(torch.device("cpu")) == exact(torch.device("cuda")) == torch.float64


def test_small_means_survive_beside_large_sums() -> None:
    # Summed areas in single precision would be off by whole units here.
    picture = torch.full((1, 512, 512), 255.0)
    picture[0, -1, -1] = 0.125
    patches, _ = Retina(picture, 1, 1).read(torch.tensor([[511.5 / 256 - 1, 511.5 / 256 - 1]]))
    assert patches.item() == 0.125
