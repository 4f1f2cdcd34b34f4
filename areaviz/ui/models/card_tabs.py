"""The tabs of a model's page: heads, attention, test sets, comparisons, recipe and all metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import streamlit as st

from areaviz.cards.card import Card
from areaviz.cards.tasks import LOOK_MEASURES, TASKS, LookMeasures
from areaviz.draw.charts import history_table
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.models.card_tables import (
    WHAT_IS_COUNTED,
    WHAT_IT_MEANS,
    Attention,
    build_all_metrics_table,
    build_attention_table,
    build_metric_table,
    build_quality_table,
    build_size_table,
    draw_table,
    format_measure_name,
    list_site_names,
)
from areaviz.ui.models.comparison import (
    draw_pairs_of_digits,
    draw_quality_by_length,
    has_lengths,
    is_paired,
)
from areaviz.ui.models.head_tables import WHAT_NAMES_MEAN, draw_heads, draw_links, has_links
from areaviz.ui.models.summary import describe_model
from areaviz.ui.results.chart import build_columns

Tab = tuple[str, Callable[[], None]]
HEADS_TAB, WORDS_TAB, TEST_SETS_TAB = "Heads", "Do areas match words?", "Test sets"
LENGTHS_TAB, PAIRS_TAB, RECIPE_TAB, METRICS_TAB = (
    "By length",
    "Pairs of digits",
    "Data and recipe",
    "All metrics",
)


def list_card_tabs(card: Card, cards: Mapping[str, Card]) -> Iterator[Tab]:
    """Yield the names of the tabs that have content, and the functions that draw it."""
    of_task = [other for other in cards.values() if other.task == card.task]
    if card.heads:
        yield HEADS_TAB, partial(_draw_heads, card)
    looks = LOOK_MEASURES.get(card.task)
    if TASKS[card.task].follows_words:
        if has_links(card) or _has_key(card.attention, "area_size"):
            yield WORDS_TAB, partial(_draw_word_match, card)
    elif looks is not None and _has_key(card.attention, tuple(looks.shares)):
        yield looks.question, partial(_draw_attention_quality, card, looks)
    if card.figures:
        yield TEST_SETS_TAB, partial(_draw_test_sets, card)
    if has_lengths(card, of_task):
        yield LENGTHS_TAB, partial(draw_quality_by_length, card.task, of_task)
    if is_paired(card, of_task):
        yield PAIRS_TAB, partial(draw_pairs_of_digits, card.task, of_task)
    yield RECIPE_TAB, partial(_draw_recipe, card)
    if card.attention or card.history:
        yield METRICS_TAB, partial(_draw_all_metrics, card)


def _draw_heads(card: Card) -> None:
    """Draw the statistics of every head, one table per site."""
    names = list_site_names(card)
    st.caption(WHAT_NAMES_MEAN)
    for site in card.heads:
        st.write(f"**{escape_markdown(names.get(site, site))}**")
        draw_heads(card, site, f"{card.name}_{site}")


def _draw_word_match(card: Card) -> None:
    """Draw how well areas match words, compared with chance, and alignment errors."""
    draw_links(card)
    attention, names = card.attention, list_site_names(card)
    if not _has_key(attention, "area_size"):
        return
    for counted, words in WHAT_IS_COUNTED.items():
        if _has_key(attention, f"{counted}purity"):
            st.caption(words)
            draw_table(build_attention_table(attention, counted, names))
    st.caption(WHAT_IT_MEANS)
    draw_table(build_size_table(attention, names))


def _draw_attention_quality(card: Card, looks: LookMeasures) -> None:
    """Draw how well attention finds the right places, compared with baselines."""
    draw_table(build_quality_table(card.attention, looks))
    if _has_key(card.attention, tuple(looks.beside)):
        st.caption(looks.meaning)


def _draw_test_sets(card: Card) -> None:
    """Draw the results on every dataset, with the signatures of the scores."""
    st.caption(escape_markdown(TASKS[card.task].about))
    draw_table(build_metric_table(card.task, card.figures))
    signatures = set()
    for values in card.figures.values():
        signatures |= {str(values[name]) for name in values if "signature" in name}
    if signatures:
        st.caption(escape_markdown("Signatures: " + ", ".join(sorted(signatures))))


def _draw_recipe(card: Card) -> None:
    """Draw the data, the recipe, the configuration, the code version and the licence."""
    st.caption(escape_markdown(describe_model(card)))
    parts = {"Data": card.data, "Recipe": card.recipe, "Configuration": card.config}
    for title, content in parts.items():
        st.caption(title)
        names = [format_measure_name(name) for name in content]
        draw_table({"Setting": names, "Value": [str(value) for value in content.values()]})
    st.caption(f"Licence: {escape_markdown(card.licence)}")


def _draw_all_metrics(card: Card) -> None:
    """Draw all metrics of attention, and the losses during training."""
    of_sites = {site: one for site, one in card.attention.items() if "queries" in one}
    others = {site: one for site, one in card.attention.items() if site not in of_sites}
    for attention in (of_sites, others):
        if attention:
            draw_table(build_all_metrics_table(attention, list_site_names(card)))
    if card.history:
        st.caption("Losses during training")
        st.dataframe(build_columns(history_table(card)), hide_index=True)


def _has_key(attention: Attention, ending: str | Sequence[str]) -> bool:
    """Return whether the key of some metric has this suffix, or one of these."""
    endings = ending if isinstance(ending, str) else tuple(ending)
    return any(key.endswith(endings) for values in attention.values() for key in values)
