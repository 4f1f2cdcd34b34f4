"""Uploads of files that would run code if they were unpickled or executed."""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from areaviz.media.clips import decode_clip
from areaviz.media.sounds import decode_sound
from areaviz.sets.app.form import FILES_KEY_PREFIX
from areaviz.sets.run import SETTING
from areaviz.trace import file as codec
from areaviz.trace.errors import InputError
from tests import fakes
from tests.faults.files import repacked
from tests.pages.analysed import Translating, opened_first, ran, uploading
from tests.pages.conftest import Open, open_page, stored, use_backend  # noqa: F401
from tests.sampled import sampled
from tests.trace.sentence import assert_one_sentence
from tests.ui.forms.test_picture_input import opened, uploaded


class Canary:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def saved(write: Callable[[io.BytesIO], object]) -> bytes:
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def zipped(name: str, content: bytes) -> bytes:
    return saved(lambda file: zipfile.ZipFile(file, "w").writestr(name, content))


def canaries(path: Path) -> Mapping[str, bytes]:
    """Return files by kind. Each would write `path` if its content were run."""
    objects = np.array([Canary(path)], dtype=object)
    array = saved(lambda file: np.save(file, objects, allow_pickle=True))
    good = codec.trace_to_bytes(fakes.trace("A dog.", "Hund.", 1, 1))
    code = f"open({str(path)!r}, 'w')\n".encode()
    return {
        "pickle": pickle.dumps(Canary(path)),
        "pickled npy": array,
        "pickled npz": saved(lambda file: np.savez(file, allow_pickle=True, weights=objects)),
        "pt": saved(lambda file: torch.save({"weights": Canary(path)}, file)),
        "zip": zipped("data.pkl", pickle.dumps(Canary(path))),
        "trace with a pickle": repacked(good, {"map.encoder-decoder.weights.npy": array}),
        "html": b"<script>fetch('/')</script>\0" + code,
        "svg": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>\0" + code,
        "python": code + b"\0\n",
    }


EVERY_KIND = pytest.mark.parametrize(
    "kind", sampled(canaries(Path("canary")), "trace with a pickle", "svg")
)


@pytest.fixture
def canary(tmp_path: Path) -> Path:
    return tmp_path / "canary"


def given(app: AppTest, key: str, name: str, content: bytes) -> AppTest:
    return app.file_uploader(key=key).upload(name, content).run()


def refused(app: AppTest, canary: Path) -> None:
    """Check that the page shows one refusal, and that no file was written."""
    check_refusals([one.value for one in app.error], app, canary)


def check_refusals(said: Sequence[str], app: AppTest, canary: Path) -> None:
    """Check that these errors are one refusal of the file, and that no file was written."""
    assert not app.exception and not canary.exists()
    assert len(said) == 1
    assert_one_sentence(said[0])
    assert "Something went wrong" not in said[0]


@pytest.mark.parametrize("kind", ("pickle", "pickled npz", "pt"))
def test_unpickled_canary_is_noticed(kind: str, canary: Path) -> None:
    file = io.BytesIO(canaries(canary)[kind])
    if kind == "pickle":
        pickle.load(file)
    elif kind == "pt":
        torch.load(file, weights_only=False)
    else:
        np.load(file, allow_pickle=True)["weights"]
    assert canary.exists()


@EVERY_KIND
@pytest.mark.parametrize(
    "page", sampled(["translate", "caption", "translate_picture", "four_ways"], "translate")
)
def test_canary_as_stored_trace_is_not_executed(
    open_page: Open,  # noqa: F811
    page: str,
    kind: str,
    canary: Path,
) -> None:
    app = open_page(page)
    before = [one.value for one in app.error]
    app = given(app, "stored_file", "a.npz", canaries(canary)[kind])
    new = [one.value for one in app.error if one.value not in before]
    check_refusals(new, app, canary)


@EVERY_KIND
def test_canary_as_tensors_is_not_executed(open_page: Open, kind: str, canary: Path) -> None:  # noqa: F811
    refused(
        given(open_page("your_tensors"), "your_tensors_file", "a.npz", canaries(canary)[kind]),
        canary,
    )


@EVERY_KIND
@pytest.mark.parametrize("name", sampled(["a.png", "a.jpg", "a.gif"], "a.png"))
def test_canary_as_picture_is_not_executed(kind: str, name: str, canary: Path) -> None:
    refused(uploaded(opened(), canaries(canary)[kind], name), canary)


@EVERY_KIND
@pytest.mark.parametrize("name", sampled(["a.csv", "a.jsonl", "a.tsv", "a.txt"], "a.csv"))
def test_canary_as_examples_is_not_executed(
    open_page: Open,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    name: str,
    canary: Path,
) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    app = given(
        uploading(open_page("analyse", new="1")), FILES_KEY_PREFIX, name, canaries(canary)[kind]
    )
    refused(app, canary)


@EVERY_KIND
@pytest.mark.parametrize("read", [decode_sound, decode_clip])
def test_canary_as_sound_or_clip_is_not_executed(
    kind: str, read: Callable[[bytes], object], canary: Path
) -> None:
    with pytest.raises(InputError) as refusal:
        read(canaries(canary)[kind])
    assert_one_sentence(refusal.value)
    assert not canary.exists()


@EVERY_KIND
@pytest.mark.parametrize("name", sampled(["a.csv", "a.jsonl", "a.parquet"], "a.csv"))
def test_canary_as_notes_is_not_executed(
    open_page: Open,  # noqa: F811
    use_backend: Callable[[Any], None],  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    name: str,
    canary: Path,
) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path / "rows"))
    use_backend(Translating())
    app = opened_first(ran(open_page("analyse", new="1")))
    refused(given(app, "notes_given", name, canaries(canary)[kind]), canary)
