"""The guided tour of the site: five stored runs, each with a text on what to see and to try."""

from __future__ import annotations

from dataclasses import dataclass, replace

from areaviz.app.texts import sentence
from areaviz.draw.labels import Markup, make_element
from areaviz.learn.tour import (
    LAST_STEP,
    STEP_BUILDERS,
    TOUR_PICTURE,
    TOUR_STORY,
    TourStep,
    build_reason_step,
    find_mixed_word,
)
from areaviz.page.content import PageOptions
from areaviz.page.page import make_page
from areaviz.samples.paths import HERO
from areaviz.show.message import SITE, choose_first_focus, choose_first_item
from areaviz.site.gallery import find_stored_run
from areaviz.site.page_frame import Files, Site, add_site_link, render_site_page
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

DESCRIPTION = message(
    "Five steps in a minute and a half. Each shows a stored run and says what to try."
)
ASK = message("Ask without this fact, on the live page")


@dataclass(frozen=True, slots=True)
class Stop:
    """A step of the tour on the site.

    Args:
        step: the texts of the step.
        trace: the stored run that the page shows.
        focus: the selection that the page first shows.
        link: the page of the site on which readers can follow the step's suggestion, or "".
    """

    step: TourStep
    trace: Trace
    focus: Focus | None
    link: str = ""


def make_files(site: Site) -> Files:
    """Return the list of the steps, and a page for each."""
    stops = list_tour_stops(site)
    items = []
    for number, stop in enumerate(stops, start=1):
        link = make_element(
            "a", sentence("Step {number}", number=number), href=f"tour/{number}.html"
        )
        items.append(make_element("li", link, ": ", *render_bold(stop.step.says)))
    yield (
        "tour.html",
        render_site_page(
            site,
            sentence("Tour"),
            [make_element("p", sentence(DESCRIPTION)), make_element("ol", *items)],
        ),
    )
    for number, stop in enumerate(stops, start=1):
        options = PageOptions(language=site.language)
        if stop.focus is not None:
            focus = stop.focus
            options = replace(options, sites=(focus.site,), layers=(focus.layer,))
        html = make_page(stop.trace, stop.focus, options)
        bar = _render_bar(site, stop, number, len(stops))
        yield f"tour/{number}.html", add_site_link(html, site, bar)


def list_tour_stops(site: Site) -> list[Stop]:
    """Return the steps in the order of the app's tour, without steps that lack a stored run."""
    hero = file.load(HERO)
    picture = find_stored_run(
        lambda one: one.maps.keys() >= {SITE} and _is_stop_trace(one, TOUR_PICTURE)
    )
    story = find_stored_run(lambda one: one.request.text == TOUR_STORY.text)
    looks = (choose_first_focus(hero), choose_first_focus(hero), find_mixed_word(hero))
    stops = []
    for (_, build), look in zip(STEP_BUILDERS, looks, strict=False):
        stops.append(Stop(build(hero), hero, Focus(look.site, look.layer, items=look.items)))
    if picture is not None:
        attention = picture.maps[SITE]
        items = choose_first_item(attention, 0, picture.fields[attention.query])
        stops.append(Stop(STEP_BUILDERS[-1][1](picture), picture, Focus(SITE, 0, items=items)))
    if story is not None:
        best = site.best_page(story.request.model)
        stops.append(Stop(build_reason_step(story, None), story, None, best))
    return stops


def render_bold(text: str) -> list[Markup | str]:
    """Return a text with the words between `**` as strong elements."""
    found: list[Markup | str] = []
    for number, one in enumerate(text.split("**")):
        found.append(make_element("strong", one) if number % 2 else one)
    return found


def _is_stop_trace(trace: Trace, picture: str) -> bool:
    shown = trace.request.picture
    return shown is not None and shown.name == picture and not trace.request.text


def _render_bar(site: Site, stop: Stop, number: int, count: int) -> Markup:
    """Return the panel above a run: the texts of the step, and links to the next pages."""
    ways = []
    if number > 1:
        ways.append(make_element("a", sentence("Back"), href=f"{number - 1}.html"))
    if stop.link:
        ways.append(make_element("a", sentence(ASK), href=f"../{stop.link}"))
    if number < count:
        ways.append(make_element("a", sentence("Next"), href=f"{number + 1}.html"))
    else:
        own = site.best_page("token-boundary")
        ways.append(make_element("a", sentence("Your own sentence"), href=f"../{own}"))
        ways.append(make_element("a", sentence("Lessons"), href="../lessons.html"))
    place = sentence("Step {number} of {count}", number=number, count=count)
    said = [make_element("p", place, class_="facts")]
    said.append(make_element("p", *render_bold(stop.step.says)))
    if stop.step.asks:
        said.append(make_element("p", *render_bold(stop.step.asks)))
    if number == count:
        said.append(make_element("p", *render_bold(sentence(LAST_STEP.says))))
    links = [part for way in ways for part in (way, " ")]
    return make_element(
        "section", *said, make_element("p", *links), class_="panel", aria_label=sentence("Tour")
    )
