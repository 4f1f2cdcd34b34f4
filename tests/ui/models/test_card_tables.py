"""Tables of a card: the test set of the papers first, attention next to its baselines."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.app.card_tables import (
    HEAVIEST_PREFIX,
    WEIGHTED_PREFIX,
    build_all_metrics_table,
    build_attention_table,
    build_metric_table,
    build_quality_table,
    build_size_table,
    build_target_table,
    format_measure_name,
    format_number,
    list_site_names,
)
from areaviz.cards.card import TargetResult, read_card
from areaviz.cards.tasks import LOOK_MEASURES, TASKS
from areaviz.draw.select import TEXT_SITES

CHECKPOINTS = Path(__file__).parents[3] / "checkpoints"
ATTENTION = {
    "encoder self": {"multi_purity": 0.6, "multi_purity_random": 0.3, "multi_purity_lift": 2.0},
    "elsewhere": {
        "multi_purity": 0.5,
        "multi_purity_position": 0.25,
        "weighted_exact": 0.2,
        "weighted_exact_random": 0.1,
        "weighted_exact_lift": 2.0,
        "area_size": 1.0,
    },
}


def test_published_test_set_is_first_and_gaps_are_dashes() -> None:
    table = build_metric_table(
        "translation",
        {"other_set": {"bleu": 1.0}, "val": {}, "test_2016_flickr": {"bleu": 29.131, "beam": 4}},
    )
    assert table["Examples from"] == [
        "Test 2016",
        "Validation, which chose the checkpoint",
        "Other set",
    ]
    assert table["BLEU"] == ["29.13", "–", "1.00"] and table["Beam"] == ["4", "–", "–"]


def test_later_targets_are_not_called_older() -> None:
    first = TargetResult("Error", "at most 4.0%", "3.0%", True, "")
    later = TargetResult("Spans (set after training)", "at least 20.0%", "–", None, "")
    table = build_target_table([first])
    assert list(table) == ["Target set before training", "Needed", "Result", "Verdict"]
    assert list(build_target_table([first, later]))[0] == "Target"
    assert build_target_table([first, later])["Verdict"] == ["reached", "not measured yet"]


def test_top_areas_of_several_items_are_listed_with_baselines() -> None:
    table = build_attention_table(ATTENTION, HEAVIEST_PREFIX, TEXT_SITES)
    assert table["Attention"] == ["Within the source", "elsewhere"]
    assert table["Measured"] == ["60.0%", "50.0%"]
    assert table["Random places"] == ["30.0%", "–"] and table["Positions alone"] == ["–", "25.0%"]
    assert table["Lift"] == ["2.00", "–"]


def test_weighted_attention_table_has_only_measured_rows() -> None:
    assert build_attention_table(ATTENTION, WEIGHTED_PREFIX, TEXT_SITES) == {
        "Attention": ["elsewhere"],
        "The area": ["is exactly one word"],
        "Measured": ["20.0%"],
        "Random places": ["10.0%"],
        "Lift": ["2.00"],
    }


def test_every_table_has_columns_of_one_length() -> None:
    for table in (
        build_metric_table("translation", {}),
        build_attention_table({}, HEAVIEST_PREFIX, TEXT_SITES),
        build_size_table(ATTENTION, TEXT_SITES),
        build_all_metrics_table(ATTENTION, TEXT_SITES),
    ):
        assert len({len(cells) for cells in table.values()}) == 1
    assert len(build_all_metrics_table(ATTENTION, TEXT_SITES)["Measure"]) == 8


def test_values_and_names_in_words() -> None:
    assert [format_number(value) for value in (None, 1.005, 29000, "x")] == [
        "–",
        "1.00",
        "29,000",
        "x",
    ]
    assert (
        format_number(0.12345, 4) == "0.1235"
        and format_measure_name("length_ratio") == "Length ratio"
    )


def test_looks_are_listed_with_blind_baselines() -> None:
    measured = {"pointing": 0.5, "pointing_uniform": 0.1, "mass": 0.25, "words": 7}
    assert build_quality_table({"encoder-decoder, test": measured}, LOOK_MEASURES["caption"]) == {
        "Measured on": ["Test", "Test"],
        "Share": [
            "Words whose heaviest cell is in a gold box",
            "Attention inside the gold boxes",
        ],
        "Measured": ["50.0%", "25.0%"],
        "Uniform attention": ["10.0%", "–"],
    }


def test_every_shipped_looking_model_has_blind_baselines() -> None:
    """Check the table of every shipped model, with the words of its task.

    A fact is not a digit, and a moment is not a place in a picture.
    """
    for path in sorted(CHECKPOINTS.glob("*/card.json")):
        card = read_card(path)
        if card.mechanism == "none" or TASKS[card.task].follows_words:
            continue
        looks = LOOK_MEASURES[card.task]
        table = build_quality_table(card.attention, looks)
        # Photographs with a sentence have no known places of things.
        if set(table["Share"]) == {looks.shares.get("picture_share")}:
            continue
        assert table["Share"] and {"Measured", "Untrained"} <= table.keys(), card.name
        assert len(table) > 4, f"{card.name} stands beside its untrained self alone"


@pytest.mark.parametrize(
    ("model", "name"),
    [("token-boundary", "Within the translation"), ("language-model-boundary", "Within the text")],
)
def test_text_only_sites_name_no_translation(model: str, name: str) -> None:
    card = read_card(CHECKPOINTS / model / "card.json")
    assert name in build_size_table(card.attention, list_site_names(card))["Attention"]


def test_shares_are_percent_and_missing_metrics_left_out() -> None:
    assert build_metric_table("digits", {"test": {"error": 0.0456, "pictures": 10000}}) == {
        "Examples from": ["Test"],
        "Error": ["4.56%"],
        "Pictures": ["10,000"],
    }


def test_each_condition_of_a_metric_has_a_row() -> None:
    figures = {"bleu": 99.0, "bleu_wrong": 60.0, "colour": 0.985, "colour_wrong": 0.124, "beam": 4}
    table = build_metric_table("picture translation", {"test": figures, "val": {}})
    assert table["Examples from"] == ["Test", "Test", "Validation, which chose the checkpoint"]
    assert table["Sees"] == ["its picture", "another sentence's picture", "its picture"]
    assert table["BLEU"] == ["99.00", "60.00", "–"] and table["Hidden colour"] == [
        "98.50%",
        "12.40%",
        "–",
    ]
    assert table["Beam"] == ["4", "4", "–"]
