"""`digests` adds missing digests, and changes existing ones only with --renew."""

from __future__ import annotations

from pathlib import Path

import pytest

from areaviz.cards.card import read_card
from areaviz.cli.models import digests
from areaviz.models.base import TOKENIZER, WEIGHTS, compute_digests
from areaviz.trace.errors import BackendError
from tests.tiny import checkpoint


def test_missing_digests_are_written_and_right_ones_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = checkpoint(tmp_path, "one")
    before = read_card(folder / "card.json")
    digests(tmp_path)
    assert "The digests of one were written" in capsys.readouterr().out
    card = read_card(folder / "card.json")
    assert card.files == compute_digests(folder) and card.identity == before.identity
    written = (folder / "card.json").read_bytes()
    digests(tmp_path)
    assert capsys.readouterr().out == "The files of 1 of 1 models match their cards.\n"
    assert (folder / "card.json").read_bytes() == written


def test_changed_file_is_reported_until_digest_is_renewed(tmp_path: Path) -> None:
    folders = [checkpoint(tmp_path, name) for name in ("one", "two")]
    digests(tmp_path)
    for folder in folders:
        (folder / WEIGHTS).write_bytes(b"exchanged")
    with pytest.raises(BackendError, match="Files of one, two do not match their cards"):
        digests(tmp_path)
    with pytest.raises(BackendError, match="Files of two do not"):
        digests(tmp_path, ["one"])
    assert read_card(folders[0] / "card.json").files == compute_digests(folders[0])
    assert read_card(folders[1] / "card.json").files != compute_digests(folders[1])


def test_share_stores_equal_tokenizers_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folders = [checkpoint(tmp_path, name) for name in ("one", "two")]
    (folders[1] / TOKENIZER).write_bytes((folders[0] / TOKENIZER).read_bytes())
    digests(tmp_path, share=True)
    assert "now holds a tokenizer of several models" in capsys.readouterr().out
    assert not any((folder / TOKENIZER).exists() for folder in folders)
    digests(tmp_path)
    assert capsys.readouterr().out == "The files of 2 of 2 models match their cards.\n"
