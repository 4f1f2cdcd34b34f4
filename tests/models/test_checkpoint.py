"""Only files that the card names are loaded. Changed, replaced or unlisted files are rejected."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from areaviz.cards.card import Card, read_card
from areaviz.models import MODELS
from areaviz.models.base import TOKENIZER, WEIGHTS, compute_digests, list_shared_files
from areaviz.models.generation import GenerationModel
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import BackendError
from tests.tiny import checkpoint

CPU = torch.device("cpu")
NAMES = sorted(path.parent.name for path in CHECKPOINTS.glob("*/card.json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return checkpoint(tmp_path)


@pytest.fixture
def card(folder: Path) -> Card:
    return replace(read_card(folder / "card.json"), files=compute_digests(folder))


def flip(path: Path, place: int) -> None:
    """Flip one bit of a file."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize("name", NAMES)
def test_every_shipped_file_matches_its_card(name: str) -> None:
    files = {path for path in (CHECKPOINTS / name).iterdir() if path.name != "card.json"}
    expected = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    for shared in list_shared_files(CHECKPOINTS / name):
        content = (CHECKPOINTS / shared).read_bytes()
        expected[shared] = hashlib.sha256(content).hexdigest()
    for path in (CHECKPOINTS / "shared").glob("tokenizer-*.model"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert path.stem == f"tokenizer-{digest[:12]}"
        if digest == read_card(CHECKPOINTS / name / "card.json").files.get(TOKENIZER):
            expected[TOKENIZER] = digest
    assert read_card(CHECKPOINTS / name / "card.json").files == expected, (
        "Run: python -m areaviz digests"
    )


def test_digests_cover_both_files(folder: Path, card: Card) -> None:
    assert card.files == {
        name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
        for name in (WEIGHTS, TOKENIZER)
    }
    assert GenerationModel.load(folder, card, CPU)


@pytest.mark.parametrize("place", [-1, -1000])
@pytest.mark.parametrize("name", [WEIGHTS, TOKENIZER])
def test_flipped_bit_is_refused_by_name(folder: Path, card: Card, name: str, place: int) -> None:
    flip(folder / name, place)
    with pytest.raises(
        BackendError,
        match=f"tiny-area cannot be loaded: {name} does not have the SHA-256 on its card",
    ):
        GenerationModel.load(folder, card, CPU)
    flip(folder / name, place)
    assert GenerationModel.load(folder, card, CPU)


def test_flipped_bit_is_refused_for_every_family(tmp_path: Path) -> None:
    """Every model family compares its files with the card."""
    shipped = {read_card(CHECKPOINTS / name / "card.json").family: name for name in NAMES}
    for family, name in shipped.items():
        copy = Path(shutil.copytree(CHECKPOINTS / name, tmp_path / name))
        flip(copy / WEIGHTS, -1)
        with pytest.raises(BackendError, match="does not have the SHA-256 on its card"):
            MODELS[family].load(copy, read_card(copy / "card.json"), CPU)


def test_file_missing_from_the_card_is_refused(folder: Path, card: Card) -> None:
    unnamed = replace(card, files={WEIGHTS: card.files[WEIGHTS]})
    with pytest.raises(
        BackendError, match=r"tokenizer\.model does not have the SHA-256 on its card"
    ):
        GenerationModel.load(folder, unnamed, CPU)


def test_older_card_without_digests_loads(folder: Path, card: Card) -> None:
    assert GenerationModel.load(folder, replace(card, files={}), CPU)


def test_digests_added_later_keep_the_identity(card: Card) -> None:
    older = replace(card, files={})
    assert card.identity == older.identity and card != older
    assert replace(card, parameters=1).identity != card.identity
