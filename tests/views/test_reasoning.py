"""Views of facts by hops and of points: the values they draw, and the traces they fit."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.trace.areas import AreaGrid
from areaviz.trace.kinds import GOLD, make_facts_field, make_points_field, make_question_field
from areaviz.trace.record import AttentionMap, Field, Output, Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.facts.facts import build_fact_matrix
from areaviz.views.points.points import find_pointing
from areaviz.views.views import VIEWS
from tests import fakes

STORY = "Ann sat <b>down</b>. Bob left $x$. Who left?"
POINTS = "0,0 1000,0 1000,1000 0,1000 500,400"


def story_trace(gold: str = "") -> Trace:
    fields = {
        "facts": make_facts_field(STORY),
        "question": make_question_field(STORY),
        "target": Field("target", "text", "Bob", ("Bob",), np.array([[0, 3]])),
    }
    weights = np.array([[0.9, 0.1], [0.2, 0.8]], np.float32)[:, None, None]
    hops = AttentionMap("hops", "question", "facts", AreaGrid(1, 2, 1, 1), weights)
    output = Output("target", np.array([0.7], np.float32), ((("Bob", 0.7), ("Ann", 0.3)),))
    details = {GOLD: gold} if gold else {}
    return Trace(Request("m", STORY), fields, output, {"hops": hops}, details)


def points_trace(exact: str = "1 2 3 4") -> Trace:
    labels = ("1", "2", "3", "1")
    anchors = np.array([[2 * n, 2 * n + 1] for n in range(4)])
    fields = {
        "points": make_points_field(POINTS),
        "target": Field("target", "text", "1 2 3 1", labels, anchors),
    }
    weights = np.full((1, 1, 4, 5), 0.1, np.float32)
    for step, point in enumerate((0, 1, 2, 0)):
        weights[0, 0, step, point] = 0.6
    pointer = AttentionMap("pointer", "target", "points", AreaGrid(1, 5, 1, 1), weights)
    output = Output("target", np.full(4, 0.6, np.float32), ((("1", 0.6),),) * 4)
    details = {"kind": "hull", "exact": exact} if exact else {}
    return Trace(Request("m", POINTS), fields, output, {"pointer": pointer}, details)


def test_facts_are_rows_and_hops_columns() -> None:
    drawn = build_fact_matrix(story_trace("2"), Focus("hops"))
    np.testing.assert_allclose(drawn.values, [[0.9, 0.2], [0.1, 0.8]], rtol=1e-6)
    assert drawn.columns == ("hop 1", "hop 2") and drawn.marked_rows == (1,)
    assert drawn.rows[0].startswith("1  Ann sat <b>down") and "framed" in drawn.note
    table = VIEWS["facts"].table(story_trace("2"), Focus("hops"))
    assert [row[-1] for row in table.rows] == ["", "yes"]


@pytest.mark.parametrize("gold", ["", "9", "0", "two"])
def test_missing_facts_are_not_framed(gold: str) -> None:
    drawn = build_fact_matrix(story_trace(gold), Focus("hops"))
    assert drawn.marked_rows == () and "framed" not in drawn.note


def test_step_shows_the_answer_so_far() -> None:
    drawn = find_pointing(points_trace(), Focus("pointer", items=(1,)))
    assert drawn.step == 1 and drawn.path.tolist() == [[0, 0], [1000, 0]]
    assert drawn.exact == (0, 1, 2, 3, 0) and "points at 2 with 60%" in drawn.title
    last = find_pointing(points_trace(""), Focus("pointer"))
    assert last.step == 3 and last.exact == () and "dashed" not in last.note


def test_table_of_points_has_every_weight() -> None:
    table = VIEWS["points"].table(points_trace(), Focus("pointer"))
    assert len(table.rows) == 4 and len(table.columns) == 3 + 5
    assert [row[1:3] for row in table.rows] == [(1, "1"), (2, "2"), (3, "3"), (1, "4")]
    assert sum(map(float, table.rows[0][3:])) == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "trace"), [("facts", story_trace("1")), ("points", points_trace())]
)
def test_reasoning_views_are_drawn_and_fit_only_reasoning(name: str, trace: Trace) -> None:
    view, site = VIEWS[name], next(iter(trace.maps))
    assert view.fits(trace, Focus(site))
    assert view.figure(trace, Focus(site)).data
    assert view.print(trace, Focus(site)).axes
    assert not view.fits(fakes.trace(), Focus("encoder-decoder"))
    assert not view.fits(trace, Focus(site, items=(9,)))
    fitting = [one.name for one in VIEWS.values() if one.fits(trace, Focus(site))]
    # There is nothing to compare for a single head.
    heads = ["overview"] if trace.maps[site].layers > 1 else []
    assert fitting == [name, *heads, "probabilities"]
