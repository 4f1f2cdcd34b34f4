"""The cards of the site: the list of all models, and a short page for each model."""

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
from areaviz.site.page_frame import Files, Site, render_site_page

RESULTS, TARGETS = "Results", "Targets"


def make_files(site: Site) -> Files:
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
