"""The tours of docs/tours.md, followed literally, and hostile input in every place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settled
from tests.sampled import sampled

HOSTILE = (
    '<script>window.hurt=1</script><img src=x onerror="window.hurt=1"> **b** :red[r]'
    " [l](javascript:window.hurt=1) $\\frac{1}{0}$ \u202eabc \u05e9\u05dc e\u0301\u0302 \U0001f642"
)
NO_SUCH = {
    "model": "../../etc/passwd",
    "picture": "<script>",
    "view": "<b>",
    "site": "encoder nothing",
    "layer": "99",
    "head": "-1",
    "items": "0-9999999",
    "method": "guess",
    "beam": "1e9",
    "changes": "hide:x",
    "swap": "nobody",
    "compare": "<i>",
    "look": "999",
}


LABELS = {"translate": "English text", "translate_picture": "English sentence"}
"""Paths with a text, and the label of its field."""


def open_menu(page: Page, group: str, name: str) -> None:
    """Choose a page of a group of the navigation."""
    page.get_by_role("button", name=group).click()
    page.get_by_role("menuitem", name=name, exact=True).click()


def unhurt(page: Page) -> None:
    """Check that no script of the input ran, and that the page works."""
    assert page.evaluate("window.hurt") is None
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Traceback")).to_have_count(0)


def test_tour_leads_from_home_to_span_and_lesson(app: App, page: Page) -> None:
    page.goto(app("app.py"))
    said = page.locator(".ribbon[data-ready] .say")
    expect(said).to_contain_text("most to")
    expect(said).to_contain_text("“a stick.”")
    page.get_by_role("link", name="Try your own sentence").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Translate")
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("most to")
    open_menu(page, "Learn", "How areas work")
    expect(page.locator(".index .list a")).to_have_count(13)
    page.get_by_role("link", name="Start with question 1").click()
    expect(page.locator(".lesson .question")).to_contain_text("Which English words")


@pytest.mark.long
def test_one_step_back_leads_from_an_example_to_home(app: App, page: Page) -> None:
    page.goto(app("app.py"))
    page.get_by_role("link", name="Read", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Read")
    expect(page.locator(".ribbon[data-ready] .say")).to_contain_text("most to")
    settled(page)
    page.go_back()
    expect(page.get_by_role("link", name="Try your own sentence")).to_be_visible()


@pytest.mark.parametrize("path", sampled(LABELS, "translate"))
def test_hostile_input_is_shown_as_harmless_text(app: App, page: Page, path: str) -> None:
    page.goto(f"{app('app.py')}/{path}")
    settled(page)
    box = page.get_by_role("textbox", name=LABELS[path])
    box.fill(HOSTILE)
    box.press("Enter")
    settled(page)
    expect(box).to_have_value(HOSTILE)
    unhurt(page)
    box.fill("a" * 4097)
    box.press("Enter")
    expect(page.get_by_role("alert").first).to_contain_text("4,097")
    expect(box).to_have_value("a" * 4097)
    unhurt(page)


@pytest.mark.long
@pytest.mark.parametrize("path", ["caption", "four_ways"])
def test_hostile_files_give_one_sentence_and_keep_the_result(
    app: App, page: Page, path: str
) -> None:
    page.goto(f"{app('app.py')}/{path}")
    settled(page)
    page.get_by_role("radio", name="Upload").click()
    upload = page.locator(f".st-key-{path}_file input[type=file]")
    for name, content in (
        ("a.png", b"<svg onload=alert(1)>"),
        ("b.jpg", b"\xff\xd8\xff"),
        ("c.gif", b""),
    ):
        upload.set_input_files({"name": name, "mimeType": "image/png", "buffer": content})
        expect(page.get_by_role("alert").first).to_be_visible()
        settled(page)
        unhurt(page)
    expect(page.locator("img, canvas").first).to_be_visible()


def links() -> Iterator[object]:
    """Yield paths with the parameters that they get, of which `make test` tries a few of one."""
    yield pytest.param("translate", ("picture", "items", "changes"), id="translate-few")
    for path in ("translate", "caption", "translate_picture", "four_ways", "your_tensors"):
        yield pytest.param(path, tuple(NO_SUCH), id=path, marks=pytest.mark.long)
    for path in ("models", ""):
        yield pytest.param(path, tuple(NO_SUCH), id=path, marks=pytest.mark.long)


@pytest.mark.parametrize(("path", "names"), list(links()))
def test_hostile_links_give_one_sentence_on_usable_page(
    app: App, page: Page, path: str, names: Sequence[str]
) -> None:
    for name in names:
        query = urlencode({"text": HOSTILE, name: NO_SUCH[name]})
        page.goto(f"{app('app.py')}/{path}?{query}")
        settled(page)
        unhurt(page)
        assert page.get_by_role("alert").count() <= 2


@pytest.mark.long
def test_focused_links_are_visible(app: App, page: Page) -> None:
    page.goto(app("app.py"))
    expect(page.get_by_role("link", name="Caption", exact=True)).to_be_visible()
    settled(page)
    seen = {}
    for _ in range(40):
        page.keyboard.press("Tab")
        name, outline = page.evaluate(
            "[document.activeElement.textContent, getComputedStyle(document.activeElement).outline]"
        )
        seen[name.strip()] = outline
        if name.strip() == "Caption":
            break
    for name in ("Home", "Explore", "Try your own sentence", "Caption"):
        assert "solid" in seen[name] and "2px" in seen[name], name
