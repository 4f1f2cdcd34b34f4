"""Stores of every version: older ones are brought up in one step after a copy, newer ones are
refused by name.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from areaviz.notes import store_schema
from areaviz.notes.annotations import Annotation, Annotations
from areaviz.notes.error_spans import ErrorSpan, Judgement
from areaviz.notes.exchange import FORMATS, from_bytes
from areaviz.notes.judgements import Judgements
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.notes.store_schema import VERSION
from areaviz.trace.errors import BackendError

STORES = Path(__file__).parent / "stores"
DATASET = "d" * 64
NOTE = Annotation(DATASET, 3, "char-area", "Accuracy", "minor", "changed once", "Ada")
OLDER = ("notes_0_without_slices.db", "notes_0.db", "notes_1.db")
"""Written by the code of that time: first with no version, no slices, last with no judgements."""
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
        first, second = Annotations(store).of(DATASET)
        assert words(first) == replace(NOTE, version=2)
        assert words(second) == replace(NOTE, example=4, tag="Style", note="", version=1)
        assert [one.author for one in Annotations(store).of("e" * 64)] == [""]
        found = [(one.name, one.examples) for one in Slices(store).of(DATASET)]
        assert found == ([] if "without" in name else [("short ones", (3, 7))])
        judged = [one.words() for one in Judgements(store).of(DATASET)]
        assert judged == ([] if name in OLDER else [JUDGED.words()])


@pytest.mark.parametrize("kind", FORMATS)
def test_files_of_notes_of_every_version_are_read(kind: str) -> None:
    for version in range(VERSION + 1):
        notes = from_bytes((STORES / f"notes_{version}.{kind}").read_bytes(), kind)
        assert [words(note) for note in notes] == [
            replace(NOTE, version=2),
            replace(NOTE, example=4, tag="Style", note="", version=1),
        ]


def test_an_older_store_is_kept_as_it_was_and_can_be_written(older: Path) -> None:
    older.chmod(0o644)
    before = content(older)
    notes = Annotations.open(f"sqlite:///{older}")
    (copy,) = older.parent.glob("notes.db.version-[01]-*")
    assert content(copy) == before and copy.stat().st_mode & 0o777 == 0o600
    assert older.stat().st_mode & 0o777 == 0o600
    saved = notes.save(replace(NOTE, note="new"), "me")
    judgements = Judgements.open(f"sqlite:///{older}")
    assert judgements.of(DATASET) == [] and judgements.save(JUDGED) in judgements.of(DATASET)
    assert saved in notes.of(DATASET) and notes.remove_own(DATASET, "me") == 1
    Annotations.open(f"sqlite:///{older}")
    assert list(older.parent.glob("notes.db.version-*")) == [copy], "it is brought up once"


def test_a_step_that_fails_leaves_the_store_as_it_was(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(connection: sql.Connection) -> None:
        connection.exec_driver_sql("CREATE TABLE half_done (id INTEGER)")
        connection.exec_driver_sql("INSERT INTO no_such_table VALUES (1)")

    before = content(older)
    monkeypatch.setattr(store_schema, "STEPS", (fail, fail))
    with pytest.raises(BackendError, match="no_such_table.*nothing was changed"):
        Store.open(f"sqlite:///{older}")
    assert content(older) == before
    monkeypatch.undo()
    assert len(Annotations.open(f"sqlite:///{older}").of(DATASET)) == 2


def test_a_newer_store_is_refused_by_name_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    Annotations.open(f"sqlite:///{path}").save(NOTE)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE store_version SET version = 7")
        connection.commit()
    before = content(path)
    with pytest.raises(
        BackendError, match=f"is of version 7 but this app knows versions up to {VERSION}.*update"
    ):
        Store.open(f"sqlite:///{path}")
    assert content(path) == before and not list(tmp_path.glob("*damaged*"))
