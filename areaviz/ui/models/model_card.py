"""The card of a model: description, results, training and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.cards.card import Card
from areaviz.cards.gates import judged
from areaviz.cards.looks import LOOK_MEASURES
from areaviz.cards.tasks import TASKS
from areaviz.ui.forms.ways_form import ALL
from areaviz.ui.look.chart import as_columns
from areaviz.ui.look.doubt import attention_doubt
from areaviz.ui.models.card_tables import (
    WHAT_IS_COUNTED,
    WHAT_IT_MEANS,
    Attention,
    all_measures,
    attention_table,
    draw_table,
    figure_table,
    gate_table,
    measure_name,
    measured,
    quality_table,
    site_names,
    size_table,
)
from areaviz.ui.models.head_tables import WHAT_NAMES_MEAN, draw_heads, draw_links
from areaviz.ui.shell.frame import page_link
from areaviz.ui.shell.markdown import escaped
from areaviz.views.charts import history_figure, history_table

PAGE_OF = {
    "translation": "translate",
    "caption": "caption",
    "picture translation": "translate_picture",
    "reading": "read",
    "digits": "four_ways",
    "speech": "listen",
    "video": "watch",
    "points": "reason",
    "parsing": "reason",
    "questions": "reason",
}
"""The page that runs the models of a task."""


def choose_card(task: str, group: Sequence[Card]) -> Card:
    """Let the user choose one of a task's models, whose card is shown in full."""
    by_name = {card.name: card for card in group}
    if len(group) == 1:
        return group[0]
    key = f"card_{task}"
    # The chosen model may no longer exist.
    if st.session_state.get(key) not in by_name:
        st.session_state[key] = group[0].name
    st.pills(
        "The card of",
        list(by_name),
        key=key,
        format_func=lambda name: escaped(by_name[name].title),
        required=True,
        persist_state="session",
    )
    return by_name[st.session_state[key]]


@st.fragment
def model_card(card: Card, cards: Mapping[str, Card]) -> None:
    """Draw the card of a model; `cards` has all models, because some are baselines of others."""
    with st.container(border=True, key=f"model_{card.name}"):
        st.subheader(escaped(card.title), anchor=False)
        if doubt := attention_doubt(card):
            st.warning(escaped(doubt))
        st.caption(escaped(_summary(card)))
        _link(card)
        if card.figures:
            _figures(card)
        _gates(card, cards)
        if card.history:
            _training(card)
        if card.attention:
            _attention(card)
        if card.heads:
            _heads(card)
        for note in card.notes:
            st.write(escaped(note))
        st.write(f"**Limits.** {escaped(card.limits)}")
        st.caption(f"Licence: {escaped(card.licence)}")
        _recipe(card)


def _link(card: Card) -> None:
    """Draw a link to the page where the model can be tried, if there is one."""
    if card.task not in PAGE_OF:
        return
    asked = {"model": card.name}
    if card.task == "digits":
        pictures = ALL.get(str(card.config.get("kind")))
        if pictures is None or card.mechanism == "none":
            return
        # This page runs all models for the picture, so select this model among them.
        asked = {"picture": pictures.first, "reading": card.name}
    page_link(f"pages/{PAGE_OF[card.task]}.py", "Try this model", asked)


def _summary(card: Card) -> str:
    size = f", size {card.size}" if card.size else ""
    trained, reach = "", ""
    if TASKS[card.task].follows_words:
        reach = f", with texts of up to {card.trained_length:,} items"
    if card.trained_on:
        trained = f" Trained on {card.trained_on}{reach}; code version {card.code_version}."
    reads = "reads digits" if card.level == "digit" else f"{card.level} level"
    attention = "no" if card.mechanism == "none" else card.mechanism
    return (
        f"{card.name}: {reads}, {attention} attention{size}, {card.parameters:,} parameters."
        f"{trained}"
    )


def _gates(card: Card, cards: Mapping[str, Card]) -> None:
    """Draw the targets of the model, whether it reached them, and why not."""
    gates = judged(card, cards)
    if gates:
        draw_table(gate_table(gates))
    for gate in gates:
        if gate.why:
            st.caption(escaped(f"Missed: “{gate.what}”. {gate.why}"))


def _figures(card: Card) -> None:
    """Draw the metrics of the task, those of the main test set first."""
    task = TASKS[card.task]
    figures = card.figures.get(task.headline, {})
    with st.container(horizontal=True):
        for key, title in task.measures.items():
            if key in figures:
                st.metric(
                    title,
                    measured(card.task, key, figures[key]),
                    border=True,
                    width=150,
                )
    st.caption(task.about)
    draw_table(figure_table(card.task, card.figures))
    signatures = set()
    for values in card.figures.values():
        signatures |= {str(values[name]) for name in values if "signature" in name}
    if signatures:
        st.caption(escaped("Signatures: " + ", ".join(sorted(signatures))))


def _training(card: Card) -> None:
    st.plotly_chart(
        history_figure(card),
        key=f"history_{card.name}",
        config={"displayModeBar": False},
        alt=f"Loss of {card.title} over training steps, on training and validation data",
    )
    if opened := _opened("Show as table", f"history_table_{card.name}"):
        with opened:
            st.dataframe(as_columns(history_table(card)), hide_index=True)


def _attention(card: Card) -> None:
    """Draw what the attention aligns with, compared with chance."""
    if TASKS[card.task].follows_words:
        draw_links(card)
        _follows_words(card.attention, site_names(card))
        return
    looks = LOOK_MEASURES.get(card.task)
    if looks is None or not _has_key(card.attention, tuple(looks.shares)):
        return
    st.write(f"**{looks.question}**")
    draw_table(quality_table(card.attention, looks))
    if _has_key(card.attention, tuple(looks.beside)):
        st.caption(looks.meaning)


def _heads(card: Card) -> None:
    """Draw the statistics of every head, one table per site."""
    names = site_names(card)
    if opened := _opened("What does each head do?", f"heads_{card.name}"):
        with opened:
            st.caption(WHAT_NAMES_MEAN)
            for site in card.heads:
                st.write(f"**{escaped(names.get(site, site))}**")
                draw_heads(card, site, f"{card.name}_{site}")


def _follows_words(attention: Attention, names: Mapping[str, str]) -> None:
    if not _has_key(attention, "area_size"):
        return
    st.write("**Does its attention follow words?**")
    for counted, words in WHAT_IS_COUNTED.items():
        if _has_key(attention, f"{counted}purity"):
            st.caption(words)
            draw_table(attention_table(attention, counted, names))
    st.caption(WHAT_IT_MEANS)
    draw_table(size_table(attention, names))


def _has_key(attention: Attention, ending: str | tuple[str, ...]) -> bool:
    """Return whether the key of some metric has this suffix."""
    return any(key.endswith(ending) for values in attention.values() for key in values)


def _recipe(card: Card) -> None:
    """Draw all other content of the card."""
    opened = _opened("Data, recipe, configuration and all measures", f"recipe_{card.name}")
    if opened is None:
        return
    parts = {"Data": card.data, "Recipe": card.recipe, "Configuration": card.config}
    with opened:
        for title, content in parts.items():
            st.caption(title)
            names = [measure_name(name) for name in content]
            draw_table({"Setting": names, "Value": [str(value) for value in content.values()]})
        st.caption("All measures of attention")
        of_sites = {site: one for site, one in card.attention.items() if "queries" in one}
        others = {site: one for site, one in card.attention.items() if site not in of_sites}
        for attention in (of_sites, others):
            if attention:
                draw_table(all_measures(attention, site_names(card)))


def _opened(label: str, key: str) -> DeltaGenerator | None:
    """Draw an expander; return its container if it is open, else None, so that drawing is lazy."""
    expander = st.expander(label, key=key, type="compact", on_change="rerun")
    return expander if expander.open else None
