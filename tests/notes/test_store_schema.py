"""Stores of every version: older stores are copied and upgraded in one step.

Stores of a newer version are refused with a clear error.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from areaviz.sets.notes import store as store_schema
from areaviz.sets.notes.exchange import FORMATS, from_bytes
from areaviz.sets.notes.notes import (
    Annotation,
    Annotations,
    ErrorSpan,
    Judgement,
    Judgements,
    Slices,
)
from areaviz.sets.notes.store import VERSION, Store
from areaviz.trace.errors import BackendError, InputError

STORES = Path(__file__).parent / "stores"
DATASET = "d" * 64
NOTE = Annotation(DATASET, 3, "char-area", "Accuracy", "minor", "changed once", "Ada")
# Files that the code of each version wrote. Version 0 had no table of versions and at first no
# slices, and version 1 had no judgements.
OLDER = ("notes_0_without_slices.db", "notes_0.db", "notes_1.db", "notes_2.db")
WITHOUT_JUDGEMENTS = OLDER[:3]
JUDGED = Judgement(
    DATASET,
    3,
    "char-area",
    "Ada",
    "A dog runs.",
    "Die Katze rennt.",
    (ErrorSpan("output", 4, 9, None, "Accuracy", "major", "not a dog"),),
    64.5,
)


@pytest.fixture(params=OLDER)
def older(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "notes.db"
    path.write_bytes((STORES / request.param).read_bytes())
    return path


def words(note: Annotation) -> Annotation:
    return replace(note, id="", changed="")


def content(path: Path) -> str:
    with closing(sqlite3.connect(path)) as connection:
        return "\n".join(connection.iterdump())


def test_notes_and_slices_of_every_version_are_read(tmp_path: Path) -> None:
    for name in (*OLDER, f"notes_{VERSION}.db"):
        path = tmp_path / name
        path.write_bytes((STORES / name).read_bytes())
        store = Store.open(f"sqlite:///{path}")
        first, second = Annotations(store).list_all(DATASET)
        assert words(first) == replace(NOTE, version=2)
        assert words(second) == replace(NOTE, example=4, tag="Style", note="", version=1)
        assert [one.author for one in Annotations(store).list_all("e" * 64)] == [""]
        found = [(one.name, one.examples) for one in Slices(store).list_all(DATASET)]
        assert found == ([] if "without" in name else [("short ones", (3, 7))])
        judged = [one.words() for one in Judgements(store).list_all(DATASET)]
        assert judged == ([] if name in WITHOUT_JUDGEMENTS else [JUDGED.words()])


@pytest.mark.parametrize("kind", FORMATS)
def test_files_of_notes_of_every_version_are_read(kind: str) -> None:
    for version in range(VERSION + 1):
        notes = from_bytes((STORES / f"notes_{version}.{kind}").read_bytes(), kind)
        assert [words(note) for note in notes] == [
            replace(NOTE, version=2),
            replace(NOTE, example=4, tag="Style", note="", version=1),
        ]


def test_older_store_is_copied_and_migrated(older: Path) -> None:
    older.chmod(0o644)
    before = content(older)
    notes = Annotations.open(f"sqlite:///{older}")
    (copy,) = older.parent.glob("notes.db.version-[012]-*")
    assert content(copy) == before and copy.stat().st_mode & 0o777 == 0o600
    assert older.stat().st_mode & 0o777 == 0o600
    saved = notes.save(replace(NOTE, note="new"), "me")
    judgements = Judgements.open(f"sqlite:///{older}")
    fresh = judgements.save(replace(JUDGED, rater="Bo"), "me")
    assert fresh in judgements.list_all(DATASET)
    assert saved in notes.list_all(DATASET) and notes.remove_own(DATASET, "me") == 1
    Annotations.open(f"sqlite:///{older}")
    assert list(older.parent.glob("notes.db.version-*")) == [copy], "it is brought up once"


def test_records_without_owner_can_be_copied(older: Path) -> None:
    store = Store.open(f"sqlite:///{older}")
    notes, slices, reader = Annotations(store), Slices(store), "a" * 64
    without = notes.list_on_example(DATASET, 4, reader, 20)
    assert [one.is_changeable for one in without] == [False]
    note = without[0].record
    with pytest.raises(InputError, match="only the operator can change it"):
        notes.remove(note, reader)
    copy = notes.save(replace(note, id="", version=0), reader)
    notes.remove(copy, reader)
    for one in slices.list_all(DATASET):
        assert one.version == 1
        with pytest.raises(InputError, match="you cannot change"):
            slices.save(replace(one, examples=(0,)), reader)
        slices.save(replace(one, name="copy", version=0), reader)
    notes.remove(note)


def test_failed_migration_leaves_the_store_unchanged(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: sql.Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE half_done (id INTEGER)")
        connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")

    before = content(older)
    monkeypatch.setattr(store_schema, "STEPS", (fail,) * VERSION)
    with pytest.raises(BackendError, match="no_such_table.*Nothing was changed"):
        Store.open(f"sqlite:///{older}")
    assert content(older) == before
    monkeypatch.undo()
    assert len(Annotations.open(f"sqlite:///{older}").list_all(DATASET)) == 2


def test_newer_store_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    Annotations.open(f"sqlite:///{path}").save(NOTE)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE store_version SET version = 7")
        connection.commit()
    before = content(path)
    with pytest.raises(
        BackendError, match=f"has version 7, but this app can read versions up to {VERSION}.*Update"
    ):
        Store.open(f"sqlite:///{path}")
    assert content(path) == before and not list(tmp_path.glob("*damaged*"))
