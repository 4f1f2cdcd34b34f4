"""One model on a card: what it is, what it measured, how it learned, and where its limits are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from areaviz.trace.card import Card
from areaviz.ui.chart import as_columns
from areaviz.ui.measures import MEASURES, measure_name, number
from areaviz.ui.plain import escaped
from areaviz.views.history import history_figure, history_table


def model_card(card: Card) -> None:
    """Draw the card of a model."""
    with st.container(border=True, key=f"model_{card.name}"):
        st.subheader(escaped(card.title), anchor=False)
        st.caption(escaped(_summary(card)))
        _figures(card)
        if card.history:
            _training(card)
        if card.attention:
            _attention(card.attention)
        for note in card.notes:
            st.write(escaped(note))
        st.write(f"**Limits.** {escaped(card.limits)}")
        st.caption(f"Licence: {escaped(card.licence)}")
        _recipe(card)


def _summary(card: Card) -> str:
    return (
        f"{card.name}: {card.level} level, {card.mechanism} attention, size {card.size}, "
        f"{card.parameters:,} parameters. Trained on {card.trained_on}, with texts of up to "
        f"{card.trained_length:,} items; code version {card.code_version}."
    )


def _figures(card: Card) -> None:
    """The measures on each test set; those with a plain name first."""
    for test_set, measured in card.figures.items():
        known = {name: measured[name] for name in MEASURES if name in measured}
        st.caption(f"Measured on {escaped(test_set)}")
        with st.container(horizontal=True):
            for name, value in known.items():
                st.metric(MEASURES[name], number(value), border=True, width=150)
        rest = {name: value for name, value in measured.items() if name not in known}
        if rest:
            st.caption(escaped(" · ".join(f"{measure_name(name)}: {number(value)}" for name, value in rest.items())))


def _training(card: Card) -> None:
    st.plotly_chart(
        history_figure(card),
        key=f"history_{card.name}",
        config={"displayModeBar": False},
        alt=f"Loss of {card.title} over training steps, on training and validation data",
    )
    with st.expander("Show as table", key=f"history_table_{card.name}", type="compact"):
        st.dataframe(as_columns(history_table(card)), hide_index=True)


def _attention(measured: Mapping[str, Mapping[str, float]]) -> None:
    """Measures of attention, one row a site, beside their baselines where the card has them."""
    columns = list(dict.fromkeys(name for values in measured.values() for name in values))
    table = {"Attention": list(measured)} | {
        measure_name(name): [number(values.get(name)) for values in measured.values()] for name in columns
    }
    st.caption("What its attention looks like, measured on held-out sentences")
    st.table(table, border="horizontal", hide_index=True)


def _recipe(card: Card) -> None:
    with st.expander("Data, recipe and configuration", key=f"recipe_{card.name}", type="compact"):
        for title, content in (("Data", card.data), ("Recipe", card.recipe), ("Configuration", card.config)):
            st.caption(title)
            st.table(_pairs(content), border="horizontal", hide_index=True, hide_header=True)


def _pairs(content: Mapping[str, Any]) -> dict[str, list[str]]:
    names = [escaped(measure_name(name)) for name in content]
    return {"Setting": names, "Value": [escaped(str(value)) for value in content.values()]}
