"""`serve` starts Streamlit in the repository's root, on loopback, and refuses what it cannot do."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build
from areaviz.cli import serve as serve_module
from areaviz.trace.errors import BackendError


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The command lines that would have been started."""
    commands: list[list[str]] = []
    (tmp_path / "app.py").touch()
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(serve_module, "ROOT", tmp_path)
    monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
    return commands


def test_the_app_starts_where_its_configuration_lies(started: list[list[str]], tmp_path: Path) -> None:
    serve_module.serve(8600)
    assert started == [[sys.executable, "-m", "streamlit", "run", str(tmp_path / "app.py"), "--server.port", "8600"]]
    assert Path.cwd() == tmp_path


@pytest.mark.parametrize("port", ["0", "65536", "http"])
def test_a_port_that_is_none_is_refused(port: str, started: list[list[str]]) -> None:
    assert CliRunner().invoke(build("serve"), ["serve", "--port", port]).exit_code == 2
    assert started == []


def test_without_the_app_it_says_where_to_find_it(started: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "app.py").unlink()
    with pytest.raises(BackendError, match="from a clone of the repository"):
        serve_module.serve()
    assert started == []
