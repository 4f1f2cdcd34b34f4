"""A process that writes without end and prints each acknowledgement, until `kills` kills it.

    python -m tests.faults.writer notes|rows PATH NAME

A line on stdout is one acknowledged write: "saved KEY VERSION" or "removed KEY" for notes, "saved
INDEX" for rows. KEY is the text of the note, which is unique.
"""

from __future__ import annotations

import random
import sys
import time
from dataclasses import replace
from itertools import count
from pathlib import Path

from areaviz.sets.notes.notes import Annotation, Annotations
from areaviz.sets.run import Header, Row, RowFile

DATASET = "d" * 64
PAUSE = 0.002
"""Seconds between notes. A writer without pauses can block other writers until they give up."""
HEADER = Header("set", DATASET, "model", "c" * 64)


def notes(path: Path, name: str) -> None:
    """Write new notes, change each up to three times, and remove every tenth again."""
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
    """Append rows of various lengths to the existing rows."""
    chance = random.Random(name)
    with RowFile.open(path, HEADER) as file:
        for index in count(len(file)):
            file.add(Row(index, "ä" * chance.randrange(2000)))
            _acknowledge("saved", index)


def _acknowledge(*words: object) -> None:
    print("\t".join(str(word) for word in words), flush=True)


if __name__ == "__main__":
    {"notes": notes, "rows": rows}[sys.argv[1]](Path(sys.argv[2]), sys.argv[3])
