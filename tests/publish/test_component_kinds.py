"""The component of every kind of attention, in the app and in exported pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from areaviz.app.chart import find_display
from areaviz.page.content import PageOptions, list_places, make_payload
from areaviz.page.page import make_page
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.parts import COMPONENTS
from areaviz.views.views import KINDS, find_kind
from tests import fakes
from tests.interactive.test_film_strip import trace as clip_trace
from tests.publish.test_page import carried
from tests.views.test_reasoning import points_trace, story_trace
from tests.views.test_tree import tree_trace

TRACES: Mapping[str, tuple[Callable[[], Trace], str]] = {
    "looks": (fakes.gaze_trace, "glimpses"),
    "grid": (fakes.caption_trace, "encoder-decoder"),
    "strip": (clip_trace, "encoder-decoder"),
    "hearing": (fakes.sound_trace, "encoder-decoder"),
    "tree": (tree_trace, "encoder-decoder"),
    "points": (points_trace, "pointer"),
    "hops": (story_trace, "hops"),
    "ribbon": (fakes.trace, "encoder-decoder"),
}
"""A trace and a site for every kind."""
NOT_IN_PAGES: Mapping[str, str] = {
    "player": "a page shows a view that plays as a figure; areaviz.export writes it as a GIF",
    "thumbnails": "it chooses an input, and a page runs no model",
    "paste": "it takes an input, and a page runs no model",
    "restart_recovery": "a page has no server that could restart",
    "clicks": "it listens to a table of Analyse, which shows many traces",
    "rows": "it is the table of Analyse, which shows many traces",
    "judging": "it marks errors in outputs and stores them on a server",
    "language": "it chooses the language of the app",
    "tour": "it leads through the pages of the app",
    "lesson": "it is the path of questions, which areaviz.site shows in pages of its own",
}


def test_every_component_is_in_pages_or_excused() -> None:
    assert KINDS.keys() | NOT_IN_PAGES.keys() == COMPONENTS.keys()
    assert not KINDS.keys() & NOT_IN_PAGES.keys() and KINDS.keys() == TRACES.keys()


@pytest.mark.parametrize("kind", TRACES)
def test_page_has_component_and_data_of_its_kind(kind: str) -> None:
    make, site = TRACES[kind]
    trace = make()
    assert find_kind(trace, site) == kind
    html = make_page(trace)
    assert f'id="{kind}"' in html and KINDS[kind].heading in html
    (place,) = (one for one in list_places(trace, PageOptions()) if one.site == site)
    layer = place.layers[-1]
    header, _ = carried(html)[site, layer]
    made = KINDS[kind].message(trace, Focus(site, layer), PageOptions().areas)["header"]
    # The page has the sound in a player.
    assert header["id"] == made["id"] and made.keys() - header.keys() <= {"audio"}
    queries = trace.fields[place.query]
    assert all(0 <= item < len(queries) for item in header["items"])


@pytest.mark.parametrize("kind", sorted(TRACES.keys() - {"looks"}))
def test_app_print_figure_equals_page_figure(kind: str) -> None:
    make, site = TRACES[kind]
    assert find_display(make(), Focus(site))[1] is KINDS[kind].takeaway


def test_canvas_site_has_no_component() -> None:
    assert find_kind(fakes.gaze_trace("canvas", 1, 1), "canvas") == ""
    assert find_kind(fakes.trace(), "glimpses") == ""


def test_page_contains_the_sound_once() -> None:
    trace = fakes.sound_trace()
    html = make_page(trace)
    (place,) = list_places(trace, PageOptions())
    assert html.count("data:audio/flac") == 1
    assert len(make_payload(trace, place, 0, PageOptions()).data) < len(html) / 2
