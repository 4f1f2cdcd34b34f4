"""Texts as chips of words on paper."""

from __future__ import annotations

import pytest

from areaviz.views.ribbon.print import PlacedText, list_chips, place_text
from tests import fakes

MEASURE = 200.0


def test_chips_of_leaves_punctuation_and_spaces_out_of_words() -> None:
    field = fakes.text_field("source", "A (dog).")
    texts = ["".join(field.labels[start:end]) for start, end in list_chips(field)]
    assert texts == ["A", " ", "(", "dog", ")", ".", "⟨end⟩"]


@pytest.mark.parametrize("text", ["A small dog.", "A small dog runs. " * 8])
def test_place_text_keeps_chips_whole_and_apart(text: str) -> None:
    field = fakes.text_field("source", text)
    placed = place_text(field, MEASURE)
    assert len(placed) == len(field)
    for start, end in list_chips(field):
        assert len({item.row for item in placed[start:end]}) == 1
    for left, right in zip(placed, placed[1:], strict=False):
        assert right.row in (left.row, left.row + 1)
        if right.row == left.row:
            assert right.x >= left.x + left.width - 1e-6
        if right.text.isalpha():
            assert right.x + right.width <= MEASURE + 1e-6


def test_place_text_spreads_a_single_row() -> None:
    field = fakes.text_field("source", "A dog.")
    narrow, wide = place_text(field, 80.0), place_text(field, 400.0)
    assert {item.row for item in wide} == {0}
    assert wide[-1].x > narrow[-1].x or narrow[-1].row > 0


def test_place_text_breaks_a_word_that_is_wider_than_a_row() -> None:
    placed = place_text(fakes.text_field("source", "x" * 80), MEASURE)
    assert placed[-1].row > 0
    assert all(item.x + item.width <= MEASURE + 1e-6 for item in placed)


def test_boxes_leaves_out_rows_that_are_not_drawn() -> None:
    placed = place_text(fakes.text_field("source", "A small dog runs. " * 8), MEASURE)
    last = placed[-1].row
    text = PlacedText(placed, {0: 5.0, last: 50.0})
    boxes = list(text.boxes(0, len(placed)))
    assert [top for _, top, _ in boxes] == [5.0, 50.0]
    assert all(left < right for left, _, right in boxes)
