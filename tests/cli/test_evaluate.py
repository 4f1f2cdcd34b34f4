"""`evaluate` measures the requested split and prints its figures.

It refuses splits that a task does not have.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.cards.card import Card, read_card, write_card
from areaviz.cli import main
from areaviz.lab import measure
from tests.pages import folder


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    card = folder.card("reader", "none")
    figures = {"val": {"error": 0.5}, "test": {"error": 0.25}}
    write_card(replace(card, task="digits", figures=figures, attention={}), tmp_path / "card.json")
    return tmp_path


def test_evaluate_prints_figures_of_requested_split(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(place: Path, *_: object) -> tuple[Card, list[str]]:
        return read_card(place / "card.json"), []

    monkeypatch.setattr(measure, "evaluate_checkpoint", measured)
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(checkpoint), "--split", "val"])
    assert not done.value.code and capsys.readouterr().out.split() == ["val", "error:", "0.500"]


def test_unknown_split_is_refused(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["evaluate", str(checkpoint), "--split", "tset"])
    assert done.value.code == 1
    assert '"split" is "tset" but must be one of: val, test' in capsys.readouterr().err
