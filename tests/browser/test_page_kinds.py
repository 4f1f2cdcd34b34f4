"""The components of exported pages in a real browser, each from one file without any request."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import FloatRect, Locator, Page, expect

import areaviz
from areaviz.page.notebook import show
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from tests import fakes
from tests.browser.exported import Open, opened
from tests.interactive.test_film_strip import trace as clip_trace
from tests.sampled import sampled
from tests.views.test_reasoning import points_trace, story_trace
from tests.views.test_tree import tree_trace

__all__ = ["opened"]

HOSTILE = "<img src=//example.org/x onerror=\"document.title = 'taken'\"></script>"
TRACES = {
    "hops": story_trace(),
    "points": points_trace(),
    "tree": tree_trace(),
    "strip": clip_trace(),
    "hearing": fakes.sound_trace(),
    "looks": fakes.gaze_trace(),
}
EVERY = pytest.mark.parametrize("kind", sampled(TRACES, "strip"))


def drawn(page: Page, kind: str) -> Locator:
    """Return the component of a kind as soon as it is drawn."""
    shown = page.locator(f".{kind}[data-ready]")
    expect(shown).to_have_count(1)
    return shown


def test_facts_can_be_pointed_at_and_not_edited(opened: Open) -> None:
    hops = drawn(opened(story_trace()), "hops")
    expect(hops.locator(".say")).to_contain_text("First it reads “Ann sat <b>down</b>”")
    hops.locator("tbody tr").nth(1).hover()
    expect(hops.locator(".say")).to_have_text("“Bob left $x$” gets 10 % in hop 1, 80 % in hop 2.")
    expect(hops.locator("textarea").first).to_have_attribute("readonly", "")
    expect(hops.get_by_role("button", name="Add a fact")).to_be_hidden()


def test_points_move_to_the_clicked_step(opened: Open) -> None:
    page = opened(points_trace(), Focus("pointer", items=(2,)))
    points = drawn(page, "points")
    expect(points.locator(".say")).to_contain_text("Step 3 of 4.")
    step = points.get_by_role("button", name="Step 2: point 2")
    step.press("Enter")
    expect(step).to_have_attribute("aria-current", "step")
    expect(points.locator(".say")).to_have_text(
        "Step 2 of 4. From 1 it points at 2 with 60 %, but 10 % went to 1."
    )
    expect(step).to_have_text("260 %10 % to 1")
    expect(points.locator(".steps .later")).to_have_count(2)
    page.locator(".points svg").click(position={"x": 20, "y": 20})
    expect(points.locator(".point")).to_have_count(5)


HULL, TOUR = {"kind": "hull", "exact area": "100"}, {"kind": "tour", "shortest": "1000"}


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"kind": "hull", "exact": "1 2 3"}, "The model found the whole hull."),
        (HULL | {"area": "95"}, "Not quite the hull: the model's has 95.0 % of its area."),
        (TOUR | {"length": "1000"}, "The model found the shortest tour, 1,000 long."),
        (
            TOUR | {"length": "1100"},
            "The tour is 1,100 long, 10.0 % longer than the shortest, 1,000.",
        ),
        ({"exact": ""}, ""),
    ],
)
def test_points_are_compared_with_the_exact_answer(
    opened: Open, details: dict[str, str], expected: str
) -> None:
    trace = points_trace()
    points = drawn(opened(replace(trace, details={**trace.details, **details})), "points")
    expect(points.locator(".verdict")).to_have_text(expected)
    is_other = "exact" not in details
    assert points.locator(".exact").count() == (4 if is_other else 0)


def test_points_fill_their_card(opened: Open, page: Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 860})
    points = drawn(opened(points_trace()), "points")
    card, svg, note, steps = (_box(points, part) for part in ("", "svg", ".note", ".steps"))
    assert abs(note["y"] + note["height"] - svg["y"] - svg["height"]) <= 8
    assert steps["height"] >= 0.6 * svg["height"]
    assert abs(steps["x"] + steps["width"] - card["x"] - card["width"]) <= 1
    page.set_viewport_size({"width": 390, "height": 860})
    page.wait_for_timeout(200)
    assert _box(points, ".side")["y"] > _box(points, "svg")["y"] + _box(points, "svg")["height"]


def _box(shown: Locator, part: str) -> FloatRect:
    box = (shown.locator(part) if part else shown).bounding_box()
    assert box is not None
    return box


@pytest.mark.long
def test_tree_grows_to_the_step_of_its_slider(opened: Open) -> None:
    tree = drawn(opened(tree_trace()), "tree")
    expect(tree.locator(".say")).to_contain_text("noun phrase, step 7 of ")
    tree.get_by_role("slider").press("Home")
    expect(tree.locator(".say")).to_contain_text("step 1 of ")
    expect(tree.locator(".node")).to_have_count(1)


def test_film_strip_keeps_clicked_words(opened: Open) -> None:
    page = opened(clip_trace())
    strip = drawn(page, "strip")
    expect(strip.locator(".say")).to_have_text(
        "“1” attends most to frames 2 to 3 as one area, with 63 %."
    )
    word = strip.get_by_role("button", name="3", exact=True)
    word.click()
    page.mouse.move(2, 2)
    word.blur()
    expect(word).to_have_attribute("aria-pressed", "true")
    expect(strip.locator(".say")).to_have_text("“3” attends most to frame 5, with 100 %.")


def test_sound_plays_from_the_player_of_the_page(opened: Open) -> None:
    page = opened(fakes.sound_trace("314", seconds=2.0))
    hearing = drawn(page, "hearing")
    source = page.locator("#sound").get_attribute("src")
    assert source is not None and source.startswith("data:audio/flac")
    assert hearing.locator("audio").get_attribute("src") == source
    row = hearing.locator(".rows").get_by_role("button").nth(1)
    row.click()
    expect(row).to_have_attribute("aria-pressed", "true")
    expect(hearing.locator(".say")).to_contain_text("To write “1”, the model listened most to")


def test_looks_move_to_the_clicked_look(opened: Open) -> None:
    looks = drawn(opened(fakes.gaze_trace(), Focus("glimpses", items=(1,))), "looks")
    expect(looks.locator(".say")).to_contain_text("Look 2 of 3.")
    expect(looks.locator(".card circle")).to_have_count(2)
    looks.get_by_role("button", name="Look 3").click()
    expect(looks.locator(".say")).to_have_text(
        "Look 3 of 3. The frames show what it has read so far."
    )
    expect(looks.locator(".card circle")).to_have_count(3)
    boxes = [looks.locator(f".card {name}").bounding_box() for name in ("svg", "image")]
    assert boxes[0] == boxes[1], "nothing is drawn beside the picture"


@pytest.mark.long
@EVERY
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_the_window_and_is_accessible(
    opened: Open, page: Page, kind: str, scheme: str
) -> None:
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    drawn(opened(TRACES[kind]), kind)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    found = Axe().run(page).response["violations"]
    assert {rule["id"]: [node["html"][:200] for node in rule["nodes"]] for rule in found} == {}


@EVERY
def test_page_without_script_is_a_still_picture(
    strict_page: Page, tmp_path: Path, kind: str
) -> None:
    file = areaviz.export(TRACES[kind], tmp_path / "page.html")
    headers = {"Content-Security-Policy": "script-src 'none'", "Content-Type": "text/html"}
    strict_page.route(
        "https://strict.example/", lambda route: route.fulfill(path=file, headers=headers)
    )
    strict_page.goto("https://strict.example/")
    expect(strict_page.get_by_text("This is a still picture, because")).to_be_visible()
    picture = strict_page.get_by_role("img", name="What the page opens with")
    expect(picture).to_be_visible()
    expect(strict_page.locator(f"#{kind}")).to_be_hidden()


def with_hostile_labels(trace: Trace) -> Trace:
    """Return the trace with markup in the labels, which components show, and in its details."""
    fields = {}
    for name, field in trace.fields.items():
        fields[name] = replace(field, labels=tuple(f"{HOSTILE}{n}" for n in range(len(field))))
    details = {**trace.details, "warning": HOSTILE, "answer": HOSTILE, "expected": HOSTILE}
    return replace(trace, fields=fields, details=details)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["hops", "strip", "hearing", "looks"])
def test_markup_in_labels_stays_text(opened: Open, kind: str) -> None:
    page = opened(with_hostile_labels(TRACES[kind]))
    shown = drawn(page, kind)
    expect(shown.get_by_text("<img src=//example.org/x").first).to_be_attached()
    assert shown.locator("img[onerror]").count() == 0 and page.title() != "taken"


@pytest.mark.long
def test_notebook_shows_the_component(page: Page, tmp_path: Path) -> None:
    shown = show(clip_trace(), height=700, widget=False)
    outer = tmp_path / "notebook.html"
    outer.write_text(f"<!doctype html><title>Notebook</title>{shown._repr_html_()}", "utf-8")
    page.goto(outer.as_uri())
    strip = page.frame_locator("iframe").locator(".strip[data-ready]")
    expect(strip.locator(".say")).to_have_text(
        "“1” attends most to frames 2 to 3 as one area, with 63 %."
    )
