"""Trained forms: losses over seeds, the median's span heads, and empty rows if not trained."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from areaviz.app.key_forms import (
    FORM_TABLES,
    LETTERS_TABLE,
    LSTM_1_HEAD_TABLE,
    SUBWORDS_TABLE,
    TITLES,
    FormTable,
    describe_baselines,
    list_missing_runs,
    read_forms,
)
from areaviz.cards.card import read_card
from areaviz.measures.heads import WANTED, SpanHead, choose_span_head
from areaviz.samples.paths import CHECKPOINTS

SITES = ("encoder self", "encoder-decoder")


def entry(
    seed: int, loss: float, share: float = 0.5, lift: float | None = 3.0, depends: float = 2.0
) -> dict[str, Any]:
    """Return one layer of two heads; the second head never has a span on top."""
    heads = {
        "multi_share": [[share, 0.0]],
        "long_exact_lift": [[lift, None]],
        "dependence": [[depends, 3.0]],
    }
    nothing = {
        "multi_share": [[0.3, 0.3]],
        "long_exact_lift": [[1.0, 1.0]],
        "dependence": [[0.5, 1.0]],
    }
    return {
        "seed": seed,
        "best_loss": loss,
        "heads": dict.fromkeys(SITES, heads),
        "untrained": dict.fromkeys(SITES, nothing),
    }


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "letters.json"
    runs = {
        "letters-boundary-seed1": entry(1, 0.9, share=0.1),
        "letters-boundary-seed2": entry(2, 0.7, share=0.2),
        "letters-boundary-seed3": entry(3, 0.8, share=0.4),
        "letters-mean-seed2": entry(2, 1.0, share=0.0, lift=None),
        "tokens-regular-seed1": entry(1, 5.0),
    }
    path.write_text(json.dumps(runs))
    return path


def test_every_form_has_a_row_even_untrained(table: Path) -> None:
    rows = {row.title: row for row in read_forms(replace(LETTERS_TABLE, path=table))}
    assert list(rows) == list(TITLES.values())
    empty = rows[TITLES["regular"]]
    dashes = ["–"] * (len(LETTERS_TABLE.columns) - 2)
    assert empty.seeds == () and empty.cells(LETTERS_TABLE) == (TITLES["regular"], *dashes, "6.90")
    assert rows[TITLES["mean"]].cells(LETTERS_TABLE)[-1] == "8.20 (not significant)"


def test_losses_show_mean_and_range_heads_the_median(table: Path) -> None:
    row = next(
        row
        for row in read_forms(replace(LETTERS_TABLE, path=table))
        if row.title == TITLES["boundary"]
    )
    assert row.seeds == (1, 2, 3) and sorted(row.losses) == [0.7, 0.8, 0.9]
    assert row.spans["encoder self"] == SpanHead(0, 0, 0.4, 3.0)
    loss = "0.800 (0.700 to 0.900)"
    assert (
        row.cells(LETTERS_TABLE)[1:6] == ("1, 2, 3", loss, "–", "40% (30%)", "3.0 (1.0)")
        and row.cells(LETTERS_TABLE)[-1] == "–"
    )


def test_form_is_compared_with_regular_by_seed(tmp_path: Path) -> None:
    runs = {f"letters-regular-seed{seed}": entry(seed, loss) for seed, loss in ((1, 0.9), (2, 1.0))}
    runs |= {f"letters-mean-seed{seed}": entry(seed, loss) for seed, loss in ((2, 0.8), (1, 0.8))}
    runs["letters-boundary-seed3"] = entry(3, 0.5)
    path = tmp_path / "letters.json"
    path.write_text(json.dumps(runs))
    found = {
        row.title: row.cells(LETTERS_TABLE)[3]
        for row in read_forms(replace(LETTERS_TABLE, path=path))
    }
    assert found[TITLES["mean"]] == "−0.150 (−0.200 to −0.100)"
    assert found[TITLES["regular"]] == found[TITLES["boundary"]] == "–"
    rows = read_forms(replace(LETTERS_TABLE, path=path))
    assert "areas, boundary keys: 1 and 2;" in list_missing_runs(LETTERS_TABLE, rows)


def test_missing_top_span_shows_a_dash(table: Path) -> None:
    row = next(
        row for row in read_forms(replace(LETTERS_TABLE, path=table)) if row.title == TITLES["mean"]
    )
    assert row.cells(LETTERS_TABLE) == (
        *(TITLES["mean"], "2", "1.000", *["–"] * 5),
        "8.20 (not significant)",
    )


def test_head_needs_more_dependence_than_untrained() -> None:
    for depends, chosen in ((1.0, None), (1.1, SpanHead(0, 0, 0.5, 3.0))):
        figures = entry(1, 1.0, depends=depends)["heads"]["encoder self"]
        assert choose_span_head(figures, 1.0, WANTED["encoder self"]) == chosen


def test_subword_span_counts_without_being_a_word(table: Path) -> None:
    runs = json.loads(table.read_text())
    for seed, error in ((1, 30.0), (2, 32.0)):
        runs[f"tokens-boundary-seed{seed}"] = {**entry(seed, 2.0, lift=None), "aer_val": error}
    table.write_text(json.dumps(runs))
    rows = {row.title: row for row in read_forms(replace(SUBWORDS_TABLE, path=table))}
    assert TITLES["features"] not in rows and len(rows) == 5
    cells = rows[TITLES["boundary"]].cells(SUBWORDS_TABLE)
    assert len(cells) == len(SUBWORDS_TABLE.columns)
    assert cells[1:] == (
        *("1, 2", "2.000 (2.000 to 2.000)", "−3.000", "50% (30%)", "50% (30%)"),
        "31.0 (30.0 to 32.0)",
    )


def test_single_site_table_has_its_columns_and_reference(table: Path) -> None:
    run = {**entry(1, 3.0, lift=None), "aer_val": 40.0, "bleu_val": 24.58}
    runs = {"lstm-1-head-mean-seed1": run}
    table.write_text(json.dumps(runs))
    lstm = replace(LSTM_1_HEAD_TABLE, path=table)
    regular, mean, _ = (row.cells(lstm) for row in read_forms(lstm))
    assert lstm.columns[4:] == (
        *("Encoder-decoder: spans on top (before training)", "Alignment error, %", "BLEU"),
        "The paper's BLEU, other data",
    )
    assert regular[1:] == (*["–"] * 6, "16.58")
    assert mean[1:] == ("1", "3.000", "–", "50% (30%)", "40.0", "24.6", "19.26 (p < 0.05)")


def test_table_of_one_seed_is_complete(table: Path) -> None:
    runs = {f"lstm-1-head-{form}-seed1": entry(1, 3.0) for form in LSTM_1_HEAD_TABLE.forms}
    table.write_text(json.dumps(runs))
    lstm = replace(LSTM_1_HEAD_TABLE, path=table)
    assert list_missing_runs(lstm, read_forms(lstm)) == "Every form was trained with one seed."


@pytest.mark.parametrize("table", FORM_TABLES.values(), ids=list(FORM_TABLES))
def test_no_two_columns_share_a_head(table: FormTable) -> None:
    assert len(set(table.columns)) == len(table.columns)


def test_alignment_error_is_listed_with_caption_baselines() -> None:
    said = describe_baselines(SUBWORDS_TABLE, CHECKPOINTS)
    card = read_card(CHECKPOINTS / "token-regular" / "card.json")
    links, diagonal = card.attention["word links"], card.heads["encoder-decoder"]["aer_diagonal"]
    for value in (diagonal, links["aer_diagonal"], links["aer_untrained"]):
        assert f"{value:.1%}" in said
    assert describe_baselines(LETTERS_TABLE, CHECKPOINTS) == ""


def test_missing_table_gives_no_rows(tmp_path: Path) -> None:
    assert read_forms(replace(LETTERS_TABLE, path=tmp_path / "none.json")) == []


def test_shipped_table_can_be_read() -> None:
    rows = read_forms(LETTERS_TABLE)
    trained = [row for row in rows if row.seeds]
    assert trained and all(0.3 < loss < 2 for row in trained for loss in row.losses)
