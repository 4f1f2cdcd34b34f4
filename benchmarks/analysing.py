"""Measure how many examples per second Analyse processes, for characters and for tokens.

    python -m benchmarks.analysing --set FILE [--references FILE] [--before FOLDER] [--write]

The command `areaviz analyse` is measured from start to end on the sentences of a file. `--before`
names a clone of the repository at an older commit. Its command and the present one run alternately
on the same sentences and models.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from areaviz.samples.paths import ROOT, find_checkpoints_folder
from benchmarks.report import command, markdown, processor, publish

MODELS = ("token-boundary", "char-tiny-area")
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """Figures of one run of the command."""

    # Seconds until the first rows were on disk, their number, and seconds until the end.
    first: float
    early: int
    seconds: float
    # Rows by index.
    rows: Mapping[int, Any]

    @property
    def rate(self) -> float:
        """Examples per second after the first rows were on disk."""
        return (len(self.rows) - self.early) / (self.seconds - self.first)


def analysed(root: Path, model: str, sentences: Path, references: Path | None) -> Run:
    """Run the command of the repository at `root`, and return its figures."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "-m", "areaviz", "analyse", str(sentences), "--model", model]
        arguments += ["--checkpoints", str(find_checkpoints_folder())]
        arguments += ["--reference", str(references)] if references else []
        settings = {**os.environ, "AREAVIZ_ANALYSES": folder, "PYTHONPATH": str(root)}
        began, first, early, seconds = time.perf_counter(), 0.0, 0, 0.0
        count = len(sentences.read_text("utf-8").splitlines())
        with subprocess.Popen(arguments, cwd=root, env=settings, stdout=subprocess.DEVNULL) as one:
            while one.poll() is None:
                if not first and (early := _lines(Path(folder)) - 1) > 0:
                    first = time.perf_counter() - began
                if not seconds and _lines(Path(folder)) > count:
                    seconds = time.perf_counter() - began
                time.sleep(LOOK_SECONDS)
        if one.returncode:
            raise RuntimeError(f"The command ended with exit status {one.returncode}.")
        (file,) = Path(folder).glob("*.jsonl")
        rows = [json.loads(line) for line in file.read_text("ascii").splitlines()[1:]]
    return Run(first, early, seconds, {row["index"]: row for row in rows})


def _lines(folder: Path) -> int:
    """Return the number of lines of the only analysis in a folder, or 0 if there is none."""
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("*.jsonl"))


def alike(run: Run, other: Run) -> tuple[int, float]:
    """Compare two runs.

    Returns:
        The number of texts that differ, and the largest difference between measures of equal texts.
    """
    texts, most = 0, 0.0
    for index, row in run.rows.items():
        beside = other.rows[index]
        if row["output"] != beside["output"]:
            texts += 1
            continue
        for name, value in row["measures"].items():
            most = max(most, abs(value - beside["measures"][name]))
    return texts, most


def table(sentences: Path, references: Path | None, before: Path | None) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    rows = []
    count = len(sentences.read_text("utf-8").splitlines())
    for model in MODELS:
        now = analysed(ROOT, model, sentences, references)
        cells = [f"`{model}`", f"{now.first:.1f}", f"{now.rate:.1f}"]
        if before:
            then = analysed(before, model, sentences, references)
            texts, most = alike(now, then)
            cells += [f"{then.first:.1f}", f"{then.rate:.1f}", f"{now.rate / then.rate:.2f}x"]
            cells += [str(texts), f"{most:.0e}"]
        rows.append(cells)
    about = f"Measured on {processor()}; {count} sentences, greedy, in one run."
    columns = ["model", "first rows s", "a second"]
    if before:
        columns += ["before: first row s", "a second", "ratio", "texts that differ"]
        columns += ["largest difference of a measure"]
    return markdown(about, columns, rows)


def shortened(file: Path, examples: int, folder: str) -> Path:
    """Write the first `examples` lines of `file` to another folder, and return the new path."""
    lines = file.read_text("utf-8").splitlines()[:examples]
    place = Path(folder, file.name)
    place.write_text("\n".join(lines) + "\n", "utf-8")
    return place


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure how many examples per second Analyse processes.")
    parser.add_argument("--set", type=Path, required=True, help="a file with a sentence per line")
    parser.add_argument("--references", type=Path, help="their references, line by line")
    parser.add_argument("--examples", type=int, default=400, help="how many lines to use")
    parser.add_argument("--before", type=Path, help="a clone at an older commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sentences = shortened(options.set, options.examples, folder)
        references = options.references
        if references:
            references = shortened(references, options.examples, folder)
        text = table(sentences, references, options.before)
    publish("analysing", text, options.write)


if __name__ == "__main__":
    main()
