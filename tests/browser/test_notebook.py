"""The frame of `areaviz.show` among cells: its size, its missing layers, and its picture."""

from __future__ import annotations

import re
from copy import deepcopy
from pathlib import Path

import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import FrameLocator, Page, expect

import areaviz
from areaviz.page.notebook import NotebookPage
from areaviz.trace.request import Focus
from tests import fakes, notebooks


@pytest.fixture
def shown() -> NotebookPage:
    focus = Focus("encoder-decoder", 2, items=(4,))
    found = areaviz.show(fakes.trace(layers=3), focus, widget=False)
    assert isinstance(found, NotebookPage)
    return found


def opened(page: Page, tmp_path: Path, html: str) -> FrameLocator:
    """Open a document with the output of a cell between two other cells."""
    file = tmp_path / "notebook.html"
    file.write_text(f"<!doctype html><p>In [1]</p>{html}<p id='after'>In [2]</p>", "utf-8")
    page.goto(file.as_uri())
    return page.frame_locator("iframe")


def choose_layer(frame: FrameLocator, layer: int) -> None:
    frame.locator("#ribbon .choices fieldset").nth(1).get_by_text(f"{layer}", exact=True).click()


def test_frame_grows_with_its_unfolded_content(
    page: Page, tmp_path: Path, shown: NotebookPage
) -> None:
    frame = opened(page, tmp_path, shown._repr_html_())
    expect(frame.locator(".ribbon[data-ready]")).to_have_count(1)
    expect(page.locator("img")).to_be_hidden()
    fits = "f => Math.abs(f.clientHeight - Number.parseInt(f.style.height)) < 2"
    page.wait_for_function("() => document.querySelector('iframe').style.height !== '640px'")
    before = page.locator("iframe").evaluate("f => f.clientHeight")
    assert page.locator("iframe").evaluate(fits) and before < 1500
    frame.get_by_text("Alignment matrix").click()
    page.wait_for_function(f"() => document.querySelector('iframe').clientHeight > {before + 100}")
    bottom = frame.locator("footer").evaluate("f => f.getBoundingClientRect().bottom")
    assert bottom <= page.locator("iframe").evaluate("f => f.clientHeight")


@pytest.mark.long
def test_missing_layer_message_names_the_code(
    page: Page, tmp_path: Path, shown: NotebookPage
) -> None:
    frame = opened(page, tmp_path, shown._repr_html_())
    expect(frame.locator('[data-shown="encoder-decoder, layer 3"]')).to_have_count(1)
    choose_layer(frame, 2)
    said = 'areaviz.show(trace, areaviz.Focus("encoder-decoder", layer=1))'
    expect(frame.get_by_role("status").first).to_contain_text(said)
    chosen = frame.locator("#ribbon .choices fieldset").nth(1).locator("input:checked")
    expect(chosen).to_have_attribute("value", "2")


@pytest.mark.long
def test_notebook_without_frames_and_scripts_shows_the_picture(
    page: Page, tmp_path: Path, shown: NotebookPage
) -> None:
    html = re.sub(r"<(iframe|script)\b.*?</\1>", "", shown._repr_html_(), flags=re.DOTALL)
    opened(page, tmp_path, html)
    expect(page.locator("img")).to_be_visible()
    assert page.locator("img").evaluate("image => image.naturalWidth") > 400
    expect(page.locator(".areaviz-numbers")).to_be_visible()


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return nbconvert's page of a notebook that a kernel has run."""
    file = tmp_path_factory.mktemp("notebook") / "notebook.html"
    notebook = notebooks.run()
    html, _ = HTMLExporter().from_notebook_node(deepcopy(notebook))
    file.write_text(html, "utf-8")
    html, _ = HTMLExporter(sanitize_html=True).from_notebook_node(notebook)
    file.with_name("sanitised.html").write_text(html, "utf-8")
    return file


@pytest.mark.long
def test_executed_notebook_becomes_interactive_page(page: Page, converted: Path) -> None:
    # The template loads scripts from the network; without them the page shows all its content.
    page.route(re.compile("^https:"), lambda route: route.fulfill(body=""))
    page.goto(converted.as_uri())
    expect(page.locator("iframe")).to_have_count(2)
    frame = page.frame_locator("iframe").first
    expect(frame.locator(".ribbon[data-ready]")).to_have_count(1)
    expect(page.locator(".jp-OutputArea-output img")).to_have_count(2)
    for picture in page.locator(".jp-OutputArea-output img").all():
        expect(picture).to_be_hidden()
    page.wait_for_function("() => document.querySelector('iframe').style.height !== '640px'")
    expect(page.locator("table").get_by_text("encoder-decoder", exact=True)).to_be_visible()
    choose_layer(frame, 2)
    expect(frame.get_by_role("status").first).to_contain_text("areaviz.show(trace")


def test_sanitised_notebook_shows_numbers_without_source(page: Page, converted: Path) -> None:
    page.route(re.compile("^https:"), lambda route: route.fulfill(body=""))
    page.goto(converted.with_name("sanitised.html").as_uri())
    expect(page.locator(".areaviz-numbers")).to_have_count(2)
    for numbers in page.locator(".areaviz-numbers").all():
        expect(numbers).to_be_visible()
    seen = page.locator("body").inner_text()
    assert "numbers of this output's picture" in seen
    assert "srcdoc" not in seen and "base64" not in seen and "fitFrames" not in seen
