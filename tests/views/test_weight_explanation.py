"""Reasons of a weight: values in figure, table, title and print, for texts and pictures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from areaviz.draw.view import encode_figure
from areaviz.trace.areas import Area
from areaviz.trace.derived import Logits
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.why import (
    Question,
    explain,
    find_heaviest_head,
    list_candidates,
    make_weight_view,
)
from tests import fakes

SITE = "encoder-decoder"
FOCUS = Focus(SITE, 1, items=(3,))


def explained(trace: Trace) -> tuple[Trace, Logits]:
    """Return the trace with weights of boundary keys in the second layer, and their logits."""
    attention, rng = trace.maps[SITE], np.random.default_rng(2)
    grid, (heads, queries) = attention.grid, attention.weights.shape[1:3]
    shapes = grid.max_height * grid.max_width

    def some(*shape: int) -> np.ndarray:
        return rng.normal(0, 1.5, (heads, *shape)).astype(np.float32)

    sides = (queries, grid.items)
    logits = Logits(grid, some(*sides), some(*sides), some(*sides), some(queries, shapes))
    weights = attention.weights.copy()
    for head, query in np.ndindex(heads, queries):
        areas = map(grid.area, range(grid.count))
        exps = np.exp([sum(logits.parts(head, query, area).values()) for area in areas])
        weights[1, head, query] = exps / exps.sum()
    maps = {**trace.maps, SITE: replace(attention, weights=weights)}
    return replace(trace, maps=maps), logits


@pytest.fixture(scope="module")
def text() -> tuple[Trace, Logits]:
    return explained(fakes.trace("A dog ran.", "Ein Hund."))


def asked(trace: Trace, head: int = 2) -> Question:
    area, beside, *_ = list_candidates(trace, FOCUS, head, 3)
    return Question(head, 3, area, beside)


def test_numbers_match_the_logits(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    question = asked(trace)
    found = explain(trace, FOCUS, logits, question)
    for one, area in zip(found.asked, (question.area, question.beside), strict=True):
        assert area is not None
        assert one.parts == logits.parts(2, 3, area)
        index = trace.maps[SITE].grid.index(area)
        assert one.weight == pytest.approx(trace.maps[SITE].weights[1, 2, 3, index])
    first, other = found.asked
    assert first.logit - other.logit == pytest.approx(
        math.log(first.weight / other.weight), abs=1e-5
    )
    assert first.name in found.title and f"{first.weight:.0%}" in found.title
    assert f"{first.logit - other.logit:.2f} higher" in found.note and "head 3" in found.note


def test_infinite_ratio_is_not_written(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    grid = trace.maps[SITE].grid
    rarest = grid.area(int(trace.maps[SITE].weights[1, 2, 3].argmin()))
    found = explain(trace, FOCUS, logits, Question(2, 3, asked(trace).area, rarest))
    assert "over 1,000 times as much" in found.title


def test_neighbours_of_the_area_are_drawn(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    found = explain(trace, FOCUS, logits, Question(0, 3, Area(0, 4, 1, 2)))
    assert found.items == (1, 2, 3, 4, 5, 6, 7, 8)
    assert [found.holder(item) for item in found.items] == [None] * 3 + [0, 0] + [None] * 3
    np.testing.assert_allclose(found.scores, logits.item[0, 3, 1:9])
    assert "its logit is" in found.note and "times" not in found.title


def test_figure_table_and_print(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    question = asked(trace)
    view = make_weight_view(logits, question)
    found = explain(trace, FOCUS, logits, question)
    figure = view.figure(trace, FOCUS)
    items, one, two = figure.data
    np.testing.assert_allclose(items.y, found.scores)
    assert list(figure.layout.xaxis2.ticktext) == ["mean", "start", "end", "shape", "logit"]
    np.testing.assert_allclose((np.array(one.x) + two.x) / 2, range(5), atol=1e-9)
    np.testing.assert_allclose(one.y[:4], list(found.asked[0].parts.values()))
    assert two.y[4] == pytest.approx(sum(two.y[:4]))
    rows = view.table(trace, FOCUS).rows
    assert rows[0][1:] == ("mean of q · k", found.asked[0].parts["mean"])
    assert sum(row[1] == "weight" for row in rows) == 2
    assert encode_figure(view.print(trace, FOCUS), "svg").startswith(b"<?xml")


def test_invisible_item_has_no_bar(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    item = logits.item.copy()
    item[:, :, 6:] = -np.inf
    hidden = replace(logits, item=item)
    view = make_weight_view(hidden, Question(0, 3, Area(0, 4, 1, 2)))
    bars = view.figure(trace, FOCUS).data[0]
    assert bars.y[-1] == 0 and "may not be seen" in bars.hovertext[-1]
    assert all(math.isfinite(float(row[2])) for row in view.table(trace, FOCUS).rows)
    assert encode_figure(view.print(trace, FOCUS), "png")


def test_logits_of_a_different_model_are_refused(text: tuple[Trace, Logits]) -> None:
    trace, logits = text
    other = replace(logits, start=logits.end, end=logits.start)
    with pytest.raises(InputError, match="gives other weights"):
        explain(trace, FOCUS, other, asked(trace))
    smaller = replace(logits, grid=replace(logits.grid, max_width=1))
    with pytest.raises(InputError, match="Choose a smaller area"):
        explain(trace, FOCUS, smaller, Question(0, 3, Area(0, 0, 1, 2)))


def test_picture_cells_are_named_by_row_and_column() -> None:
    trace, logits = explained(fakes.caption_trace())
    question = Question(1, 0, Area(1, 2, 2, 1), Area(0, 0, 1, 1))
    found = explain(trace, replace(FOCUS, items=(0,)), logits, question)
    assert found.labels == ("1, 1", "2, 3", "3, 3")
    assert [found.holder(item) for item in found.items] == [1, 0, 0]
    assert found.title.startswith("Rows 2-3, column 3 has") and "cells" in found.across


def test_surest_head_is_chosen_by_default(text: tuple[Trace, Logits]) -> None:
    trace, _ = text
    peaks = trace.maps[SITE].weights[1, :, 3].max(-1)
    assert find_heaviest_head(trace, FOCUS, 3) == int(peaks.argmax())
    assert find_heaviest_head(trace, replace(FOCUS, head=0), 3) == 0


def test_only_areas_of_minimum_size_are_offered(
    text: tuple[Trace, Logits],
) -> None:
    trace, _ = text
    assert {area.size >= 2 for area in list_candidates(trace, FOCUS, 0, 3, 2)} == {True}
    heaviest = next(iter(list_candidates(trace, FOCUS, 0, 3)))
    grid = trace.maps[SITE].grid
    assert grid.index(heaviest) == trace.maps[SITE].weights[1, 0, 3].argmax()
