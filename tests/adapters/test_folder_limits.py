"""Hostile model folders are rejected in one sentence before the library loads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers

from areaviz.adapters import loading
from areaviz.adapters.loading import check_limits, ignore_attention_choice, load_model
from areaviz.trace.errors import InputError
from tests.adapters import small


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a small GPT-2 with a tokenizer."""
    small.gpt2().save_pretrained(tmp_path / "gpt")
    small.tokenizer().save_pretrained(tmp_path / "gpt")
    return tmp_path / "gpt"


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"n_layer": 100_000}, "has 100000 as n_layer but it must be a number from 1 to 1,000"),
        ({"n_layer": -1}, "has -1 as n_layer"),
        ({"n_head": 0}, "has 0 as n_head"),
        ({"n_embd": "64"}, "has 64 as n_embd"),
        ({"n_layer": True}, "has True as n_layer"),
        ({"text_config": {"num_hidden_layers": 10**6}}, "has 1000000 as num_hidden_layers"),
        ({"n_embd": 10**8}, "has 100000000 as n_embd but it must be a number from 1 to 10,000,000"),
        ({"vocab_size": 9_000_000}, "does not fit its weights: vocab_size is 9,000,000"),
    ],
)
def test_numbers_of_a_config_are_checked(
    folder: Path, values: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        pytest.fail("the library loads the folder")

    change(folder / "config.json", **values)
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", refuse)
    with pytest.raises(InputError, match=said):
        load_model(folder)


def doubling(times: int) -> dict[str, object]:
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}
    return {"type": "Sequence", "normalizers": [replace] * times}


def added(count: int) -> list[dict[str, object]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    return [{"id": 100 + one, "content": f"<{one}>", **flags} for one in range(count)]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            {"normalizer": doubling(24)},
            "makes texts up to 16,777,216 times longer, but the limit is 100",
        ),
        ({"added_tokens": added(20_001)}, "has 20,001 added tokens, but the limit is 20,000"),
        (
            {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(?<=a+b"}}},
            "cannot be used",
        ),
        (
            {"normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": "b"}},
            "cannot be",
        ),
    ],
    ids=["doubling", "added", "split", "regex"],
)
def test_hostile_tokenizer_is_refused(folder: Path, values: dict[str, object], said: str) -> None:
    change(folder / "tokenizer.json", **values)
    with pytest.raises(InputError, match=said):
        check_limits(folder)


def test_slow_tokenizer_is_stopped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doublings pass the raised limit of growth, so the time limit must end the process."""
    monkeypatch.setattr(loading, "MAX_GROWTH", 1 << 40)
    monkeypatch.setattr(loading, "TRIAL_SECONDS", 1)
    change(folder / "tokenizer.json", normalizer=doubling(30))
    with pytest.raises(InputError, match="takes more than 1 seconds or too much memory"):
        check_limits(folder)


def test_usual_tokenizer_needs_no_process(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: Any, **named: Any) -> Any:
        pytest.fail("a process is started")

    monkeypatch.setattr(loading.subprocess, "run", refuse)
    check_limits(folder)
    change(folder / "tokenizer.json", added_tokens=added(1001))
    with pytest.raises(pytest.fail.Exception, match="a process is started"):
        check_limits(folder)


def test_unusual_working_tokenizer_is_accepted(folder: Path) -> None:
    change(folder / "tokenizer.json", normalizer=doubling(2))
    check_limits(folder)


@pytest.mark.parametrize(("name", "content"), [("config.json", b"{"), ("tokenizer.json", b"[1]")])
def test_damaged_json_gives_one_error(folder: Path, name: str, content: bytes) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(InputError, match=f"{name} of gpt is damaged. Fetch the file again"):
        check_limits(folder)


def test_large_config_is_refused_unread(folder: Path) -> None:
    (folder / "config.json").write_bytes(b" " * (5 << 20))
    with pytest.raises(InputError, match="has 5 MB, but the limit is 4 MB"):
        check_limits(folder)


@pytest.mark.parametrize("key", ["_attn_implementation", "attn_implementation"])
def test_attention_of_a_config_is_ignored(
    folder: Path, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(folder / "config.json", **{key: "kernels-community/flash-attn"})
    model = load_model(folder).model
    assert model.config._attn_implementation in ("sdpa", "eager")


def test_attention_of_parts_of_a_config_is_ignored() -> None:
    make: Callable[..., Any] = transformers.CLIPConfig
    config = make(vision_config={"_attn_implementation": "kernels-community/flash-attn"})
    config._attn_implementation_internal = "kernels-community/flash-attn"
    ignore_attention_choice(config)
    found = [config, config.vision_config, config.text_config]
    assert [one._attn_implementation for one in found] == [None] * 3
