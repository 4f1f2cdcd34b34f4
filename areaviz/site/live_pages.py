"""The live pages of the site, and the lists of models that run in a browser or do not."""

from __future__ import annotations

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import Markup, make_element
from areaviz.live.build import check_live
from areaviz.site.page_frame import Files, Site, add_site_link, render_site_page
from areaviz.trace.errors import InputError

DESCRIPTION = (
    "These models run in your browser. Each page is one file that contains the model, so you can"
    " save it and open it without a network."
)
STORED = "Models that show stored runs"
WHY_STORED = "The engine of the live pages does not run these models."


def make_files(site: Site) -> Files:
    """Return the list of live pages and the pages themselves."""
    cards = []
    for name in site.live:
        card = site.cards[name]
        link = make_element("a", card.title, href=f"live/{name}.html")
        facts = f"{TASKS[card.task].title} · {card.parameters:,} parameters"
        cards.append(
            make_element(
                "div",
                make_element("h2", link),
                make_element("p", facts, class_="facts"),
                class_="card",
            )
        )
    rest = [card for card in site.cards.values() if explain_stored_only(card)]
    rows = [_render_row(site, card) for card in rest]
    head = make_element(
        "tr", *(make_element("th", one, scope="col") for one in ("Model", "Why", "See"))
    )
    table = make_element("table", head, *rows)
    main = [
        make_element("p", DESCRIPTION),
        make_element("div", *cards, class_="cards"),
        make_element("h2", STORED),
        make_element("p", WHY_STORED),
        make_element(
            "div", table, class_="scrolled", tabindex="0", role="region", aria_label=STORED
        ),
    ]
    yield "live.html", render_site_page(site, "Live models", main)
    for name in site.live:
        yield f"live/{name}.html", add_site_link(site.live_page(name), site)


def explain_stored_only(card: Card) -> str:
    """Return the reason why a model cannot run in a browser, or "" if it can."""
    try:
        check_live(card)
    except InputError as error:
        return str(error)
    return ""


def _render_row(site: Site, card: Card) -> Markup:
    """Return a row of the table: a model, why it has no live page, and what the site shows."""
    path = site.best_page(card.name)
    shown = make_element("a", "stored run" if card.name in site.stored else "card", href=path)
    name, why = (
        make_element("th", card.name, scope="row"),
        make_element("td", explain_stored_only(card)),
    )
    return make_element("tr", name, why, make_element("td", shown))
