"""Tests that a reader gets answers soon while analyses run in the real app."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tests.faults.analyses import beside, write_sets
from tests.faults.served import served
from tests.faults.spent import note_processor_seconds
from tests.tiny import checkpoint

SENTENCES, COUNTS = 2000, (0, 8)


@pytest.mark.long
def test_user_is_answered_while_eight_analyses_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check how much the app computes until it answers, which holds on a busy machine, too.

    `python -m tests.faults.soak analyses` measures the ratio of the response times.
    """
    checkpoint(tmp_path / "models")
    write_sets(tmp_path / "sets", 8, SENTENCES)
    settings = {
        "AREAVIZ_CHECKPOINTS": str(tmp_path / "models"),
        "AREAVIZ_DEVICE": "cpu",
        "AREAVIZ_DATASETS": str(tmp_path / "sets"),
        "AREAVIZ_ANALYSES": str(tmp_path / "rows"),
        "OMP_NUM_THREADS": "1",
    }
    with served(tmp_path / "log", settings) as app:
        spent = note_processor_seconds(app, monkeypatch)
        found = list(
            beside(app, tmp_path / "models", "tiny-area", COUNTS, SENTENCES, questions=8, rest=0.5)
        )
        files = list((tmp_path / "rows").glob("*.jsonl"))
    assert len(files) == 8, "all were begun"
    assert sum(len(path.read_text().splitlines()) - 1 for path in files) > 0, "and go on meanwhile"
    for one in found:
        assert (one.found.answers, one.found.errors, one.found.wrong) == (8, (), ()), str(one)
    alone, crowded = median(spent[:8]), median(spent[8:])
    assert crowded < 10 * alone + 1, f"before, it was refused or waited for minutes: {spent}"
