"""The store under real system faults: each fault has a clear error.

The file stays unchanged, and no note is lost.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.sets.notes.notes import Annotation, Annotations
from areaviz.trace.errors import BackendError
from tests.notes.opener import DATASET, OPENINGS
from tests.sampled import sampled

ROOT = Path(__file__).parents[2]
NOTES = 20
NOTE = Annotation(DATASET, 0, "model", "Style", note="x" * 200)
SOMEBODY = 65_534
"""A user who owns no file on this machine."""


def saved(path: Path) -> str:
    """Write a store of 20 notes, close it, and return the SHA-256 of its file."""
    notes = Annotations.open(f"sqlite:///{path}")
    for number in range(NOTES):
        notes.save(replace(NOTE, example=number))
    notes._store._engine.dispose()
    assert not path.with_name(f"{path.name}-wal").exists()
    return digest(path)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def told(path: Path, *fault: object, environment: Mapping[str, str] | None = None) -> list[str]:
    """Return the errors of three openings within a second, in a process with the fault."""
    command = [sys.executable, "-m", "tests.notes.opener", str(path), *map(str, fault)]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, **(environment or {})},
    )
    answers: list[str] = json.loads(done.stdout)
    assert len(answers) == OPENINGS
    return answers


def assert_untouched(path: Path, before: str) -> None:
    """Check that nothing was set aside or changed, and that all notes are there."""
    assert not list(path.parent.glob("*damaged*"))
    assert digest(path) == before
    assert told(path) == [f"{NOTES} notes"] * OPENINGS


@contextmanager
def small_disk() -> Iterator[Path]:
    """Mount a file system of 1 MB. Skip the test without the permission to mount one."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", folder], check=True)
        try:
            yield Path(folder)
        finally:
            subprocess.run(["umount", folder], check=True)


def fill(path: Path, left: int = 0) -> None:
    """Fill a disk with a file, except for this many bytes."""
    with path.open("wb", buffering=0) as file:
        with suppress(OSError):
            while file.write(bytes(4096)):
                pass
        file.truncate(file.tell() - left)


def may_mount() -> bool:
    with tempfile.TemporaryDirectory() as folder:
        command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", folder]
        if (
            not shutil.which("mount")
            or subprocess.run(command, stderr=subprocess.DEVNULL).returncode
        ):
            return False
        subprocess.run(["umount", folder], check=True)
        return True


@pytest.mark.parametrize(
    "left", sampled([0, 4096, 32_768], 4096), ids=lambda left: f"{left} bytes left"
)
@pytest.mark.skipif(
    "CI" not in os.environ and not may_mount(),
    reason="needs the right to mount a small file system",
)
def test_full_disk_is_named(left: int) -> None:
    with small_disk() as folder:
        path = folder / "notes.db"
        before = saved(path)
        fill(folder / "rest", left)
        answers = told(path)
        assert all("is full" in answer or answer == f"{NOTES} notes" for answer in answers)
        assert left or all("is full" in answer for answer in answers)
        (folder / "rest").unlink()
        assert_untouched(path, before)


@pytest.mark.skipif(
    "CI" not in os.environ and not may_mount(),
    reason="needs the right to mount a small file system",
)
def test_disk_that_fills_while_saving_is_named() -> None:
    with small_disk() as folder:
        notes = Annotations.open(f"sqlite:///{folder / 'notes.db'}")
        there = [notes.save(NOTE)]
        with pytest.raises(
            BackendError,
            match="saving the note .the database's disk is full.. Nothing was changed. Free",
        ):
            for _ in range(2000):
                there.append(notes.save(replace(NOTE, note="x" * 4000)))
        assert len(notes.list_all(DATASET)) == len(there), (
            "what was told as saved is there, and nothing else"
        )
        for note in there[1:50]:
            with suppress(BackendError):  # a removal needs room in the log
                notes.remove(note)
        notes._store._engine.dispose()
        assert "damaged" not in "".join(told(folder / "notes.db")) and not list(
            folder.glob("*damaged*")
        )


@pytest.mark.parametrize("limit", [0, 16_384])
def test_limit_of_file_size_is_named(tmp_path: Path, limit: int) -> None:
    path = tmp_path / "notes.db"
    before = saved(path)
    answers = told(path, "file-size", limit)
    assert all("opening the notes" in answer and "damaged" not in answer for answer in answers)
    assert_untouched(path, before)


@pytest.mark.parametrize("left", sampled(range(6), 1), ids=lambda left: f"{left} left")
def test_missing_file_descriptors_are_named(tmp_path: Path, left: int) -> None:
    path = tmp_path / "notes.db"
    before = saved(path)
    answers = told(path, "descriptors", left)
    assert all("open files" in answer or answer == f"{NOTES} notes" for answer in answers)
    assert left > 3 or all("open files" in answer for answer in answers[1:])
    assert_untouched(path, before)


@pytest.mark.long
def test_lock_of_another_program_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    before = saved(path)
    code = (
        "import sqlite3, sys\n"
        f"connection = sqlite3.connect({str(path)!r}, isolation_level=None)\n"
        "connection.execute('PRAGMA locking_mode=EXCLUSIVE')\n"
        "connection.execute('BEGIN EXCLUSIVE')\nprint('held', flush=True)\n"
        "import select; select.select([sys.stdin], [], [], 30)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout and holder.stdout.readline() == "held\n"
    answers = told(path)
    assert holder.poll() is None, "it was held all the time"
    holder.communicate("")
    assert all("another program" in answer for answer in answers)
    assert_untouched(path, before)


def test_file_of_another_user_is_named() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "notes.db"
        before = saved(path)
        if os.getuid() == 0:
            os.chown(folder, SOMEBODY, SOMEBODY)
            os.chmod(path, 0o600)
            answers = told(path, "user", SOMEBODY)
        else:
            os.chmod(path, 0)
            answers = told(path)
            os.chmod(path, 0o600)
        assert all("this user may not read and write the database" in answer for answer in answers)
        assert_untouched(path, before)


@pytest.fixture(scope="module")
def preloaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("preloaded") / "io_error.so"
    source = Path(__file__).with_name("io_error.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


@pytest.mark.skipif("CI" not in os.environ and not shutil.which("cc"), reason="needs a C compiler")
@pytest.mark.parametrize(
    ("start", "writes"),
    sampled([("0", "1"), ("4096", "0"), ("12288", "0"), ("-1", "1")], ("4096", "0"), many=True),
)
def test_disk_with_errors_is_named(
    tmp_path: Path, preloaded: Path, start: str, writes: str
) -> None:
    path = tmp_path / "notes.db"
    before = saved(path)
    environment = {"LD_PRELOAD": str(preloaded), "IO_ERROR_FROM": start, "IO_ERROR_WRITES": writes}
    answers = told(path, environment=environment)
    assert all("disk" in answer or answer == f"{NOTES} notes" for answer in answers)
    assert start == "-1" or all("disk" in answer for answer in answers)
    assert_untouched(path, before)
