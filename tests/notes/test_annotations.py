"""Notes: saved notes are committed, and stale changes are refused with both texts.

A damaged store is set aside.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sql

from areaviz.sets.notes import store as store_module
from areaviz.sets.notes.notes import Annotation, Annotations
from areaviz.sets.notes.records import Stale
from areaviz.sets.notes.store import LONGEST_NOTE, MAX_NUMBER, WAITING
from areaviz.trace.errors import BackendError, InputError

NOTE = Annotation("d" * 64, 3, "model", "Accuracy", "minor", "said “dog” for “cat”\n=1+1", "Ada")


@pytest.fixture
def store(tmp_path: Path) -> Annotations:
    return Annotations.open(f"sqlite:///{tmp_path / 'notes.db'}")


def test_notes_are_read_as_saved(store: Annotations, tmp_path: Path) -> None:
    saved = store.save(NOTE)
    assert saved.id and saved.changed and saved.version == 1
    again = Annotations.open(f"sqlite:///{tmp_path / 'notes.db'}")
    assert again.list_all(NOTE.dataset) == [saved] and again.list_all("other") == []
    assert replace(saved, id="", changed="", version=0) == NOTE


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores wait for each other as long as a busy machine takes."""
    monkeypatch.setattr(store_module, "OPENING", 86_400)
    monkeypatch.setattr(store_module, "WRITING", 86_400)
    monkeypatch.setattr(store_module, "WAITING", 86_400)


@pytest.mark.usefixtures("patient")
def test_new_store_opens_for_many_at_once(tmp_path: Path) -> None:
    for turn in range(5):
        start = threading.Barrier(6)

        def opened(
            _: int,
            url: str = f"sqlite:///{tmp_path / str(turn)}.db",
            start: threading.Barrier = start,
        ) -> int:
            start.wait()
            return len(Annotations.open(url).list_all("d"))

        with ThreadPoolExecutor(6) as pool:
            assert list(pool.map(opened, range(6))) == [0] * 6


def test_stale_change_is_refused_with_both_texts(store: Annotations) -> None:
    first = store.save(NOTE)
    second = store.save(replace(first, note="hers"))
    assert second.version == 2
    with pytest.raises(Stale) as refused:
        store.save(replace(first, note="his"))
    assert refused.value.there == second and refused.value.own.note == "his"
    assert store.list_all(NOTE.dataset) == [second]
    with pytest.raises(Stale):
        store.remove(first)
    store.remove(second)
    with pytest.raises(Stale) as gone:
        store.save(replace(second, note="late"))
    assert gone.value.there is None


@pytest.mark.usefixtures("patient")
def test_many_writers_lose_nothing(store: Annotations) -> None:
    def write(number: int) -> None:
        for turn in range(10):
            store.save(replace(NOTE, example=number, note=f"{turn}"))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = store.list_all(NOTE.dataset)
    assert sorted((note.example, int(note.note)) for note in found) == [
        (n, t) for n in range(8) for t in range(10)
    ]


def test_counts_by_tag_and_slice(store: Annotations) -> None:
    for example, tag in ((1, "Style"), (2, "Style"), (2, "Accuracy"), (3, "own tag")):
        store.save(replace(NOTE, example=example, tag=tag))
    assert list(store.count_tags(NOTE.dataset).items()) == [
        ("Style", 2),
        ("Accuracy", 1),
        ("own tag", 1),
    ]
    assert store.count_tags(NOTE.dataset, [2, 3]) == {"Accuracy": 1, "Style": 1, "own tag": 1}
    assert store.count_tags(NOTE.dataset, []) == {}


def test_notes_travel_to_another_store_without_loss(store: Annotations, tmp_path: Path) -> None:
    notes = [store.save(replace(NOTE, example=number)) for number in range(3)]
    other = Annotations.open(f"sqlite:///{tmp_path / 'other.db'}")
    assert other.merge(notes) == (3, 0) and other.merge(notes) == (0, 0)
    assert other.list_all(NOTE.dataset) == store.list_all(NOTE.dataset)


@pytest.mark.parametrize(
    "change",
    [
        {"note": "first", "version": 1},
        {"note": "first", "version": 5},
        {"dataset": "e" * 64, "version": 5},
        {"example": 9, "version": 5},
        {"author": "Eve"},
    ],
)
def test_import_overwrites_and_moves_no_note(store: Annotations, change: dict[str, Any]) -> None:
    first = store.save(replace(NOTE, note="first"))
    there = store.save(replace(first, note="longer words, saved later"))
    given = replace(there, **change)
    assert store.merge([given]) == (0, 1)
    assert there in store.list_all(NOTE.dataset), "what was there is as it was"
    (beside,) = [note for note in store.list_all(given.dataset) if note.differs]
    assert beside.differs == there.id != beside.id
    assert replace(beside, id=there.id, differs="") == given
    assert store.merge([given]) == (0, 0), "brought in again, it is known"
    changed = store.save(replace(beside, note="edited"))
    assert store.merge([given]) == (0, 0) and changed in store.list_all(given.dataset)


def test_differing_notes_of_one_id_are_kept(store: Annotations) -> None:
    first, other = (replace(NOTE, id="x", version=1, note=note) for note in ("first", "other"))
    assert store.merge([first, other, first, other]) == (1, 1)
    assert sorted((note.note, note.differs) for note in store.list_all(NOTE.dataset)) == [
        ("first", ""),
        ("other", "x"),
    ]


def test_large_import_delays_other_writers_little(store: Annotations) -> None:
    """Check the statements and the processor time, which do not depend on other programs."""
    notes = [replace(NOTE, id=f"{number:x}", version=1, example=number) for number in range(5000)]
    statements: list[str] = []
    sql.event.listen(
        store._store._engine, "before_cursor_execute", lambda *given: statements.append(given[2])
    )
    start = time.thread_time()
    assert store.merge(notes) == (5000, 0) and store.merge(notes) == (0, 0)
    assert time.thread_time() - start < WAITING, (
        "a writer waits so long before it is told that another program holds it"
    )
    assert len(statements) < 50, "many notes share one statement"
    assert store.list_all(NOTE.dataset) == notes


def test_import_adds_all_notes_or_none(store: Annotations) -> None:
    notes = [replace(NOTE, id=f"{number}", version=1) for number in range(3)]
    with pytest.raises(InputError):
        store.merge([*notes, replace(NOTE, id="x", version=1, severity="grave")])
    assert store.list_all(NOTE.dataset) == []


def test_note_with_largest_version_can_be_changed(store: Annotations) -> None:
    given = replace(NOTE, id="x", version=MAX_NUMBER)
    store.merge([given])
    changed = store.save(replace(given, note="again"))
    assert 0 < changed.version < MAX_NUMBER and store.list_all(NOTE.dataset) == [changed]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tag": " "}, "needs a tag"),
        ({"severity": "grave"}, "is not a severity"),
        ({"note": "x" * (LONGEST_NOTE + 1)}, "4,001 characters, but the limit is 4,000"),
        ({"author": "\ud800"}, "broken character"),
        ({"note": "\0"}, "broken character"),
        ({"id": "a\0b"}, "The id has a broken character"),
        ({"id": "x" * 33}, "The id has 33 characters, but the limit is 32"),
        ({"model": "\udc00"}, "The model has a broken character"),
        ({"model": "m" * 101}, "The model has 101 characters, but the limit is 100"),
        ({"dataset": "d" * 65}, "digest of the set has 65 characters"),
        ({"changed": "2" * 60_000}, "time of the change has 60,000 characters"),
        ({"differs": "x" * 33}, "differs from has 33 characters"),
        (
            {"example": 2**31},
            "The example has the number 2.14748e.09. Enter a number from 0 to 2,147,483,647",
        ),
        ({"example": -1}, "The example has the number -1"),
        ({"version": 10**30}, "The version has the number 1e.30"),
    ],
)
def test_invalid_note_is_refused(store: Annotations, change: dict[str, Any], said: str) -> None:
    wrong = replace(Annotation("d", 0, "", "Style"), **change)
    for bring in (store.save, lambda note: store.merge([note])):
        with pytest.raises(InputError, match=said):
            bring(wrong)
    assert store.list_all("d") == []


def test_every_sqlite_connection_is_durable(store: Annotations) -> None:
    with store._store._engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


@pytest.mark.parametrize("damage", [b"this is no database" * 100, None])
def test_damaged_store_is_set_aside(tmp_path: Path, damage: bytes | None) -> None:
    path = tmp_path / "notes.db"
    if damage is None:
        there = Annotations.open(f"sqlite:///{path}")
        for number in range(200):
            there.save(replace(NOTE, note="x" * 500, example=number))
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        there._store._engine.dispose()
        data = bytearray(path.read_bytes())
        data[8192:40960] = b"\xff" * (40960 - 8192)
        damage = bytes(data)
    path.write_bytes(damage)
    with pytest.raises(
        BackendError, match=r"was damaged and was renamed to notes.db.damaged-\d{8}-\d{6}"
    ):
        Annotations.open(f"sqlite:///{path}")
    (aside,) = tmp_path.glob("notes.db.damaged-*")
    assert aside.read_bytes() == damage
    assert Annotations.open(f"sqlite:///{path}").list_all("d") == []


def test_damaged_store_keeps_its_log(tmp_path: Path) -> None:
    live = tmp_path / "live" / "notes.db"
    notes = Annotations.open(f"sqlite:///{live}")
    for number in range(50):
        notes.save(replace(NOTE, example=number, note="x" * 500))
    path = tmp_path / "notes.db"
    with sqlite3.connect(live) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    notes.save(replace(NOTE, note="in the log alone"))
    for ending in ("", "-wal"):
        path.with_name(f"notes.db{ending}").write_bytes(
            live.with_name(f"notes.db{ending}").read_bytes()
        )
    data = bytearray(path.read_bytes())
    # Overwrite pages of notes that are not in the log.
    data[69632:86016] = b"\xff" * (86016 - 69632)
    path.write_bytes(data)
    log = path.with_name("notes.db-wal").read_bytes()
    assert log
    with pytest.raises(BackendError, match="was renamed to"):
        Annotations.open(f"sqlite:///{path}")
    (aside,) = (
        one
        for one in tmp_path.glob("notes.db.damaged-*")
        if not one.name.endswith(("-wal", "-shm"))
    )
    assert aside.read_bytes() == data and aside.with_name(f"{aside.name}-wal").read_bytes() == log
    assert not path.exists() and not path.with_name("notes.db-wal").exists()


def test_stores_set_aside_at_once_have_different_names(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / "notes.db").write_bytes(b"no database, %d" % number * 1000)
        with pytest.raises(BackendError, match="was renamed to"):
            Annotations.open(f"sqlite:///{tmp_path / 'notes.db'}")
    assert len({path.read_bytes() for path in tmp_path.glob("notes.db.damaged-*")}) == 3


def test_files_of_notes_are_private(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "notes.db"
    mask = os.umask(0)
    try:
        store = Annotations.open(f"sqlite:///{path}")
        store.save(NOTE)
        files = list(path.parent.iterdir())
    finally:
        os.umask(mask)
    assert {one.name for one in files} == {
        "notes.db",
        "notes.db-wal",
        "notes.db-shm",
        ".notes.db.lock",
    }
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}
    assert {one.stat().st_mode & 0o777 for one in (path.parent, path.parent.parent)} == {0o700}


def test_removed_text_is_overwritten_in_the_file(store: Annotations, tmp_path: Path) -> None:
    note = store.save(replace(NOTE, note="a secret that is removed"))
    store.remove(note)
    with sqlite3.connect(tmp_path / "notes.db") as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"a secret" not in (tmp_path / "notes.db").read_bytes()


def test_own_and_old_notes_are_removed(store: Annotations) -> None:
    mine, hers = store.save(NOTE, "me"), store.save(NOTE, "her")
    older = store.save(NOTE)
    assert store.remove_own(NOTE.dataset, "") == 0 and store.remove_own("other", "me") == 0
    assert store.remove_own(NOTE.dataset, "me") == 1
    assert mine not in store.list_all(NOTE.dataset) and {hers.id, older.id} == {
        one.id for one in store.list_all(NOTE.dataset)
    }
    assert store.remove_older(hers.changed[:10]) == 0 and store.remove_older("9999") == 2


def test_unwritable_store_is_named(
    store: Annotations,
) -> None:
    with store._store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA query_only=ON")
        with pytest.raises(BackendError, match="Nothing was changed. Try again"):
            with store._store._engine.connect() as other:
                other.exec_driver_sql("PRAGMA query_only=ON")
            store.save(NOTE)


def test_kill_loses_no_acknowledged_note(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    code = (
        "from dataclasses import replace\nfrom areaviz.sets.notes.notes import Annotation,"
        f" Annotations\nstore = Annotations.open('sqlite:///{path}')\nnote = Annotation('d', 0,"
        " 'm', 'Style')\nfor number in range(10**6):\n    store.save(replace(note,"
        " example=number)); print(number, flush=True)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(20)]
    time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    told += process.stdout.readlines()
    process.wait()
    last = max(int(line) for line in told if line.endswith("\n"))
    examples = [note.example for note in Annotations.open(f"sqlite:///{path}").list_all("d")]
    assert set(range(last + 1)) <= set(examples) and len(examples) == len(set(examples))
