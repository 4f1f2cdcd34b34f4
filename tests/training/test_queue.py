"""The queue trains unfinished recipes in order, and skips those that other processes train."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from areaviz.lab import queue
from areaviz.lab.queue import Queue, claim_run, read_plan, run_queue

RECIPE = """name = "{name}"
task = "captions"
pictures = "scenes"
steps = 2
peak_rate = 1e-3
warmup = 1
start_run = "{start}"
"""
TRAIN = """
import pathlib, sys
recipe, runs = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[sys.argv.index("--runs") + 1])
folder = runs / recipe.stem
with (runs / "order").open("a") as order:
    order.write(recipe.stem + " ")
if recipe.stem == "broken":
    sys.exit("It cannot be trained.")
(folder / "checkpoint").mkdir(parents=True)
(folder / "best.pt").touch()
(folder / "checkpoint" / "card.json").touch()
"""
"""A stand-in for `python -m areaviz.lab.train`."""


@pytest.fixture
def recipes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Write three recipes for a fast trainer; the first of them builds on the last."""
    found = []
    for name, start in (("told", "plain"), ("broken", ""), ("plain", "")):
        path = tmp_path / f"{name}.toml"
        path.write_text(RECIPE.format(name=name, start=start))
        found.append(path)
    trainer = tmp_path / "trainer"
    trainer.write_text(f"#!{sys.executable}\n" + TRAIN.replace("sys.argv[1]", "sys.argv[3]"))
    trainer.chmod(0o755)
    monkeypatch.setattr(queue.sys, "executable", str(trainer))
    (tmp_path / "runs").mkdir()
    return found


def test_run_waits_for_its_start_and_survives_failures(recipes: list[Path], tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    found = Queue(read_plan(recipes, runs), tmp_path, runs)
    found.train()
    assert (runs / "order").read_text().split() == ["broken", "plain", "told"]
    assert found.failed == ["broken"]
    assert "It cannot be trained." in (runs / "broken" / "queue.log").read_text()
    # Finished recipes stay finished.
    Queue(read_plan(recipes[2:], runs), tmp_path, runs).train()
    assert (runs / "order").read_text().split() == ["broken", "plain", "told"]


def test_run_trained_by_another_queue_is_skipped(recipes: list[Path], tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    with claim_run(runs / "plain") as is_mine:
        assert is_mine
        Queue(read_plan(recipes[2:], runs), tmp_path, runs).train()
    assert not (runs / "order").exists()


def test_stopped_queue_starts_nothing(recipes: list[Path], tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    found = Queue(read_plan(recipes, runs), tmp_path, runs)
    found.stop()
    found.train()
    assert not (runs / "order").exists()


def test_stopped_run_has_not_failed(
    recipes: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Queue(read_plan(recipes[1:2], tmp_path / "runs"), tmp_path, tmp_path / "runs")
    wait = queue.subprocess.Popen.wait

    def stop_and_wait(child: Any) -> int:
        found.stop()
        return int(wait(child))

    monkeypatch.setattr(queue.subprocess.Popen, "wait", stop_and_wait)
    found.train()
    assert found.failed == []


def test_list_shows_progress_of_every_run(
    recipes: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = tmp_path / "runs"
    (runs / "broken").mkdir()
    (runs / "broken" / "log.jsonl").write_text(json.dumps({"step": 1}) + "\n")
    (runs / "plain" / "checkpoint").mkdir(parents=True)
    (runs / "plain" / "checkpoint" / "card.json").touch()
    assert run_queue([*map(str, recipes), "--runs", str(runs), "--list"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "told: not validated yet, waits for plain",
        "broken: validated at 1 of 2 updates",
        "plain: finished",
    ]
