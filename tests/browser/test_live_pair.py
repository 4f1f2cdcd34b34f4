"""Two live models in one file, opened from the disk: both answer what is typed once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from areaviz.cards.card import read_card
from areaviz.cli.live import open_live_page
from areaviz.live.build import make_live_pair
from areaviz.models import MODELS
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.request import Request
from tests.browser.exported import enclosed

pytestmark = pytest.mark.browser
NAMES = ("pointer-hull", "pointer-tour")
POINTS = "100,100 900,200 500,900 450,400"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    first, second = (open_live_page(name, CHECKPOINTS) for name in NAMES)
    path = tmp_path_factory.mktemp("pair") / "page.html"
    path.write_text(make_live_pair(first, second), encoding="utf-8")
    return path


@pytest.fixture
def pair(page: Page, file: Path) -> Iterator[Page]:
    """Open the file. Only the file itself and its workers may be requested."""
    with enclosed(page, file.as_uri(), "blob:", "data:", "about:srcdoc"):
        page.goto(file.as_uri())
        expect(page.locator("html[data-live=ready]")).to_have_count(1)
        yield page


def test_both_models_answer_the_same_typed_text(pair: Page) -> None:
    expect(pair.get_by_label("Points, each as x,y")).to_have_count(1)
    pair.get_by_label("Points, each as x,y").fill(POINTS)
    pair.get_by_role("button", name="Answer", exact=True).press("Enter")
    for name in NAMES:
        card = read_card(CHECKPOINTS / name / "card.json")
        model = MODELS[card.family].load(CHECKPOINTS / name, card, torch.device("cpu"))
        (trace,) = model.trace([Request(name, POINTS, "beam")])
        frame = pair.frame_locator(f'iframe[title="{name}, live"]')
        expect(frame.locator("#live-status")).to_contain_text("Done in")
        expect(frame.locator(".texts .reading").last).to_have_text(trace.fields["target"].raw)


@pytest.mark.long
def test_unusable_text_is_refused_by_both_models(pair: Page) -> None:
    pair.get_by_label("Points, each as x,y").fill("0,0 5,5")
    pair.get_by_role("button", name="Answer", exact=True).click()
    for name in NAMES:
        frame = pair.frame_locator(f'iframe[title="{name}, live"]')
        expect(frame.get_by_role("alert")).to_contain_text("at least 3 are needed")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_live_pair_is_accessible_and_fits(pair: Page, width: int, scheme: Any) -> None:
    pair.emulate_media(color_scheme=scheme)
    pair.set_viewport_size({"width": width, "height": 844})
    assert pair.evaluate("document.documentElement.scrollWidth") <= width
    results = Axe().run(pair)
    assert results.violations_count == 0, results.generate_report()


def test_live_pair_without_scripts_shows_two_pictures(chromium: Browser, file: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator(".still svg")).to_have_count(2)
    expect(page.locator(".still p").first).to_contain_text("still picture")
    context.close()
