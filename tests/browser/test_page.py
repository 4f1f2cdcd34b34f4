"""Exported pages in a real browser: everything works from one file without any request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

import areaviz
from areaviz.page.notebook import show
from areaviz.trace.query import top_areas
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.ribbon.table import find_spans, join_items, make_sentence
from tests import fakes
from tests.browser.exported import Open, opened
from tests.sampled import sampled

__all__ = ["opened"]

FOCUS = Focus("encoder-decoder", 0, items=(4,))
NASTY = (
    "</script><script>document.title = 'taken'</script> \"'` \u202egnip \u200b \u2028 <!-- ${x} "
    "<img src=x onerror=alert(1)>"
)
HOSTILE = "<img src=//example.org/x onerror=\"document.title = 'taken'\">"


def quick_first(*traces: Trace) -> list[object]:
    """Return traces as cases of which `make test` runs the first."""
    first, *others = traces
    return [first, *(pytest.param(trace, marks=pytest.mark.long) for trace in others)]


def ribbon(page: Page) -> Locator:
    shown = page.locator(".ribbon[data-ready]")
    expect(shown).to_have_count(1)
    return shown


def point(page: Page, place: Locator) -> None:
    page.mouse.move(2, 2)
    place.hover()


def choose(page: Page, text: str, panel: str) -> None:
    page.locator(f"#{panel} .choices").get_by_text(text, exact=True).click()


def strongest(trace: Trace, site: str, layer: int, item: int) -> list[str]:
    """Return the text that the legend must have for every head."""
    attention = trace.maps[site]
    memory = trace.fields[attention.memory]
    areas = [top_areas(attention, layer, head, item, 1)[0].area for head in range(attention.heads)]
    return [f"“{join_items(memory, range(area.left, area.left + area.width))}”" for area in areas]


def legend(shown: Locator) -> list[str]:
    return [
        (text or "").replace("␣", " ")
        for text in shown.locator(".legend .what").all_text_contents()
    ]


def test_hover_shows_trace_values_at_every_layer(opened: Open) -> None:
    trace = fakes.trace()
    page = opened(trace, FOCUS)
    shown = ribbon(page)
    for layer, site, name in (
        (0, "encoder-decoder", ""),
        (1, "encoder-decoder", ""),
        (1, "encoder self", "Within the source"),
        (0, "encoder self", ""),
        (0, "decoder self", "Within the translation"),
    ):
        if name:
            choose(page, name, "ribbon")
        choose(page, f"{layer + 1}", "ribbon")
        expect(page.locator(f'[data-shown="{site}, layer {layer + 1}"]')).to_have_count(1)
        point(page, shown.locator("#query-7"))
        expect(shown.locator(".caption")).to_contain_text(f"{site}, layer {layer + 1} of 2")
        expect(shown.locator("#query-7")).to_have_attribute("data-lit", "")
        expect(shown.locator(".say")).to_contain_text("most to")
        assert legend(shown) == strongest(trace, site, layer, 7)


@pytest.mark.long
def test_lock_and_head_survive_a_layer_change(opened: Open) -> None:
    page = opened(fakes.trace(), FOCUS)
    shown = ribbon(page)
    expect(shown.locator("#query-4")).to_have_attribute("aria-selected", "true")
    shown.get_by_role("button", name="Head 2").click()
    shown.locator("#query-8").click()
    choose(page, "2", "ribbon")
    expect(shown.locator(".caption")).to_contain_text("layer 2 of 2, head 2 of 4")
    expect(shown.locator("#query-8")).to_have_attribute("aria-selected", "true")
    choose(page, "Within the translation", "ribbon")
    expect(shown.locator(".caption")).to_contain_text("decoder self, layer 2 of 2, head 2 of 4")
    expect(shown.locator("#query-8")).to_have_attribute("aria-selected", "true")
    choose(page, "Within the source", "ribbon")
    expect(shown.locator("[aria-selected=true]")).to_have_count(0)
    expect(shown.locator("[data-lit]")).to_have_count(1)
    expect(shown.locator(".say")).to_contain_text("For “")


@pytest.mark.long
def test_print_has_the_sentence_of_the_page(opened: Open) -> None:
    trace = fakes.trace(heads=16, layers=1)
    page = opened(trace, Focus("encoder-decoder", items=(0,)))
    say = ribbon(page).locator(".say")
    for item in (0, 4, 8):
        focus = Focus("encoder-decoder", items=(item,))
        page.locator(f"#query-{item}").click()
        expect(say).to_have_text(make_sentence(trace, focus, find_spans(trace, focus)))
        page.keyboard.press("Escape")


@pytest.mark.long
def test_page_without_focus_highlights_the_longest_word(opened: Open) -> None:
    shown = ribbon(opened(fakes.trace()))
    expect(shown.locator(".say")).to_contain_text("To write “kleiner”")


def test_page_works_by_keyboard_alone(opened: Open) -> None:
    page = opened(fakes.trace(), Focus("encoder-decoder", 0))
    shown = ribbon(page)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(shown.locator(".caption")).to_contain_text("encoder self")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(shown.locator(".caption")).to_contain_text("layer 2 of 2")
    shown.locator("[data-side=query] .scroller").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(shown.locator("#query-1")).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Escape")
    expect(shown.locator("#query-1")).to_have_attribute("aria-selected", "false")


def test_picture_reacts_to_hover(opened: Open) -> None:
    page = opened(fakes.caption_trace(), Focus("encoder-decoder", 0))
    shown = page.locator(".grid[data-ready]")
    expect(shown).to_have_count(1)
    point(page, shown.locator("[data-kind=text] #query-2"))
    expect(shown.locator(".say")).to_contain_text("To write “red”")
    below = shown.locator("[data-side=memory] canvas.below")
    assert below.evaluate("c => c.getContext('2d').getImageData(40, 40, 1, 1).data[3]") == 255
    choose(page, "Within the picture", "grid")
    point(page, shown.locator("[data-side=query] .cell").nth(5))
    expect(shown.locator(".say")).to_contain_text("For row 2, column 2, head 2 attends most to row")


def test_word_highlights_in_text_and_picture(opened: Open) -> None:
    page = opened(fakes.doubly_trace())
    grid, text = page.locator(".grid[data-ready]"), ribbon(page)
    expect(grid.locator(".say")).to_contain_text("To write “roter”")
    expect(text.locator(".say")).to_contain_text("To write “roter”")
    point(page, text.locator("#query-2"))
    expect(grid.locator(".say")).to_contain_text("To write “Stern”")


@pytest.mark.long
@pytest.mark.parametrize(
    "trace", quick_first(fakes.gaze_trace("transformer", 1, 1), fakes.gaze_trace())
)
def test_site_without_component_is_drawn_as_chart(opened: Open, trace: Trace) -> None:
    page = opened(trace)
    drawn = page.locator("img.figure")
    assert drawn.count() >= 2
    for figure in drawn.all():
        assert figure.evaluate("image => image.complete && image.naturalWidth") > 100


def hostile() -> Trace:
    """Return a trace with payloads in all its texts."""
    made = fakes.trace(NASTY, HOSTILE)
    fields = {
        name: replace(
            field,
            labels=tuple(HOSTILE if i == 3 else label for i, label in enumerate(field.labels)),
        )
        for name, field in made.fields.items()
    }
    other = tuple(((NASTY, 0.5), (HOSTILE, 0.25)) for _ in made.output.alternatives)
    details = {HOSTILE: NASTY, "warning": HOSTILE}
    return replace(
        made, fields=fields, output=replace(made.output, alternatives=other), details=details
    )


@pytest.mark.long
def test_text_stays_text_in_every_place(opened: Open) -> None:
    trace = hostile()
    page = opened(trace, FOCUS, areaviz.PageOptions(title=NASTY, note=HOSTILE))
    shown = ribbon(page)
    point(page, shown.locator("#query-3"))
    expect(shown.locator(".say")).to_contain_text("most to")
    for summary in page.locator("summary").all():
        summary.click()
    assert page.title().startswith("</script><script>") and "⟨U+202E⟩" in page.title()
    assert page.locator("img").count() == 0
    assert page.locator("script:not([type])").count() == 0
    expect(page.locator("header .note")).to_have_text(HOSTILE)
    assert "⟨U+200B⟩" in page.locator(".reading").first.inner_text()


def test_policy_allows_only_own_scripts_and_styles(chromium: Browser, tmp_path: Path) -> None:
    page = chromium.new_page()
    page.goto(areaviz.export(fakes.trace(), tmp_path / "page.html").as_uri())
    ribbon(page)
    refused = page.evaluate("""async () => {
          const refused = [];
          document.addEventListener('securitypolicyviolation', (event) =>
            refused.push(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'globalThis.ran = true';
          const style = document.createElement('style');
          style.textContent = 'body { display: none }';
          const image = new Image();
          image.src = 'https://example.org/x.png';
          document.body.append(script, style, image);
          await fetch('https://example.org').catch(() => {});
          await new Promise((done) => setTimeout(done, 200));
          return [...refused, globalThis.ran ? 'ran' : 'did not run'];
        }""")
    page.close()
    assert set(refused) == {
        "script-src-elem",
        "style-src-elem",
        "img-src",
        "connect-src",
        "did not run",
    }


@pytest.mark.parametrize("trace", quick_first(fakes.trace(), fakes.caption_trace()))
@pytest.mark.parametrize(
    "policy", sampled(["default-src 'self'", "script-src 'none'"], "default-src 'self'")
)
def test_strict_host_shows_a_still_picture(
    strict_page: Page, tmp_path: Path, trace: Trace, policy: str
) -> None:
    page = strict_page
    file = areaviz.export(trace, tmp_path / "page.html", FOCUS)
    headers = {"Content-Security-Policy": policy, "Content-Type": "text/html"}
    page.route("https://strict.example/", lambda route: route.fulfill(path=file, headers=headers))
    page.goto("https://strict.example/")
    expect(page.get_by_text("This is a still picture, because")).to_be_visible()
    box = page.get_by_role("img", name="What the page opens with").bounding_box()
    assert box is not None and box["width"] > 300 and box["height"] > 150
    assert not any(panel.is_visible() for panel in page.locator(".panel").all())
    page.unroute_all()
    page.goto(file.as_uri())
    expect(page.locator("#without-script")).to_have_count(0)
    expect(page.locator(".panel").first).to_be_visible()


@pytest.mark.long
def test_notebook_frame_shows_equal_page(page: Page, tmp_path: Path) -> None:
    shown = show(fakes.caption_trace(), Focus("encoder-decoder", 0), height=700, widget=False)
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><title>Notebook</title>{shown._repr_html_()}", "utf-8")
    page.goto(outer.as_uri())
    frame = page.frame_locator("iframe")
    grid = frame.locator(".grid[data-ready]")
    expect(grid).to_have_count(1)
    grid.locator("[data-kind=text] #query-2").hover()
    expect(grid.locator(".say")).to_contain_text("To write “red”")
    assert page.locator("iframe").evaluate("frame => frame.contentDocument") is None


@pytest.mark.parametrize("width", sampled([1280, 800, 400], 400))
@pytest.mark.parametrize(
    "trace",
    quick_first(fakes.trace(), fakes.caption_trace(), fakes.doubly_trace(), fakes.gaze_trace()),
)
def test_no_page_scrolls_sideways(opened: Open, page: Page, trace: Trace, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    opened(trace)
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "trace", quick_first(fakes.trace(), fakes.doubly_trace(), fakes.gaze_trace())
)
def test_pages_are_accessible(
    opened: Open, page: Page, trace: Trace, scheme: Literal["light", "dark"]
) -> None:
    page.emulate_media(color_scheme=scheme)
    opened(trace)
    for summary in page.locator("summary").all():
        summary.click()
    page.wait_for_timeout(300)
    found = Axe().run(page).response["violations"]
    assert {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found} == {}


def test_right_to_left_text_starts_at_the_right(opened: Open) -> None:
    hebrew = "שלום עולם טוב"
    trace = fakes.trace("Hello good world.", hebrew)
    page = opened(trace, Focus("encoder-decoder", 0))
    shown = ribbon(page)
    first, last = (shown.locator(f"#query-{item}").bounding_box() for item in (0, len(hebrew) - 1))
    assert first is not None and last is not None and first["x"] > last["x"]


@pytest.mark.long
def test_labels_unlike_their_text_are_shown_unchanged(opened: Open) -> None:
    trace = fakes.trace("A dog.", "Hund.")
    target = trace.fields["target"]
    labels = ("##H", *target.labels[1:])
    named = Field(target.name, target.kind, target.raw, labels, target.anchors)
    page = opened(
        replace(trace, fields={**trace.fields, "target": named}), Focus("encoder-decoder", 0)
    )
    expect(ribbon(page).locator("#query-0")).to_have_text("##H")
