"""Exported pages of facts and points, which show all hops and every step."""

from __future__ import annotations

from pathlib import Path

import areaviz
from areaviz.draw.select import name_site
from areaviz.page.content import PageOptions, choose_figure, choose_opening_focus, list_places
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS
from tests.views.test_reasoning import points_trace, story_trace


def test_text_of_a_story_stays_text(tmp_path: Path) -> None:
    path = areaviz.export(story_trace("1"), tmp_path / "story.html")
    text = path.read_text(encoding="utf-8")
    assert "Bob left" in text and "<b>down</b>" not in text


def test_page_of_facts_opens_at_any_hop() -> None:
    trace = story_trace()
    found = list_places(trace, PageOptions())
    assert found[0].layers == (1,), "one message has all hops"
    assert choose_opening_focus(trace, found, Focus("hops", 0)) == Focus("hops", 1)


def test_page_of_points_opens_at_the_given_step() -> None:
    trace = points_trace()
    found = list_places(trace, PageOptions())
    asked = Focus("pointer", items=(3,))
    assert choose_opening_focus(trace, found, asked) == asked
    opened = choose_opening_focus(trace, found, None)
    assert opened is not None and opened.items == (0,), "the least sure step"


def test_still_picture_shows_the_view_of_its_site() -> None:
    assert choose_figure(story_trace(), Focus("hops")) is VIEWS["facts"]
    assert choose_figure(points_trace(), Focus("pointer")) is VIEWS["points"]


def test_reasoning_sites_have_names() -> None:
    assert name_site(story_trace(), "hops") == "Question to facts"
    assert name_site(points_trace(), "pointer") == "Answer to points"
