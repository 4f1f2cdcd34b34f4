"""Pictures of pages.

`python -m benchmarks.screenshots` takes the pictures of the README. With `--stored` it takes the
pictures with which browser tests compare the pages, and stores the positions of all parts of every
page. With `--layouts` it stores only the positions.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, expect

from areaviz.site.frame import PICTURE
from benchmarks.browser import chromium
from tests.browser.openings import PAGES, SCHEMES, Openings
from tests.browser.screens import (
    LAYOUTS,
    VERSION,
    drawn_by,
    layout,
    packed,
    screens,
    stored_layouts,
)
from tests.browser.server import APP, ROOT, Server

PICTURES: Mapping[str, str] = {"screenshot": "translate", "caption_page": "caption"}
"""The page in each picture, by the name of its file in `assets`."""
WIDTH, HEIGHT = 1280, 860
SHARE_WIDTH, SHARE_HEIGHT = 1200, 630
"""The size of the picture of shared links, in px."""
WHOLE = """one => Object.assign(one.style, {position: 'fixed', inset: '0', zIndex: 10 ** 7,
  margin: '0', padding: '90px 56px', background: 'var(--st-background-color)'})"""
"""A script that lays an element over the whole window."""
READY = ":is(.ribbon, .grid)[data-ready]"
SECONDS_TO_SETTLE = 2
"""Wait for a page to be laid out again when its fonts have loaded."""


def main() -> None:
    """Start the app, and take the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stored", action="store_true", help="take the pictures for the tests")
    parser.add_argument("--layouts", action="store_true", help="store only positions of parts")
    parser.add_argument("pages", nargs="*", choices=[*PAGES, []], help="all without names")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        server = Server(APP, Path(folder) / "log.txt", {})
        try:
            address = server.wait()
            if asked.stored or asked.layouts:
                store(browser, address, asked.pages or list(PAGES), asked.stored)
                return
            for name, page in PICTURES.items():
                take(browser, f"{address}/{page}", ROOT / "assets" / f"{name}.png")
            take_shared(browser, address, ROOT / "assets" / PICTURE)
        finally:
            server.stop()


def store(browser: Browser, address: str, names: Sequence[str], has_pictures: bool) -> None:
    """Write the layouts of pages, and their pictures with the version that drew them."""
    openings, layouts = Openings(browser, address), dict(stored_layouts())
    for name in names:
        for scheme in SCHEMES:
            opening = openings.measure(name, scheme)
            layouts[name] = layout(opening)
            if has_pictures:
                for file, screen in screens(opening, name, scheme).items():
                    file.write_bytes(packed(screen))
    openings.close()
    LAYOUTS.write_text(json.dumps(layouts, indent=1) + "\n", encoding="utf-8")
    if has_pictures:
        VERSION.write_text(drawn_by(browser.version) + "\n", encoding="utf-8")


def take(browser: Browser, address: str, file: Path) -> None:
    """Write the first screen of a page as PNG, once its ribbon or grid is drawn."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    tab.goto(address)
    expect(tab.locator(READY)).to_be_visible(timeout=120_000)
    # Streamlit draws grey boxes in place of widgets whose code is not loaded yet.
    expect(tab.get_by_test_id("stSkeleton")).to_have_count(0, timeout=120_000)
    tab.wait_for_timeout(1_000 * SECONDS_TO_SETTLE)
    tab.screenshot(path=file)
    tab.close()


def take_shared(browser: Browser, address: str, file: Path) -> None:
    """Write the last frame of the animation on Home, which previews of shared links show."""
    size: ViewportSize = {"width": SHARE_WIDTH, "height": SHARE_HEIGHT}
    tab = browser.new_page(viewport=size, reduced_motion="reduce")
    tab.goto(address)
    play = tab.locator(".ribbon[data-ready] .play")
    tab.locator(".ribbon[data-ready] .opener").click(timeout=120_000)
    while "again" not in (play.locator(".go").text_content() or ""):
        play.locator(".go").click()
    play.locator(".go, .close, .progress").evaluate_all("all => all.forEach((one) => one.remove())")
    play.evaluate(WHOLE)
    tab.wait_for_timeout(1_000 * SECONDS_TO_SETTLE)
    tab.screenshot(path=file)
    tab.close()


if __name__ == "__main__":
    main()
