"""What a page changes in a screen figure: its heading set as text, its labels turned."""

from __future__ import annotations

from areaviz.drawing.axes import headless, screen_ticks
from areaviz.drawing.labels import Ticks
from areaviz.drawing.theme import Drawing, screen_figure


def test_a_figure_without_its_heading_keeps_its_plot() -> None:
    drawing = Drawing("What every word attends to", "a row sums to 100%", "of a model")
    whole = screen_figure(drawing, 200, above=30, below=20)
    bare = headless(screen_figure(drawing, 200, above=30, below=20))
    assert whole.layout.title.text and whole.layout.title.subtitle.text
    assert not bare.layout.title.text and not bare.layout.title.subtitle.text
    assert bare.layout.meta["title"] == drawing.title and bare.layout.meta["note"] == drawing.note
    assert whole.layout.height > bare.layout.height
    plots = [
        figure.layout.height - figure.layout.margin.t - figure.layout.margin.b
        for figure in (whole, bare)
    ]
    assert plots == [200, 200]


def test_level_labels_may_turn_and_turned_ones_stay() -> None:
    level = screen_ticks(Ticks((0, 1), ("a", "b"), 0))
    assert level["tickangle"] is None and level["autotickangles"] == [0, -90]
    assert screen_ticks(Ticks((0, 1), ("a", "b"), 45))["tickangle"] == -45
