"""The cards of models on the site, and the pages on which models run in the browser."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.app.card_tables import format_metric
from areaviz.app.models import (
    count_targets,
    describe_model,
    format_main_value,
    format_parameters,
    group_by_task,
    sort_best_first,
)
from areaviz.cards.card import Card, judge_targets
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import Markup, make_element
from areaviz.live.build import check_live
from areaviz.site.frame import Files, Site, add_site_link, render_site_page
from areaviz.trace.errors import InputError

# The cards of the site: the list of all models, and a short page for each model.


RESULTS, TARGETS = "Results", "Targets"


def make_card_files(site: Site) -> Files:
    """Return the list of models and their cards."""
    main = []
    for task, group in group_by_task(site.cards.values()).items():
        rows = []
        for card in sort_best_first(group):
            link = make_element("a", card.name, href=f"cards/{card.name}.html")
            rows.append((link, card.title, format_main_value(card), format_parameters(card)))
        heads = ("Model", "What it is", "Result", "Parameters")
        main += [
            make_element("h2", TASKS[task].title),
            _render_table(TASKS[task].title, heads, rows),
        ]
    yield "models.html", render_site_page(site, "Models", main)
    for card in site.cards.values():
        yield (
            f"cards/{card.name}.html",
            render_site_page(site, card.title, _render_card(site, card), 1),
        )


def _render_card(site: Site, card: Card) -> list[Markup]:
    """Return the content of a model's page."""
    main = [make_element("p", f"{card.name}. {describe_model(card)}")]
    best = site.best_page(card.name)
    if not best.startswith("cards/"):
        label = "Run this model" if card.name in site.live else "See a stored run"
        main.append(make_element("p", make_element("a", label, href=f"../{best}")))
    targets = judge_targets(card, site.cards)
    main += _render_results(card)
    if targets:
        lines = [(one.what, one.wanted, one.measured, one.why) for one in targets]
        heads = ("Target", "Wanted", "Measured", "Why it was missed")
        title = f"{TARGETS}: {count_targets(targets)}"
        main += [make_element("h2", title), _render_table(TARGETS, heads, lines)]
    main += [make_element("h2", "Limits"), make_element("p", card.limits)]
    main += [make_element("p", note) for note in card.notes]
    main += [make_element("h2", "Licence"), make_element("p", card.licence)]
    digests = [(name, digest) for name, digest in card.files.items()]
    if digests:
        main += [make_element("h2", "Files"), _render_table("Files", ("File", "SHA-256"), digests)]
    return main


def _render_results(card: Card) -> list[Markup]:
    """Return the metrics of the task on every test set that was measured."""
    measures, rows = TASKS[card.task].measures, []
    for split, values in card.figures.items():
        for key, name in measures.items():
            if key in values:
                rows.append((split, name, format_metric(card.task, key, values[key])))
    if not rows:
        return []
    return [
        make_element("h2", RESULTS),
        _render_table(RESULTS, ("Test set", "Metric", "Value"), rows),
    ]


def _render_table(label: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    """Return a table that can be scrolled sideways on narrow screens."""
    lines = [make_element("tr", *(make_element("th", one, scope="col") for one in heads))]
    for row in rows:
        lines.append(make_element("tr", *(make_element("td", one) for one in row)))
    table = make_element("table", *lines)
    return make_element(
        "div", table, class_="scrolled", tabindex="0", role="region", aria_label=label
    )


# The live pages of the site, and the lists of models that run in a browser or do not.


LIVE_DESCRIPTION = (
    "These models run in your browser. Each page is one file that contains the model, so you can"
    " save it and open it without a network."
)
STORED = "Models that show stored runs"
WHY_STORED = "The engine of the live pages does not run these models."


def make_live_files(site: Site) -> Files:
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
        make_element("p", LIVE_DESCRIPTION),
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
