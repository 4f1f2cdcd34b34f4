"""The command line: its lists, its imports, and its errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build, list_commands, main
from areaviz.lab import commands as data_module
from areaviz.samples.paths import DATA_SETTING
from areaviz.trace.errors import BackendError
from areaviz.trace.request import Progress


def run(*arguments: str) -> str:
    """Return the output of a command that must succeed."""
    result = CliRunner().invoke(build(arguments[0]), arguments)
    assert result.exit_code == 0, result.output
    return result.output


def fake_download(folder: Path, progress: Progress) -> list[Path]:
    progress(0.5, "a.gz")
    progress(1.0, "b.gz")
    return [folder / "multi30k" / "text" / "a.gz", folder / "multi30k" / "text" / "b.gz"]


def test_help_lists_every_command() -> None:
    output = run("--help")
    assert all(f" {name} " in output for name in list_commands())


@pytest.mark.parametrize("name", list_commands())
def test_every_command_explains_itself(name: str) -> None:
    assert f"{name} [OPTIONS]" in run(name, "--help")


@pytest.mark.parametrize("arguments", [["--help"], ["data", "get", "--help"], ["serve", "--help"]])
def test_help_and_downloads_import_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import sys; from areaviz.cli import main\n"
        f"try: main({arguments!r})\nexcept SystemExit: pass\n"
        "sys.exit(str({'torch', 'streamlit', 'plotly', 'matplotlib', 'pandas'} & set(sys.modules)))"
    )
    finished = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert finished.stderr.strip() == "set()"


@pytest.mark.parametrize("folder", ["chosen", None])
def test_data_get_reports_progress_and_folder(
    folder: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_module, "get_multi30k", fake_download)
    monkeypatch.setenv(DATA_SETTING, str(tmp_path / "from_setting"))
    output = run(
        "data", "get", "multi30k", *(["--folder", str(tmp_path / folder)] if folder else [])
    )
    assert " 50%  a.gz" in output and "100%  b.gz" in output
    assert f"2 files in {tmp_path / (folder or 'from_setting') / 'multi30k' / 'text'}" in output


def test_unknown_corpus_is_refused_with_known_names() -> None:
    result = CliRunner().invoke(build("data"), ["data", "get", "wiki"])
    assert result.exit_code == 2 and "multi30k" in result.output


@pytest.mark.parametrize(
    "error", [BackendError("Could not reach it."), FileNotFoundError("x is missing.")]
)
def test_failures_give_one_error(
    error: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object, **__: object) -> list[Path]:
        raise error

    monkeypatch.setattr(data_module, "get_multi30k", fail)
    with pytest.raises(SystemExit) as left:
        main(["data", "get", "multi30k"])
    assert left.value.code == 1
    assert capsys.readouterr().err == f"areaviz: {error}\n"


def test_missing_package_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def without_torch(chosen: str | None) -> None:
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr("areaviz.cli.build", without_torch)
    with pytest.raises(SystemExit):
        main(["trace", "char-tiny-area", "A dog.", "dog.npz"])
    said = capsys.readouterr().err
    assert "needs torch, which is not installed" in said and "pip install 'areaviz[app]'" in said
