"""Comparison of models with each other and with the papers, and what different keys learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS, Task
from areaviz.drawing.numbers import number_text
from areaviz.evaluation.form_tables import FORM_TABLES
from areaviz.evaluation.forms import missing, read_forms
from areaviz.ui.look.chart import data_table, titled
from areaviz.ui.models.card_tables import Columns, columns_of, draw_table, number, task_table
from areaviz.ui.shell.table import read_table
from areaviz.views.by_length import length_figure, length_table, with_and_without
from areaviz.views.pairs import has_pairs, pairs_figure, pairs_table

WHAT_DIFFERS = (
    "The paper's figures are BLEU for English to German on WMT 2014 newstest: news, trained on 4.5"
    " million sentence pairs, the mean of three runs; * where the paper says p < 0.05 against"
    " regular attention. Ours are BLEU on the Multi30k test set of 2016: short image captions,"
    " trained on 29,000 pairs, one run each. Captions are much easier"
    " than news, so compare regular with area attention, never ours with theirs; differences of a"
    " few tenths are noise."
)
# Level, size and mechanism: a cell of the paper's table for which we have a model.
Place = tuple[str, str, str]


def by_task(cards: Iterable[Card]) -> Mapping[str, list[Card]]:
    """Return the cards by task, in the order of `TASKS`, without tasks that have no card."""
    groups: dict[str, list[Card]] = {task: [] for task in TASKS}
    for card in cards:
        if card.task in groups:
            groups[card.task].append(card)
    return {task: group for task, group in groups.items() if group}


def beside(task: str, cards: Sequence[Card]) -> None:
    """Draw our results for a task and those of the paper; external models are left out."""
    cards = [card for card in cards if card.trained_on]
    if not cards:
        return
    if TASKS[task].by_network:
        _by_network(TASKS[task], cards)
    else:
        draw_table(task_table(task, cards))
    published = TASKS[task].published
    if published:
        st.caption("For scale, what papers report, on other data or with larger networks:")
        draw_table(columns_of(("System", "Reported"), list(published.items())))
    lengths(task, cards)
    if has_pairs(cards):
        pairs_of_digits(task, cards)


def what_areas_change(task: Task, cards: Iterable[Card]) -> str:
    """Say whether areas help: the first metric of each pair that differs only in attention."""
    pairs: dict[str, dict[str, Card]] = {}
    for card in cards:
        pairs.setdefault(card.pair, {})[card.mechanism] = card
    changes = []
    for pair in pairs.values():
        regular, area = (_bleu(task, pair.get(kind)) for kind in ("regular", "area"))
        if regular is not None and area is not None:
            changes.append(f"{_gain(regular, area)} for “{pair['area'].title}”")
    if not changes:
        return ""
    return (
        "Do areas help? Against regular attention, trained alike, one run each, they change BLEU"
        f" here by {', '.join(changes)}."
    )


def _by_network(task: Task, cards: Sequence[Card]) -> None:
    """Draw a table for each kind of network in the paper with our models, and one for other models.

    The first kind is always drawn, any other kind only if one of our models belongs to it.
    """
    if sentence := what_areas_change(task, cards):
        st.write(sentence)
    places = beside_the_paper(task, cards)
    first = next(iter(task.by_network))
    for network, reported in task.by_network.items():
        if network == first or any(place[:2] in reported for place in places):
            draw_table(comparison_table(task, places, network))
    st.caption(WHAT_DIFFERS)
    st.caption(
        "Source: Li, Kaiser, Bengio and Si, “Area Attention”, ICML 2019, tables 1 to 4. Area"
        " attention is theirs and ours with Eq. 3 and 4: the key of an area is the mean, its value"
        " the sum of its items."
    )
    shown = {card.name for card in places.values()}
    others = [card for card in cards if card.name not in shown]
    if others:
        st.caption("Translators of ours that this table of the paper has no place for:")
        draw_table(task_table(task.key, others))


def beside_the_paper(task: Task, cards: Iterable[Card]) -> Mapping[Place, Card]:
    """Return our first model for each cell of the paper's tables, without external models."""
    places: dict[Place, Card] = {}
    for card in cards:
        paper = task.by_size.get((card.level, card.size))
        if paper and card.is_as_published and paper.of(card.mechanism) is not None:
            # If models differ only in their seed, the first one counts.
            places.setdefault((card.level, card.size, card.mechanism), card)
    return places


def comparison_table(task: Task, places: Mapping[Place, Card], network: str) -> Columns:
    """Return the paper's results for every size next to ours; a dash if we have no such model.

    Args:
        task: the task.
        places: our models by level, size and mechanism.
        network: the kind of network, a key of `Task.by_network`.
    """
    rows = []
    for (level, size), paper in task.by_network[network].items():
        regular = _bleu(task, places.get((level, size, "regular")))
        area = _bleu(task, places.get((level, size, "area")))
        ours = number(regular), number(area), _gain(regular, area)
        signed = number(paper.area) + paper.area_sign
        theirs = number(paper.regular), signed, _gain(paper.regular, paper.area)
        rows.append((level, size, *theirs, *ours))
    kinds = ("regular", "area", "gain")
    heads = [f"{whose}, {kind}" for whose in ("Paper", "Ours") for kind in kinds]
    return columns_of(("Level", f"{network}, size", *heads), rows)


def _gain(regular: float | None, area: float | None) -> str:
    """Return the signed gain by areas; a dash if a value is missing."""
    return "–" if regular is None or area is None else number_text(area - regular, "+.2f")


def _bleu(task: Task, card: Card | None) -> float | None:
    value = card.figures.get(task.headline, {}).get("bleu") if card else None
    return None if value is None else float(value)


def lengths(task: str, cards: Sequence[Card]) -> None:
    """Draw quality by sentence length, with and without attention, if it was measured."""
    compared = with_and_without(task, cards)
    if not compared:
        return
    figure = length_figure(task, compared)
    titled(figure, f"lengths_{task}", figure.layout.meta["title"])
    with st.expander("Show as table", key=f"lengths_table_{task}", type="compact"):
        data_table(length_table(task, compared))


def pairs_of_digits(task: str, cards: Sequence[Card]) -> None:
    """Draw the survey's Table 1 with our digit classifiers added."""
    figure = pairs_figure(cards)
    titled(figure, f"pairs_{task}", figure.layout.meta["title"])
    with st.expander("Show as table", key=f"pairs_table_{task}", type="compact"):
        data_table(pairs_table(cards))


def trained_forms() -> None:
    """Draw what different keys learn, by seed, if it was measured."""
    shown = False
    for table in FORM_TABLES.values():
        rows = read_forms(table)
        if not any(row.seeds for row in rows):
            continue
        if not shown:
            st.header("What different keys learn", anchor="keys")
        shown = True
        st.caption(table.about)
        read_table(columns_of(table.columns, [row.cells(table) for row in rows]))
        st.caption(missing(table, rows))
