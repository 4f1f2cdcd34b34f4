"""Writes without end and says what it has been promised: the process that `kills` kills.

    python -m tests.faults.writer notes|rows PATH NAME

A line on stdout stands for one acknowledged write: "saved KEY VERSION" or "removed KEY" for notes,
"saved INDEX" for rows. KEY is the note's text, which is in no other note.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

from areaviz.analysis.row_lines import Header, Row
from areaviz.analysis.rows import RowFile
from areaviz.notes.annotations import Annotation, Annotations

DATASET = "d" * 64
PAUSE = 0.002
"""Seconds between notes: a writer that never pauses can keep others from the store until they give
up.
"""
HEADER = Header("set", DATASET, "model", "c" * 64)


def notes(path: Path, name: str) -> None:
    """New notes, each changed up to three times, every tenth removed again."""
    store, chance = Annotations.open(f"sqlite:///{path}"), random.Random(name)
    for number in count():
        key = f"{name} {number}"
        time.sleep(PAUSE)
        note = store.save(Annotation(DATASET, number, "model", "Style", note=key, author=name))
        _acknowledge("saved", key, note.version)
        for _ in range(chance.randrange(4)):
            note = store.save(replace(note, severity=chance.choice(("minor", "major"))))
            _acknowledge("saved", key, note.version)
        if number % 10 == 9:
            store.remove(note)
            _acknowledge("removed", key)


def rows(path: Path, name: str) -> None:
    """Rows of various lengths, behind those that are there."""
    chance = random.Random(name)
    with RowFile.open(path, HEADER) as file:
        for index in count(len(file)):
            file.add(Row(index, "ä" * chance.randrange(2000)))
            _acknowledge("saved", index)


def _acknowledge(*words: object) -> None:
    print("\t".join(str(word) for word in words), flush=True)


if __name__ == "__main__":
    {"notes": notes, "rows": rows}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
