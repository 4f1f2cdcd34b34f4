"""The two renderers: every mark appears on screen and in print, and at the same place."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, get_args

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as PrintFigure

from areaviz.draw.marks import (
    Axis,
    Bars,
    Cells,
    Frame,
    Hover,
    Image,
    Key,
    Mark,
    Panel,
    Path,
    Plot,
    Points,
    Raster,
    Rule,
    Scale,
    Stroke,
    Texts,
)
from areaviz.draw.matplotlib import draw_in_print
from areaviz.draw.plotly import draw_on_screen
from areaviz.draw.theme import Drawing

LINE, BOX = Stroke("#D55E00", (2, 2)), (2.0, 1.0, 6.0, 3.0)
VALUES = np.array([[0.2, 0.4, 0.6, 0.8], [0.9, 0.7, 0.5, 0.3]], np.float32)
WORDS, UNEVEN = [["a"] * 4, ["b"] * 4], [["a"] * 2, ["b"] * 2]
SAMPLES: dict[str, Mark] = {
    "cells": Cells(VALUES, WORDS, left=2, top=1),
    "uneven cells": Cells(VALUES[:, :2], UNEVEN, top=1, edges=(2, 2.5, 6)),
    "raster": Raster(VALUES, BOX),
    "image": Image(np.zeros((4, 8, 3), np.uint8), BOX),
    "whole image": Image(np.zeros((4, 8, 3), np.uint8), BOX, is_whole=True),
    "bars": Bars([2.5, 5.5], [2, 1], "#0072B2", 1, base=1),
    "level bars": Bars([1.5, 2.5], [4, 2], "#0072B2", 1, base=2, is_upright=False),
    "path": Path([2, 4, 6], [1, 3, 1], LINE),
    "cased path": Path([2, 4, 6], [1, 3, 1], LINE, casing=Stroke("#111111", (4, 2))),
    "points": Points([2, 6], [1, 3], (6, 4), "#0072B2", LINE),
    "values": Points([2, 6], [1, 3], (6, 4), "", LINE, values=VALUES[0, :2]),
    "badges": Points([2, 6], [1, 3], (19, 12), "#0072B2", LINE, texts=("1", "2")),
    "texts": Texts([2, 6], [1, 3], ["a", "b"]),
    "frame": Frame(2, 1, 4, 2, LINE),
    "rule": Rule(4, LINE),
    "hover": Hover([2, 6], [1, 3], ["a", "b"], 20),
}
"""A mark of every kind, which reaches from 2 to 6 and from 1 to 3."""
NEAR = 0.35
"""Size of letters and symbols beyond their positions, in units of the axes."""


def plot(*marks: Mark) -> Plot:
    across, down = Axis(ends=(0, 8)), Axis(ends=(4, 0))
    return Plot(
        drawing=Drawing("A title", "", "A caption"),
        panels=[Panel(marks=marks, across=across, down=down, is_square=True)],
        height=(300, 3),
        scale=Scale(1, "share"),
    )


def pixels(figure: PrintFigure) -> np.ndarray:
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba())[..., :3].astype(int)  # type: ignore[no-untyped-call]


def extent_in_print(mark: Mark) -> tuple[float, float, float, float] | None:
    """Return left, top, right and bottom of what a mark changes on paper, or None for nothing."""
    figure = draw_in_print(plot(mark))
    changed = (np.abs(pixels(figure) - pixels(draw_in_print(plot()))) > 30).any(2)
    if not changed.any():
        return None
    down, across = np.nonzero(changed)
    corners = [(across.min(), down.min()), (across.max() + 1, down.max() + 1)]
    to_data, height = figure.axes[0].transData.inverted(), len(changed)
    (left, top), (right, bottom) = to_data.transform([(x, height - y) for x, y in corners])
    return left, top, right, bottom


def extent_on_screen(mark: Mark) -> tuple[float, float, float, float]:
    """Return left, top, right and bottom of the positions of a mark on screen."""
    figure = json.loads(draw_on_screen(plot(mark)).to_json(engine="json"))
    x: list[float] = []
    y: list[float] = []
    for one in figure["data"]:
        if one["type"] == "heatmap" and "x" not in one:
            rows, columns = np.shape(one["text"])
            x += [one["x0"] - 0.5, one["x0"] + columns - 0.5]
            y += [one["y0"] - 0.5, one["y0"] + rows - 0.5]
        elif one["type"] == "bar":
            at, ends = np.array(one["y" if one["orientation"] == "h" else "x"]), []
            lengths = np.array(one["x" if one["orientation"] == "h" else "y"])
            ends = [float(one["base"]), float((one["base"] + lengths).max())]
            sides = [float(at.min()) - 0.5, float(at.max()) + 0.5]
            x, y = (ends, sides) if one["orientation"] == "h" else (sides, ends)
        else:
            x += list(one["x"])
            y += list(one["y"])
    for shape in figure["layout"].get("shapes", []):
        x += [shape["x0"], shape["x1"]]
        y += [shape["y0"], shape["y1"]]
    for image in figure["layout"].get("images", []):
        shift_x = {"center": 0.5, "left": 0}[image.get("xanchor", "left")] * image["sizex"]
        shift_y = {"middle": 0.5, "top": 0}[image.get("yanchor", "top")] * image["sizey"]
        x += [image["x"] - shift_x, image["x"] - shift_x + image["sizex"]]
        y += [image["y"] - shift_y, image["y"] - shift_y + image["sizey"]]
    return min(x), min(y), max(x), max(y)


def test_every_kind_of_mark_has_a_sample() -> None:
    assert {type(mark) for mark in SAMPLES.values()} == set(get_args(Mark))


@pytest.mark.parametrize("name", SAMPLES)
def test_mark_is_at_its_place_on_screen_and_in_print(name: str) -> None:
    mark = SAMPLES[name]
    expected = (4, 0, 4, 4) if isinstance(mark, Rule) else (2, 1, 6, 3)
    assert extent_on_screen(mark) == pytest.approx(expected, abs=1e-6)
    printed = extent_in_print(mark)
    if isinstance(mark, Hover):
        assert printed is None, "paper has no pointer"
    else:
        assert printed == pytest.approx(expected, abs=NEAR)


@pytest.mark.parametrize("name", ["bars", "path", "points", "badges", "frame", "rule"])
def test_mark_has_its_colour_on_screen_and_in_print(name: str) -> None:
    colour = "#D55E00" if name in ("path", "frame", "rule") else "#0072B2"
    drawn = plot(SAMPLES[name])
    assert colour in draw_on_screen(drawn).to_json()
    channels = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    assert (np.abs(pixels(draw_in_print(drawn)) - channels) < 30).all(2).any()


def test_hover_texts_are_escaped_with_their_line_breaks() -> None:
    hostile = Cells(VALUES[:1, :1], [["<b> $x$\n%{z}"]])
    (heatmap,) = draw_on_screen(plot(hostile)).data
    assert heatmap.text[0][0] == "&lt;b&gt; &#36;x&#36;<br>%{z}"
    assert heatmap.hovertemplate == "%{text}<extra></extra>"


@pytest.mark.parametrize("side", ["above", "below", "right"])
def test_key_names_marks_on_screen_and_in_print(side: Any) -> None:
    marks: list[Mark] = [
        Bars([2], [2], "#0072B2", 1, name="first"),
        Path((), (), LINE, name="second"),
        Points([2], [2], (6, 4), "#0072B2", LINE, name="third"),
        Points([4], [2], (6, 4), "#0072B2", LINE),
    ]
    keyed = replace(plot(*marks), key=Key(side))
    screen = draw_on_screen(keyed)
    assert [one.name for one in screen.data if one.showlegend is not False] == [
        "first",
        "second",
        "third",
    ]
    legend = draw_in_print(keyed).axes[0].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["first", "second", "third"]


@pytest.mark.parametrize("is_share", [True, False])
def test_axes_have_the_same_ticks_ends_and_titles(is_share: bool) -> None:
    labels = [f"item {number}" for number in range(4)]
    across = Axis(title="items", ends=(-0.5, 3.5), labels=labels)
    down = Axis(title="share", ends=(0, 1), has_grid=True, is_share=is_share)
    panel = Panel(marks=[Bars([0, 1, 2, 3], [0.5] * 4, "#0072B2", 0.8)], across=across, down=down)
    drawn = replace(plot(), panels=[panel], scale=None)
    layout, axes = draw_on_screen(drawn).layout, draw_in_print(drawn).axes[0]
    assert list(layout.xaxis.ticktext) == [one.get_text() for one in axes.get_xticklabels()]
    assert tuple(layout.xaxis.range) == axes.get_xlim() == (-0.5, 3.5)
    assert tuple(layout.yaxis.range) == axes.get_ylim() == (0, 1)
    assert layout.xaxis.title.text == axes.get_xlabel() == "items"
    assert layout.yaxis.title.text == axes.get_ylabel() == "share"
    assert (layout.yaxis.tickformat == ".0%") == is_share
    assert axes.yaxis.get_major_formatter()(0.5).endswith("%") == is_share
