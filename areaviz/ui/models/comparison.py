"""Models beside each other: our figures beside the papers', and what different keys learn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS, Task
from areaviz.data.places import LETTERS
from areaviz.evaluation.forms import COLUMNS, read_forms
from areaviz.ui.models.card_tables import Columns, columns_of, draw_table, number, task_table

WHAT_DIFFERS = (
    "The paper's figures are BLEU for English to German on WMT 2014 newstest: news, trained on 4.5"
    " million sentence pairs, the mean of three runs. Ours are BLEU on the Multi30k test set of"
    " 2016: short image captions, trained on 29,000 pairs, one run each. Captions are much easier"
    " than news, so compare regular with area attention, never ours with theirs; differences of a"
    " few tenths are noise."
)
WHAT_KEYS_LEARN = (
    "The network for letters in six forms that differ in their keys alone, 3,000 steps each;"
    " validation loss is cross-entropy a letter, lower is better. Spans on top: the share of"
    " queries whose heaviest area has two letters or more, in one head that depends on its query."
    " Where a dash stands, nothing was trained yet, or no span wins. Rows of a single seed are"
    " hints, not results."
)
# Level, size and mechanism: where the paper's table has a model of ours.
Place = tuple[str, str, str]


def by_task(cards: Iterable[Card]) -> Mapping[str, list[Card]]:
    """The cards of each task that has any, in the order of `TASKS`."""
    groups: dict[str, list[Card]] = {task: [] for task in TASKS}
    for card in cards:
        if card.task in groups:
            groups[card.task].append(card)
    return {task: group for task, group in groups.items() if group}


def beside(task: str, cards: Sequence[Card]) -> None:
    """Draw our figures of a task and the papers'."""
    if TASKS[task].by_size:
        _by_size(TASKS[task], cards)
        return
    draw_table(task_table(task, cards))
    published = TASKS[task].published
    if published:
        st.caption("For scale, what papers report, on other data or with larger networks:")
        draw_table(columns_of(("System", "Reported"), list(published.items())))


def _by_size(task: Task, cards: Sequence[Card]) -> None:
    """A table of every size of the paper with our models in it, and one of our other models."""
    places = beside_the_paper(task, cards)
    draw_table(comparison_table(task, places))
    st.caption(WHAT_DIFFERS)
    st.caption(
        "Source: Li, Kaiser, Bengio and Si, “Area Attention”, ICML 2019, tables 1 and 3. Area"
        " attention is theirs and ours with Eq. 3 and 4: the key of an area is the mean, its value"
        " the sum of its items."
    )
    shown = {card.name for card in places.values()}
    others = [card for card in cards if card.name not in shown]
    if others:
        st.caption("Translators of ours that this table of the paper has no place for:")
        draw_table(task_table(task.key, others))


def beside_the_paper(task: Task, cards: Iterable[Card]) -> Mapping[Place, Card]:
    """The first of our models for each place in the paper's table; others have none there."""
    places: dict[Place, Card] = {}
    for card in cards:
        paper = task.by_size.get((card.level, card.size))
        if paper and paper.of(card.mechanism) is not None:
            # Of models that differ in their seed alone, the first takes the place.
            places.setdefault((card.level, card.size, card.mechanism), card)
    return places


def comparison_table(task: Task, places: Mapping[Place, Card]) -> Columns:
    """Every size of the paper with ours beside it; a dash where there is no such model of ours."""
    rows = []
    for (level, size), paper in task.by_size.items():
        regular = _bleu(task, places.get((level, size, "regular")))
        area = _bleu(task, places.get((level, size, "area")))
        ours = number(regular), number(area), _gain(regular, area)
        theirs = number(paper.regular), number(paper.area), _gain(paper.regular, paper.area)
        rows.append((level, size, *theirs, *ours))
    kinds = ("regular", "area", "gain")
    heads = [f"{whose}, {kind}" for whose in ("Paper", "Ours") for kind in kinds]
    return columns_of(("Level", "Size", *heads), rows)


def _gain(regular: float | None, area: float | None) -> str:
    """What areas add, signed; a dash where either is missing."""
    return "–" if regular is None or area is None else f"{area - regular:+.2f}".replace("-", "−")


def _bleu(task: Task, card: Card | None) -> float | None:
    value = card.figures.get(task.headline, {}).get("bleu") if card else None
    return None if value is None else float(value)


def trained_forms() -> None:
    """Draw what different keys learn, by seed, where that was measured."""
    rows = read_forms(LETTERS, "letters")
    if any(row.seeds for row in rows):
        st.header("What different keys learn", anchor="keys")
        st.caption(WHAT_KEYS_LEARN)
        st.table(columns_of(COLUMNS, [row.cells() for row in rows]))
