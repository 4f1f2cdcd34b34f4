"""One glimpse of a picture: the area read is bright or outlined, for every kind of attention."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.pictures import Pixels
from areaviz.trace.areas import Area
from areaviz.trace.record import Trace
from areaviz.trace.request import Picture
from areaviz.views.looks.looks import MAX_SIDE_PX, count_steps, draw_picture_at_step
from tests import fakes

YELLOW = np.array([0xE6, 0x9F, 0x00])


def yellow(pixels: Pixels) -> int:
    """Return the number of pixels with the colour of the area that was read."""
    return int((np.abs(pixels.astype(int) - YELLOW).max(2) < 6).sum())


def pointed(cell: int, hard: bool = False) -> Trace:
    """Return a caption whose first word attends to one cell of a black picture only."""
    trace = fakes.caption_trace(area_size=1, hard=hard)
    attention = trace.maps["encoder-decoder"]
    weights = np.zeros_like(attention.weights)
    weights[..., cell] = 1
    chosen = np.full(weights.shape[:3], cell) if hard else None
    dark = Picture.of("dark", np.full((64, 96, 3), 20, np.uint8))
    maps = {"encoder-decoder": replace(attention, weights=weights, chosen=chosen)}
    return replace(trace, maps=maps, request=replace(trace.request, picture=dark))


@pytest.mark.parametrize("cell", [0, 6, 15])
def test_soft_attention_lights_its_cell(cell: int) -> None:
    seen = draw_picture_at_step(pointed(cell), 0).astype(int).sum(2)
    row, column = divmod(cell, 4)
    height, width = (length // 4 for length in seen.shape)
    inside = seen[row * height : (row + 1) * height, column * width : (column + 1) * width]
    assert inside.max() == seen.max() and inside.mean() > 2 * seen.mean()


def test_constant_attention_is_dark_against_average() -> None:
    trace = pointed(6)
    assert np.ptp(draw_picture_at_step(trace, 0, "average").astype(int)) == 0
    attention = trace.maps["encoder-decoder"]
    weights = attention.weights.copy()
    weights[..., 0, :] = np.eye(attention.grid.count, dtype=np.float32)[9]
    turned = replace(trace, maps={"encoder-decoder": replace(attention, weights=weights)})
    seen = draw_picture_at_step(turned, 0, "average").astype(int).sum(2)
    height, width = (length // 4 for length in seen.shape)
    row, column = divmod(int(seen.argmax()), seen.shape[1])
    assert (row // height, column // width) == divmod(9, 4)


def test_hard_attention_outlines_the_cells_read() -> None:
    assert yellow(draw_picture_at_step(pointed(6), 0)) == 0
    seen = draw_picture_at_step(pointed(6, hard=True), 0)
    assert yellow(seen) > 100
    rows, columns = np.nonzero(np.abs(seen.astype(int) - YELLOW).max(2) < 6)
    height, width = seen.shape[0] / 4, seen.shape[1] / 4
    assert height - 2 <= rows.min() and rows.max() <= 2 * height + 2
    assert 2 * width - 2 <= columns.min() and columns.max() <= 3 * width + 2


def test_area_of_several_cells_is_outlined_whole() -> None:
    trace = fakes.caption_trace(area_size=2, hard=True)
    attention = trace.maps["encoder-decoder"]
    area = Area(1, 1, 2, 2)
    chosen = np.full(attention.weights.shape[:3], attention.grid.index(area))
    maps = {"encoder-decoder": replace(attention, chosen=chosen)}
    seen = draw_picture_at_step(replace(trace, maps=maps), 0)
    rows, columns = np.nonzero(np.abs(seen.astype(int) - YELLOW).max(2) < 6)
    height, width = seen.shape[0] / 4, seen.shape[1] / 4
    assert rows.max() - rows.min() > 1.8 * height and columns.max() - columns.min() > 1.8 * width


def test_glimpses_are_outlined_one_after_the_other() -> None:
    trace = fakes.gaze_trace()
    looks = [draw_picture_at_step(trace, step) for step in range(count_steps(trace))]
    assert len(looks) == 3 and all(yellow(look) > 100 for look in looks)
    assert all((one != other).any() for one, other in zip(looks, looks[1:], strict=False))


def test_spatial_transformer_has_one_look_per_step() -> None:
    trace = fakes.gaze_trace("transformer", 1, 1)
    np.testing.assert_array_equal(draw_picture_at_step(trace, 0), draw_picture_at_step(trace, 5))
    assert yellow(draw_picture_at_step(trace, 0)) > 100


def test_model_without_attention_shows_the_picture() -> None:
    seen = draw_picture_at_step(replace(fakes.gaze_trace(), gazes={}), 0)
    assert yellow(seen) == 0 and max(seen.shape) == MAX_SIDE_PX


@pytest.mark.parametrize("shape", [(1, 640), (640, 1), (1, 1)])
def test_flat_pictures_are_shown(shape: tuple[int, int]) -> None:
    trace = fakes.gaze_trace()
    flat = Picture.of("flat", np.zeros((*shape, 3), np.uint8))
    assert (
        min(
            draw_picture_at_step(
                replace(trace, request=replace(trace.request, picture=flat)), 0
            ).shape
        )
        >= 1
    )
