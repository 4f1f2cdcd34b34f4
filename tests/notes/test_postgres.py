"""Notes and slices on a real PostgreSQL server, which must behave as SQLite does."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from areaviz.sets.notes.exchange import FORMATS, from_bytes, to_bytes
from areaviz.sets.notes.notes import Annotation, Annotations, Slice, Slices
from areaviz.sets.notes.records import Stale
from areaviz.sets.notes.store import METADATA, VERSION, Store
from areaviz.trace.errors import BackendError
from tests.notes.postgres import server

NOTE = Annotation("d" * 64, 3, "model", "Accuracy", "minor", "said “dog” for “cat”\n=1+1 😀", "Ada")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture
def store(address: str) -> Store:
    return Store.open(address)


def test_notes_are_saved_and_stale_changes_refused(store: Store, address: str) -> None:
    notes = Annotations(store)
    first = notes.save(replace(NOTE, dataset="a"))
    assert Annotations.open(address).list_all("a") == [first]
    second = notes.save(replace(first, note="hers"))
    with pytest.raises(Stale) as refused:
        notes.save(replace(first, note="his"))
    assert refused.value.there == second and refused.value.own.note == "his"
    notes.remove(second)
    assert notes.list_all("a") == []


def test_one_of_many_simultaneous_changes_wins(
    address: str,
) -> None:
    first = Annotations.open(address).save(replace(NOTE, dataset="b"))
    start, won, told = threading.Barrier(6), [], []

    def change(number: int) -> None:
        notes = Annotations.open(address)
        start.wait()
        try:
            won.append(notes.save(replace(first, note=str(number))))
        except Stale as stale:
            told.append(stale.there)

    threads = [threading.Thread(target=change, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1 and told == won * 5 and Annotations.open(address).list_all("b") == won


def test_slices_counts_and_files_work_as_in_sqlite(store: Store) -> None:
    notes, slices = Annotations(store), Slices(store)
    saved = [notes.save(replace(NOTE, dataset="c", example=place)) for place in (3, 4, 9)]
    slices.save(Slice("c", "first two", (3, 4)))
    assert notes.count_tags("c", slices.list_all("c")[0].examples) == {"Accuracy": 2}
    for kind in FORMATS:
        assert from_bytes(to_bytes(saved, kind), kind) == saved
    for note in saved:
        notes.remove(note)
    assert notes.merge(saved) == (3, 0) and notes.list_all("c") == saved


def test_missing_server_is_named() -> None:
    with server() as url:
        notes = Annotations.open(url)
    with pytest.raises(BackendError, match="Something went wrong while saving the note"):
        notes.save(NOTE)
    with pytest.raises(BackendError, match="Something went wrong while"):
        Annotations.open(url)


@pytest.mark.parametrize("version", range(VERSION))
def test_older_store_is_migrated_and_newer_refused(address: str, version: int) -> None:
    engine = sql.create_engine(address)
    with engine.begin() as there:
        METADATA.drop_all(there)
    fixture = Path(__file__).parent / "stores" / f"notes_{version}.db"
    with closing(sqlite3.connect(fixture)) as connection:
        tables = {
            name: (made, connection.execute(f"SELECT * FROM {name}").fetchall())
            for name, made in connection.execute(
                "SELECT name, sql FROM sqlite_master WHERE type = 'table'"
            ).fetchall()
        }
    with engine.begin() as there:
        for name, (made, rows) in tables.items():
            there.exec_driver_sql(made)
            for row in rows:
                there.exec_driver_sql(
                    f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", tuple(row)
                )
    store = Store.open(address)
    assert [note.version for note in Annotations(store).list_all(NOTE.dataset)] == [2, 1]
    assert Slices(store).list_all(NOTE.dataset)[0].examples == (3, 7)
    assert Annotations(store).save(NOTE, "me") in Annotations.open(address).list_all(NOTE.dataset)
    with engine.begin() as there:
        there.exec_driver_sql("UPDATE store_version SET version = 7")
    with pytest.raises(BackendError, match="has version 7"):
        Store.open(address)
    with engine.begin() as there:
        METADATA.drop_all(there)
    engine.dispose()
