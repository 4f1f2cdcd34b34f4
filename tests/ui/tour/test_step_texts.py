"""Texts of the steps of the guided tour."""

from __future__ import annotations

import pytest

from areaviz.learn.tour import describe_place
from areaviz.trace.areas import Area


@pytest.mark.parametrize(
    ("area", "said"),
    [
        (Area(0, 0, 1, 1), "row 1, column 1"),
        (Area(1, 2, 3, 2), "rows 2-4, columns 3-4"),
        (Area(1, 2, 1, 2), "row 2, columns 3-4"),
    ],
)
def test_place_of_an_area_counts_rows_and_columns_from_one(area: Area, said: str) -> None:
    assert describe_place(area) == said
