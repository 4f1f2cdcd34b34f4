"""Measure how imported notes slow down a set's page: `python -m benchmarks.shared_notes`.

Readers import 30,000 notes, 3,000 of them on the example that another reader opens. The benchmark
prints the processor time that the page Analyse needs to read from the store, compared with reading
all notes of the set three times for each run, as the page did before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from areaviz.sets.notes.notes import Annotation, Annotations, Slices
from areaviz.sets.notes.store import Store

DATASET, READER = "d" * 64, "f" * 64
# Imported notes of each reader. 500 of them are on the open example, a reader's largest share.
NOTES, ON_EXAMPLE, READERS = 5000, 500, 6
DRAWN, TAGS = 20, 100


def imported(number: int) -> list[Annotation]:
    """Return the notes that one reader imports."""
    note = Annotation(DATASET, 0, "", "", "minor", "a note of a file " * 10, version=1)
    found = []
    for one in range(NOTES):
        example = 0 if one < ON_EXAMPLE else one
        tag = f"tag {number} {one % TAGS}"
        found.append(replace(note, id=f"{number}_{one}", example=example, tag=tag))
    return found


def page_asks(notes: Annotations, slices: Slices) -> None:
    """Read from the store what one run of the page Analyse shows."""
    notes.count(DATASET, 0)
    notes.list_on_example(DATASET, 0, READER, DRAWN)
    for _ in range(2):  # The form suggests tags, and the choice of slices lists them.
        tags = notes.list_tags(DATASET, READER, TAGS)
    notes.list_tagged(DATASET, tags)
    slices.list_for(DATASET, READER, TAGS)
    notes.count(DATASET)
    notes.list_imports(DATASET, READER)


def page_asked(notes: Annotations) -> None:
    """Read from the store what the page read before: all notes, three times."""
    for _ in range(3):
        notes.list_all(DATASET)


def seconds(run: Callable[[], None], rounds: int = 5) -> float:
    """Return the smallest processor time of a call."""
    found = []
    for _ in range(rounds):
        begun = time.thread_time()
        run()
        found.append(time.thread_time() - begun)
    return min(found)


def main(arguments: Sequence[str] | None = None) -> None:
    """Import the notes into a new store and print the times."""
    argparse.ArgumentParser(description=__doc__).parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"sqlite:///{Path(folder) / 'notes.db'}")
        notes, slices = Annotations(store), Slices(store)
        begun = time.thread_time()
        for number in range(READERS):
            notes.merge(imported(number), f"{number}" * 64)
        taken = time.thread_time() - begun
        before, after = (
            seconds(lambda: page_asked(notes)),
            seconds(lambda: page_asks(notes, slices)),
        )
    print(f"{NOTES * READERS:,} notes imported in {taken:.1f} s")
    print(f"the page asks for {DRAWN} notes, tags, slices and counts: {after:.3f} s")
    print(f"all notes three times, as before: {before:.2f} s ({before / after:.0f} times as much)")


if __name__ == "__main__":
    main()
