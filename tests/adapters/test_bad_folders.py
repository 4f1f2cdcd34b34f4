"""Errors in a folder or its input are reported in one sentence before any weights are loaded."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import transformers

import areaviz
from areaviz.adapters import loading
from areaviz.adapters.loading import SINGLE_FILE, load_model
from areaviz.cli import main
from areaviz.trace.errors import InputError
from tests.adapters import small

GIGA = 10**9


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a small BERT with its tokenizer. Loading its weights fails the test."""
    place = tmp_path / "a bert"
    small.bert("BertForMaskedLM").save_pretrained(place)
    small.tokenizer().save_pretrained(place)

    def refuse(*given: Any, **named: Any) -> Any:
        pytest.fail("weights are loaded")

    monkeypatch.setattr(transformers.PreTrainedModel, "from_pretrained", refuse)
    return place


def of_size(path: Path, size: int) -> None:
    """Write a sparse file of weights whose header promises `size` bytes."""
    numbers = size // 2
    head = {"a": {"dtype": "BF16", "shape": [numbers], "data_offsets": [0, 2 * numbers]}}
    text = json.dumps(head).encode()
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        file.truncate(8 + len(text) + 2 * numbers)


def no_folder(folder: Path) -> str:
    return str(folder / "nothing" / "here" / "at all")


def missing_shards(folder: Path) -> str:
    (folder / SINGLE_FILE).rename(folder / "model-00001-of-00003.safetensors")
    parts = {name: f"model-0000{name}-of-00003.safetensors" for name in "123"}
    index = json.dumps({"weight_map": parts})
    (folder / "model.safetensors.index.json").write_text(index, "utf-8")
    return str(folder)


def too_large(folder: Path) -> str:
    of_size(folder / SINGLE_FILE, 20 * GIGA)
    return str(folder)


def another_tokenizer(folder: Path) -> str:
    words = {f"word{index}": index for index in range(40)}
    transformers.BertTokenizer(vocab=words).save_pretrained(folder)
    return str(folder)


WRONG = {
    "no folder": (no_folder, "is neither a folder nor .* Check the path"),
    "missing shards": (missing_shards, "lacks 2 of 3 files of weights, such as .*. Fetch them"),
    "20 GB": (too_large, r"needs 24\.0 GB of memory in bfloat16, but 8\.0 GB are free. "),
    "a tokenizer": (another_tokenizer, r"has 4\d tokens but the model has 13. It belongs to"),
}


@pytest.fixture(params=WRONG)
def wrong(request: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Return a folder that cannot be used on a machine with 8 GB, and the reason."""
    monkeypatch.setattr(loading, "count_free_bytes", lambda device: 8 * GIGA)
    spoil, said = WRONG[request.param]
    return spoil(folder), said


def test_attend_reports_bad_folder(wrong: tuple[str, str]) -> None:
    place, said = wrong
    with pytest.raises(InputError, match=said):
        areaviz.attend(place, "a small dog")


@pytest.mark.parametrize("command", ["show", "export", "trace"])
def test_command_line_reports_bad_folder_in_one_line(
    command: str, wrong: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, said = wrong
    file = str(tmp_path / "page.html")
    given = {
        "show": ["show", place, "--text", "a small dog", "--no-browser"],
        "export": ["export", place, file, "--text", "a small dog"],
        "trace": ["trace", place, "a small dog", file],
    }[command]
    assert re.search(said, refused(given, capsys))
    assert not Path(file).exists()


def refused(given: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """Return the one-line message with which a command ends."""
    with pytest.raises(SystemExit) as done:
        main(given)
    said = capsys.readouterr().err.strip()
    assert done.value.code == 1 and "Traceback" not in said
    return " ".join(said.split())


LONG = "dog " * 100_000


@pytest.mark.parametrize("text", [LONG, LONG[:5000]])
def test_too_long_text_is_refused(
    folder: Path, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = "the limit is 4,096"
    with pytest.raises(InputError, match=said):
        areaviz.attend(str(folder), text)
    assert said in refused(["trace", str(folder), text, str(tmp_path / "a.html")], capsys)


def test_many_token_ids_are_refused_before_a_model_runs() -> None:
    model = small.bert()
    model.register_forward_pre_hook(lambda *given: pytest.fail("it runs"))
    with pytest.raises(InputError, match="has 4,000 tokens but the model takes at most 64"):
        areaviz.attend(model, [5] * 4000)
    with pytest.raises(InputError, match="have 100,000 tokens, but the limit is 4,096"):
        areaviz.attend(model, [5] * 100_000)
    endless = small.t5()
    endless.register_forward_pre_hook(lambda *given: pytest.fail("it runs"))
    with pytest.raises(InputError, match="4 heads, 4,000 queries, .* Give a shorter text"):
        areaviz.attend(endless, [5] * 4000)


def test_text_model_refuses_picture(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = small.bert()
    model.register_forward_pre_hook(lambda *given: pytest.fail("it runs"))
    with pytest.raises(InputError, match="reads only texts"):
        areaviz.attend(model, np.zeros((8, 8, 3), np.uint8))
    given = ["trace", str(folder), "", str(tmp_path / "a.html"), "--picture", "scene-34"]
    assert "reads only texts. Leave the picture out" in refused(given, capsys)


def test_tokenizer_with_fewer_tokens_is_accepted(tmp_path: Path) -> None:
    small.bert("BertForMaskedLM").save_pretrained(tmp_path)
    transformers.BertTokenizer(vocab={"[UNK]": 0, "a": 1}).save_pretrained(tmp_path)
    assert len(load_model(tmp_path).tokenizer) <= 13
    assert loading.load_model(tmp_path, must_read=True).name == tmp_path.name
