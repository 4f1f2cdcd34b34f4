"""Response times of a reader who translates while analyses run, compared with no analyses.

A visitor starts each analysis on the page Analyse, on its own set, and then closes the tab.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.faults.client import Session
from tests.faults.load import Load, load
from tests.faults.served import Served

SENTENCE = "A {age} dog number {number} runs over the green grass near a tall man in a red shirt.\n"


@dataclass(frozen=True, slots=True)
class Beside:
    """Response times of one reader while analyses run.

    Args:
        count: Number of analyses that run.
        found: Figures of the reader's questions in this time.
    """

    count: int
    found: Load

    def __str__(self) -> str:
        return (
            f"p50 {self.found.p50:.2f} s, p95 {self.found.p95:.2f} s, {len(self.found.errors)}"
            " errors"
        )


def write_sets(folder: Path, count: int, sentences: int) -> None:
    """Write sets that take long to analyse, each in its own folder below `AREAVIZ_DATASETS`."""
    for number in range(count):
        (folder / f"set{number}").mkdir(parents=True)
        lines = (SENTENCE.format(age=f"set {number}", number=line) for line in range(sentences))
        (folder / f"set{number}" / "a.en").write_text("".join(lines), "utf-8")


def begin(app: Served, name: str, sentences: int) -> None:
    """Start the analysis of a set, and close the tab."""
    with Session.open(app.url) as visitor:
        visitor.visit("analyse", "new=1")
        visitor.segment("Examples", "Folder")
        visitor.choose("Folder", name)
        shown = visitor.press(f"Run {sentences:,} examples")
        if shown.errors:
            raise RuntimeError(f"The analysis of {name} did not start: {shown.errors}")


def beside(
    app: Served,
    checkpoints: Path,
    model: str,
    counts: Sequence[int],
    sentences: int,
    questions: int,
    rest: float,
) -> Iterator[Beside]:
    """Measure one reader's response times for each number of running analyses, in rising order."""
    begun = 0
    for count in counts:
        for number in range(begun, count):
            begin(app, f"set{number}", sentences)
        begun = count
        yield Beside(count, load(app, checkpoints, model, 1, questions, rest))
