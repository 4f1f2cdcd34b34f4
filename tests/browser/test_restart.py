"""The app is killed while a page is open, and started again.

The page keeps its content and the typed texts.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Browser, FilePayload, Page, expect

from areaviz.sets import run
from areaviz.sets.app import form
from tests.browser.conftest import MARK_QUESTIONS, PATIENCE, open_options, settled
from tests.faults.served import Served, free_port, served

SENTENCE, DRAFT = "A man plays the guitar.", "Two dogs run through the snow."
Start = Callable[[], Served]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Return a function that starts the app, always at one port."""
    port, examples = free_port(), tmp_path / "sets" / "two"
    examples.mkdir(parents=True)
    (examples / "a.txt").write_text("A dog runs.\nA man sings.\n")
    settings = {
        run.SETTING: str(tmp_path / "rows"),
        form.DATASETS_FOLDER_VARIABLE: str(tmp_path / "sets"),
    }
    with ExitStack() as running:
        yield lambda: running.enter_context(served(tmp_path / "log", settings, port))


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    """Open a page whose console may report that no server answers."""
    context = chromium.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
    context.add_init_script(MARK_QUESTIONS)
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    yield context.new_page()
    context.close()


def started_again(page: Page, app: Served, start: Start, told: bool = False) -> None:
    """Kill the app, check that the page notices, and start an app that answers its requests.

    Args:
        page: the open page.
        app: the server of the page.
        start: starts a new server at the same port.
        told: whether to wait for the window that reports a missing server, which takes the focus.
    """
    app.kill()
    shown = page.locator('[data-testid="stApp"]')
    expect(shown).not_to_have_attribute("data-test-connection-state", "CONNECTED")
    if told:
        expect(page.get_by_role("dialog")).to_be_visible()
    start()
    # The page then sends at once what it had, and the new app draws it.
    expect(shown).to_have_attribute("data-test-connection-state", "CONNECTED")
    settled(page)


@pytest.mark.long
@pytest.mark.parametrize("told", [False, True], ids=["soon", "late"])
def test_answer_options_and_unfinished_text_survive_restart(
    start: Start, page: Page, told: bool
) -> None:
    app = start()
    page.goto(
        f"{app.url}/translate?text={SENTENCE}&method=beam&beam=3&site=encoder-decoder&items=4"
    )
    ribbon, box = page.locator(".ribbon[data-ready]"), page.get_by_label("English text")
    expect(ribbon.locator(".say")).to_contain_text("most to")
    settled(page)
    said, address = ribbon.locator(".say").inner_text(), page.url
    box.fill(DRAFT)
    started_again(page, app, start, told)
    expect(ribbon.locator(".say")).to_have_text(said)
    assert (box.input_value(), page.url) == (DRAFT, address)
    expect(open_options(page, "translate").get_by_label("Beam width")).to_have_value("3")


@pytest.mark.long
def test_first_click_after_restart_counts(start: Start, page: Page) -> None:
    app = start()
    page.goto(f"{app.url}/translate?text={SENTENCE}")
    ribbon = page.locator(".ribbon[data-ready]")
    expect(ribbon).to_have_count(1)
    settled(page)
    started_again(page, app, start)
    ribbon.locator("#query-5").click()
    settled(page)
    page.wait_for_function("location.search.includes('items=6')")


@pytest.mark.long
def test_form_choices_survive_restart(start: Start, page: Page) -> None:
    app = start()
    page.goto(f"{app.url}/translate")
    open_options(page, "translate").get_by_role("radio", name="Beam").click()
    settled(page)
    width = page.get_by_label("Beam width")
    width.fill("7")
    width.press("Enter")
    settled(page)
    started_again(page, app, start)
    page.keyboard.press("Escape")
    expect(open_options(page, "translate").get_by_label("Beam width")).to_have_value("7")
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    assert "beam=7" in page.url


@pytest.mark.long
def test_unsaved_note_survives_restart(start: Start, page: Page) -> None:
    app = start()
    page.goto(f"{app.url}/analyse?new=1")
    page.get_by_role("radio", name="Folder").click()
    page.get_by_role("combobox", name="Folder").click()
    page.get_by_role("option", name="two").click()
    page.get_by_role("button", name="Run 2 examples").click()
    page.locator(".rows[data-ready] tbody tr").first.click()
    page.get_by_text("Notes", exact=True).click()
    note = page.get_by_role("textbox", name="Note", exact=True)
    note.fill(DRAFT)
    started_again(page, app, start)
    expect(note).to_have_value(DRAFT)


@pytest.mark.long
def test_files_lost_with_the_app_are_reported(start: Start, page: Page) -> None:
    app, file = start(), io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(file, "PNG")
    page.goto(f"{app.url}/caption")
    settled(page)
    page.get_by_role("radio", name="Upload").click()
    expect(page.get_by_role("region", name="Picture file")).to_be_visible()
    settled(page)
    given: FilePayload = {"name": "a.png", "mimeType": "image/png", "buffer": file.getvalue()}
    page.locator("input[type=file]").first.set_input_files(given)
    expect(page.get_by_text("Your picture is chosen.")).to_be_visible()
    settled(page)
    started_again(page, app, start)
    notice = page.get_by_test_id("stToast").filter(has_text="Choose them again")
    notice.get_by_role("button").click()
    open_options(page, "caption").get_by_role("radio", name="Beam").click()
    expect(page.get_by_label("Beam width")).to_be_visible()
    expect(page.get_by_text("Something went wrong")).to_have_count(0)
