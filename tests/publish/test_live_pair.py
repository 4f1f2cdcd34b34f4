"""Two models in one file: what may be compared, and how large the file is."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner

from areaviz.cli import build
from areaviz.cli.live import open_live_page
from areaviz.live.build import check_pair, make_live_pair
from areaviz.page.content import PageOptions
from areaviz.samples.paths import CHECKPOINTS
from areaviz.trace.errors import InputError

NAMES = ("pointer-hull", "pointer-tour")


def test_pair_page_stays_in_size_limit_and_offline(tmp_path: Path) -> None:
    file = tmp_path / "pair.html"
    done = CliRunner().invoke(build("live"), ["live", *NAMES, str(file)])
    assert done.exit_code == 0, done.output
    weights = [(CHECKPOINTS / name / "model.safetensors").stat().st_size for name in NAMES]
    assert file.stat().st_size <= sum(1.4 * size + 300_000 for size in weights)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', file.read_text("utf-8"))
    assert policy is not None
    directives = unescape(policy[1])
    assert "default-src 'none'" in directives and "worker-src blob:" in directives
    assert "connect-src" not in directives and "unsafe" not in directives


def test_models_of_different_tasks_are_refused() -> None:
    first, second = (
        open_live_page(name, CHECKPOINTS) for name in ("pointer-hull", "memory-stories")
    )
    with pytest.raises(InputError, match=r"different tasks \(points and questions\)"):
        make_live_pair(first, second)
    with pytest.raises(InputError, match="Give two different models"):
        check_pair(first, first)


def test_hostile_titles_are_text() -> None:
    nasty = "</script><img src=x onerror=alert(1)>"
    first, second = (open_live_page(name, CHECKPOINTS) for name in NAMES)
    assert "<img src=x" not in make_live_pair(first, second, PageOptions(title=nasty, note=nasty))


@pytest.mark.parametrize("given", [["page.html"], ["a", "b", "c", "page.html"]])
def test_command_needs_one_or_two_models(given: list[str]) -> None:
    done = CliRunner().invoke(build("live"), ["live", *given])
    assert done.exit_code != 0
