"""The teacher's page of the site: a plan of 45 minutes with its answers, to read and to print."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

from areaviz.app.texts import sentence
from areaviz.draw.labels import Markup, make_element, make_raw_element
from areaviz.learn.model_questions import DebateRuns, run_debate
from areaviz.learn.teach import (
    PLAN_STYLE,
    PlanRow,
    build_plan_html,
    build_plan_rows,
    describe_lost_attention,
)
from areaviz.samples.paths import HERO, OPENINGS
from areaviz.site.page_frame import Files, Site, render_site_page
from areaviz.texts.catalogue import message
from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError

NEEDS = message(
    "You need English, and German helps. There are no accounts and no names. The pages work without"
    " a network. Print this page for a sheet without the answers. Parts without links here need the"
    " app (areaviz serve)."
)


def make_files(site: Site) -> Files:
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
