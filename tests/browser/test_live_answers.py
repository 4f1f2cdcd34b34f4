"""Live pages in which readers edit points and facts where they are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from playwright.sync_api import Page, expect

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel, make_live_page
from areaviz.models import MODELS
from areaviz.models.base import Model
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.changes import Hide
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.views.points.points import choose_first_step

pytestmark = pytest.mark.browser
POINTS = "100,100 900,200 500,900 450,400"
STORY = "Mary went to the kitchen. John moved to the garden. Where is Mary?"


def opened(page: Page, folder: Path, name: str, text: str) -> Model:
    """Open a live page from the disk, and return Python's model."""
    card = read_card(CHECKPOINTS / name / "card.json")
    model: Model = MODELS[card.family].load(CHECKPOINTS / name, card, torch.device("cpu"))
    (trace,) = model.trace([Request(name, text, "beam")])
    file = folder / "page.html"
    made = make_live_page(LiveModel.load(CHECKPOINTS / name, card), trace)
    file.write_text(made, encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("html[data-live=ready]")).to_have_count(1)
    expect(page.locator("#live-changes")).to_be_hidden()
    return model


def output(model: Model, request: Request) -> str:
    trace: Trace = model.trace([request])[0]
    return trace.fields["target"].raw


def test_points_are_added_in_the_drawing_and_typed(page: Page, tmp_path: Path) -> None:
    model = opened(page, tmp_path, "pointer-hull", POINTS)
    reading = page.locator(".texts .reading").last
    expect(reading).to_have_text("1 2 3 1")
    box = page.locator(".points svg").bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 0.1 * box["height"])
    expect(page.locator("#live-status")).to_contain_text("Done in")
    text = page.get_by_label("Points, each as x,y").input_value()
    assert len(text.split()) == 5
    (trace,) = model.trace([Request("pointer-hull", text, "beam")])
    expect(reading).to_have_text(trace.fields["target"].raw)
    step = f"Step {choose_first_step(trace) + 1} of {len(trace.output.probabilities)}."
    expect(page.locator(".points .say")).to_contain_text(step)
    is_whole = trace.details["answer"] == trace.details["exact"]
    verdict = "The model found the whole hull." if is_whole else "Not quite the hull"
    expect(page.locator(".points .verdict")).to_contain_text(verdict)
    page.get_by_label("Points, each as x,y").fill("0,0 5,5")
    page.get_by_role("button", name="Answer", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("at least 3 are needed")


@pytest.mark.long
def test_fact_is_edited_in_place_and_left_out(page: Page, tmp_path: Path) -> None:
    name = "memory-stories"
    model = opened(page, tmp_path, name, STORY)
    page.get_by_label("Text of fact 1").fill("Mary went to the office.")
    page.get_by_label("Text of fact 1").press("Enter")
    changed = STORY.replace("kitchen", "office")
    reading = page.locator(".texts .reading")
    expect(reading.nth(1)).to_have_text(output(model, Request(name, changed)))
    expect(page.get_by_label("Story and question")).to_have_value(changed)
    page.get_by_role("button", name="Try without fact 1").click()
    hidden = Request(name, changed, changes=(Hide("facts", (0,)),))
    expect(reading.nth(1)).to_have_text(output(model, hidden))
    expect(page.locator(".hops .hidden").first).to_be_visible()
    page.get_by_role("button", name="Put the hidden fact back").click()
    expect(reading.nth(1)).to_have_text(output(model, Request(name, changed)))
