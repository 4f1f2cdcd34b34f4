"""Changes that a page makes to a screen figure: its heading as text, its labels turned."""

from __future__ import annotations

from plotly.graph_objects import Figure, Heatmap

from areaviz.draw.labels import Ticks
from areaviz.draw.theme import (
    Drawing,
    find_common_top,
    make_screen_ticks,
    screen_figure,
    without_title,
)


def test_figure_without_heading_keeps_its_plot() -> None:
    drawing = Drawing("What every word attends to", "a row sums to 100%", "of a model")
    whole = screen_figure(drawing, 200, above=30, below=20)
    bare = without_title(screen_figure(drawing, 200, above=30, below=20))
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
    level = make_screen_ticks(Ticks((0, 1), ("a", "b"), 0))
    assert level["tickangle"] is None and level["autotickangles"] == [0, -90]
    assert make_screen_ticks(Ticks((0, 1), ("a", "b"), 45))["tickangle"] == -45


def test_heat_maps_share_a_scale_pictures_do_not() -> None:
    low, high = ({"cmin": 0, "cmax": top} for top in (0.5, 1.0))
    images = [{"source": "data:,", "x": 0, "y": 0, "sizex": 1, "sizey": 1}]
    heat = [Figure(Heatmap(z=[[0]]), {"coloraxis": axis, "images": images}) for axis in (low, high)]
    drawn = [Figure(layout={"coloraxis": axis, "images": images}) for axis in (low, high)]
    assert find_common_top(heat) == 1.0
    assert find_common_top(drawn) is None and find_common_top([heat[0], Figure()]) is None
