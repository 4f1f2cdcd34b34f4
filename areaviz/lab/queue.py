"""The command `python -m areaviz.lab.queue RECIPES`, which trains recipes one after another.

Each run is a process with one thread. The queue skips finished runs and runs that another queue is
training, so several queues can share the work on a list of recipes. A run starts only when the runs
that it needs are finished. The signal TERM pauses the run after its current update. The command
then continues from there when it is started again. `--list` prints the progress of every run and
trains nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from filelock import FileLock, Timeout

from areaviz.lab.loop import BEST, TrainConfig
from areaviz.lab.sentences import find_made_pairs
from areaviz.lab.train import load_recipe
from areaviz.samples.paths import find_data_folder

LOG = "queue.log"
"""File in a run's folder with the output of its process."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A recipe and the folder of its run."""

    path: Path
    recipe: TrainConfig
    folder: Path

    @property
    def is_finished(self) -> bool:
        """Whether the checkpoint has been written, which is the last action of a run."""
        return (self.folder / "checkpoint" / "card.json").exists()

    @property
    def missing(self) -> list[str]:
        """The missing inputs of the run: runs without weights, and pairs that were not made."""
        names = [getattr(self.recipe, option, "") for option in ("encoder_run", "start_run")]
        runs = self.folder.parent
        found = [name for name in names if name and not _has_weights(runs / name)]
        for name in getattr(self.recipe, "made", ()):
            if not find_made_pairs(runs, name).exists():
                found.append(f"the pairs {name}")
        return found

    @property
    def progress(self) -> str:
        """The progress of the run, in words."""
        if self.is_finished:
            return "finished"
        log = self.folder / "log.jsonl"
        if not log.exists():
            waits = f", waits for {' and '.join(self.missing)}" if self.missing else ""
            return f"not validated yet{waits}"
        last = json.loads(log.read_text("utf-8").splitlines()[-1])
        return f"validated at {last['step']:,} of {self.recipe.steps:,} updates"


def _has_weights(run: Path) -> bool:
    # A published encoder is a .pth file instead of the best weights of a run.
    return (run / BEST).exists() or any(run.glob("*.pth"))


def read_plan(paths: Sequence[Path], runs: Path) -> list[Planned]:
    """Read the recipes in their order.

    Raises:
        InputError: A recipe cannot be read.
    """
    found = []
    for path in paths:
        recipe = load_recipe(path)
        found.append(Planned(path, recipe, runs / recipe.name))
    return found


@contextmanager
def claim_run(folder: Path) -> Iterator[bool]:
    """Yield whether this process may train the run, because no other process has claimed it.

    The claim ends with the block, or with the process.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / "queue.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


class Queue:
    """A queue that trains planned runs one at a time, until all are done or it is stopped."""

    def __init__(self, plan: Sequence[Planned], data: Path, runs: Path) -> None:
        self.plan, self.data, self.runs = plan, data, runs
        self.failed: list[str] = []
        self._stops = False
        self._child: subprocess.Popen[bytes] | None = None

    def stop(self, number: int = signal.SIGTERM, frame: FrameType | None = None) -> None:
        """Pause the current run and start no further runs. This method is also a signal handler."""
        self._stops = True
        if self._child is not None:
            self._child.terminate()

    def train(self) -> None:
        """Train until no run can be started."""
        while not self._stops and self._train_next():
            pass

    def _train_next(self) -> bool:
        """Train the first run that can be trained, and return whether there was one."""
        for one in self.plan:
            if one.is_finished or one.missing or one.recipe.name in self.failed:
                continue
            with claim_run(one.folder) as is_mine:
                # Another queue may have finished the run since the check above.
                if is_mine and not one.is_finished:
                    self._train(one)
                    return True
        return False

    def _train(self, one: Planned) -> None:
        command = [sys.executable, "-m", "areaviz.lab.train", str(one.path), "--device", "cpu"]
        command += ["--data", str(self.data), "--runs", str(self.runs)]
        print(f"{time.strftime('%H:%M')} {one.recipe.name}: {one.progress}", flush=True)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with (one.folder / LOG).open("ab") as log:
            self._child = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, env=environment
            )
            if self._stops:
                self._child.terminate()
            status = self._child.wait()
        if not one.is_finished and not self._stops:
            self.failed.append(one.recipe.name)
            print(f"{one.recipe.name} ended with {status}. See {one.folder / LOG}", flush=True)


def run_queue(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Returns:
        The exit status, 1 if a run failed.
    """
    parser = argparse.ArgumentParser(
        prog="python -m areaviz.lab.queue", description="Train recipes one after the other."
    )
    parser.add_argument("recipes", type=Path, nargs="+")
    parser.add_argument("--runs", type=Path, default=Path("runs"))
    parser.add_argument("--data", type=Path, default=find_data_folder())
    parser.add_argument("--list", action="store_true", help="print the progress of every run")
    options = parser.parse_args(arguments)
    plan = read_plan(options.recipes, options.runs)
    if options.list:
        for one in plan:
            print(f"{one.recipe.name}: {one.progress}")
        return 0
    queue = Queue(plan, options.data, options.runs)
    signal.signal(signal.SIGTERM, queue.stop)
    queue.train()
    return 1 if queue.failed else 0


if __name__ == "__main__":
    sys.exit(run_queue())
