"""Kills of processes with `kill -9` while they save notes and rows.

Every acknowledged write must be stored exactly once.
"""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from areaviz.sets.notes.notes import Annotations
from areaviz.sets.run import RowFile
from tests.faults.writer import DATASET, HEADER

ROOT = Path(__file__).parents[2]
TOGETHER = 2
"""Number of processes that save notes into one store at once."""
LONGEST = 0.15
"""Maximum seconds from the first acknowledgement to the kill."""
REMOVED = 0


@dataclass(frozen=True, slots=True)
class Killed:
    """Figures of a series of kills.

    Args:
        kills: processes killed while they wrote.
        ended: processes that ended with an error before they were killed.
        acknowledged: writes that were acknowledged.
        lost: acknowledged writes that are missing.
        doubled: writes that are stored more than once.
        damaged: times the store was found damaged.
    """

    kills: int
    ended: int
    acknowledged: int
    lost: int
    doubled: int
    damaged: int

    def __str__(self) -> str:
        return (
            f"{self.lost} of {self.acknowledged:,} acknowledged lost, {self.doubled} doubled,"
            f" {self.damaged} damaged stores after {self.kills} kills; {self.ended} writers failed"
            " by themselves"
        )


def note_kills(folder: Path, kills: int, seed: int = 0) -> Killed:
    """Kill processes that change notes in one store, two at a time; check after every kill."""
    path, chance = folder / "notes.db", random.Random(seed)
    promised: dict[str, int] = {}
    acknowledged = lost = doubled = damaged = killed = ended = 0
    while killed + ended < kills:
        names = [f"writer {seed} {killed + ended + number}" for number in range(TOGETHER)]
        told, alive = _told("notes", path, names, chance)
        for words in told:
            promised[words[1]] = REMOVED if words[0] == "removed" else int(words[2])
            acknowledged += 1
        killed, ended = killed + alive, ended + len(names) - alive
        with sqlite3.connect(path) as connection:
            damaged += connection.execute("PRAGMA integrity_check").fetchone() != ("ok",)
        there = [
            (note.note, note.version)
            for note in Annotations.open(f"sqlite:///{path}").list_all(DATASET)
        ]
        doubled += sum(count - 1 for count in Counter(key for key, _ in there).values())
        gone = _lost_notes(promised, dict(there))
        lost += len(gone)
        for key in gone:
            del promised[key]
    return Killed(killed, ended, acknowledged, lost, doubled, damaged)


def _lost_notes(promised: Mapping[str, int], there: Mapping[str, int]) -> list[str]:
    """Return the keys of acknowledged notes that are lost.

    A note may have one more change or removal than was acknowledged.
    """

    def kept(key: str, version: int) -> bool:
        if version == REMOVED:
            return key not in there
        if key in there:
            return version <= there[key] <= version + 1
        return (
            int(key.rpartition(" ")[2]) % 10 == 9
        )  # the removal was committed, and the process was killed before it could acknowledge it

    return [key for key, version in promised.items() if not kept(key, version)]


def row_kills(folder: Path, kills: int, seed: int = 0) -> Killed:
    """Kill a process that adds rows to one file again and again, and check after every kill."""
    path, chance = folder / "rows.jsonl", random.Random(seed)
    acknowledged = lost = doubled = damaged = killed = 0
    for number in range(kills):
        lines_told, alive = _told("rows", path, [f"writer {seed} {number}"], chance)
        told, killed = [int(words[1]) for words in lines_told], killed + alive
        acknowledged += len(told)
        with RowFile.open(path, HEADER) as file:
            indices = sorted(file.rows)
        lost += len(set(told) - set(indices))
        lines = path.read_bytes().count(b"\n") - 1
        doubled += lines - len(indices)
        damaged += indices != list(range(len(indices)))
    return Killed(killed, kills - killed, acknowledged, lost, doubled, damaged)


def _told(
    kind: str, path: Path, names: Sequence[str], chance: random.Random
) -> tuple[list[list[str]], int]:
    """Return each process's acknowledgements before its kill, and how many still worked then."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.faults.writer", kind, str(path), name],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in names
    ]
    lines: list[str] = []
    for process in processes:
        assert process.stdout is not None
        lines.append(process.stdout.readline())
    alive = 0
    for process in processes:
        time.sleep(chance.uniform(0, LONGEST))
        alive += process.poll() is None
        process.kill()
    for process in processes:
        assert process.stdout is not None
        lines += process.stdout.readlines()
        process.stdout.close()
        process.wait()
    return [line.rstrip("\n").split("\t") for line in lines if line.endswith("\n")], alive
