"""Charts that compare models: quality by length, pairs of digits, and variants of keys."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.cards.card import Card
from areaviz.draw.charts import (
    has_pairs,
    length_figure,
    length_table,
    pairs_figure,
    pairs_table,
    with_and_without,
)
from areaviz.evaluation.key_form_tables import FORM_TABLES
from areaviz.evaluation.key_forms import describe_baselines, list_missing_runs, read_forms
from areaviz.samples.paths import CHECKPOINTS
from areaviz.ui.app.table import draw_text_table
from areaviz.ui.models.card_tables import build_columns
from areaviz.ui.results.chart import draw_data_table, draw_titled_figure

KEY_VARIANTS = "Comparison of key variants"


def has_lengths(card: Card, cards: Sequence[Card]) -> bool:
    """Return whether the models compared by sentence length include this model."""
    return card in with_and_without(card.task, cards)


def draw_quality_by_length(task: str, cards: Sequence[Card]) -> None:
    """Draw quality by sentence length, with and without attention."""
    compared = with_and_without(task, cards)
    figure = length_figure(task, compared)
    draw_titled_figure(figure, f"lengths_{task}", figure.layout.meta["title"])
    draw_data_table(length_table(task, compared))


def is_paired(card: Card, cards: Sequence[Card]) -> bool:
    """Return whether a model is part of the survey's table of pairs of digits."""
    return has_pairs([card]) and has_pairs(cards)


def draw_pairs_of_digits(task: str, cards: Sequence[Card]) -> None:
    """Draw the survey's Table 1 with our digit classifiers added."""
    figure = pairs_figure(cards)
    draw_titled_figure(figure, f"pairs_{task}", figure.layout.meta["title"])
    draw_data_table(pairs_table(cards))


def draw_key_variants() -> None:
    """Draw what different keys learn, by seed, in an expander, if it was measured."""
    tables = [(table, read_forms(table)) for table in FORM_TABLES.values()]
    tables = [(table, rows) for table, rows in tables if any(row.seeds for row in rows)]
    if not tables:
        return
    expander = st.expander(KEY_VARIANTS, key="key_variants", type="compact", on_change="rerun")
    if not expander.open:
        return
    with expander:
        for table, rows in tables:
            st.caption(table.about)
            draw_text_table(build_columns(table.columns, [row.cells(table) for row in rows]))
            st.caption(f"{list_missing_runs(table, rows)} {describe_baselines(table, CHECKPOINTS)}")
