"""Analyse in a real browser with a shipped model: dragging, clicking, and finding work again."""

from __future__ import annotations

import csv
from contextlib import suppress
from pathlib import Path
from random import shuffle
from urllib.parse import parse_qs, urlsplit

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, TimeoutError, expect

from areaviz.app.page import PAGE_GROUPS, TITLES
from tests.browser.conftest import App, settled

PLACES = {
    name: (group, title) for group, titles in PAGE_GROUPS.items() for name, title in titles.items()
}

COLOURS = ("red", "blue", "green", "black", "white")
THINGS = (
    ("dog runs through the snow", "Hund rennt durch den Schnee"),
    ("car stands on the street", "Auto steht auf der Straße"),
    ("ball lies on the grass", "Ball liegt auf dem Gras"),
    ("horse jumps over a fence", "Pferd springt über einen Zaun"),
    ("shirt hangs in the sun", "Hemd hängt in der Sonne"),
    ("boat lies on the beach", "Boot liegt am Strand"),
    ("bird sits on a roof", "Vogel sitzt auf einem Dach"),
    ("chair stands at the table", "Stuhl steht am Tisch"),
)


@pytest.fixture(scope="module")
def address(app: App, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page's address; the app has its own folder of analyses."""
    folder = tmp_path_factory.mktemp("analyses")
    return f"{app('app.py', AREAVIZ_ANALYSES=str(folder))}/analyse?new=1"


@pytest.fixture
def analysed(address: str, page: Page) -> Page:
    """Open the page with its initial set, and run the set through the first model."""
    page.goto(address)
    run = page.get_by_role("button", name="Run 24 examples")
    expect(run.or_(table(page))).to_be_visible()
    settled(page)
    if run.count():
        run.click()
    expect(page.get_by_text("24 examples. Click", exact=False)).to_be_visible()
    settled(page)
    return page


def choose(page: Page, label: str, option: str) -> None:
    """Choose an entry of one of Streamlit's lists.

    If the layout moves under the pointer, the first click may be lost. The list is therefore opened
    again until it shows the entry.
    """
    entry = page.get_by_role("option", name=option, exact=True)
    for _ in range(10):
        page.get_by_label(label, exact=True).click()
        with suppress(TimeoutError):
            entry.click(timeout=3000)
            break
    else:
        pytest.fail(f"The list {label} never shows {option}.")
    settled(page)


def choose_page(page: Page, group: str, title: str) -> None:
    """Choose a page of a group of the navigation."""
    page.get_by_role("button", name=group, exact=True).click()
    page.get_by_role("menuitem", name=title, exact=True).click()


def table(page: Page, key: str = "analyse_table") -> Locator:
    return page.locator(f".st-key-{key} .rows[data-ready]")


def ids(page: Page) -> list[str]:
    """Return the examples of the table, in their visible order."""
    found: list[str] = table(page).evaluate(
        "root => [...root.querySelectorAll('tbody tr')].map((row) => row.dataset.id)"
    )
    return found


def ticked(page: Page) -> Locator:
    return table(page).locator("tr[aria-current]")


def drag(chart: Locator, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag over a chart's plot, between two places in fractions of its width and height."""
    chart.scroll_into_view_if_needed()
    # A redrawn chart reacts to the pointer only after a moment.
    chart.page.wait_for_timeout(500)
    box = chart.locator(".nsewdrag").bounding_box()
    assert box is not None
    places = []
    for across, down in (start, end):
        places.append((box["x"] + across * box["width"], box["y"] + down * box["height"]))
    mouse = chart.page.mouse
    mouse.move(*places[0])
    mouse.down()
    mouse.move(*places[1], steps=8)
    mouse.up()
    settled(chart.page)


def chart(page: Page, key: str) -> Locator:
    return page.locator(f'[class*="st-key-analyse_{key}"] .js-plotly-plot')


@pytest.mark.long
def test_brush_over_two_metrics_filters_examples(analysed: Page) -> None:
    choose(analysed, "Plot against", "chrF")
    drag(chart(analysed, "points"), (0.02, 0.02), (0.7, 0.98))
    expect(table(analysed).locator("tbody tr")).not_to_have_count(24)
    settled(analysed)
    expect(analysed.get_by_text("Something went wrong")).to_have_count(0)
    assert 0 < len(ids(analysed)) < 24


def test_bar_click_filters_the_table(analysed: Page) -> None:
    figure = chart(analysed, "bars")
    figure.scroll_into_view_if_needed()
    last = figure.locator(".bars .point path").last
    box = last.bounding_box()
    assert box is not None
    across, down = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    # Plotly finds the element under the pointer only when the pointer moves.
    analysed.mouse.move(across - 3, down)
    analysed.wait_for_timeout(1000)
    analysed.mouse.click(across, down)
    expect(analysed.get_by_role("button", name="Show all again")).to_be_visible()
    settled(analysed)
    assert 0 < len(ids(analysed)) < 24


@pytest.mark.long
def test_row_click_opens_example_and_keys_move_the_tick(analysed: Page) -> None:
    table(analysed).get_by_role("button", name="Words", exact=True).click()
    settled(analysed)
    order = ids(analysed)
    table(analysed).locator("tbody tr").nth(1).locator("td").nth(2).click()
    expect(analysed.locator(".st-key-analyse_example h3")).to_be_in_viewport()
    expect(analysed.locator(".ribbon[data-ready]")).to_have_count(1)
    settled(analysed)
    expect(ticked(analysed)).to_have_attribute("data-id", order[1])
    for key, there in (("j", order[2]), ("j", order[3]), ("k", order[2])):
        analysed.locator("body").press(key)
        expect(ticked(analysed)).to_have_attribute("data-id", there)
        settled(analysed)
    assert parse_qs(urlsplit(analysed.url).query)["example"] == [str(int(order[2]) + 1)]


@pytest.mark.long
def test_bucket_click_filters_the_table(analysed: Page) -> None:
    analysed.get_by_text("Scores by length and frequency", exact=True).click()
    buckets = table(analysed, "analyse_bucket_table")
    expect(buckets).to_be_visible()
    row = buckets.locator("tbody tr").first
    count = int(row.locator("td").nth(1).inner_text())
    row.click()
    expect(analysed.get_by_role("button", name="Show all again")).to_be_visible()
    settled(analysed)
    assert len(ids(analysed)) == count
    analysed.get_by_role("button", name="Show all again").click()
    settled(analysed)
    assert len(ids(analysed)) == 24


@pytest.mark.long
def test_own_sentences_lead_to_a_note_and_a_table(address: str, page: Page, tmp_path: Path) -> None:
    """Follow the tour "Find out where a model errs" of docs/tours.md, and check its results."""
    pairs = [(colour, thing) for colour in COLOURS for thing in THINGS]
    # Use a new order, so that a second try cannot find the analysis of the first one.
    shuffle(pairs)
    english = [f"A {colour} {thing}." for colour, (thing, _) in pairs]
    (tmp_path / "my.en.txt").write_text("\n".join(english), "utf-8")
    german = "\n".join(f"Ein {colour} {thing}." for colour, (_, thing) in pairs)
    (tmp_path / "my.de.txt").write_text(german, "utf-8")
    page.goto(address)
    settled(page)
    # Three clicks and two files must lead from here to the first insight.
    page.get_by_text("Upload", exact=True).first.click()
    page.locator('[class*="st-key-analyse_files"] input[type="file"]').set_input_files(
        [tmp_path / "my.de.txt", tmp_path / "my.en.txt"]
    )
    expect(page.get_by_text("40 examples, 40 with references")).to_be_visible()
    settled(page)
    page.get_by_role("button", name="Run 40 examples").click()
    expect(page.get_by_text("40 examples. Click", exact=False)).to_be_visible()
    expect(page.get_by_role("button", name="Stop")).to_have_count(0)
    settled(page)
    table(page).locator("tbody tr").first.click()
    expect(page.locator(".st-key-analyse_example h3")).to_be_in_viewport()
    expect(page.locator(".ribbon[data-ready]")).to_have_count(1)
    settled(page)
    opened = ticked(page).get_attribute("data-id")
    assert opened is not None
    _note(page)
    _exports(page, english[int(opened)], int(opened) + 1)
    _again(page, opened)


def _note(page: Page) -> None:
    """Write a note on the open example."""
    notes = page.locator(".st-key-notes")
    notes.get_by_text("Notes", exact=True).first.click()
    tag = notes.get_by_label("Tag")
    tag.click()
    tag.fill("Wrong word")
    tag.press("Enter")
    notes.get_by_label("Note", exact=True).fill("The colour is lost.")
    notes.get_by_role("button", name="Save the note").click()
    expect(notes.get_by_text("The colour is lost.")).to_be_visible()
    settled(page)


def _exports(page: Page, sentence: str, number: int) -> None:
    """Check the downloads of the table and the notes: they have texts, outputs and references."""
    with page.expect_download() as started:
        page.get_by_role("button", name="Table as CSV").click()
    content = Path(started.value.path()).read_bytes()
    assert content.startswith(b"\xef\xbb\xbf")
    rows = list(csv.DictReader(content.decode("utf-8-sig").splitlines()))
    assert len(rows) == 40
    row = next(row for row in rows if row["number"] == str(number))
    assert row["text"] == sentence and row["output_0"] and row["reference"].startswith("Ein ")
    page.get_by_text("Export or import notes", exact=True).click()
    with page.expect_download() as started:
        page.get_by_role("button", name="CSV", exact=True).click()
    (note,) = csv.DictReader(Path(started.value.path()).read_text("utf-8-sig").splitlines())
    assert (note["number"], note["text"]) == (str(number), sentence)
    assert note["output"] == row["output_0"] and note["reference"] == row["reference"]


def _again(page: Page, opened: str) -> None:
    """Check that a reload, the Back button and the list of analyses all lead to the analysis."""
    page.reload()
    expect(page.get_by_text("40 examples. Click", exact=False)).to_be_visible()
    expect(ticked(page)).to_have_attribute("data-id", opened)
    expect(page.get_by_text("Your files:", exact=False)).to_be_visible()
    settled(page)
    choose_page(page, *PLACES["models"])
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLES["models"])
    settled(page)
    choose_page(page, *PLACES["analyse"])
    expect(page.get_by_text("40 examples. Click", exact=False)).to_be_visible()
    expect(page.get_by_text("Your files:", exact=False)).to_be_visible()
    settled(page)
    page.get_by_text("Samples", exact=True).click()
    expect(page.get_by_text("24 examples, 24 with references")).to_be_visible()
    settled(page)
    page.get_by_text("Earlier analyses", exact=True).click()
    # Opening the list runs the page, which writes the old address again.
    settled(page)
    page.get_by_role("link", name="my.en.txt, 40 examples", exact=False).click()
    expect(page.get_by_text("40 examples. Click", exact=False)).to_be_visible()


@pytest.mark.long
@pytest.mark.parametrize("width", [1280, 800])
def test_result_fits_the_window_and_is_accessible(analysed: Page, width: int) -> None:
    analysed.set_viewport_size({"width": width, "height": 900})
    settled(analysed)
    assert analysed.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(analysed).response["violations"]
    assert {rule["id"]: rule["impact"] for rule in found if rule["impact"] != "minor"} == {}
