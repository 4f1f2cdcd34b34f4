"""Tables of forms of keys and values: each entry describes the training and the heads of a run.

Each entry also describes the heads of the untrained network, for comparison.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.cards.card import read_card, write_card
from areaviz.cli import main
from areaviz.lab import heads as module
from areaviz.lab.heads import add_to_table, make_table_entry
from areaviz.trace.errors import InputError
from tests.sets import read_lines
from tests.tiny import SENTENCES, checkpoint


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a checkpoint as a finished run does."""
    folder = checkpoint(tmp_path, key_mode="boundary")
    card = read_card(folder / "card.json")
    recipe = {
        **card.recipe,
        "source": "en",
        "target": "de",
        "seed": 3,
        "steps": 8,
        "model": {"area_size": 3},
    }
    history = ({"step": 4, "valid_loss": 2.0}, {"step": 8, "valid_loss": 1.5})
    write_card(replace(card, recipe=recipe, history=history), folder / "card.json")
    monkeypatch.setattr(module, "read_pairs", lambda *_: [(text, text) for text in SENTENCES[:2]])
    linked = read_lines(
        "s", {"s": b"a dog runs", "t": b"a dog runs", "l": b"0-0 1-1 2-2"}, ("t",), "l"
    )
    monkeypatch.setattr(module, "read_linked", lambda *_: linked)
    return folder


def test_entry_has_every_head_and_untrained_ones(run: Path, tmp_path: Path) -> None:
    name, entry = make_table_entry(run, tmp_path, examples=2)
    assert (name, entry["seed"], entry["best_loss"], entry["valid_loss"]) == (
        "tiny-area",
        3,
        1.5,
        {4: 2.0, 8: 1.5},
    )
    assert entry["examples"] == 2 and 0 <= entry["aer_val"] <= 100
    for part in ("heads", "untrained"):
        assert set(entry[part]) == {"encoder self", "decoder self", "encoder-decoder"}
        shares = entry[part]["encoder self"]["multi_share"]
        assert (
            len(shares) == 2
            and len(shares[0]) == 2
            and all(0 <= share <= 1 for row in shares for share in row)
        )
    assert entry["heads"] != entry["untrained"]


def test_entry_has_bleu_of_scored_outputs(run: Path, tmp_path: Path) -> None:
    assert "bleu_val" not in make_table_entry(run, tmp_path, examples=2)[1]
    card = read_card(run / "card.json")
    write_card(replace(card, figures={"val": {"bleu": 25.8061}}), run / "card.json")
    assert make_table_entry(run, tmp_path, examples=2)[1]["bleu_val"] == 25.81


def test_model_without_attention_is_reported(run: Path, tmp_path: Path) -> None:
    card = read_card(run / "card.json")
    write_card(replace(card, mechanism="none"), run / "card.json")
    with pytest.raises(InputError, match=r"attends to nothing, so it has no heads"):
        make_table_entry(run, tmp_path, examples=2)


def test_command_adds_the_run_to_its_table(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "tables" / "letters.json"
    add_to_table(table, "an earlier run", {"seed": 1})
    for _ in range(2):
        with pytest.raises(SystemExit) as done:
            main(
                [
                    "heads",
                    str(run),
                    "--examples",
                    "2",
                    "--into",
                    str(table),
                    "--data",
                    str(tmp_path),
                ]
            )
        assert not done.value.code
    assert list(json.loads(table.read_text())) == ["an earlier run", "tiny-area"]
    assert "encoder-decoder, layer 2, head 2: multi_share" in capsys.readouterr().out
