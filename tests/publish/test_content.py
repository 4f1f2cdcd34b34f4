"""The focus that a page opens with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from areaviz.page.content import (
    PageOptions,
    choose_opening_focus,
    format_initial_focus,
    list_places,
    make_first_payloads,
    make_opening_payloads,
)
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import find_longest_word
from tests import fakes


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("a small red", "small"),
        ("one two", "one"),
        ("(ab), c", "ab"),
        ("... -", ""),
        ("   ", ""),
        ("", ""),
        ("é\u0301tude x", "é\u0301tude"),
    ],
)
def test_longest_word_is_highlighted(text: str, word: str) -> None:
    field = fakes.text_field("target", text)
    assert "".join(field.labels[item] for item in find_longest_word(field)) == word


BLIND = replace(fakes.caption_trace(), maps={})


def opened(trace: Trace, focus: Focus | None) -> object:
    return format_initial_focus(trace, list_places(trace, PageOptions()), focus)


def test_default_focus_is_last_layer_of_first_site() -> None:
    plainly = {"reading": "heaviest", "mass": 50, "against": "nothing"}
    selection = {"side": "query", "head": None, "unit": "item", "areas": "any", "items": [1]}
    assert opened(fakes.doubly_trace(), None) == {
        "site": "encoder-decoder picture",
        "layer": 1,
        "selection": selection | plainly,
    }
    last_look = selection | plainly | {"items": [2]}
    assert opened(fakes.gaze_trace(), None) == {
        "site": "glimpses",
        "layer": 0,
        "selection": last_look,
    }
    assert opened(BLIND, None) is None
    wordless = {"side": "query", "head": None, "unit": "item", "areas": "any", "items": [0]}
    assert opened(fakes.trace("A dog.", "..."), None) == {
        "site": "encoder-decoder",
        "layer": 1,
        "selection": wordless | plainly,
    }


def test_highlighted_word_attends() -> None:
    """Check that the lit word attends to something; words before a picture do not attend to it."""
    trace = fakes.caption_trace()
    shown = list_places(trace, PageOptions())
    before = choose_opening_focus(trace, shown, None)
    assert before is not None and before.items
    one = trace.maps[before.site]
    weights = np.array(one.weights)
    weights[:, :, before.items] = 0
    silent = replace(trace, maps={**trace.maps, before.site: replace(one, weights=weights)})
    after = choose_opening_focus(silent, shown, None)
    assert after is not None and after.site == before.site and after.items
    assert set(after.items).isdisjoint(before.items)
    assert weights[after.layer][:, after.items].any()


def test_focus_reaches_the_page_completely() -> None:
    focus = Focus("encoder self", 0, 2, "memory", (3, 4), "word", "several")
    focus = replace(focus, reading="densest", mass=70, against="average")
    selection = {"side": "memory", "head": 2, "unit": "word", "areas": "several", "items": [3, 4]}
    assert opened(fakes.trace(), focus) == {
        "site": "encoder self",
        "layer": 0,
        "selection": selection | {"reading": "densest", "mass": 70, "against": "average"},
    }


@pytest.mark.parametrize(
    ("focus", "look"),
    [
        (Focus("glimpses"), 2),
        (Focus("glimpses", items=(1,)), 1),
        (Focus("glimpses", items=(9,)), 2),
        (Focus("glimpses", side="memory", items=(1,)), 2),
    ],
)
def test_page_of_looks_opens_at_an_existing_look(focus: Focus, look: int) -> None:
    trace = fakes.gaze_trace(steps=3)
    shown = list_places(trace, PageOptions())
    assert choose_opening_focus(trace, shown, focus) == Focus("glimpses", items=(look,))


@pytest.mark.parametrize("site", ["glimpses", "transformer"])
def test_looks_are_sent_once(site: str) -> None:
    trace = fakes.gaze_trace(site)
    shown = list_places(trace, PageOptions())
    assert [(place.kind, place.site) for place in shown] == [("looks", site)]
    (sent,) = make_opening_payloads(trace, shown, PageOptions(), Focus(site), 0)
    assert (sent.site, sent.layer) == (site, 0) and sent.data


def test_page_opens_other_maps_at_a_layer_that_they_have() -> None:
    trace = fakes.trace()
    shown = list_places(trace, PageOptions(sites=("encoder self", "encoder-decoder")))
    shown[1] = replace(shown[1], layers=(1,))
    sent = make_opening_payloads(trace, shown, PageOptions(), Focus(shown[0].site, 0), 0)
    assert [one.layer for one in sent] == [0, 1]


def test_size_of_a_page_is_estimated_with_all_layers() -> None:
    trace = fakes.trace()
    shown = list_places(trace, PageOptions())
    first = make_first_payloads(trace, shown, PageOptions(), 0)
    size = sum(len(one.data) * len(place.layers) for one, place in zip(first, shown, strict=True))
    assert make_first_payloads(trace, shown, PageOptions(limit=size), 0) == first
    with pytest.raises(InputError, match="Include fewer layers"):
        make_first_payloads(trace, shown, PageOptions(limit=size - 1), 0)


def test_page_without_components_opens_with_only_figures() -> None:
    trace = fakes.trace()
    assert choose_opening_focus(trace, [], Focus("encoder-decoder")) is None
    with pytest.raises(InputError):
        choose_opening_focus(trace, [], Focus("nowhere"))
