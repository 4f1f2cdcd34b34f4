"""Walk through an error analysis in a browser, and count the clicks and the time.

    python -m benchmarks.walk [--pictures FOLDER] [--write]

The walk uploads a source, a reference, two outputs, a file of scores and a table of metadata. It
finds a theme, saves a slice, adds a note, makes a link, marks errors as two readers, and downloads
a report. A click is a press of the pointer. Typing is not counted. Every step waits until the page
has finished drawing.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Locator, Page, expect

from benchmarks.browser import chromium
from benchmarks.report import command, markdown, processor, publish
from benchmarks.walk_files import EXAMPLES, write_files
from tests.browser.conftest import settled
from tests.browser.server import Server

# Limits of a walk.
CLICKS, SECONDS = 15, 300
PATIENCE = 120_000  # ms; a busy machine draws slowly


class Walk:
    """The clicks of a walk, with the seconds since its start."""

    def __init__(self, pictures: Path | None = None) -> None:
        """Start the clock. `pictures` is a folder for screenshots after each click, or None."""
        self.clicks: list[tuple[str, float]] = []
        self._pictures = pictures
        self._paused, self._began = 0.0, time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds since the start, without the time that screenshots took."""
        return time.perf_counter() - self._began - self._paused

    def click(self, target: Locator, title: str) -> None:
        """Click, wait until the page has finished drawing, and record the click."""
        target.click()
        self.note(target.page, title)

    def note(self, page: Page, title: str) -> None:
        """Record a click that was made, once the page has finished drawing."""
        settled(page)
        self.clicks.append((title, self.seconds))
        if self._pictures:
            began = time.perf_counter()
            page.screenshot(path=self._pictures / f"{len(self.clicks):02d}.png")
            self._paused += time.perf_counter() - began


def walk(browser: Browser, address: str, files: list[Path], made: Walk) -> None:
    """Do the whole error analysis on the page Analyse.

    Args:
        browser: Browser in which each of the two readers gets a profile.
        address: Address of the app.
        files: Result of `write_files`.
        made: Record of the clicks.
    """
    page = _new_reader(browser)
    page.goto(f"{address}/analyse")
    settled(page)
    _bring_files(page, files, made)
    _look_at_theme(page, made)
    _write_note(page, made)
    _mark(page, "Ada", made)
    made.click(page.locator(".st-key-analyse_share button").first, "open the menu Share")
    label = "Make a link to add notes and marks"
    made.click(page.get_by_role("button", name=label), "make a link")
    link = page.locator("[data-testid=stPopoverBody] code").first.inner_text()
    page.keyboard.press("Escape")
    other = _new_reader(browser)
    other.goto("".join(link.split()))
    expect(other.get_by_text("Shared with you", exact=False)).to_be_visible()
    settled(other)
    _mark(other, "Bo", made)
    settled(page)
    with page.expect_download() as download:
        made.click(page.get_by_role("button", name="Report as a page"), "download the report")
    html = download.value.path().read_text("utf-8")
    assert "woman" in html and "Bo" in html, "the report lacks the theme or a rater"


def _new_reader(browser: Browser) -> Page:
    context = browser.new_context(
        viewport={"width": 1280, "height": 900},
        reduced_motion="reduce",
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.set_default_timeout(PATIENCE)
    expect.set_options(timeout=PATIENCE)
    return context.new_page()


def _bring_files(page: Page, files: list[Path], made: Walk) -> None:
    made.click(page.get_by_text("Upload", exact=True).first, "choose Upload")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Upload", exact=False).last.click()
    chooser.value.set_files(files)
    expect(page.get_by_text(f"{EXAMPLES} examples", exact=False).first).to_be_visible()
    made.note(page, "choose the six files")


def _look_at_theme(page: Page, made: Walk) -> None:
    """Find the planted theme, save its examples as a slice, and open the first of them."""
    made.click(page.get_by_role("button", name="Find themes"), "find themes")
    save = page.locator('[class*="st-key-save-themes"] button').first
    expect(save).to_be_visible()
    made.click(save, "save as a slice")
    made.click(page.locator('[class*="st-key-show-themes"] button').first, "show the examples")
    row = page.locator(".st-key-analyse_table .rows[data-ready] tbody tr").first
    made.click(row, "open an example")


def _write_note(page: Page, made: Walk) -> None:
    notes = page.locator(".st-key-notes")
    field = notes.get_by_label("Note", exact=True)
    made.click(field, "into the field of a note")
    field.fill("The colour is lost where a woman is meant.")
    made.click(notes.get_by_role("button", name="Save the note"), "save the note")


def _mark(page: Page, name: str, made: Walk) -> None:
    """Mark a word of the open output as a named reader, and save it with the keyboard."""
    field = page.get_by_label("Your name as a rater", exact=True)
    made.click(field, f"into the field of the name, {name}")
    field.fill(name)
    field.press("Enter")
    settled(page)
    sheet = page.locator(".judging[data-ready]")
    # The first text of the sheet is the source, and the second one is the output.
    output = sheet.get_by_role("textbox").nth(1)
    output.scroll_into_view_if_needed()
    box = output.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 60, box["y"] + 20)
    made.note(page, f"into the output, {name}")
    page.keyboard.press("3")
    page.keyboard.press("Control+Enter")
    expect(sheet.locator(".said")).to_have_text("Saved.")
    settled(page)


def table(pictures: Path | None) -> str:
    """Return a Markdown table with one row per click."""
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        home = Path(folder)
        settings = {"AREAVIZ_ANALYSES": str(home / "analyses")}
        server = Server("app.py", home / "log", settings)
        try:
            address = server.wait()
            files = write_files(home)
            made = Walk(pictures)
            walk(browser, address, files, made)
        finally:
            server.stop()
    count, seconds = len(made.clicks), made.clicks[-1][1]
    about = (
        f"Measured on {processor()}, server and headless Chromium together, {EXAMPLES} examples:"
        f" {count} clicks (at most {CLICKS}) and {seconds:.0f} s (at most {SECONDS})."
    )
    rows = []
    for number, (title, at) in enumerate(made.clicks, 1):
        rows.append((title, str(number), f"{at:.1f}"))
    return markdown(about, ("click", "number", "seconds"), rows)


def main() -> None:
    """Walk, print the table, and write it into README.md if requested."""
    parser = command("Count the clicks and the time of an error analysis, from files to a link.")
    parser.add_argument("--pictures", type=Path, help="a folder for a picture after each click")
    given = parser.parse_args()
    if given.pictures:
        given.pictures.mkdir(parents=True, exist_ok=True)
    publish("walk", table(given.pictures), given.write)


if __name__ == "__main__":
    main()
