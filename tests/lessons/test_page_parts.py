"""What a click or a changed slider makes of the chosen area."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.lessons import LESSONS
from areaviz.lessons.page_parts import fitted, grown, reached
from areaviz.trace.areas import Area, AreaGrid

GRIDS = st.tuples(*[st.integers(1, 5)] * 4).map(
    lambda sizes: AreaGrid.clamped(sizes[:2], sizes[2:])
)
AREAS = st.builds(Area, *[st.integers(0, 6)] * 2, *[st.integers(1, 7)] * 2)


def test_a_click_moves_the_lower_right_corner() -> None:
    assert reached(Area(1, 1, 2, 2), (2, 3)) == Area(1, 1, 2, 3)
    assert reached(Area(1, 1, 2, 2), (0, 2)) == Area(0, 1, 1, 2)


def test_a_click_grows_the_area_or_starts_a_new_one() -> None:
    grid = AreaGrid(2, 5, 2, 3)
    assert grown(Area(0, 1, 1, 1), grid, (1, 2)) == Area(0, 1, 2, 2)
    assert grown(Area(0, 1, 1, 1), grid, (0, 4)) == Area(0, 4, 1, 1)
    assert grown(Area(1, 1, 1, 1), grid, (0, 1)) == Area(0, 1, 1, 1)


@settings(deadline=None)
@given(AREAS, GRIDS, st.data())
def test_every_click_and_every_cut_gives_an_area_of_the_grid(
    area: Area, grid: AreaGrid, data: st.DataObject
) -> None:
    cut = fitted(area, grid)
    corner = data.draw(st.tuples(st.integers(0, grid.height - 1), st.integers(0, grid.width - 1)))
    whole = AreaGrid(grid.height, grid.width, grid.height, grid.width)
    end = reached(cut, corner)
    assert 0 <= grid.index(cut) < grid.count
    assert 0 <= grid.index(grown(cut, grid, corner)) < grid.count
    assert 0 <= whole.index(end) < whole.count
    assert (end.top + end.height - 1, end.left + end.width - 1) == corner


@settings(deadline=None)
@given(GRIDS, st.data())
def test_an_area_that_fits_is_left_alone(grid: AreaGrid, data: st.DataObject) -> None:
    area = grid.area(data.draw(st.integers(0, grid.count - 1)))
    assert fitted(area, grid) == area


def test_lessons_have_names_of_their_own() -> None:
    assert (
        len({lesson.name for lesson in LESSONS})
        == len({lesson.title for lesson in LESSONS})
        == len(LESSONS)
    )
