"""The pictures of pages in the README: `python -m benchmarks.screenshots` takes them again."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from playwright.sync_api import Browser, expect

from benchmarks.browser import chromium
from tests.browser.server import APP, ROOT, Server

PICTURES: Mapping[str, str] = {"screenshot": "translate", "caption_page": "caption"}
"""The page in each picture, by the name of its file in `assets`."""
WIDTH, HEIGHT = 1280, 860
READY = ":is(.ribbon, .grid)[data-ready]"
SECONDS_TO_SETTLE = 2
"""A page is laid out again when its fonts arrive."""


def main() -> None:
    """Start the app, and take the picture of each page as a new user sees it."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        server = Server(APP, Path(folder) / "log.txt", {})
        try:
            address = server.wait()
            for name, page in PICTURES.items():
                take(browser, f"{address}/{page}", ROOT / "assets" / f"{name}.png")
        finally:
            server.stop()


def take(browser: Browser, address: str, file: Path) -> None:
    """Write the first screen of a page as PNG, once its ribbon or grid is drawn."""
    tab = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
    tab.goto(address)
    expect(tab.locator(READY)).to_be_visible(timeout=120_000)
    # Widgets whose code is still on its way are drawn as grey boxes.
    expect(tab.get_by_test_id("stSkeleton")).to_have_count(0, timeout=120_000)
    tab.wait_for_timeout(1_000 * SECONDS_TO_SETTLE)
    tab.screenshot(path=file)
    tab.close()


if __name__ == "__main__":
    main()
