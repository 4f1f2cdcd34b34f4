"""Damaged files, which must give a result or a named refusal, without a crash, in bounded memory.

    python -m tests.faults.malformed COUNT SEED FORMAT ...

This reads COUNT damaged files of each format and prints the figures as JSON. If COUNT is large
enough, bombs come first.
"""

from __future__ import annotations

import io
import json
import random
import re
import subprocess
import sys
import time
import traceback
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from areaviz.trace.errors import InputError
from tests.faults.files import Format, formats, repacked

ROOT = Path(__file__).parents[2]
PATIENCE = 1800.0  # seconds for all files of a format
BOMBED = 100
"""Bombs take seconds, so they are read only if at least this many files are read."""
EXTREMES = (
    b"\0",
    b"\xff",
    b"\x7f",
    b"\0\0\0\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"\0\0\0\x80",
)
WORDS = (
    b"\0",
    b'"',
    b"'",
    b",",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"{",
    b"[",
    b"}",
    b"\\ud800",
    b"\xed\xa0\x80",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"NaN",
    b"null",
    b"true",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"[[[[",
    b'"text":',
    b"0-0",
    "\u202e".encode(),
    "\u0300".encode() * 40,
    b"=cmd|' /C calc'!A0",
    b"<script>",
    b"../../etc/passwd",
)


LIES: tuple[object, ...] = (
    *(0, -1, 1, 3, 2**31, 2**63, -(2**70), 0.5, 1e308, float("nan"), float("inf"), True, None),
    *("", "x", "\u202e", "\ud800", "$\\frac{$", "<b>", "a" * 100_000, [], {}, [[]], ["x"] * 5000),
)


@dataclass(frozen=True, slots=True)
class Survived:
    """Figures of one format's damaged files.

    Args:
        format: name of the format.
        files: number of files read.
        results: files that gave a result.
        refused: files that were refused with a named error.
        unnamed: tracebacks of all other errors.
        crashed: how the process died, or "".
        grown: megabytes of memory at the peak, above the start.
        slowest: seconds of the slowest file.
    """

    format: str
    files: int
    results: int
    refused: int
    unnamed: tuple[str, ...]
    crashed: str
    grown: int
    slowest: float

    def __str__(self) -> str:
        return (
            f"{self.format}: {self.files:,} files, {self.results} read, {self.refused} refused by"
            f" name, {len(self.unnamed)} other errors, {'crashed' if self.crashed else 'no crash'},"
            f" at most {self.grown} MB more, slowest {self.slowest:.1f} s"
        )


def malformed(names: Sequence[str], files: int, seed: int = 0) -> list[Survived]:
    """Read damaged files in a separate process, which may die, and return each format's figures."""
    command = [sys.executable, "-m", "tests.faults.malformed", str(files), str(seed), *names]
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE)
        lines, end = (
            done.stdout.splitlines(),
            f"exit {done.returncode}: {done.stderr[-2000:]}" * bool(done.returncode),
        )
    except subprocess.TimeoutExpired as late:
        lines, end = (late.stdout or b"").decode().splitlines(), f"not done within {PATIENCE:.0f} s"
    found = [
        Survived(**{**entry, "unnamed": tuple(entry["unnamed"])})
        for entry in map(json.loads, lines)
    ]
    return (
        [*found, Survived(names[len(found)], files, 0, 0, (), end, 0, 0.0)]
        if len(found) < len(names)
        else found
    )


def damaged(good: bytes, chance: random.Random) -> bytes:
    """Return the file with one to four faults, some inside an archive with correct checksums."""
    if good.startswith(b"PK") and chance.random() < 0.8:
        with zipfile.ZipFile(io.BytesIO(good)) as archive:
            name = chance.choice(archive.namelist())
            misled = name.endswith(".json") and chance.random() < 0.8
            return repacked(good, {name: (_misled if misled else _hit)(archive.read(name), chance)})
    return _hit(good, chance)


def _misled(document: bytes, chance: random.Random) -> bytes:
    """Return a JSON document with one value replaced, at any depth."""
    root = json.loads(document)
    places: list[tuple[Any, Any]] = [(None, None)]
    for owner, key in places:
        value = root if owner is None else owner[key]
        keys = (
            list(value)
            if isinstance(value, dict)
            else range(len(value))
            if isinstance(value, list)
            else ()
        )
        places += [(value, key) for key in keys]
    owner, key = chance.choice(places[1:])
    owner[key] = chance.choice(LIES)
    return json.dumps(root).encode()


def _hit(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        data = chance.choice(_ACCIDENTS)(data, chance)
    return data


def _flipped(data: bytes, chance: random.Random) -> bytes:
    return _replaced(data, chance, bytes([chance.randrange(256)]))


def _extreme(data: bytes, chance: random.Random) -> bytes:
    return _replaced(data, chance, chance.choice(EXTREMES))


def _replaced(data: bytes, chance: random.Random, new: bytes) -> bytes:
    # Sizes are in headers, so every second fault hits the header.
    at = chance.randrange(min(len(data), 64) if data and chance.random() < 0.5 else len(data) + 1)
    return data[:at] + new + data[at + len(new) :]


def _inserted(data: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(WORDS) * chance.choice((1, 1, 1, 5000)) + data[at:]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _without(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:start] + data[end:]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    start, end = sorted(chance.randrange(len(data) + 1) for _ in range(2))
    return data[:end] + data[start:]


_ACCIDENTS: Sequence[Callable[[bytes, random.Random], bytes]] = (
    *(_flipped, _flipped, _flipped, _extreme, _extreme),
    *(_inserted, _inserted, _cut, _without, _doubled),
)


def _survive(name: str, kind: Format, files: int, seed: int) -> Survived:
    chance, bombs = random.Random(f"{seed} {name}"), iter(kind.bombs() if files >= BOMBED else ())
    kind.read(kind.good)
    ends, unnamed, grown, slowest = {"results": 0, "refused": 0}, [], 0, 0.0
    for number in range(files):
        content = next(bombs, None) or damaged(kind.good, chance)
        before, start = _memory_now(), time.perf_counter()
        try:
            kind.read(content)
            ends["results"] += 1
        except InputError:
            ends["refused"] += 1
        except Exception:
            unnamed.append(f"file {number}: {traceback.format_exc()[-1500:]}")
        slowest, grown = (
            max(slowest, time.perf_counter() - start),
            max(grown, _memory("VmHWM") - before),
        )
    return Survived(
        name, files, ends["results"], ends["refused"], tuple(unnamed), "", grown, slowest
    )


def _memory_now() -> int:
    """Return this process's memory in megabytes, and reset its peak."""
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(line: str) -> int:
    """Return one line of this process's status in megabytes; VmHWM is the peak memory."""
    found = re.search(rf"{line}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


if __name__ == "__main__":
    count, seed = (int(value) for value in sys.argv[1:3])
    for name in sys.argv[3:]:
        print(json.dumps(asdict(_survive(name, formats()[name], count, seed))), flush=True)
