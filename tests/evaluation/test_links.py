"""Links derived from attention, compared with every baseline.

The head is chosen on one set and measured on another.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab import heads as module
from areaviz.lab.heads import compute_error_rates, link_figures
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from tests.sets import read_lines
from tests.tiny import checkpoint

CPU = torch.device("cpu")


def linked(*texts: str) -> Dataset:
    """Return captions whose translations equal them."""
    lines = "\n".join(texts).encode()
    links = "\n".join(
        " ".join(f"{i}-{i}" for i in range(len(text.split()))) for text in texts
    ).encode()
    return read_lines(
        "source", {"source": lines, "target": lines, "links": links}, ("target",), "links"
    )


@pytest.fixture
def model(tmp_path: Path) -> GenerationModel:
    folder = checkpoint(tmp_path, level="character")
    return GenerationModel.load(folder, read_card(folder / "card.json"), CPU)


def test_every_head_and_head_mean_has_a_rate(model: GenerationModel) -> None:
    rates = compute_error_rates(model, linked("a dog runs", "two dogs run"))
    assert set(rates) == {(layer, head) for layer in range(2) for head in (0, 1, None)}
    assert all(0 <= rate <= 1 for rate in rates.values())


def test_head_is_chosen_on_validation_with_baselines(
    model: GenerationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    sets = {"val": linked("a dog runs", "a man runs"), "test": linked("two dogs run")}
    monkeypatch.setattr(module, "read_linked", lambda data, split: sets[split])
    monkeypatch.setattr(
        module, "read_split", lambda *_: [("two dogs run", "two dogs run"), ("two men", "two men")]
    )
    found = link_figures(model, Path(), "test")
    rates = compute_error_rates(model, sets["val"])
    best = min(rates, key=lambda place: rates[place])
    assert (found["layer"], found["head"]) == (best[0], -1 if best[1] is None else best[1])
    assert (
        found["aer"] == compute_error_rates(model, sets["test"])[best]
        and found["aer_val"] == rates[best]
    )
    assert (
        found["aer_diagonal"] == 0
        and found["aer_aligner"] == pytest.approx(0)
        and found["sentences"] == 1
    )
    assert 0 <= found["aer_untrained"] <= 1
