"""Our figures beside the papers', with what differs said plainly."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS, Task
from areaviz.ui.models.measures import measured, number

WHAT_DIFFERS = (
    "The paper's figures are BLEU for English to German on WMT 2014 newstest: news, trained on 4.5"
    " million sentence pairs, the mean of three runs. Ours are BLEU on the Multi30k test set of"
    " 2016: short image captions, trained on 29,000 pairs, one run each. Captions are much easier"
    " than news, so compare regular with area attention, never ours with theirs; differences of a"
    " few tenths are noise."
)


def by_task(cards: Iterable[Card]) -> Mapping[str, list[Card]]:
    """The cards of each task that has any, in the order of `TASKS`."""
    listed = list(cards)
    groups = {task: [card for card in listed if card.task == task] for task in TASKS}
    return {task: group for task, group in groups.items() if group}


def beside(task: str, cards: Sequence[Card]) -> None:
    """Our figures of a task and the papers'."""
    if TASKS[task].by_size:
        comparison(TASKS[task], cards)
        return
    st.table(task_table(task, cards), border="horizontal", hide_index=True)
    published = TASKS[task].published
    if published:
        st.caption("For scale, what papers report, on other data or with larger networks:")
        st.table(
            {"System": list(published), "Reported": list(published.values())},
            border="horizontal",
            hide_index=True,
        )


def task_table(task: str, cards: Sequence[Card]) -> Mapping[str, list[str]]:
    """Our models of a task, one row each and condition."""
    about = TASKS[task]
    rows = [
        (card, condition, figures)
        for card in cards
        for condition, figures in about.by_condition(card.figures.get(about.headline, {})).items()
    ]
    taken = [key for key in about.measures if any(key in figures for _, _, figures in rows)]
    columns = {
        about.measures[key]: [measured(task, key, figures.get(key)) for _, _, figures in rows]
        for key in taken
    }
    seen = {"Sees": [condition for _, condition, _ in rows]} if len(about.conditions) > 1 else {}
    models = {
        "Model": [card.title for card, _, _ in rows],
        "Attention": [card.mechanism for card, _, _ in rows],
    }
    return {**models, **seen, **columns}


def comparison(task: Task, cards: Iterable[Card]) -> None:
    """A table of every size of the paper with our models beside it."""
    st.table(comparison_table(task, cards), border="horizontal", hide_index=True)
    st.caption(WHAT_DIFFERS)
    st.caption(
        "Source: Li, Kaiser, Bengio and Si, “Area Attention”, ICML 2019, tables 1 and 3. Area"
        " attention is theirs and ours with Eq. 3 and 4: the key of an area is the mean, its value"
        " the sum of its items."
    )


def comparison_table(task: Task, cards: Iterable[Card]) -> Mapping[str, list[str]]:
    """Columns of the table; a dash where there is no such model of ours."""
    ours = {(card.level, card.size, card.mechanism): _bleu(task, card) for card in cards}
    rows = list(task.by_size.items())
    return {
        "Level": [level for (level, _), _ in rows],
        "Size": [size for (_, size), _ in rows],
        "Paper, regular": [number(published.regular) for _, published in rows],
        "Paper, area": [number(published.area) for _, published in rows],
        "Paper, gain": [_gain(published.regular, published.area) for _, published in rows],
        "Ours, regular": [number(ours.get((*key, "regular"))) for key, _ in rows],
        "Ours, area": [number(ours.get((*key, "area"))) for key, _ in rows],
        "Ours, gain": [
            _gain(ours.get((*key, "regular")), ours.get((*key, "area"))) for key, _ in rows
        ],
    }


def _gain(regular: float | None, area: float | None) -> str:
    """What areas add, signed; a dash where either is missing."""
    return "–" if regular is None or area is None else f"{area - regular:+.2f}".replace("-", "−")


def _bleu(task: Task, card: Card) -> float | None:
    value = card.figures.get(task.headline, {}).get("bleu")
    return None if value is None else float(value)
