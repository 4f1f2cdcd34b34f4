"""The misprints give the numbers that docs/misprints.md says they give."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.learn import arithmetic
from areaviz.samples.paths import ROOT
from areaviz.trace.areas import AreaGrid


def test_algorithm_1_as_printed_returns_9_of_25_areas() -> None:
    assert arithmetic.run_loops(3, 2, printed=True) == arithmetic.Loops(areas=9, first=4.0, right=0)
    assert arithmetic.run_loops(3, 2, printed=False) == arithmetic.Loops(
        areas=25, first=1.0, right=25
    )


@pytest.mark.parametrize("side", range(2, 7))
def test_algorithm_1_repaired_returns_every_area(side: int) -> None:
    for largest in range(1, side + 1):
        found = arithmetic.run_loops(side, largest, printed=False)
        assert found.areas == found.right == AreaGrid(side, side, largest, largest).count
        assert arithmetic.run_loops(side, largest, printed=True).right == 0


def test_equation_10_as_printed_gives_69_for_sixteen_ones() -> None:
    assert arithmetic.compute_integral(4, printed=True)[-1, -1] == 69
    np.testing.assert_array_equal(
        arithmetic.compute_integral(4, printed=False), np.outer(range(1, 5), range(1, 5))
    )


def test_printed_count_fails_only_for_oversized_areas() -> None:
    assert (arithmetic.count_spans_as_printed(4, 6), arithmetic.count_spans(4, 6)) == (9, 10)
    for length in range(1, 9):
        for size in range(1, length + 1):
            assert arithmetic.count_spans_as_printed(length, size) == arithmetic.count_spans(
                length, size
            )


@pytest.mark.parametrize("height", range(2, 7))
@pytest.mark.parametrize("width", range(2, 7))
def test_rows_beyond_the_width_are_lost(height: int, width: int) -> None:
    np.testing.assert_array_equal(
        arithmetic.sample_picture(height, width, printed=False), np.ones((height, width))
    )
    wrong = arithmetic.sample_picture(height, width, printed=True)
    assert wrong.sum() == width * min(height, width)
    assert not wrong[width:].any()


@pytest.mark.parametrize("glimpses", range(1, arithmetic.MOST_GLIMPSES + 1))
def test_repaired_estimate_is_the_slope(glimpses: int) -> None:
    weight = 0.2
    # The slope of 1 - (1 - weight)^glimpses.
    exact = glimpses * (1 - weight) ** (glimpses - 1) * weight * (1 - weight)
    assert arithmetic.compute_mean_estimate(glimpses, printed=False) == pytest.approx(exact)
    assert arithmetic.compute_mean_estimate(glimpses, printed=True) == pytest.approx(
        exact / glimpses
    )


def test_document_has_numbers_of_the_code() -> None:
    text = (ROOT / "docs" / "misprints.md").read_text("utf-8")
    wrong, right = (
        arithmetic.run_loops(4, 2, printed=True),
        arithmetic.run_loops(4, 2, printed=False),
    )
    pairs = [
        (wrong.areas, right.areas),
        (f"{wrong.first:g}", f"{right.first:g}"),
        (wrong.right, right.right),
        *(
            (
                f"{arithmetic.compute_integral(4, True)[-1, -1]:g}",
                f"{arithmetic.compute_integral(4, False)[-1, -1]:g}",
            ),
        ),
        (arithmetic.measure_rounding(100).negative, 0),
        (arithmetic.count_spans_as_printed(4, 6), arithmetic.count_spans(4, 6)),
        tuple(f"{arithmetic.sample_picture(4, 3, printed).sum():g}" for printed in (True, False)),
        tuple(f"{arithmetic.compute_mean_estimate(3, printed):.3f}" for printed in (True, False)),
    ]
    rows = [line for line in text.splitlines() if line.startswith(("| Alg", "| Eq", "| Count"))]
    assert [row.split(" | ", 2)[2] for row in rows] == [f"{a} | {b} |" for a, b in pairs]
    for mean in (0, 10, 100, 1000):
        found = arithmetic.measure_rounding(mean)
        errors = f"{found.table_error:.1e} | {found.negative} | {found.merged_error:.1e}"
        assert f"| {mean} | {errors} |" in text
