"""Models share a tokenizer: it is stored once and found by the digest on their cards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from areaviz.cards.card import Card, read_card
from areaviz.models.base import TOKENIZER, compute_digests, share_tokenizers
from areaviz.models.generation import GenerationModel
from areaviz.trace.errors import BackendError
from tests.tiny import checkpoint

CPU = torch.device("cpu")


@pytest.fixture
def folders(tmp_path: Path) -> list[Path]:
    """Return two checkpoints with equal tokenizers and one with a different tokenizer."""
    made = [checkpoint(tmp_path, name) for name in ("one", "two", "other")]
    content = (made[0] / TOKENIZER).read_bytes()
    (made[1] / TOKENIZER).write_bytes(content)
    (made[2] / TOKENIZER).write_bytes(content + b"!")
    return made


def card_of(folder: Path) -> Card:
    card = read_card(folder / "card.json")
    return card if card.files else replace(card, files=compute_digests(folder))


def test_equal_tokenizers_are_stored_once_and_found(folders: list[Path]) -> None:
    cards = [card_of(folder) for folder in folders]
    content = (folders[0] / TOKENIZER).read_bytes()
    written = share_tokenizers(folders[0].parent)
    assert [path.read_bytes() for path in written] == [content]
    assert written[0].name == f"tokenizer-{cards[0].files[TOKENIZER][:12]}.model"
    assert [(folder / TOKENIZER).exists() for folder in folders] == [False, False, True]
    for folder, card in zip(folders, cards, strict=True):
        assert compute_digests(folder, card.files) == card.files
    loaded = GenerationModel.load(folders[1], cards[1], CPU)
    assert loaded.tokenizer.tokens("a dog")


def test_later_model_joins_shared_tokenizer(folders: list[Path]) -> None:
    content = (folders[0] / TOKENIZER).read_bytes()
    share_tokenizers(folders[0].parent)
    (folders[2] / TOKENIZER).write_bytes(content)
    assert share_tokenizers(folders[0].parent) == []
    assert not (folders[2] / TOKENIZER).exists()


@pytest.mark.parametrize("spoil", ["changed", "missing"])
def test_damaged_shared_tokenizer_is_refused(folders: list[Path], spoil: str) -> None:
    card = card_of(folders[0])
    (path,) = share_tokenizers(folders[0].parent)
    if spoil == "missing":
        path.unlink()
    else:
        path.write_bytes(b"exchanged")
    wanted = "is missing" if spoil == "missing" else "does not have the SHA-256 on its card"
    with pytest.raises(BackendError, match=f"one cannot be loaded: {TOKENIZER} {wanted}"):
        GenerationModel.load(folders[0], card, CPU)
