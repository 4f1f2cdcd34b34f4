"""The two commands of the README do what it says; what they would run is read with `make -n`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = '-m "not browser"'


def planned(*arguments: str, ci: str = "") -> str:
    """The commands `make` would run; nothing is run."""
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    command = ["make", "--dry-run", "--always-make", *arguments]
    return subprocess.run(command, cwd=ROOT, env={**clean, "CI": ci}, capture_output=True, text=True, check=True).stdout


def test_run_installs_the_pins_torch_first_and_starts_on_the_port() -> None:
    plan = planned("run", "PORT=8600")
    steps = ["-m venv .venv", "grep '^torch==' requirements.txt", "-r requirements.txt", "areaviz serve --port 8600"]
    assert [plan.find(step) for step in steps] == sorted(plan.find(step) for step in steps)
    assert all(step in plan for step in steps)
    assert "[dev]" not in plan


def test_nothing_is_compiled_on_the_way() -> None:
    installs = [line for line in planned("test").splitlines() if "pip install" in line]
    assert len(installs) == 3 and all("--only-binary=:all:" in line for line in installs)


@pytest.mark.parametrize(
    ("browser", "ci", "left_out"), [("", "", True), ("/usr/bin/chromium", "", False), ("", "true", False)]
)
def test_browser_tests_are_left_out_aloud_but_never_in_ci(browser: str, ci: str, left_out: bool) -> None:
    plan = planned("test", f"BROWSER={browser}", "POSTGRES=there", ci=ci)
    assert (LEFT_OUT in plan) == left_out == ("apt-get install chromium" in plan)
    assert "postgres" not in plan


@pytest.mark.parametrize(("server", "ci", "left_out"), [("", "", True), ("initdb", "", False), ("", "true", False)])
def test_tests_that_need_a_server_are_left_out_aloud_but_never_in_ci(server: str, ci: str, left_out: bool) -> None:
    plan = planned("test", "BROWSER=there", f"POSTGRES={server}", ci=ci)
    assert ("--deselect tests/analysis/test_postgres.py" in plan) == left_out
    assert ("apt-get install postgresql" in plan) == left_out


def test_check_covers_format_lint_and_types() -> None:
    plan = planned("check")
    assert all(tool in plan for tool in ("ruff format --check .", "ruff check .", "/mypy"))
