"""If keys let spans win, hovering shows spans and rectangles, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from areaviz.backend.local import LocalBackend
from areaviz.page.page import export
from areaviz.trace.request import Request
from tests import fakes, tiny
from tests.browser.conftest import App, settled
from tests.browser.hovers import WANTED, several_seen


def test_ten_hovers_over_boundary_keys_show_spans(page: Page, tmp_path: Path) -> None:
    tiny.checkpoint(tmp_path / "models", key_mode="boundary")
    backend = LocalBackend(tmp_path / "models", "cpu")
    export(backend.trace(Request("tiny-area", tiny.SENTENCES[0])), tmp_path / "page.html")
    page.goto(f"file://{tmp_path}/page.html")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_be_visible()
    assert len(several_seen(ribbon)) >= WANTED


@pytest.mark.long
@pytest.mark.parametrize("name", ["", "translate", "caption"])
def test_ten_hovers_over_opening_page_show_spans(app: App, page: Page, name: str) -> None:
    """Check the shipped models, without a filter of sizes."""
    page.goto(f"{app('app.py')}/{name}")
    view = page.locator(".ribbon[data-ready], .grid[data-ready]").first
    expect(view).to_be_visible()
    settled(page)
    expect(view.locator(".readings button[aria-pressed=true]")).to_have_text("Top areas")
    expect(view.locator(".areas button[aria-pressed=true]")).to_have_text("Any size")
    assert len(several_seen(view)) >= WANTED


@pytest.mark.long
def test_ten_hovers_over_single_items_show_no_spans(page: Page, tmp_path: Path) -> None:
    export(fakes.trace(area_size=1), tmp_path / "page.html")
    page.goto(f"file://{tmp_path}/page.html")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_be_visible()
    assert several_seen(ribbon) == []


@pytest.mark.long
def test_ten_hovers_over_a_picture_show_rectangles(page: Page, tmp_path: Path) -> None:
    export(
        fakes.caption_trace("a small red circle over a blue star left of it"), tmp_path / "p.html"
    )
    page.goto(f"file://{tmp_path}/p.html")
    grid = page.locator(".grid[data-ready]")
    expect(grid).to_be_visible()
    assert len(several_seen(grid)) >= WANTED
