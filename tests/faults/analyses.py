"""A reader who translates while analyses run: how long an answer takes alone, and beside them.

Each analysis is begun on the page Analyse by a visitor who then closes the tab, on a set of its
own.
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
    """Readers beside analyses.

    Args:
        count: how many analyses run.
        found: the questions of one session meanwhile.
    """

    count: int
    found: Load

    def __str__(self) -> str:
        return (
            f"p50 {self.found.p50:.2f} s, p95 {self.found.p95:.2f} s, {len(self.found.errors)}"
            " errors"
        )


def write_sets(folder: Path, count: int, sentences: int) -> None:
    """Sets long enough to last, each in a folder of its own below `AREAVIZ_DATASETS`."""
    for number in range(count):
        (folder / f"set{number}").mkdir(parents=True)
        lines = (SENTENCE.format(age=f"set {number}", number=line) for line in range(sentences))
        (folder / f"set{number}" / "a.en").write_text("".join(lines), "utf-8")


def begin(app: Served, name: str, sentences: int) -> None:
    """Begin the analysis of a set, and leave."""
    with Session.open(app.url) as visitor:
        visitor.visit("analyse", "new=1")
        visitor.segment("Examples", "Folder")
        visitor.choose("Folder", name)
        shown = visitor.press(f"Run {sentences:,} examples")
        if shown.errors:
            raise RuntimeError(f"{name} was not begun: {shown.errors}")


def beside(
    app: Served,
    checkpoints: Path,
    model: str,
    counts: Sequence[int],
    sentences: int,
    questions: int,
    rest: float,
) -> Iterator[Beside]:
    """For each count, in rising order: so many analyses at once, and a session that asks."""
    begun = 0
    for count in counts:
        for number in range(begun, count):
            begin(app, f"set{number}", sentences)
        begun = count
        yield Beside(count, load(app, checkpoints, model, 1, questions, rest))
