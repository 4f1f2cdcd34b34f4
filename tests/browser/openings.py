"""Measure opened pages, each loaded once per colour scheme, at widths of 1280 and 390 px."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, Page, expect
from scipy import ndimage

from tests.browser.conftest import MARK_QUESTIONS, PATIENCE, settled

SCRIPT = (Path(__file__).parent / "measure.js").read_text(encoding="utf-8")
SIZES = """() => [document.querySelectorAll('*').length,
  document.querySelector('[data-testid=stMain]').scrollHeight, document.body.innerText.length]"""
Scheme = Literal["light", "dark"]
SCHEMES: tuple[Scheme, Scheme] = ("light", "dark")
WIDE, NARROW, HEIGHT = 1280, 390, 860
BRIGHT = 0.8 * 255
"""The value from which a pixel counts as light."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A page of the app.

    Args:
        path: Path and query of its address.
        lit: CSS selector of the element that must be highlighted on opening, or "" for none.
        picture: CSS selector of the main picture.
        input: CSS selector of the question's input.
        words: Maximum number of words on opening.
        height: Maximum height on opening, in px at a width of 1280 px.
    """

    path: str
    lit: str = "[data-lit]"
    picture: str = ""
    input: str = ""
    words: int = 200
    height: int = 1000


_RIBBON, _GRID = (
    ".ribbon[data-ready] .sides",
    ".grid[data-ready] :is(.scroller, .picture)",
)
_CARD = "model?model=token-boundary"
PAGES: Mapping[str, Opened] = {
    "home": Opened("", picture=_RIBBON, words=250, height=1100),
    "translate": Opened("translate", picture=_RIBBON, input=".st-key-translate_input"),
    "read": Opened("read", picture=_RIBBON, input=".st-key-read_input"),
    "caption": Opened("caption", picture=_GRID, input=".thumbnails"),
    "translate_picture": Opened(
        "translate_picture", picture=_GRID, input=".st-key-translate_picture_input"
    ),
    "watch": Opened("watch", picture=".strip .plane", input=".st-key-watch_input"),
    "four_ways": Opened("four_ways", lit="", picture=".looks .cards", input=".thumbnails"),
    "listen": Opened("listen", picture=".hearing", input=".st-key-listen_input"),
    "story": Opened("reason", picture=".hops .board", input=".st-key-reason_input"),
    "tree": Opened("reason?model=parser-boundary", picture=".tree svg"),
    "points": Opened("reason?model=pointer-hull", picture=".points svg"),
    "your_tensors": Opened("your_tensors", picture=_RIBBON, input=".st-key-your_tensors_input"),
    "models": Opened("models", lit="", words=2_000, height=2300),
    "card": Opened(_CARD, lit="", words=600),
    "analyse": Opened(
        "analyse",
        lit=".st-key-analyse_example .stMarkdownColoredBackground",
        picture=".st-key-analyse_bars",
        words=250,
    ),
}
"""Pages by a short name. Pages with a single component are measured in the component's tests."""


@dataclass(frozen=True, slots=True)
class Opening:
    """Measurements of an opened page.

    Args:
        wide: The measures of `measure.js` at 1280 x 860.
        narrow: These measures at 390 x 860.
        light: The largest light area outside pictures at 1280 x 860, in square px.
        still: Whether a second screenshot equals the first.
        screen: The screenshot at 1280 x 860, as PNG.
        narrow_screen: The screenshot at 390 x 860, as PNG.
    """

    wide: Mapping[str, Any]
    narrow: Mapping[str, Any]
    light: int
    still: bool
    screen: bytes
    narrow_screen: bytes


class Openings:
    """Openings of all pages: each page is opened once for each scheme, and its measures are kept.

    Args:
        browser: the browser.
        base: the address of the app.
    """

    def __init__(self, browser: Browser, base: str) -> None:
        expect.set_options(timeout=PATIENCE)
        self._base = base
        self._measured: dict[tuple[str, Scheme], Opening] = {}
        # Pages of one scheme share a context, so scripts are fetched once.
        self._contexts = {
            scheme: browser.new_context(
                viewport={"width": WIDE, "height": HEIGHT}, color_scheme=scheme
            )
            for scheme in SCHEMES
        }
        for context in self._contexts.values():
            context.add_init_script(MARK_QUESTIONS)

    def measure(self, name: str, scheme: Scheme) -> Opening:
        """Return the measures of a page in a scheme."""
        key = name, scheme
        if key not in self._measured:
            page = self._contexts[scheme].new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(f"{self._base}/{PAGES[name].path}")
            self._measured[key] = measured(page, PAGES[name])
            page.close()
        return self._measured[key]

    def close(self) -> None:
        """Close the contexts."""
        for context in self._contexts.values():
            context.close()


def measured(page: Page, opened: Opened) -> Opening:
    """Measure an opened page at both widths."""
    asked = {"lit": opened.lit, "picture": opened.picture, "input": opened.input}
    rest(page, opened)
    wide, screen = page.evaluate(SCRIPT, asked), page.screenshot()
    page.set_viewport_size({"width": NARROW, "height": HEIGHT})
    # Charts and ribbons are laid out again after the window has changed its size.
    page.wait_for_timeout(700)
    narrow, narrow_screen = page.evaluate(SCRIPT, asked), page.screenshot()
    # A page that has finished drawing must not change at any width. A late layout may change it
    # once.
    still = is_still(page)
    return Opening(wide, narrow, light_area(screen, wide["pictures"]), still, screen, narrow_screen)


def is_still(page: Page) -> bool:
    """Return whether two consecutive screenshots out of four are equal."""
    before = page.screenshot()
    for _ in range(3):
        page.wait_for_timeout(300)
        now = page.screenshot()
        if now == before:
            return True
        before = now
    return False


def rest(page: Page, opened: Opened) -> None:
    """Wait until all parts of a page are drawn and have stopped changing."""
    settled(page)
    for part in (opened.picture, opened.input):
        if part:
            page.locator(f"{part} >> visible=true").first.wait_for()
    before, now = "", "drawing"
    while before != now:
        settled(page)
        page.wait_for_timeout(500)
        before, now = now, str(page.evaluate(SIZES))


def light_area(screen: bytes, pictures: Sequence[Mapping[str, float]]) -> int:
    """Return the largest connected light area of a screenshot in pixels, outside its pictures."""
    values_HW = np.asarray(Image.open(io.BytesIO(screen)).convert("L"))
    light_HW = values_HW > BRIGHT
    for one in pictures:
        top, left = max(0, int(one["top"]) - 1), max(0, int(one["left"]) - 1)
        light_HW[top : int(one["bottom"]) + 2, left : int(one["right"]) + 2] = False
    labels_HW, count = ndimage.label(light_HW)
    return int(np.bincount(labels_HW.ravel())[1:].max()) if count else 0
