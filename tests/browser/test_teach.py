"""The teacher's page on paper: the sheet has the questions, and none of the answers."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import PATIENCE, App


def test_sheet_prints_questions_without_answers(app: App, page: Page) -> None:
    page.goto(f"{app('app.py')}/teach")
    expect(page.get_by_text("Copy an exercise of your own")).to_be_visible(timeout=PATIENCE)
    pdf = page.pdf(format="A4")
    assert pdf.startswith(b"%PDF") and 1 <= len(re.findall(rb"/Type\s*/Page\b", pdf)) <= 2
    page.emulate_media(media="print")
    for minutes in ("0–5 min", "42–45 min"):
        expect(page.get_by_text(minutes)).to_be_visible()
    expect(page.locator(".plan-lines")).to_have_count(6)
    expect(page.locator(".plan-lines").first).to_be_visible()
    for hidden in (".plan details", ".plan a", ".st-key-exercise_maker"):
        expect(page.locator(hidden).first).to_be_hidden()
