"""The page of one model: its result, targets, training and limits, and the rest in tabs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.cards.card import Card, TargetResult, judge_targets
from areaviz.cards.tasks import TASKS
from areaviz.draw.charts import history_figure
from areaviz.ui.app.frame import draw_page_link
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.models.card_tables import build_target_table, draw_table, format_metric
from areaviz.ui.models.card_tabs import list_card_tabs
from areaviz.ui.models.summary import (
    count_targets,
    find_page_to_try,
    find_twin,
    format_parameters,
    format_training_time,
    get_main_measure,
    get_main_value,
    get_start_run,
)
from areaviz.ui.results.output_warnings import explain_attention_doubt

CHART_PX = 340


def draw_card_page(card: Card, cards: Mapping[str, Card]) -> None:
    """Draw the page of a model. `cards` has all models, because a model can be a baseline."""
    with st.container(horizontal=True, gap="medium"):
        draw_page_link("pages/models.py", "All models")
        tried = find_page_to_try(card)
        if tried is not None:
            draw_page_link(tried[0], "Try this model", tried[1])
    if doubt := explain_attention_doubt(card):
        st.warning(escape_markdown(doubt))
    targets = judge_targets(card, cards)
    _draw_metrics(card, targets, cards)
    _draw_targets_and_training(card, targets)
    with st.container(border=True, key="limits", gap="xsmall"):
        st.markdown(f"**Limits.** {escape_markdown(card.limits)}")
        for note in card.notes:
            st.caption(escape_markdown(note))
    tabs = dict(list_card_tabs(card, cards))
    if targets:
        tabs = {"Targets in full": partial(_draw_target_table, targets)} | tabs
    _draw_tabs(card, tabs)


def _draw_metrics(card: Card, targets: Sequence[TargetResult], cards: Mapping[str, Card]) -> None:
    """Draw the main result, the targets, the parameters and the training time."""
    places = st.columns(4)
    key = get_main_measure(card.task)
    title = TASKS[card.task].measures.get(key, "Result")
    twin, beside = find_twin(card, cards.values()), "held-out data"
    if twin is not None and get_main_value(twin) is not None:
        result = format_metric(card.task, key, get_main_value(twin))
        beside = f"twin with {_describe_attention(twin)}: {result}"
    _draw_metric(places[0], title, format_metric(card.task, key, get_main_value(card)), beside)
    _draw_metric(places[1], "Targets reached", count_targets(targets), "set in the training recipe")
    _draw_metric(places[2], "Parameters", format_parameters(card), f"exactly {card.parameters:,}")
    machine = card.trained_on.rsplit(",", 1)[0] or "machine unknown"
    start = get_start_run(card)
    note = f"after {start}" if start else machine
    _draw_metric(places[3], "Training", format_training_time(card), note)


def _describe_attention(card: Card) -> str:
    return "no attention" if card.mechanism == "none" else f"{card.mechanism} attention"


def _draw_metric(place: DeltaGenerator, title: str, value: str, note: str) -> None:
    place.metric(title, value, note, delta_color="off", delta_arrow="off", border=True)


def _draw_targets_and_training(card: Card, targets: Sequence[TargetResult]) -> None:
    """Draw the targets next to the training curve. A model may lack either."""
    parts: list[Callable[[], None]] = []
    if targets:
        parts.append(partial(_draw_targets, targets))
    if card.history:
        parts.append(partial(_draw_training_curve, card))
    if not parts:
        return
    for part, place in zip(parts, st.columns(len(parts)), strict=True):
        with place.container(border=True, height="stretch", gap="xsmall"):
            part()


def _draw_targets(targets: Sequence[TargetResult]) -> None:
    """Draw one line per target: whether it was reached, its text, and the measured value."""
    st.header("Targets", anchor=False)
    lines = []
    for target in targets:
        dot = ":green[●]" if target.reached else "○"
        wanted = escape_markdown(f"{target.measured}, wanted {target.wanted}")
        lines.append(f"{dot} {escape_markdown(target.what)}: **{wanted}**")
    st.markdown("  \n".join(lines))


def _draw_training_curve(card: Card) -> None:
    st.plotly_chart(
        history_figure(card).update_layout(height=CHART_PX),
        key=f"history_{card.name}",
        config={"displayModeBar": False},
        alt=f"Loss of {card.title} over training steps, on training and validation data",
    )


def _draw_target_table(targets: Sequence[TargetResult]) -> None:
    """Draw the targets as a table, with the reason for each one that was missed."""
    draw_table(build_target_table(targets))
    for target in targets:
        if target.why:
            st.caption(escape_markdown(f"Target not reached: “{target.what}”. {target.why}"))


def _draw_tabs(card: Card, tabs: Mapping[str, Callable[[], None]]) -> None:
    """Draw the names of the tabs, and the content of the open tab. At first no tab is open."""
    opened = st.segmented_control(
        "More about this model", list(tabs), key=f"tab_{card.name}", label_visibility="collapsed"
    )
    if opened is not None:
        tabs[opened]()
