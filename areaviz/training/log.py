"""The log of a run: a file of JSON lines, TensorBoard and a progress bar.

The file is always written. TensorBoard and the progress bar are used only if their packages are
installed, so training runs on a machine that has little more than torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any


class RunLog:
    """Writer of `folder`/log.jsonl and, if TensorBoard is installed, of its event files."""

    def __init__(self, folder: Path, steps: int, done: int) -> None:
        self._path = folder / "log.jsonl"
        self._board = _open_tensorboard(folder)
        self._bar = _make_progress_bar(steps, done)

    def step(self, loss: float) -> None:
        """Record one update."""
        if self._bar is not None:
            self._bar.update()
            self._bar.set_postfix(loss=f"{loss:.3f}", refresh=False)

    def validation(self, entry: Mapping[str, float]) -> None:
        """Record one validation: its step, train_loss, seconds and the measures of the task."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")
        for name in set(entry) - {"step", "seconds"}:
            if self._board is not None:
                self._board.add_scalar(name, entry[name], int(entry["step"]))

    def close(self) -> None:
        """Flush and close all parts of the log."""
        for part in (self._board, self._bar):
            if part is not None:
                part.close()


class NoLog:
    """A log that does nothing, for the processes of a run that do not write files."""

    def step(self, loss: float) -> None:
        """Do nothing."""

    def validation(self, entry: Mapping[str, float]) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def _open_tensorboard(folder: Path) -> Any:
    if find_spec("tensorboard") is None:
        print(
            "TensorBoard is not installed, so only log.jsonl is written. To write both: pip"
            " install tensorboard"
        )
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"))


def _make_progress_bar(steps: int, done: int) -> Any:
    if find_spec("tqdm") is None:
        return None
    from tqdm import tqdm

    return tqdm(total=steps, initial=done, unit="step", dynamic_ncols=True, mininterval=2.0)
