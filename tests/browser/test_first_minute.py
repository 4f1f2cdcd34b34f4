"""Pages open with one lit example, and their first screen is short, legible and calm.

Every page is loaded once for each scheme; the tests read the measurements of this opening.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.browser.conftest import App
from tests.browser.openings import HEIGHT, PAGES, SCHEMES, Opening, Openings, Scheme
from tests.browser.screens import (
    MOST_DIFFERENT,
    difference,
    layout,
    moved,
    not_compared,
    screens,
    stored_layouts,
)
from tests.sampled import sampled

MOST_GROUPS, MOST_TARGETS, MOST_CARD_GROUPS = 5, 12, 4
PICTURE_TOP, PICTURE_BOTTOM = 260, 800
"""The main picture begins and ends above these heights, in px."""
NARROW_TOP = 500
"""At a width of 390 px, the lit element on Home and Translate is above this height, in px."""
LARGEST_LIGHT = 2_000
"""The largest light area of a dark page outside pictures, in square px."""
TELLING = (
    *("home", "translate", "read", "caption", "translate_picture", "watch", "four_ways"),
    *("listen", "story", "tree", "points", "analyse"),
)
"""Pages whose picture is on the first screen. Your own attention has a file above its picture."""


QUICK = (("home", "light"), ("translate", "dark"))
"""Openings that `make test` checks: Home, and a page with a form."""


@pytest.fixture(scope="module")
def openings(app: App, chromium: Browser) -> Iterator[Openings]:
    """Open all pages."""
    opened = Openings(chromium, app("app.py"))
    yield opened
    opened.close()


@pytest.fixture
def opening(openings: Openings, name: str, scheme: Scheme) -> Opening:
    """Return the measures of a page in a scheme."""
    return openings.measure(name, scheme)


def each(*names: str) -> pytest.MarkDecorator:
    """Run a test for these pages in both schemes; without pages, for all of them."""
    cases = []
    for name in names or PAGES:
        for scheme in SCHEMES:
            extent = [] if (name, scheme) in QUICK else [pytest.mark.long]
            cases.append(pytest.param(name, scheme, id=f"{name}-{scheme}", marks=extent))
    return pytest.mark.parametrize(("name", "scheme"), cases)


def is_in_view(box: Mapping[str, float]) -> bool:
    """Return whether a box is completely on the first screen."""
    return box["top"] >= 0 and box["bottom"] <= HEIGHT


@each(*(name for name, page in PAGES.items() if page.lit))
def test_page_opens_with_a_word_highlighted(opening: Opening, name: str) -> None:
    assert any(is_in_view(box) for box in opening.wide["lit"])
    if name in ("home", "translate"):
        assert opening.narrow["lit"][0]["top"] < NARROW_TOP


@each(*(name for name, page in PAGES.items() if page.input))
def test_input_is_in_view(opening: Opening) -> None:
    assert is_in_view(opening.wide["input"])


@each(*TELLING)
def test_few_controls_precede_the_picture(opening: Opening) -> None:
    wide = opening.wide
    assert wide["groups"] <= MOST_GROUPS and wide["targets"] <= MOST_TARGETS
    assert wide["card_groups"] <= MOST_CARD_GROUPS


@each(*TELLING)
def test_picture_is_above_the_fold(opening: Opening) -> None:
    picture: Mapping[str, Any] = opening.wide["picture"]
    assert picture["top"] <= PICTURE_TOP and picture["bottom"] <= PICTURE_BOTTOM


@each()
def test_page_is_short(opening: Opening, name: str) -> None:
    assert opening.wide["height"] <= PAGES[name].height


@each()
def test_page_has_few_words(opening: Opening, name: str) -> None:
    assert opening.wide["words"] <= PAGES[name].words


@each()
def test_no_text_occurs_twice(opening: Opening) -> None:
    assert opening.wide["twice"] == []


@each()
def test_texts_are_large_and_clear(opening: Opening) -> None:
    assert opening.wide["small"] == [] and opening.narrow["small"] == []
    assert opening.wide["faint"] == [] and opening.narrow["faint"] == []


@pytest.mark.parametrize("name", sampled(PAGES, "translate"))
def test_dark_page_has_no_light_area(openings: Openings, name: str) -> None:
    assert openings.measure(name, "dark").light <= LARGEST_LIGHT


@each()
def test_narrow_page_fits(opening: Opening) -> None:
    assert opening.narrow["sideways"] <= 0
    assert opening.narrow["narrow"] == [] and opening.narrow["menu"]


@each()
def test_opened_page_does_not_move(opening: Opening) -> None:
    assert opening.still


@each()
def test_parts_keep_their_stored_positions(opening: Opening, name: str) -> None:
    assert moved(layout(opening), stored_layouts()[name]) == []


@each()
def test_page_looks_as_stored(
    chromium: Browser, opening: Opening, name: str, scheme: Scheme
) -> None:
    if reason := not_compared(chromium.version):
        pytest.skip(reason)
    for file, screen in screens(opening, name, scheme).items():
        differs = difference(screen, file.read_bytes())
        assert differs <= MOST_DIFFERENT, f"{differs:.1%} of the pixels differ from {file.name}"
