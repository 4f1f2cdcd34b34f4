"""One table for one or two models, and the figures of the whole set."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.run import Row
from areaviz.sets.table import build_table, list_metadata_columns, list_references, summarise_table

PAIRS = (
    ("a", "ein Hund rennt schnell durch den Schnee"),
    ("b", "zwei Kinder spielen im warmen Sand"),
    ("c", "drei"),
)
SET = Dataset("set", tuple(Example(text, text, (reference,)) for text, reference in PAIRS), {})
RIGHT = {
    i: Row(i, reference, "", {"bleu": 100.0, "entropy": 1.0})
    for i, (_, reference) in enumerate(PAIRS)
}
WRONG = {
    0: Row(0, "x", "", {"bleu": 0.0, "entropy": 2.0}),
    1: Row(1, error="Too long. Shorten it."),
}


def test_two_models_share_the_examples_both_have() -> None:
    table = build_table(SET, [RIGHT, WRONG])
    assert list(table.index) == [0, 1] and list(table["text"]) == ["a", "b"]
    assert list(table["output_0"]) == [PAIRS[0][1], PAIRS[1][1]] and list(table["error_1"]) == [
        "",
        "Too long. Shorten it.",
    ]
    assert table["bleu_change"][0] == -100 and np.isnan(table["bleu_change"][1])


def test_single_model_table_has_no_change_or_unmeasured_columns() -> None:
    table = build_table(SET, [RIGHT])
    assert not any(str(column).endswith("_change") for column in table) and "purity_0" not in table


def test_captions_are_scored_by_cider_over_the_whole_set() -> None:
    captions = Dataset("pictures", tuple(Example(t, "", (r,), f"{t}.png") for t, r in PAIRS), {})
    table = build_table(captions, [RIGHT])
    assert table["cider_d_0"].between(0, 10).all() and table["cider_d_0"][0] == pytest.approx(10)


def test_table_of_has_all_references_and_metadata() -> None:
    examples = (Example("1", "a", ("x", "y", "z")), Example("2", "b"), Example("3", "c", ("u",)))
    metadata = {"domain": ("street", "", "garden"), "year": ("2019", "", "2021")}
    dataset = Dataset("set", examples, {}, metadata=metadata)
    rows = {place: Row(place, "out") for place in (0, 2)}
    table = build_table(dataset, [rows])
    assert list_references(table) == [("x", "y", "z"), ("u",)]
    assert list_metadata_columns(table) == {"meta:domain": "domain", "meta:year": "year"}
    assert list(table["meta:domain"]) == ["street", "garden"]
    assert list(table["meta:year"]) == [2019.0, 2021.0]


def test_summary_corpus_bleu_uses_all_references() -> None:
    outputs = ("ein Hund rennt schnell im Schnee", "zwei Kinder spielen gern im Sand")
    examples = (
        Example("1", "a", ("der Hund ist schnell", outputs[0])),
        Example("2", "b", ("Kinder im Sandkasten", "Sand", outputs[1])),
    )
    rows = {place: Row(place, output) for place, output in enumerate(outputs)}
    found = summarise_table(Dataset("set", examples, {}), rows)
    assert found["corpus_bleu"] == pytest.approx(100)
    assert found["corpus_chrf"] == pytest.approx(100)


def test_whole_set_is_scored_as_a_corpus() -> None:
    found = summarise_table(SET, RIGHT)
    assert (found["examples"], found["failed"]) == (3, 0) and found["corpus_bleu"] == pytest.approx(
        100
    )
    assert summarise_table(SET, WRONG)["failed"] == 1


def test_alignment_error_is_that_of_all_links_together() -> None:
    rows = {
        0: Row(0, "x", "", {"alignment_error": 0.0}, (1, 1, 1, 1)),
        1: Row(1, "y", "", {"alignment_error": 1.0}, (9, 9, 0, 0)),
    }
    assert summarise_table(SET, rows)["alignment_error"] == pytest.approx(1 - 2 / 20)
