"""Models from folders: safetensors are opened, pickles and code never are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import areaviz
from areaviz.adapters.loading import fetch_folder, load_model
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from tests import fakes
from tests.adapters import small


def equal(one: Trace, other: Trace) -> None:
    assert list(one.maps) == list(other.maps)
    for site, attention in one.maps.items():
        np.testing.assert_allclose(other.maps[site].weights, attention.weights, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [small.bert, lambda: small.bert("BertForMaskedLM"), small.gpt2],
    ids=["bare", "with a head", "decoder"],
)
def test_folder_gives_model_and_tokenizer(make: Any, tmp_path: Path) -> None:
    model, folder = make(), tmp_path / "my model"
    model.save_pretrained(folder)
    small.tokenizer().save_pretrained(folder)
    trace = areaviz.attend(folder, "A small dog.")
    equal(areaviz.attend(model, "A small dog.", tokenizer=small.tokenizer()), trace)
    assert trace.request.model == "my-model"


@pytest.mark.parametrize("make", [small.marian, small.t5], ids=["marian", "t5"])
def test_model_without_tokenizer_accepts_ids(make: Any, tmp_path: Path) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    equal(
        areaviz.attend(model, [5, 6, 3], target=[7, 3]),
        areaviz.attend(tmp_path, [5, 6, 3], target=[7, 3]),
    )


@pytest.mark.parametrize("make", [small.vit, small.captioner], ids=["vit", "describer"])
def test_folder_of_picture_model_gives_processor(make: Any, tmp_path: Path) -> None:
    model = make()
    model.save_pretrained(tmp_path)
    target = [5, 6] if make is small.captioner else None
    equal(
        areaviz.attend(model, fakes.picture(), target=target),
        areaviz.attend(str(tmp_path), fakes.picture(), target=target),
    )


class Canary:
    """An object that writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt"])
def test_pickle_is_refused_unopened(name: str, tmp_path: Path) -> None:
    folder, canary = tmp_path / "pickled", tmp_path / "canary"
    small.bert().save_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save({"weights": Canary(canary)}, folder / name)
    with pytest.raises(InputError, match=f"only as a pickle \\({name}\\), which can run any code"):
        areaviz.attend(folder, [5, 6])
    assert not canary.exists()
    torch.load(folder / name, weights_only=False)
    assert canary.exists(), "the canary does sing"


def test_pickle_named_by_an_index_is_refused(tmp_path: Path) -> None:
    folder, canary = tmp_path / "split", tmp_path / "canary"
    small.bert().save_pretrained(folder)
    torch.save(Canary(canary), folder / "part.bin")
    index = {"metadata": {}, "weight_map": {"embeddings.word_embeddings.weight": "part.bin"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(InputError, match="are not safetensors"):
        load_model(folder)
    assert not canary.exists()


def test_code_in_a_model_folder_is_never_run(tmp_path: Path) -> None:
    folder, canary = tmp_path / "coded", tmp_path / "canary"
    small.bert().save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config |= {
        "model_type": "of-my-own",
        "auto_map": {"AutoConfig": "own.Config", "AutoModel": "own.Model"},
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "own.py").write_text(f"open({str(canary)!r}, 'w')")
    with pytest.raises(InputError, match="cannot be opened"):
        areaviz.attend(folder, [5, 6])
    assert not canary.exists()


def test_damaged_file_gives_one_error(tmp_path: Path) -> None:
    small.bert().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\x08" + bytes(7) + b"{broken}")
    with pytest.raises(InputError, match=r"weights model\.safetensors .* are damaged"):
        load_model(tmp_path)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda folder: None, "no config.json"),
        (lambda folder: (folder / "config.json").write_text("{}"), "weights .in no file"),
    ],
)
def test_folder_without_model_is_refused(make: Any, said: str, tmp_path: Path) -> None:
    make(tmp_path)
    with pytest.raises(InputError, match=said):
        load_model(tmp_path)


def test_impossible_model_name_is_refused_before_any_request() -> None:
    for place in ("../nowhere", "a/b/c", "https://example.org/x"):
        with pytest.raises(InputError, match="neither a folder nor"):
            load_model(place)


def test_hub_download_requests_only_safetensors(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def answer(kind: Any, /, place: str, **options: Any) -> Any:
        asked.append({"place": place, **options})
        return small.bert().config if kind is transformers.AutoConfig else small.bert()

    for name in ("AutoConfig", "AutoModel", "AutoTokenizer"):
        kind = getattr(transformers, name)
        monkeypatch.setattr(kind, "from_pretrained", classmethod(answer))
    assert load_model("someone/some-bert").name == "someone/some-bert"
    assert all(
        one["place"] == "someone/some-bert" and one["trust_remote_code"] is False for one in asked
    )
    [model] = [one for one in asked if "use_safetensors" in one]
    assert model["use_safetensors"] is True and model["weights_only"] is True


@pytest.mark.parametrize(
    ("place", "says"),
    [
        ("", "A path is needed but this is ''"),
        ("a\0b", "A path is needed"),
        ("x" * 256, "longer than a file system allows"),
        ("a/" * 3000, "longer than a file system allows"),
        ("~no_such_reader/bert", "There is no home folder"),
    ],
)
@pytest.mark.parametrize("opened", [load_model, fetch_folder])
def test_impossible_path_is_refused(opened: Any, place: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        opened(place)


def test_current_folder_is_called_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"The folder {tmp_path.name} has no config.json"):
        load_model(".")
