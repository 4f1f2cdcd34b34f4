"""How many examples a second Analyse takes, beside one by one, by letters and by tokens.

    python -m benchmarks.analysing --set FILE [--references FILE] [--before FOLDER] [--write]

The command itself is measured, from its start to its end, on sentences of a file; the first row is
on the disk once the command has started. `--before` names a clone of the repository at an older
commit, whose command takes turns with this one, on the same sentences and models.
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

from areaviz.data.places import ROOT, checkpoints_folder
from benchmarks.report import command, markdown, processor, publish

MODELS = ("token-boundary", "char-tiny-area")
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Run:
    """One command."""

    # Until the first rows were on the disk, how many they were, and until all were.
    first: float
    early: int
    seconds: float
    # By index.
    rows: Mapping[int, Any]

    @property
    def rate(self) -> float:
        """Examples a second, without the start and the end, which sums up."""
        return (len(self.rows) - self.early) / (self.seconds - self.first)


def analysed(root: Path, model: str, sentences: Path, references: Path | None) -> Run:
    """Run the command of the repository at `root`."""
    with tempfile.TemporaryDirectory() as folder:
        arguments = [sys.executable, "-m", "areaviz", "analyse", str(sentences), "--model", model]
        arguments += ["--checkpoints", str(checkpoints_folder())]
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
            raise RuntimeError(f"The command ended with {one.returncode}.")
        (file,) = Path(folder).glob("*.jsonl")
        rows = [json.loads(line) for line in file.read_text("ascii").splitlines()[1:]]
    return Run(first, early, seconds, {row["index"]: row for row in rows})


def _lines(folder: Path) -> int:
    """The lines of the one analysis in a folder, 0 where there is none."""
    return sum(file.read_bytes().count(b"\n") for file in folder.glob("*.jsonl"))


def alike(run: Run, other: Run) -> tuple[int, float]:
    """How many texts differ, and by how much measures of equal texts do, at most."""
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
    """The figures as Markdown, with the machine named."""
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
    """The first lines of a file, in a file of the same name."""
    lines = file.read_text("utf-8").splitlines()[:examples]
    place = Path(folder, file.name)
    place.write_text("\n".join(lines) + "\n", "utf-8")
    return place


def main() -> None:
    """Measure, print, and write when asked to."""
    parser = command("Examples that Analyse takes in a second.")
    parser.add_argument("--set", type=Path, required=True, help="a file with a sentence a line")
    parser.add_argument("--references", type=Path, help="their references, line by line")
    parser.add_argument("--examples", type=int, default=400, help="how many of the lines")
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
