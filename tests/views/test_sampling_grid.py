"""The sampling grid, compared with sampling pixel by pixel."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.draw.view import EXPORT_FORMATS, encode_figure
from areaviz.trace.document import validate
from areaviz.trace.record import Gaze, Trace
from areaviz.trace.request import Focus, Picture
from areaviz.views.looks.transformer import COLOURS, find_sampling, map_to_picture, sample
from areaviz.views.views import VIEWS
from tests import fakes

FOCUS = Focus("transformer")
VIEW = VIEWS["transformer"]


@pytest.fixture(scope="module")
def trace() -> Trace:
    return fakes.gaze_trace("transformer", 1, 1)


def slow_value(picture: np.ndarray, x: float, y: float) -> float:
    """Sum all pixels, each with the weight max(0, 1 - |dx|) max(0, 1 - |dy|) of its distance."""
    total = 0.0
    for row, column in np.ndindex(picture.shape[:2]):
        near = max(0, 1 - abs(x - column - 0.5)) * max(0, 1 - abs(y - row - 0.5))
        total += near * picture[row, column].mean()
    return total


@given(st.integers(0, 99), st.integers(1, 5))
def test_samples_are_sums_over_the_whole_picture(seed: int, side: int) -> None:
    rng = np.random.default_rng(seed)
    picture = rng.integers(0, 256, (6, 7, 3)).astype(np.uint8)
    first, right, down = rng.uniform(-2, 8, (3, 2))
    corners = np.array([first, first + right, first + right + down, first + down], dtype=np.float32)
    index = int(rng.integers(side * side))
    one = sample(picture, corners, side, index)
    assert one.total == pytest.approx(slow_value(picture, one.x, one.y), abs=0.02)
    assert sum(pixel.weight for pixel in one.neighbours) == pytest.approx(1)
    assert (one.row, one.column) == divmod(index, side)


def test_places_are_middles_of_output_pixels() -> None:
    corners = np.array([[0, 0], [8, 0], [8, 4], [0, 4]], dtype=np.float32)
    np.testing.assert_allclose(map_to_picture(corners, 4, [(0, 0), (3, 1)]), [[1, 0.5], [3, 3.5]])
    turned = corners[[1, 2, 3, 0]]  # the output's top edge is the picture's right side
    np.testing.assert_allclose(map_to_picture(turned, 4, [(0, 0)]), [[7, 0.5]])


def test_identity_grid_reads_each_pixel_itself() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (4, 4, 3)).astype(np.uint8)
    corners = np.array([[0, 0], [4, 0], [4, 4], [0, 4]], dtype=np.float32)
    read = [sample(picture, corners, 4, index).total for index in range(16)]
    np.testing.assert_allclose(read, picture.mean(2).ravel(), rtol=1e-6)


def test_middle_pixel_is_shown_by_default(trace: Trace) -> None:
    assert (find_sampling(trace, FOCUS).sample.row, find_sampling(trace, FOCUS).sample.column) == (
        4,
        4,
    )
    drawn = find_sampling(trace, replace(FOCUS, items=(13,)))
    assert (drawn.sample.row, drawn.sample.column) == (1, 5)
    assert drawn.read == trace.gazes["transformer"].seen[0, 0, 1, 5]


def test_grid_and_output_points_correspond(trace: Trace) -> None:
    drawn = find_sampling(trace, FOCUS)
    assert drawn.points.shape == drawn.dots.shape == (49, 2)
    corners = trace.gazes["transformer"].corners[0, 0]
    for place, dot in zip(drawn.points, drawn.dots, strict=True):
        across, down = dot / 8
        expected = (
            corners[0] + across * (corners[1] - corners[0]) + down * (corners[3] - corners[0])
        )
        np.testing.assert_allclose(place, expected, rtol=1e-4)


def test_corners_match_in_both_panels(trace: Trace) -> None:
    marks = [
        t for t in VIEW.figure(trace, FOCUS).data if t.hovertext and "corner" in t.hovertext[0]
    ]
    looks = [(mark.marker.color, mark.marker.symbol) for mark in marks]
    assert looks[:4] == looks[4:] and tuple(colour for colour, _ in looks[:4]) == COLOURS
    assert len(set(looks)) == 4
    gaze, side = trace.gazes["transformer"], 8
    np.testing.assert_allclose([(m.x[0], m.y[0]) for m in marks[:4]], gaze.corners[0, 0])
    assert [(m.x[0], m.y[0]) for m in marks[4:]] == [(0, 0), (side, 0), (side, side), (0, side)]


def test_table_products_sum_to_the_value(trace: Trace) -> None:
    table = VIEW.table(trace, FOCUS)
    assert all(len(row) == len(table.columns) for row in table.rows)
    rows = {row[0]: row for row in table.rows}
    pixels = [row for name, row in rows.items() if str(name).startswith("pixel")]
    assert len(pixels) == 4
    assert rows["sum"][5] == pytest.approx(sum(float(row[3]) * float(row[4]) for row in pixels))


@pytest.mark.parametrize("size", [(480, 320), (30, 90)])
def test_samples_come_from_the_network_input(
    size: tuple[int, int],
) -> None:
    plain = fakes.gaze_trace("transformer", 1, 1)
    width, height = size
    shown = np.random.default_rng(1).integers(0, 256, (height, width, 3)).astype(np.uint8)
    got = np.random.default_rng(2).integers(0, 256, (1, 1, 60, 60)).astype(np.uint8)
    scale = 60 / max(size)  # the picture is centred in the network's square
    left, top = (60 - width * scale) / 2 / scale, (60 - height * scale) / 2 / scale
    square = np.array([[0, 0], [60, 0], [60, 60], [0, 60]], np.float32)
    moved = {
        "transformer": plain.gazes["transformer"].corners / scale - (left, top),
        "canvas": square[None, None] / scale - (left, top),
    }
    looks = {"transformer": plain.gazes["transformer"].seen, "canvas": got}
    gazes = {s: Gaze(s, "target", "picture", moved[s].astype(np.float32), looks[s]) for s in looks}
    cell = replace(plain.fields["picture"], anchors=np.array([[0, 0, width, height]]))
    request = replace(plain.request, picture=Picture.of("photo", shown))
    trace = replace(plain, request=request, fields={**plain.fields, "picture": cell}, gazes=gazes)
    validate(trace)
    drawn, same = find_sampling(trace, FOCUS), find_sampling(plain, FOCUS)
    assert (drawn.sample.x, drawn.sample.y) == pytest.approx(
        (same.sample.x, same.sample.y), abs=1e-2
    )
    assert drawn.sample.total == pytest.approx(
        slow_value(got[0, 0][..., None], drawn.sample.x, drawn.sample.y), abs=0.02
    )
    assert np.array(drawn.middle) == pytest.approx(
        np.array(same.middle) / scale - (left, top), abs=1e-2
    )
    assert "60×60" in drawn.note and "60×60" not in same.note
    assert VIEW.figure(trace, FOCUS).data


def test_caption_describes_the_sampling(trace: Trace) -> None:
    told = VIEW.figure(trace, FOCUS).layout.meta["caption"]
    assert all(part in told for part in ("reader", "transformer", "8×8", "bilinear"))


@pytest.mark.parametrize("items", [(), (0,), (63,)])
@pytest.mark.parametrize("kind", EXPORT_FORMATS)
def test_transformer_view_is_printed(trace: Trace, items: tuple[int, ...], kind: str) -> None:
    assert len(encode_figure(VIEW.print(trace, replace(FOCUS, items=items)), kind)) > 1000


def test_output_of_one_pixel_is_drawn() -> None:
    trace = fakes.gaze_trace("transformer", 1, 1, 1)
    assert VIEW.figure(trace, FOCUS).data and VIEW.table(trace, FOCUS).rows


def test_view_fits_transformer_with_existing_pixels(trace: Trace) -> None:
    assert VIEW.fits(trace, replace(FOCUS, items=(63,))) and not VIEW.fits(
        trace, replace(FOCUS, items=(64,))
    )
    assert not VIEW.fits(fakes.gaze_trace(), Focus("glimpses")) and not VIEW.fits(
        trace, Focus("glimpses")
    )
    assert not VIEW.fits(fakes.trace(), Focus("encoder-decoder"))
