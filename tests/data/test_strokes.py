"""Drawn digits: MNIST's format, centred by mass, varied, and reproducible by seed."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.samples.digits import DRAWN_SIDE, draw_digit, draw_digits


@pytest.mark.parametrize("digit", range(10))
def test_digit_is_ink_on_background_centred_by_mass(digit: int) -> None:
    for seed in range(20):
        image = draw_digit(digit, np.random.default_rng((digit, seed)))
        assert image.shape == (DRAWN_SIDE, DRAWN_SIDE) == (28, 28) and image.dtype == np.uint8
        assert image.max() > 200 and 0.04 < (image > 128).mean() < 0.4
        assert (
            not image[0].any()
            and not image[-1].any()
            and not image[:, 0].any()
            and not image[:, -1].any()
        )
        rows, columns = np.mgrid[:DRAWN_SIDE, :DRAWN_SIDE]
        middle = [(axis * image).sum() / image.sum() for axis in (rows, columns)]
        assert np.allclose(middle, 13.5, atol=0.51)


def test_seed_determines_the_hand() -> None:
    labels = np.arange(10)
    one, same, other = (draw_digits(labels, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert one.shape == (10, 28, 28)
    assert np.array_equal(one, same)
    assert not any(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_many_digits_are_drawn_in_sequence() -> None:
    labels = np.array([7, 7, 2])
    rng = np.random.default_rng(3)
    assert np.array_equal(
        draw_digits(labels, np.random.default_rng(3)),
        [draw_digit(int(label), rng) for label in labels],
    )


def test_each_digit_is_nearest_to_its_own_mean() -> None:
    """Pixel means of forty drawings identify most of twenty new ones: shapes fit their labels."""
    labels = np.repeat(np.arange(10), 60)
    drawn = draw_digits(labels, np.random.default_rng(0)).reshape(10, 60, -1).astype(float)
    means, new = drawn[:, :40].mean(1), drawn[:, 40:]
    nearest = ((new[:, :, None] - means) ** 2).sum(-1).argmin(-1)
    assert (nearest == np.arange(10)[:, None]).mean() > 0.8
    assert all((nearest[digit] == digit).mean() > 0.5 for digit in range(10))


def loops(image: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> int:
    """Count the parts of the background that the ink encloses, by flood fill.

    The fill starts in the corner. Every part that it does not reach counts.
    """
    open_ground = image <= 60
    count = -1
    while open_ground.any():
        count += 1
        stack = [tuple(np.argwhere(open_ground)[0])]
        size = 0
        while stack:
            y, x = stack.pop()
            if 0 <= y < DRAWN_SIDE and 0 <= x < DRAWN_SIDE and open_ground[y, x]:
                open_ground[y, x] = False
                size += 1
                stack += [(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)]
        count -= size < 3
    return count


@pytest.mark.parametrize(
    ("digit", "expected"), [(0, 1), (1, 0), (3, 0), (5, 0), (7, 0), (8, 2), (9, 1)]
)
def test_digits_enclose_the_expected_holes(digit: int, expected: int) -> None:
    found = [loops(draw_digit(digit, np.random.default_rng((digit, seed)))) for seed in range(15)]
    assert np.median(found) == expected
