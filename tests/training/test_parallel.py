"""Two processes of `torchrun` (gloo) train one network as one process on the joined batches does.

Both processes end with equal weights.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from areaviz.cards.card import read_card
from areaviz.lab.loop import ALONE, RESUME, Ranks, Trainer
from tests.training.test_run import corpus
from tests.training.two_ranks import CPU, task

__all__ = ["corpus"]  # a fixture
ROOT = Path(__file__).parents[2]


def torchrun(*words: str) -> None:
    """Run a script with arguments in two processes; if they fail, show their output."""
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node",
        "2",
        *words,
    ]
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 0, ended.stderr[-3000:]


def ends(folder: Path) -> list[Any]:
    return [torch.load(folder / f"rank-{rank}.pt", weights_only=True) for rank in range(2)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an uninterrupted run of ten steps."""
    folder = tmp_path_factory.mktemp("whole")
    torchrun("tests/training/two_ranks.py", str(folder))
    return folder


@pytest.mark.long
def test_two_processes_equal_one_on_joined_batches(whole: Path, tmp_path: Path) -> None:
    first, second = ends(whole)
    for name, value in first["weights"].items():
        assert torch.equal(value, second["weights"][name]), name
    assert first["seen"] != second["seen"] and first["chance"] != second["chance"]

    single = Trainer(task(0, joined=2), tmp_path, CPU)
    before = {name: value.clone() for name, value in single.network.state_dict().items()}
    single.train()
    for name, value in single.network.state_dict().items():
        torch.testing.assert_close(value, first["weights"][name], rtol=1e-4, atol=1e-6)
        assert not torch.allclose(value, before[name])

    lines = [json.loads(line) for line in (whole / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [4, 8, 10], "one of them writes"
    assert len(list((whole / "tensorboard").iterdir())) == 1


@pytest.mark.long
def test_killed_parallel_run_resumes_exactly(whole: Path, tmp_path: Path) -> None:
    torchrun("tests/training/two_ranks.py", str(tmp_path), "12")
    assert torch.load(tmp_path / RESUME, weights_only=True)["step"] == 4, (
        "then two more, which are lost"
    )
    torchrun("tests/training/two_ranks.py", str(tmp_path))
    first, second = ends(tmp_path)
    for name, value in ends(whole)[0]["weights"].items():
        assert torch.equal(first["weights"][name], value) and torch.equal(
            second["weights"][name], value
        ), name


@pytest.mark.long
def test_recipe_becomes_one_checkpoint(corpus: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "tiny.toml"
    recipe.write_text(
        'name = "tiny"\nlevel = "character"\nvocabulary = 60\nsteps = 3\nbatch_tokens ='
        " 60\npeak_rate = 1e-3\nwarmup = 1\nvalidate_every = 3\n[model]\nlayers = 1\nwidth ="
        " 16\nfilter = 16\nheads = 2\narea_size = 3\n"
    )
    words = [
        str(recipe),
        "--data",
        str(corpus),
        "--runs",
        str(tmp_path / "runs"),
        "--device",
        "cpu",
    ]
    torchrun("-m", "areaviz.lab.train", *words)
    card = read_card(tmp_path / "runs" / "tiny" / "checkpoint" / "card.json")
    assert len(card.history) == 1 and card.history[0]["step"] == 3


def test_single_process_draws_everything() -> None:
    assert list(ALONE.own(range(7))) == list(range(7))
    assert ALONE.in_turn(lambda: "made") == "made" and ALONE.writes
    loss = task(0).loss
    assert ALONE.loss(task(0))(torch.ones(2, 3)) == loss(torch.ones(2, 3))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_processes_together_draw_the_batches_of_one(count: int) -> None:
    drawn = [list(Ranks(rank, count).own(range(20))) for rank in range(count)]
    assert sorted(sum(drawn, [])) == list(range(20))
