"""Errors are marked by keyboard and pointer, and arrive with the right positions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import App, settled


@pytest.fixture
def sheet(app: App, page: Page) -> Locator:
    page.set_viewport_size({"width": 800, "height": 900})
    page.goto(app("tests/browser/judging_app.py"))
    shown = page.locator(".judging[data-ready]")
    expect(shown).to_have_count(1)
    settled(page)
    return shown


def text(sheet: Locator, name: str) -> Locator:
    return sheet.get_by_role("textbox", name=name, exact=True)


def press(sheet: Locator, *keys: str) -> None:
    for key in keys:
        sheet.page.keyboard.press(key)


def saved(sheet: Locator) -> tuple[float | None, list[dict[str, Any]]]:
    """Return the score and the errors that the server has."""
    expect(sheet.locator(".said")).to_have_text("Saved.")
    settled(sheet.page)
    score, *spans = json.loads(sheet.page.locator("code").inner_text())
    return score, spans


def test_errors_are_marked_and_saved_by_keyboard_alone(sheet: Locator) -> None:
    output = text(sheet, "Output of a.txt")
    output.focus()
    # Mark the word at the caret, then a selection after the clef, then the source.
    press(sheet, "Home", *["ArrowRight"] * 5, "3")
    press(sheet, "End", "ArrowLeft", *["Shift+ArrowLeft"] * 7, "2")
    expect(output.locator("mark.major")).to_have_text("Katze")
    expect(output.locator("mark.minor")).to_have_text("schnell")
    text(sheet, "Source").focus()
    press(sheet, "Home", *["ArrowRight"] * 3, "1")
    # Each error has only this field.
    expect(sheet.get_by_label("Category")).to_have_count(3)
    sheet.get_by_label("Category").last.fill("Accuracy/Omission")
    sheet.get_by_label("Score, 0 to 100").fill("64")
    expect(sheet.locator(".said")).to_have_text("Not saved yet.")
    press(sheet, "Control+Enter")
    score, spans = saved(sheet)
    assert score == 64
    places = [(one["side"], one["start"], one["end"], one["severity"]) for one in spans]
    assert places == [
        ("output", 4, 9, "major"),
        ("output", 18, 25, "minor"),
        ("source", 2, 5, "neutral"),
    ]
    assert [one["category"] for one in spans] == ["", "", "Accuracy/Omission"]


@pytest.mark.long
def test_text_is_read_only_and_typing_triggers_no_shortcuts(sheet: Locator) -> None:
    output = text(sheet, "Output of a.txt")
    output.focus()
    press(sheet, "End", "j", "x", "Enter", "Backspace", "Control+v")
    expect(output).to_have_text("Die Katze 𝄞 rennt schnell.")
    expect(sheet.page.get_by_text("Nothing was pressed")).to_be_visible()
    press(sheet, "Escape", "j")
    expect(sheet.page.get_by_text("Next was pressed")).to_be_visible()


@pytest.mark.long
def test_marked_error_is_changed_and_removed(sheet: Locator) -> None:
    output = text(sheet, "Output of a.txt")
    output.focus()
    press(sheet, "Home", "2", "2")
    expect(sheet.locator(".errors li")).to_have_count(1)
    sheet.get_by_role("combobox", name="Severity").select_option("critical")
    expect(output.locator("mark.critical")).to_have_text("Die")
    sheet.get_by_label("Note", exact=True).fill("the wrong article")
    sheet.get_by_role("button", name="Without a place").click()
    expect(sheet.locator(".errors li")).to_have_count(2)
    sheet.get_by_role("button", name="Save").click()
    _, (first, whole) = saved(sheet)
    assert (first["note"], first["severity"], whole["side"]) == (
        "the wrong article",
        "critical",
        "whole",
    )
    output.focus()
    press(sheet, "Home", "Delete")
    expect(sheet.locator(".errors li")).to_have_count(1)
    sheet.get_by_role("button", name="Remove").click()
    sheet.get_by_role("button", name="Save").click()
    assert saved(sheet) == (None, [])


@pytest.mark.long
def test_pointer_selects_and_button_marks(sheet: Locator) -> None:
    output = text(sheet, "Output of a.txt")
    output.dblclick(position={"x": 60, "y": 20})
    sheet.get_by_role("button", name="major").click()
    expect(output.locator("mark.major")).to_have_text("Katze")


@pytest.mark.long
def test_score_out_of_range_is_refused_and_kept(sheet: Locator) -> None:
    sheet.get_by_label("Score, 0 to 100").fill("101")
    sheet.get_by_role("button", name="Save").click()
    expect(sheet.locator(".said")).to_have_text("The score is a number from 0 to 100.")
    expect(sheet.get_by_label("Score, 0 to 100")).to_have_value("101")


@pytest.mark.long
def test_box_is_drawn_or_moved_and_marked_by_keys(sheet: Locator) -> None:
    sheet.page.get_by_text("Picture", exact=True).click()
    frame = sheet.get_by_role("application")
    expect(frame).to_be_visible()
    settled(sheet.page)
    frame.focus()
    press(sheet, *["ArrowLeft"] * 3, "Shift+ArrowUp", "3")
    box = frame.bounding_box()
    assert box is not None
    mouse = sheet.page.mouse
    mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.5 * box["height"])
    mouse.down()
    mouse.move(box["x"] + box["width"] + 50, box["y"] + 0.9 * box["height"], steps=4)
    mouse.up()
    sheet.get_by_role("button", name="minor").click()
    sheet.get_by_role("button", name="Save").click()
    _, (moved, drawn) = saved(sheet)
    assert moved["box"] == pytest.approx([0.19, 0.25, 0.69, 0.73])
    assert drawn["box"] == pytest.approx([0.5, 0.5, 1, 0.9], abs=0.02)
    assert (moved["side"], moved["severity"], drawn["severity"]) == ("picture", "major", "minor")


@pytest.mark.long
def test_judging_sheet_is_accessible(sheet: Locator) -> None:
    text(sheet, "Output of a.txt").focus()
    press(sheet, "Home", "3")
    found = Axe().run(sheet.page, context=".st-key-sheet").response["violations"]
    assert [rule["id"] for rule in found if rule["impact"] in ("serious", "critical")] == []
