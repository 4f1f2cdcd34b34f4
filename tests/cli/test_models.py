"""Commands accept the folder of a `transformers` model in place of the name of a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.backend.backend import find_model
from areaviz.cli import build, main
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace import file as codec
from areaviz.trace.errors import InputError
from tests import marian


def run(command: str, *arguments: str) -> str:
    done = CliRunner().invoke(build(command), [command, *arguments], catch_exceptions=False)
    assert done.exit_code == 0
    return str(done.stdout)


def test_folder_becomes_a_trace(marian_folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    said = run("trace", str(marian_folder), marian.SENTENCE, str(file), "--device", "cpu")
    assert said.strip() == marian.GERMAN
    assert codec.load(file).request.model == "small-marian"


def test_folder_becomes_a_page_and_a_figure(marian_folder: Path, tmp_path: Path) -> None:
    for name in ("a.html", "a.svg"):
        run("export", str(marian_folder), str(tmp_path / name), "--text", marian.SENTENCE)
        assert (tmp_path / name).stat().st_size > 10_000


def test_saved_trace_has_its_input(tmp_path: Path) -> None:
    file = tmp_path / "a.npz"
    file.touch()
    with pytest.raises(InputError, match="only with a folder"):
        build("export")(["export", str(file), "a.html", "--text", "x"], standalone_mode=False)


def test_faithfulness_of_a_folder_is_measured(marian_folder: Path) -> None:
    said = run("faithfulness", str(marian_folder), "--examples", "1", "--draws", "2", "--k", "2")
    assert "comprehensiveness: " in said and "by chance" in said


def test_shipped_model_name_precedes_folder_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token-boundary").mkdir()
    found = find_model("token-boundary", CHECKPOINTS, "cpu")
    assert (found.name, found.folders) == ("token-boundary", ())


@pytest.mark.parametrize("command", [("serve", "--model"), ("trace",)])
def test_path_without_model_is_refused_in_one_sentence(
    command: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["a dog", "a.npz"] if command == ("trace",) else []
    with pytest.raises(SystemExit):
        main([*command, str(tmp_path), *more])
    assert "has no config.json. Choose the folder" in capsys.readouterr().err


def test_home_folder_is_expanded_in_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Check `--picture=~/dog.png`: a shell does not expand "~" inside a word."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "dog.png").write_bytes(b"no picture")
    arguments = ["trace", "scene-captions-regular", "", str(tmp_path / "a.npz")]
    with pytest.raises(SystemExit):
        main([*arguments, "--picture=~/dog.png"])
    assert "The file is not a JPEG" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, "--picture=~/cat.png"])
    assert f'The picture "{tmp_path}'[:40] in capsys.readouterr().err
