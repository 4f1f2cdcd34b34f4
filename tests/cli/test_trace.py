"""`trace` runs a model on an input and saves the trace. The file's extension is the format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner

from areaviz.backend import local
from areaviz.cards.card import Card
from areaviz.cli import build
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace import file as codec
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes
from tests.pages import folder


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """Put a stand-in in place of the models, and return a list of the requests that it gets."""
    requests: list[Request] = []

    class Backend:
        def __init__(self, checkpoints: Path, device: str, folders: Sequence[str]) -> None:
            assert (checkpoints, device) == (CHECKPOINTS.resolve(), "auto")

        def models(self) -> dict[str, Card]:
            return {"m": folder.card("m", "area")}

        def trace(self, request: Request) -> Trace:
            requests.append(request)
            return fakes.caption_trace() if request.picture else fakes.trace()

    monkeypatch.setattr(local, "LocalBackend", Backend)
    return requests


def run(*arguments: str) -> str:
    done = CliRunner().invoke(build("trace"), ["trace", *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return done.output


def test_sentence_becomes_a_trace(asked: list[Request], tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    assert (
        run("m", "A dog.", str(file), "--beam", "3", "--area-size", "2")
        == "Ein kleiner Hund rennt.\n"
    )
    assert asked == [Request("m", "A dog.", "beam", 3, 2)]
    assert codec.load(file).fields["target"].raw == "Ein kleiner Hund rennt."


def test_sentence_becomes_a_page(asked: list[Request], tmp_path: Path) -> None:
    run("m", "A dog.", str(tmp_path / "a.html"))
    assert (tmp_path / "a.html").read_text().startswith("<!doctype html>")
    assert asked == [Request("m", "A dog.")]


def test_picture_option_accepts_file_or_sample(asked: list[Request], tmp_path: Path) -> None:
    Image.new("RGB", (30, 20), "red").save(tmp_path / "red.png")
    assert (
        run("m", "", str(tmp_path / "a.npz"), "--picture", str(tmp_path / "red.png"))
        == "a small red circle\n"
    )
    run("m", "", str(tmp_path / "a.npz"), "--picture", "scene-34")
    file, sample = (request.picture for request in asked)
    assert file is not None and (file.width, file.height) == (30, 20)
    assert sample is not None and sample.name == "scene-34"


def test_invalid_picture_is_reported(asked: list[Request], tmp_path: Path) -> None:
    with pytest.raises(
        InputError,
        match='The picture "nothing.png" does not exist. Give a file, or a sample: scene-',
    ):
        run("m", "", str(tmp_path / "a.npz"), "--picture", "nothing.png")
    assert asked == []
