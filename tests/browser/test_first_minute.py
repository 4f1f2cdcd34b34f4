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

MOST_GROUPS, MOST_TARGETS, MOST_CARD_GROUPS = 5, 12, 4
PICTURE_TOP, PICTURE_BOTTOM = 260, 800
"""The main picture begins and ends above these heights, in px."""
NARROW_TOP = 500
"""At a width of 390 px, the lit element on Home and Translate is above this height, in px."""
LARGEST_LIGHT = 2_000
"""The largest light area of a dark page outside pictures, in square px."""
TELLING = (
    *("home", "translate", "read", "caption", "translate_picture", "watch", "four_ways"),
    *("listen", "story", "tree", "points"),
)
"""Pages whose picture is on the first screen. Your own attention has a file above its picture."""

KNOWN: Mapping[tuple[str, str], str] = {
    ("fold", "read"): "The ribbon begins at 268 px, below the text, the samples and the mode.",
    ("fold", "translate_picture"): "The grid begins at 360 px, below two rows of input.",
    ("fold", "watch"): "The strip begins at 350 px, below two rows of input and two sentences.",
    ("fold", "tree"): "The tree begins at 278 px, below the line with the whole tree.",
    ("fold", "listen"): "The staircase begins at 286 px, below two rows of controls.",
    ("controls", "translate_picture"): "Hidden words are a group of their own: 6 groups.",
    ("controls", "watch"): "Each word of the strip is a button: 10 groups in the card.",
    ("controls", "four_ways"): "Kinds of digits, sources and samples are 14 targets.",
    ("controls", "story"): "The facts are edited in the picture: 17 groups of controls.",
    ("controls", "points"): "The steps of the answer are buttons: 8 groups of controls.",
    ("height", "translate_picture"): "The page has 1,108 px: three results stand beside the card.",
    (
        "legible",
        "watch",
    ): "Coloured words of the sentence have 5.5 to 1, and bars are not measured.",
    ("legible", "tree"): "The measure takes the ground of the page for that of a drawn phrase.",
    ("legible", "points"): "The measure takes the ground of the page for that of a drawn point.",
    ("legible", "card"): "The ticks of the training curve have 11 px.",
    ("light", "tree"): "The lit phrase has 2,024 square px.",
    ("light", "listen"): "Chromium draws the track of the slider light: 5,294 square px.",
}
"""Checks that a page still fails, with the measured value."""


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


def known(check: str, name: str) -> list[pytest.MarkDecorator]:
    """Return the mark of a check that a page is known to fail.

    The mark fails if the check passes.
    """
    reason = KNOWN.get((check, name))
    return [pytest.mark.xfail(reason=reason, strict=True)] if reason else []


def each(check: str, *names: str) -> pytest.MarkDecorator:
    """Run a test for these pages in both schemes; without pages, for all of them."""
    cases = []
    for name in names or PAGES:
        marks = known(check, name)
        for scheme in SCHEMES:
            cases.append(pytest.param(name, scheme, id=f"{name}-{scheme}", marks=marks))
    return pytest.mark.parametrize(("name", "scheme"), cases)


def is_in_view(box: Mapping[str, float]) -> bool:
    """Return whether a box is completely on the first screen."""
    return box["top"] >= 0 and box["bottom"] <= HEIGHT


@each("lit", *(name for name, page in PAGES.items() if page.lit))
def test_page_opens_lit(opening: Opening, name: str) -> None:
    assert any(is_in_view(box) for box in opening.wide["lit"])
    if name in ("home", "translate"):
        assert opening.narrow["lit"][0]["top"] < NARROW_TOP


@each("input", *(name for name, page in PAGES.items() if page.input))
def test_input_is_in_view(opening: Opening) -> None:
    assert is_in_view(opening.wide["input"])


@each("controls", *TELLING)
def test_few_controls_precede_the_picture(opening: Opening) -> None:
    wide = opening.wide
    assert wide["groups"] <= MOST_GROUPS and wide["targets"] <= MOST_TARGETS
    assert wide["card_groups"] <= MOST_CARD_GROUPS


@each("fold", *TELLING)
def test_picture_is_above_the_fold(opening: Opening) -> None:
    picture: Mapping[str, Any] = opening.wide["picture"]
    assert picture["top"] <= PICTURE_TOP and picture["bottom"] <= PICTURE_BOTTOM


@each("height")
def test_page_is_short(opening: Opening, name: str) -> None:
    assert opening.wide["height"] <= PAGES[name].height


@each("words")
def test_page_has_few_words(opening: Opening, name: str) -> None:
    assert opening.wide["words"] <= PAGES[name].words


@each("twice")
def test_nothing_is_there_twice(opening: Opening) -> None:
    assert opening.wide["twice"] == []


@each("legible")
def test_texts_are_large_and_clear(opening: Opening) -> None:
    assert opening.wide["small"] == [] and opening.narrow["small"] == []
    assert opening.wide["faint"] == [] and opening.narrow["faint"] == []


@pytest.mark.parametrize("name", [pytest.param(name, marks=known("light", name)) for name in PAGES])
def test_dark_page_has_no_light_area(openings: Openings, name: str) -> None:
    assert openings.measure(name, "dark").light <= LARGEST_LIGHT


@each("narrow")
def test_narrow_page_fits(opening: Opening) -> None:
    assert opening.narrow["sideways"] <= 0
    assert opening.narrow["narrow"] == [] and opening.narrow["menu"]


@each("still")
def test_opened_page_does_not_move(opening: Opening) -> None:
    assert opening.still
