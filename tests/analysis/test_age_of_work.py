"""The age of readers' work is counted in all tables and files without changing anything."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sql

from areaviz.sets.notes.notes import Annotation, Annotations, Judgement, Judgements, Slice, Slices
from areaviz.sets.notes.store import JUDGEMENTS, NOTES, SLICES, Store
from areaviz.sets.retention import AgeOfWork, measure_age_of_work

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a store with two notes, two slices and two judgements."""
    made = Store.open(f"sqlite:///{tmp_path / 'notes.sqlite'}")
    for place in (0, 1):
        Annotations(made).save(Annotation("d", place, "", "Style"))
        Slices(made).save(Slice("d", str(place), (1,)))
        Judgements(made).save(Judgement("d", place, "m", "rater", "", ""))
    return made


def date_all(store: Store, table: sql.Table, days: float) -> None:
    """Set the time of the last change in all rows of a table."""
    changed = (NOW - timedelta(days=days)).isoformat(timespec="milliseconds")
    with store.writer("making them old") as connection:
        connection.execute(sql.update(table).values(changed=changed))


def test_age_of_work_counts_old_work(store: Store, tmp_path: Path) -> None:
    for table, days in ((NOTES, 31), (SLICES, 29), (JUDGEMENTS, 400)):
        date_all(store, table, days)
    for name, days in (("a", 31), ("b", 3), ("c", 300)):
        (tmp_path / f"{name}.jsonl").write_text("")
        written = (NOW - timedelta(days=days)).timestamp()
        os.utime(tmp_path / f"{name}.jsonl", (written, written))
    found = measure_age_of_work(store, tmp_path, 30, NOW)
    assert found == AgeOfWork(2, 0, 2, 2, NOW - timedelta(days=3))
    assert measure_age_of_work(store, tmp_path, 30, NOW) == found


def test_age_of_work_uses_the_newest_item(store: Store, tmp_path: Path) -> None:
    for table, days in ((NOTES, 31), (SLICES, 29), (JUDGEMENTS, 400)):
        date_all(store, table, days)
    assert measure_age_of_work(store, tmp_path, 30, NOW).newest == NOW - timedelta(days=29)


def test_age_of_work_without_work_has_no_date(tmp_path: Path) -> None:
    empty = Store.open(f"sqlite:///{tmp_path / 'notes.sqlite'}")
    assert measure_age_of_work(empty, tmp_path / "none", 30, NOW) == AgeOfWork(0, 0, 0, 0, None)
