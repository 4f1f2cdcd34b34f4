"""The stored analysis that Analyse opens with: its command writes it, with these models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.samples.paths import ANALYSIS, CHECKPOINTS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.run import MODELS, SET, RowFile, find_stored_analysis, make_header, store_analysis
from areaviz.trace.request import Request

TOLERANCE = 1e-3
"""Processors round sums differently."""


def test_stored_rows_equal_rows_of_the_command(tmp_path: Path) -> None:
    """Check the stored rows. If a model has changed, run `areaviz openings --only-analysis`."""
    backend = LocalBackend(CHECKPOINTS)
    written = store_analysis(tmp_path, backend.models(), backend.trace)
    assert [path.name for path in written] == [f"{model}.jsonl" for model in MODELS]
    for path in written:
        made, stored = RowFile.read(path), RowFile.read(ANALYSIS / path.name)
        assert made.header == stored.header and made.rows.keys() == stored.rows.keys()
        for index, row in made.rows.items():
            assert row.output == stored.rows[index].output and not row.error
            assert row.measures == pytest.approx(stored.rows[index].measures, rel=TOLERANCE)


def test_stored_rows_are_found_for_their_own_analysis_only() -> None:
    dataset = SAMPLE_SETS[SET]()
    for model in MODELS:
        about = make_header(
            dataset, Request(model, ""), read_card(CHECKPOINTS / model / "card.json")
        )
        path = find_stored_analysis(about)
        assert path is not None and len(RowFile.read(path)) == len(dataset.examples)
        for other in (replace(about, beam=5), replace(about, card="x"), replace(about, digest="x")):
            assert find_stored_analysis(other) is None
        assert find_stored_analysis(replace(about, model="token-boundary")) is None


def test_stored_rows_are_small() -> None:
    assert sum(path.stat().st_size for path in ANALYSIS.iterdir()) < 40_000
