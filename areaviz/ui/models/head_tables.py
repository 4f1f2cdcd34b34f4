"""Statistics of every head of a model over a dataset: name, query dependence and spans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from areaviz.cards.card import Card
from areaviz.measures.heads import Figures, name_head
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.models.card_tables import Columns, draw_table

Cells = dict[str, list[Any]]

MEASURE_TITLES = {
    "dependence": "Query dependence (bits)",
    "dependence_share": "of the most possible (%)",
    "sink": "Most on one item (%)",
    "cell": "Most on one cell (%)",
    "multi_share": "Several items on top (%)",
    "multi_share_untrained": "the same untrained (%)",
    "long_exact": "of these exactly a word (%)",
    "long_exact_lift": "times chance",
    "long_exact_lift_untrained": "times chance, untrained",
    "aer": "Alignment error (%)",
}
"""Shown metrics of `Card.heads` in order; those with (%) in the title are stored as shares."""
MIN_HEADS = 2
"""Number of decimals of values that are not shares."""
WHAT_NAMES_MEAN = (
    "A head has a name if one thing explains much of what it does. Previous item or position: its"
    " heaviest item is there in half of the queries. Sink: one item has more than half of its mean"
    " map. Alignment: its links are better than the diagonal's. Word edge: its heaviest area begins"
    " or ends a word twice as often as by chance. Click a column to sort."
)
LINK_BASELINES = {
    "aer": "This model, the head or mean of heads that validation chose",
    "best": "This model, the best alignment that validation chose",
    "aer_aligner": "A statistical aligner trained on the same sentences",
    "aer_diagonal": "The diagonal",
    "aer_untrained": "The network untrained, its head chosen alike",
    "best_untrained": "The network untrained, its best alignment chosen alike",
    "best_position": "The position alone: links of the best alignment in another caption",
}
SPAN_BASELINES = {
    "span": "Heaviest areas of two items or more",
    "span_random": "Areas of these sizes anywhere",
    "span_diagonal": "Areas of these sizes on the diagonal",
    "span_untrained": "Heaviest areas of two items or more in the untrained network",
    "single": "Single items on top in the same head",
    "best_pair": "The best head's heaviest item with its heavier neighbour, all queries",
}


def build_heads_table(figures: Figures, site: str) -> Cells:
    """Return one row per head. Layers and heads count from 1, shares are in per cent."""
    places = []
    for layer, row in enumerate(figures["dependence"]):
        places += [(layer, head) for head in range(len(row))]
    names = []
    for place in places:
        names.append("; ".join(map(str, name_head(figures, site, *place))))
    cells: Cells = {
        "Layer": [layer + 1 for layer, _ in places],
        "Head": [head + 1 for _, head in places],
        "Name": names,
    }
    for key, title in MEASURE_TITLES.items():
        # For pictures, "cell" is more informative, because a cell has one position in all examples.
        if key not in figures or key == "sink" and "cell" in figures:
            continue
        values = [figures[key][layer][head] for layer, head in places]
        cells[title] = [_format_value(value, title) for value in values]
    return cells


def _format_value(value: float | None, title: str) -> float | None:
    if value is None:
        return None
    return round(100 * value, 1) if title.endswith("(%)") else round(value, MIN_HEADS)


def describe_heads(figures: Figures) -> str:
    """Describe the scale for the query dependence of a site's heads."""
    return (
        f"Over {figures['examples']:,} validation examples. Query dependence: how much an item"
        " that is attended to tells of the query, 0 where every query looks at the same place. A"
        " head that goes along the items would have"
        f" {figures['dependence_diagonal']:.2f} bits. Before training, no head has more"
        f" than {figures['dependence_untrained']:.2f}."
    )


def draw_heads(card: Card, site: str, key: str) -> None:
    """Draw the statistics of a site's heads, if they were measured."""
    figures = card.heads.get(site)
    if not figures:
        return
    st.caption(escape_markdown(describe_heads(figures)))
    st.dataframe(
        build_heads_table(figures, site),
        hide_index=True,
        key=f"heads_{key}",
        column_config={"Name": st.column_config.TextColumn(width="medium")},
    )


def build_links_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Return alignment error rates against manual alignments, lowest is best; {} if unknown."""
    found = {**attention.get("word links", {}), **attention.get("best alignment", {})}
    known = [name for name in LINK_BASELINES if name in found]
    if not known:
        return {}
    return {
        "Links between words": [LINK_BASELINES[name] for name in known],
        "Alignment error": [f"{found[name]:.1%}" for name in known],
    }


def build_linked_words_table(attention: Mapping[str, Mapping[str, float]]) -> Columns:
    """Return how often spans contain the manually aligned word, with baselines; {} if unknown.

    "Whole" counts only spans that contain all items of an aligned word.
    """
    found = attention.get("linked words", {})
    if "span" not in found and "best_pair" not in found:
        return {}
    known = [name for name in SPAN_BASELINES if name in found]
    columns: Columns = {"Holds the linked word": [SPAN_BASELINES[name] for name in known]}
    for title, end in (("or a part of it", ""), ("all of it", "_whole")):
        cells = []
        for name in known:
            value = found.get(name + end)
            cells.append("–" if value is None else f"{value:.1%}")
        columns[title] = cells
    return columns


def has_links(card: Card) -> bool:
    """Return whether the alignment of words was measured."""
    return bool(build_links_table(card.attention) or build_linked_words_table(card.attention))


def draw_links(card: Card) -> None:
    """Draw how a translation model's attention aligns words, if it was measured."""
    links, words = build_links_table(card.attention), build_linked_words_table(card.attention)
    if not (links or words):
        return
    st.write("**Word alignment**")
    if links:
        count = int(card.attention["word links"]["sentences"])
        draw_table(links)
        st.caption(
            f"Alignment error rate against links by one annotator on {count} test captions. Layer"
            " and head were chosen on 20 validation captions. 0 % is best."
        )
    if words:
        draw_table(words)
        st.caption(escape_markdown(_describe_linked_words(card)))


def _describe_linked_words(card: Card) -> str:
    found = card.attention["linked words"]
    if "layer" not in found:
        return "No head that depends on its query has an area of two items or more on top."
    before = ""
    if "linked_span_share_untrained" in found:
        before = (
            f" ({found['linked_span_share']:.0%} of the linked words on test, and"
            f" {found['linked_span_share_untrained']:.0%} before training)"
        )
    return (
        f"Of layer {int(found['layer']) + 1}, head {int(found['head']) + 1}, where an area of two"
        f" items or more is on top in {found['multi_share']:.0%} of validation's queries{before}."
        f" On the same test captions, {int(found['spans']):,} such areas were counted."
    )
