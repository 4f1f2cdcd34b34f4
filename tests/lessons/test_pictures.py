"""The board of cells: geometry, colours and what can be clicked."""

from __future__ import annotations

from areaviz.lessons.pictures import COLUMN, ORANGE, Board, tint


def test_tint_keeps_the_colour() -> None:
    assert tint("#0072B2", 0.5) == "rgba(0,114,178,0.5)"


def test_y_runs_downwards_and_cells_are_square() -> None:
    board = Board(0, 0, 3, 2)
    board.box(0, 0, ORANGE, "a")
    layout = board.figure().layout
    assert tuple(layout.yaxis.range) == (2, 0)
    assert layout.yaxis.scaleanchor == "x"
    assert [note.text for note in layout.annotations] == ["a"]


def test_the_background_is_clear_so_that_both_themes_show_through() -> None:
    layout = Board(0, 0, 1, 1).figure().layout
    assert layout.paper_bgcolor == layout.plot_bgcolor == "rgba(0,0,0,0)"


def test_a_wide_board_shrinks_to_the_column() -> None:
    assert Board(0, 0, 40, 20).figure().layout.height == round(COLUMN / 2)


def test_hits_carry_their_number_and_label() -> None:
    board = Board(0, 0, 2, 1)
    board.hit(0, 0, "first", 7)
    board.hit(1, 0, "second", 8)
    markers = board.figure().data[0]
    assert list(markers.customdata) == [7, 8]
    assert list(markers.text) == ["first", "second"]
    assert markers.marker.opacity == 0
    assert (list(markers.x), list(markers.y)) == ([0.5, 1.5], [0.5, 0.5])
