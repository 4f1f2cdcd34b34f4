"""Exported pages of facts and points: facts can be pointed at, points are a picture."""

from __future__ import annotations

from pathlib import Path

import areaviz
from areaviz.drawing.sites import site_name
from areaviz.publish.content import kind_of
from areaviz.publish.figures import stills
from tests.views.test_reasoning import points_trace, story_trace


def test_facts_are_a_ribbon_and_points_a_picture(tmp_path: Path) -> None:
    assert kind_of(story_trace(), "hops") == "ribbon"
    assert kind_of(points_trace(), "pointer") == ""
    titles = [still.title for still in stills(points_trace(), ["pointer"])]
    assert titles[0] == "Points and tour"
    for number, trace in enumerate((story_trace("1"), points_trace())):
        path = tmp_path / f"{number}.html"
        areaviz.export(trace, path)
        text = path.read_text(encoding="utf-8")
        assert "<b>down</b>" not in text
        assert ("Bob left" in text) == (number == 0)


def test_the_sites_have_names() -> None:
    assert site_name(story_trace(), "hops") == "Question to facts"
    assert site_name(points_trace(), "pointer") == "Answer to points"
