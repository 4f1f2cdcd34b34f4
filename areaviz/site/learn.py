"""The lessons, the guided tour and the teacher's page of the site."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

from areaviz.app.texts import sentence
from areaviz.draw.labels import Markup, make_data_block, make_element, make_raw_element
from areaviz.learn.model_questions import DebateRuns, run_debate
from areaviz.learn.questions import QUESTIONS, make_question_data
from areaviz.learn.teach import (
    PLAN_STYLE,
    PlanRow,
    build_plan_html,
    build_plan_rows,
    describe_lost_attention,
)
from areaviz.learn.tour import (
    LAST_STEP,
    STEP_BUILDERS,
    TOUR_PICTURE,
    TOUR_STORY,
    TourStep,
    build_reason_step,
    find_mixed_word,
)
from areaviz.page.body import render_stage
from areaviz.page.content import PageOptions
from areaviz.page.page import make_mount_script, make_page
from areaviz.samples.paths import HERO, OPENINGS
from areaviz.site.frame import Files, Site, add_site_link, render_site_page
from areaviz.site.home import find_stored_run
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.message import SITE, choose_first_focus, choose_first_item
from areaviz.views.parts import read_parts, read_text

# The lessons of the site: a list of questions, and a page for each question.


LESSONS_DESCRIPTION = message(
    "Guess first, then see the answer. Each question is about one idea of area attention, and what"
    " it shows is computed from a model or by the arithmetic of the paper."
)
STILL = message("This page needs scripts to ask its question.")


def make_lesson_files(site: Site) -> Files:
    """Return the list of questions, and a page for each."""
    items = []
    asked = {number: _collect_question(site, number) for number in QUESTIONS}
    for number, data in asked.items():
        link = make_element("a", data["texts"]["title"], href=f"lessons/{number}.html")
        items.append(make_element("li", link))
    main = [make_element("p", sentence(LESSONS_DESCRIPTION)), make_element("ol", *items)]
    yield "lessons.html", render_site_page(site, sentence("Lessons"), main)
    style = read_parts("lesson").css
    script = f"{make_mount_script(['lesson'], site.language)}\n{read_text('site/question.js')}"
    for number, data in asked.items():
        drawn = [
            make_element("section", make_element("p", sentence(STILL)), id="without-script"),
            render_stage("lesson", site.language),
            make_data_block({"questions": {number: data}, "place": number}, id="question"),
        ]
        page = render_site_page(site, data["texts"]["title"], drawn, 1, [style], script=script)
        yield f"lessons/{number}.html", page


def _collect_question(site: Site, number: int) -> dict[str, Any]:
    """Return the data of the component for a question. Its links lead to files of the site."""
    data = make_question_data(number, site.language)
    links = {"all": "../lessons.html"}
    links["back"] = f"{number - 1}.html" if data["links"]["back"] else ""
    links["next"] = f"{number + 1}.html" if data["links"]["next"] else ""
    links["own"] = f"../{site.best_page('token-boundary')}" if data["links"]["own"] else ""
    return {**data, "links": links}


# The guided tour of the site: five stored runs, each with a text on what to see and to try.


TOUR_DESCRIPTION = message(
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


def make_tour_files(site: Site) -> Files:
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
            [make_element("p", sentence(TOUR_DESCRIPTION)), make_element("ol", *items)],
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


# The teacher's page of the site: a plan of 45 minutes with its answers, to read and to print.


NEEDS = message(
    "You need English, and German helps. There are no accounts and no names. The pages work without"
    " a network. Print this page for a sheet without the answers. Parts without links here need the"
    " app (areaviz serve)."
)


def make_teacher_files(site: Site) -> Files:
    """Return the teacher's page."""
    hero = file.load(HERO)
    rows = build_plan_rows(
        hero, _load_debate_runs(site, hero.request.model), describe_lost_attention()
    )
    plan = Markup(build_plan_html([_link_row(site, row) for row in rows]))
    main = [make_element("p", sentence(NEEDS)), make_raw_element("style", PLAN_STYLE), plan]
    yield "teach.html", render_site_page(site, sentence("For teachers"), main, styles=[PLAN_STYLE])


def _load_debate_runs(site: Site, model: str) -> DebateRuns | None:
    """Return the stored runs for the plan's debate, or None if they or their model are missing."""
    from areaviz.backend.backend import StoredBackend
    from areaviz.backend.local import LocalBackend

    try:
        return run_debate(StoredBackend(LocalBackend(site.checkpoints), OPENINGS), model)
    except (InputError, BackendError):
        return None


def _link_row(site: Site, row: PlanRow) -> PlanRow:
    """Return a row of the plan whose links lead to pages of the site. Other links are removed."""
    links = [(label, find_site_address(site, to)) for label, to in row.links]
    return replace(row, links=tuple((label, to) for label, to in links if to))


def find_site_address(site: Site, address: str) -> str:
    """Return the site's page for an address of the app, or "" if there is no such page."""
    parts = urlsplit(address)
    number = parse_qs(parts.query).get("q", [""])[0]
    if parts.path == "./how_areas_work" and number:
        return f"lessons/{number}.html"
    if parts.query:
        return ""
    return {"./": "index.html", "./translate": site.best_page("token-boundary")}.get(parts.path, "")
