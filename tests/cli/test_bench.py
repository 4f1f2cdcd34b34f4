"""`bench` lists the benchmarks, runs one of them, and says where to get them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build
from areaviz.lab import commands as bench_module
from areaviz.trace.errors import BackendError, InputError


@pytest.fixture
def clone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Write a repository with one benchmark and everything it needs."""
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (tmp_path / "pyproject.toml").touch()
    (folder / "report.py").write_text('"""Writes."""\n')
    (folder / "speed.py").write_text(
        '"""How fast it is.\n\nMore."""\nimport sys\n'
        'if __name__ == "__main__":\n    sys.exit(sys.argv[1:] != ["--n", "3"])\n'
    )
    monkeypatch.setattr(bench_module, "ROOT", tmp_path)
    return tmp_path


def test_bench_without_name_lists_benchmarks(clone: Path) -> None:
    done = CliRunner().invoke(build("bench"), ["bench"])
    assert done.exit_code == 0 and done.output == "speed  How fast it is.\n"


@pytest.mark.parametrize(("options", "code"), [(["--", "--n", "3"], 0), ([], 1)])
def test_bench_passes_options_and_returns_exit_status(
    clone: Path, options: list[str], code: int
) -> None:
    assert CliRunner().invoke(build("bench"), ["bench", "speed", *options]).exit_code == code


def test_bench_runs_in_the_repository_by_the_same_python(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[object] = []

    def run(command: list[str], cwd: Path, check: bool) -> subprocess.CompletedProcess[str]:
        told.extend((command, cwd))
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", run)
    CliRunner().invoke(build("bench"), ["bench", "speed"])
    assert told == [[sys.executable, "-m", "benchmarks.speed"], clone]


def test_invalid_name_is_reported(clone: Path) -> None:
    with pytest.raises(InputError, match='Benchmark "report" does not exist. Choose one of speed.'):
        bench_module.bench("report")


def test_bench_without_repository_says_where_benchmarks_are(clone: Path) -> None:
    (clone / "pyproject.toml").unlink()
    with pytest.raises(BackendError, match="come with the repository"):
        bench_module.bench()


def test_bench_finds_benchmarks_of_the_repository() -> None:
    assert {
        "app",
        "attention",
        "page",
        "pictures",
        "what_if",
    } <= bench_module.list_benchmarks().keys()
