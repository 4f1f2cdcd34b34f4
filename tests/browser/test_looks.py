"""Readings on one clock in a real browser: steps, sentences, still pictures and playing."""

from __future__ import annotations

from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.conftest import App, settled

SCRIPT = "tests/browser/looks_app.py"


def opened(page: Page, address: str) -> Locator:
    """Open the page and return its readings."""
    page.goto(address)
    looks = page.locator(".looks[data-ready]")
    expect(looks).to_have_count(1)
    settled(page)
    return looks


@pytest.fixture
def looks(app: App, page: Page) -> Locator:
    """Open two fake readings of a 3."""
    return opened(page, app(SCRIPT))


def test_readings_say_when_a_model_is_wrong(looks: Locator) -> None:
    say, answers = looks.locator(".say"), looks.locator(".answer")
    expect(say).to_have_text(
        "Look 1 of 3. “Glimpses” says 7, which is wrong. From look 2 on, it says 3."
        " “Window” says 8, which is wrong. "
    )
    expect(answers.nth(0)).to_have_text("740 % sure, wrong so far")
    expect(answers.nth(1)).to_have_text("840 % sure after its only look, wrong: it shows 3")
    looks.get_by_role("button", name="Look 2").click()
    expect(say).to_contain_text("1 of 2 models read the digit.")
    expect(answers.nth(0)).to_have_class("answer right")
    expect(looks.page.get_by_text("look: 1")).to_be_visible()


@pytest.mark.long
def test_looks_of_a_pair_list_digits_read_so_far(app: App, page: Page) -> None:
    looks = opened(page, f"{app(SCRIPT)}/?digits=27")
    expect(looks.locator(".say")).to_have_text(
        "Look 1 of 2. The frames show what it has read so far."
    )
    expect(looks.locator(".read")).to_have_text("Digits read: 2")
    expect(looks.locator(".note")).to_have_text("A note.")
    looks.get_by_role("button", name="Look 2").press("Enter")
    expect(looks.locator(".read")).to_have_text("Digits read: 2 7")


@pytest.mark.long
def test_looks_are_still_with_reduced_motion(looks: Locator) -> None:
    following = looks.get_by_role("button", name="Next look")
    sources = []
    for look in (2, 3, 1):
        following.click()
        expect(looks.locator(".say")).to_contain_text(f"Look {look} of 3.")
        sources.append(looks.locator("img").first.get_attribute("src"))
    assert len(set(sources)) == 3
    expect(looks.page.get_by_text("look: 0")).to_be_visible()


@pytest.mark.long
def test_looks_move_only_on_play(app: App, chromium: Browser) -> None:
    context = chromium.new_context(viewport={"width": 1280, "height": 900})
    looks = opened(context.new_page(), app(SCRIPT))
    expect(looks.locator(".say")).to_contain_text("Look 1 of 3.")
    looks.get_by_role("button", name="Play all looks").click()
    expect(looks.get_by_role("button", name="Pause")).to_be_visible()
    expect(looks.locator(".say")).to_contain_text("Look 3 of 3.")
    expect(looks.get_by_role("button", name="Play all looks")).to_be_visible()
    expect(looks.page.get_by_text("look: 2")).to_be_visible()
    context.close()


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_looks_are_accessible(looks: Locator, scheme: Literal["light", "dark"]) -> None:
    looks.page.emulate_media(color_scheme=scheme)
    settled(looks.page)
    found = Axe().run(looks.page).response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []
