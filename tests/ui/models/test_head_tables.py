"""Tables of heads and links: per cent for shares, a dash for values that were not measured."""

from __future__ import annotations

from typing import Any

from areaviz.app.card_tables import (
    build_heads_table,
    build_linked_words_table,
    build_links_table,
    describe_heads,
)

FIGURES: dict[str, Any] = {
    "dependence": [[2.5, 0.125]],
    "dependence_share": [[0.7, 0.03]],
    "sink": [[0.2, 0.9]],
    "multi_share": [[0.456, 0.0]],
    "long_exact": [[0.25, None]],
    "long_exact_lift": [[2.42, None]],
    "dependence_diagonal": 3.5,
    "dependence_untrained": 0.02,
    "examples": 200,
}
LINKS = {"sentences": 40, "aer": 0.25, "aer_diagonal": 0.475, "aer_aligner": 0.194}


def test_every_head_has_a_row_with_percent_shares() -> None:
    table = build_heads_table(FIGURES, "encoder self")
    assert table["Layer"] == [1, 1] and table["Head"] == [1, 2]
    assert table["Name"] == ["", "sink (one item has 90% of the mean map)"]
    assert table["Query dependence (bits)"] == [2.5, 0.12]
    assert table["Several items on top (%)"] == [45.6, 0.0]
    assert table["times chance"] == [2.42, None] and "Alignment error (%)" not in table


def test_picture_heads_list_cell_instead_of_item() -> None:
    table = build_heads_table({**FIGURES, "cell": [[0.1, 0.55]]}, "encoder-decoder")
    assert "Most on one item (%)" not in table and table["Most on one cell (%)"] == [10.0, 55.0]


def test_about_heads_explains_query_dependence() -> None:
    said = describe_heads(FIGURES)
    assert "200 validation examples" in said and "3.50 bits" in said and "more than 0.02" in said


def test_alignment_error_is_listed_with_its_baselines() -> None:
    table = build_links_table({"word links": LINKS})
    assert table["Alignment error"] == ["25.0%", "19.4%", "47.5%"]
    best = {"best": 0.2, "best_untrained": 0.88, "best_position": 0.6}
    both = build_links_table({"word links": LINKS, "best alignment": best})["Alignment error"]
    assert both == ["25.0%", "20.0%", "19.4%", "47.5%", "88.0%", "60.0%"]
    assert build_links_table({}) == {} == build_linked_words_table({})


def test_spans_are_compared_with_chance_items_and_pairs() -> None:
    found = {"span": 0.85, "span_random": 0.2, "single": 0.6, "best_pair": 0.7, "span_whole": 0.8}
    found |= {"span_diagonal": 0.73, "span_untrained": 0.29}
    table = build_linked_words_table({"linked words": found})
    assert table["or a part of it"] == ["85.0%", "20.0%", "73.0%", "29.0%", "60.0%", "70.0%"]
    assert table["all of it"] == ["80.0%", *["–"] * 5]
