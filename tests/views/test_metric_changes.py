"""Bars of changes: their signs, the outlined bars, and what a click sends."""

from __future__ import annotations

from areaviz.draw.charts import change_bars
from areaviz.draw.theme import ACCENT, SECOND

CHANGES = [-20.0, -5.0, 0.0, 0.0, 7.5]
TEXTS = ["a <b>", "b", "c", "d", "e"]


def test_change_bars_draw_every_example_once() -> None:
    bars, dots = change_bars(CHANGES, TEXTS, {}, 0).data
    assert list(bars.customdata) == [0, 1, 4] and list(dots.customdata) == [2, 3]
    assert list(bars.y) == [-20.0, -5.0, 7.5] and list(dots.y) == [0, 0]
    assert list(bars.marker.color) == [SECOND, SECOND, ACCENT]
    assert bars.hovertext[0] == "a &lt;b&gt;"


def test_change_bars_outline_the_chosen_example() -> None:
    bars, dots = change_bars(CHANGES, TEXTS, {}, 1).data
    assert list(bars.marker.line.width) == [0, 3, 0] and bars.marker.opacity[1] == 1
    assert dots.marker.size[0] == dots.marker.size[1]
    bars, dots = change_bars(CHANGES, TEXTS, {}, 3).data
    assert set(bars.marker.line.width) == {0} and dots.marker.size[1] > dots.marker.size[0]


def test_change_bars_label_bars_at_their_ends() -> None:
    figure = change_bars(CHANGES, TEXTS, {0: "horse → dog", 1: "x" * 99}, 0)
    first, second, *_ = figure.layout.annotations
    assert (first.text, first.y, second.y) == ("<b>horse → dog</b>", -20.0, -5.0)
    assert len(second.text) < 40


def test_change_bars_say_how_many_are_unchanged_or_better() -> None:
    still, better = change_bars(CHANGES, TEXTS, {}, 0).layout.annotations
    assert (still.text, still.x, still.y) == ("2 the same", 2.5, 0)
    assert (better.text, better.y) == ("<b>1 better</b>", 7.5)
    assert not change_bars([-1.0], ["a"], {}, 0).layout.annotations
