"""A live page that is opened from a file: it translates, and requests nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Browser, Page, expect

from areaviz.cards.card import read_card
from areaviz.live.build import LiveModel, make_live_page
from areaviz.models import MODELS
from areaviz.models.base import Model
from areaviz.samples.own_media import get_picture_sample
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.request import Focus, Request
from areaviz.views.why import Question, explain, format_signed, list_candidates
from tests.browser.exported import enclosed
from tests.components.live.node import assert_equal_traces, plain_request, trace_of

pytestmark = pytest.mark.browser
NAME = "token-boundary"
OPENING = Request(NAME, "Two young men are playing football in a park.", "beam")
REQUESTS = (
    Request(NAME, "A small dog runs through the snow.", "beam"),
    Request(NAME, "A café　with ﬁve naïve 狗 dogs", "greedy"),
    Request(NAME, "Two dogs.", "beam", 2, target="Zwei Hunde laufen."),
)
# Arrays leave the page as texts, because playwright would copy each number separately.
RUN = """async (request) => {
  const found = await window.areaviz.run(request);
  for (const array of Object.values(found.arrays)) {
    const bytes = new Uint8Array(array.data.buffer, array.data.byteOffset, array.data.byteLength);
    array.kind = array.data.constructor.name;
    array.data = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(''));
  }
  return found;
}"""


@pytest.fixture(scope="module")
def python() -> Model:
    card = read_card(CHECKPOINTS / NAME / "card.json")
    model: Model = MODELS[card.family].load(CHECKPOINTS / NAME, card, torch.device("cpu"))
    return model


@pytest.fixture(scope="module")
def file(python: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    card = read_card(CHECKPOINTS / NAME / "card.json")
    (trace,) = python.trace([OPENING])
    made = make_live_page(LiveModel.load(CHECKPOINTS / NAME, card), trace)
    path = tmp_path_factory.mktemp("live") / "page.html"
    path.write_text(made, encoding="utf-8")
    return path


@pytest.fixture
def live(page: Page, file: Path) -> Iterator[Page]:
    """Open the page from the disk. Only the file and its worker may be requested."""
    with enclosed(page, file.as_uri(), "blob:"):
        page.goto(file.as_uri())
        expect(page.locator("html[data-live=ready]")).to_have_count(1)
        yield page


def write(page: Page, text: str) -> None:
    page.get_by_label("Text").fill(text)
    page.get_by_role("button", name="Translate").click()


def test_live_page_matches_python_results(live: Page, python: Model) -> None:
    for request in REQUESTS:
        document: Any = live.evaluate(RUN, plain_request(request))
        assert_equal_traces(trace_of(document), python.trace([request])[0])


@pytest.mark.long
def test_live_page_translates_typed_text(live: Page, python: Model) -> None:
    expect(live.locator(".ribbon[data-ready]")).to_have_count(1)
    text = "A girl <b>reads</b> a book."
    write(live, text)
    expect(live.locator("#live-status")).to_contain_text("Done in")
    (trace,) = python.trace([Request(NAME, text, "beam")])
    expect(live.locator(".texts .reading")).to_have_text([text, trace.fields["target"].raw])
    live.locator("#ribbon .choices").get_by_text("Within the source", exact=True).click()
    expect(live.locator('[data-shown="encoder self, layer 4"]')).to_have_count(1)
    expect(live.locator(".ribbon .caption")).to_contain_text("encoder self, layer 4 of 4")
    live.get_by_text("Probability of every item").click()
    expect(live.locator("details table").first.locator("tr")).to_have_count(
        len(trace.output.probabilities) + 1
    )


@pytest.mark.long
def test_engine_computes_layers_that_are_not_stored(live: Page) -> None:
    live.locator("#ribbon .choices").get_by_text("1", exact=True).click()
    expect(live.locator('[data-shown="encoder-decoder, layer 1"]')).to_have_count(1)
    live.locator("#ribbon .choices").get_by_text("Within the translation", exact=True).click()
    expect(live.locator('[data-shown="decoder self, layer 1"]')).to_have_count(1)


@pytest.mark.long
def test_unusable_text_gives_a_sentence_and_changes_nothing(live: Page) -> None:
    before = live.locator(".texts").inner_text()
    write(live, "   ")
    expect(live.get_by_role("alert")).to_contain_text("no visible character")
    assert live.locator(".texts").inner_text() == before
    write(live, "A dog runs.")
    expect(live.locator("#live-status")).to_contain_text("Done in")
    expect(live.get_by_role("alert")).to_have_count(0)


def test_live_run_can_be_stopped(live: Page) -> None:
    write(live, "A man and a woman walk along a street with shops. " * 8)
    live.get_by_role("button", name="Stop").click()
    expect(live.locator("#live-status")).to_contain_text("Stopped")
    live.locator("#ribbon .choices").get_by_text("2", exact=True).click()
    expect(live.locator('[data-shown="encoder-decoder, layer 2"]')).to_have_count(1)
    write(live, "A dog runs.")
    expect(live.locator("#live-status")).to_contain_text("Done in")


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_live_page_is_accessible_and_fits_a_phone(live: Page, scheme: Any) -> None:
    live.emulate_media(color_scheme=scheme)
    live.set_viewport_size({"width": 390, "height": 844})
    live.get_by_label("Text").press("Enter")
    expect(live.locator("#live-status")).to_contain_text("Done in")
    assert live.evaluate("document.documentElement.scrollWidth") <= 390
    results = Axe().run(live)
    assert results.violations_count == 0, results.generate_report()


def test_live_page_without_scripts_shows_a_picture(chromium: Browser, file: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    expect(page.locator("#without-script svg")).to_be_visible()
    expect(page.locator("#without-script p")).to_contain_text("still picture")
    expect(page.locator("#live")).to_be_hidden()
    context.close()


@pytest.mark.long
def test_what_if_changes_the_run_and_restores_it(live: Page, python: Model) -> None:
    text = OPENING.text
    expect(live.get_by_role("button", name="Ban areas")).to_be_disabled()
    live.locator(".ribbon #memory-5").click()
    live.get_by_role("button", name="Ban areas").click()
    ban = Weigh("encoder-decoder", (5,))
    (changed,) = python.trace([Request(NAME, text, "beam", changes=(ban,))])
    readings = live.locator(".texts .reading")
    (plain,) = python.trace([OPENING])
    outputs = [text, changed.fields["target"].raw, plain.fields["target"].raw]
    expect(readings).to_have_text(outputs)
    expect(live.locator(".ribbon .caption")).to_contain_text("with 1 change")
    live.get_by_role("button", name="Remove: Ban “football”").click()
    expect(readings).to_have_text([text, plain.fields["target"].raw])
    live.locator(".ribbon").get_by_role("button", name="Head 2").click()
    live.get_by_role("button", name="Switch the chosen head off").click()
    gate = Gate("encoder-decoder", layer=3, head=1)
    (gated,) = python.trace([Request(NAME, text, "beam", changes=(gate,))])
    expect(readings.nth(1)).to_have_text(gated.fields["target"].raw)
    write(live, "A dog runs.")
    expect(live.locator("#live-changes li")).to_have_count(0)
    expect(readings).to_have_count(2)


@pytest.mark.long
@pytest.mark.parametrize(
    ("button", "change"),
    [
        ("Give them four times the weight", Weigh("encoder-decoder", (5,), factor=4.0)),
        ("Hide the pinned items", Hide("source", (5,))),
    ],
)
def test_live_changes_match_python(live: Page, python: Model, button: str, change: Change) -> None:
    live.locator(".ribbon #memory-5").click()
    live.get_by_role("button", name=button).press("Enter")
    (changed,) = python.trace([replace(OPENING, changes=(change,))])
    expect(live.locator("#live-changes li")).to_have_count(1)
    expect(live.locator(".texts .reading").nth(1)).to_have_text(changed.fields["target"].raw)


@pytest.mark.long
def test_live_captioner_describes_samples_and_files(page: Page, tmp_path: Path) -> None:
    name, shown = (
        "scene-captions-boundary",
        [get_picture_sample("scene-34"), get_picture_sample("scene-9")],
    )
    card = read_card(CHECKPOINTS / name / "card.json")
    model = MODELS[card.family].load(CHECKPOINTS / name, card, torch.device("cpu"))
    requests = [Request(name, "", "beam", picture=picture) for picture in shown]
    traces = [model.trace([request])[0] for request in requests]
    file = tmp_path / "page.html"
    made = make_live_page(LiveModel.load(CHECKPOINTS / name, card), traces[0], pictures=shown)
    file.write_text(made, encoding="utf-8")
    page.goto(file.as_uri())
    expect(page.locator("html[data-live=ready]")).to_have_count(1)
    output = page.locator(".texts .reading")
    expect(output).to_have_text(traces[0].fields["target"].raw)
    page.get_by_label("Picture", exact=True).select_option("scene-9")
    expect(output).to_have_text(traces[1].fields["target"].raw)
    expect(page.locator(".grid[data-ready]")).to_have_count(1)
    upload = tmp_path / "own.png"
    Image.fromarray(shown[0].pixels).save(upload)
    page.get_by_label("Your picture").set_input_files(upload)
    expect(output).to_have_text(traces[0].fields["target"].raw)
    status = page.locator("#live-status")
    expect(status).to_have_text(re.compile(r"^Done in \d+ ms, on this device\.$"))
    large = tmp_path / "large.png"
    Image.fromarray(shown[1].pixels).resize((1280, 960)).save(large)
    page.get_by_label("Your picture").set_input_files(large)
    expect(status).to_contain_text("made the picture smaller, to 640 x 480 pixels.")
    other = tmp_path / "other.png"
    other.write_text("no picture")
    page.get_by_label("Your picture").set_input_files(other)
    expect(page.get_by_role("alert")).to_contain_text("not a picture")


@pytest.mark.long
def test_live_weight_terms_match_python(live: Page, python: Model) -> None:
    live.locator(".ribbon #query-3").click()
    live.locator(".ribbon").get_by_role("button", name="Head 2").click()
    live.locator("#ribbon .choices").get_by_text("1", exact=True).click()
    live.get_by_text("Why this weight").focus()
    live.keyboard.press("Enter")
    (trace,) = python.trace([OPENING])
    focus = Focus("encoder-decoder", 0, 1, items=(3,))
    names = list(list_candidates(trace, focus, 1, 3).values())
    expect(live.get_by_label("Area", exact=True).locator("option")).to_have_text(names)
    live.get_by_label("Compare with").select_option(index=2)
    areas = list(list_candidates(trace, focus, 1, 3))
    logits = python.logits(OPENING, focus.site, 0)
    found = explain(trace, focus, logits, Question(1, 3, areas[0], areas[3]))
    rows = live.get_by_role("region", name="Terms of the logits").locator("tr")
    expect(rows).to_have_count(len(found.parts) + 3)
    for number, part in enumerate([*found.parts, "logit"], start=1):
        texts = [format_signed(one.parts.get(part, one.logit)) for one in found.asked]
        expect(rows.nth(number).locator(".barred .number")).to_have_text(texts)
    results = Axe().run(live)
    assert results.violations_count == 0, results.generate_report()
