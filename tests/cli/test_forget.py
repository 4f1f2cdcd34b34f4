"""`forget` deletes only what has not changed for a given number of days."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sql

from areaviz.cli import main
from areaviz.sets.notes.notes import Annotation, Annotations, Judgement, Judgements, Slice, Slices
from areaviz.sets.notes.store import JUDGEMENTS, SLICES, Store
from areaviz.sets.notes.store import NOTES as TABLE
from areaviz.sets.retention import DATES, NOTES_SETTING
from areaviz.sets.run import SETTING, Header, RowFile
from areaviz.shares import DAYS, keep_days
from areaviz.trace.errors import InputError

HEADER = Header("set", "d" * 64, "model", "c" * 64)
OLD = "2026-01-02T03:04:05.678+00:00"
DAY = 86_400


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(SETTING, str(tmp_path))
    monkeypatch.delenv(NOTES_SETTING, raising=False)
    monkeypatch.delenv(DAYS, raising=False)
    return tmp_path


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as done:
        main(["forget", *arguments])
    return int(done.value.code or 0)


def aged(path: Path, days: float) -> Path:
    os.utime(path, times=(when := time.time() - days * DAY, when))
    return path


def note_dates(folder: Path, last: datetime) -> None:
    """Record two days of steady dates, as the app does."""
    dates = {"first": (last - timedelta(days=2)).isoformat(), "last": last.isoformat()}
    (folder / DATES).write_text(json.dumps(dates))


def test_forget_deletes_only_old_items(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(f"sqlite:///{folder / 'notes.sqlite'}")
    notes, slices, judgements = Annotations(store), Slices(store), Judgements(store)
    old, new = (notes.save(Annotation("d", place, "", "Style")) for place in (0, 1))
    for name in ("old", "new"):
        slices.save(Slice("d", name, (1,)))
        judgements.save(Judgement("d", 0, "m", name, "", ""))
    with store.writer("making them old") as connection:
        connection.execute(sql.update(TABLE).where(TABLE.c.id == old.id).values(changed=OLD))
        connection.execute(sql.update(SLICES).where(SLICES.c.name == "old").values(changed=OLD))
        by_old = JUDGEMENTS.c.rater == "old"
        connection.execute(sql.update(JUDGEMENTS).where(by_old).values(changed=OLD))
    for name in ("old", "new", "running"):
        RowFile.open(folder / f"{name}.jsonl", replace(HEADER, model=name)).close()
    copies = [
        "old.jsonl.damaged-1",
        "notes.sqlite.damaged-1",
        "notes.sqlite.damaged-1-wal",
        "notes.sqlite.version-0-1",
    ]
    note_dates(folder, datetime.now(UTC))
    others = ["thesis.txt", "notes.sqlite", DATES]
    for name in (*copies, "thesis.txt"):
        (folder / name).write_text(name)
    for name in ("old.jsonl", "running.jsonl", *copies, *others[:2]):
        aged(folder / name, 31)
    (folder / "new.jsonl.damaged-1").write_text("")
    with RowFile.open(folder / "running.jsonl", replace(HEADER, model="running")):
        aged(folder / "running.jsonl", 31)
        assert run("--days", "30") == 0
    assert (
        "1 notes, 1 slices, 1 judged outputs, 1 analyses, 4 copies, 0 kept sets"
        in capsys.readouterr().out
    )
    assert notes.list_all("d") == [new] and [one.name for one in slices.list_all("d")] == ["new"]
    assert [one.rater for one in judgements.list_all("d")] == ["new"]
    there = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    assert there - {"notes.sqlite-wal", "notes.sqlite-shm"} == {
        *others, "new.jsonl", "running.jsonl", "new.jsonl.damaged-1",
    }  # fmt: skip


def test_forget_uses_days_of_the_setting(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    RowFile.open(folder / "a.jsonl", HEADER).close()
    aged(folder / "a.jsonl", 3)
    note_dates(folder, datetime.now(UTC))
    assert run() == 1 and "AREAVIZ_KEEP_DAYS" in capsys.readouterr().err
    monkeypatch.setenv(DAYS, "4")
    assert run() == 0 and (folder / "a.jsonl").exists()
    monkeypatch.setenv(DAYS, "2.5")
    assert run() == 0 and not (folder / "a.jsonl").exists()


@pytest.mark.parametrize("noted", [None, timedelta(days=-365), timedelta(days=365)])
def test_forget_deletes_nothing_after_a_date_jump(
    folder: Path, capsys: pytest.CaptureFixture[str], noted: timedelta | None
) -> None:
    """Check a clock that is a year ahead, which makes all work look a year old."""
    RowFile.open(folder / "a.jsonl", HEADER).close()
    aged(folder / "a.jsonl", 365.1)
    now = datetime.now(UTC)
    if noted is not None:
        note_dates(folder, now + noted)
    assert run("--days", "30") == 1
    said = capsys.readouterr()
    newest = (now - timedelta(days=365.1)).date()
    assert "0 notes, 0 slices, 0 judged outputs and 1 analyses" in said.out
    assert f"The newest work is from {newest}, 365 days ago." in said.out
    assert "Nothing was deleted" in said.err and "--yes" in said.err
    assert (folder / "a.jsonl").exists()
    assert run("--days", "30", "--yes") == 0
    assert not (folder / "a.jsonl").exists()


def test_forget_notes_the_date_for_later_runs(folder: Path) -> None:
    RowFile.open(folder / "a.jsonl", HEADER).close()
    aged(folder / "a.jsonl", 31)
    assert run("--days", "30") == 1
    noted = json.loads((folder / DATES).read_text())
    noted["first"] = (datetime.fromisoformat(noted["first"]) - timedelta(days=1)).isoformat()
    (folder / DATES).write_text(json.dumps(noted))
    assert run("--days", "30") == 0
    assert not (folder / "a.jsonl").exists()


@pytest.mark.parametrize("days", ["-1", "0", "soon", "nan", "inf", "1e9"])
def test_invalid_days_are_reported(monkeypatch: pytest.MonkeyPatch, days: str) -> None:
    monkeypatch.setenv(DAYS, days)
    with pytest.raises(InputError, match="must be a number of days"):
        keep_days()


def test_forget_undoes_imports_and_removes_unowned_items(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store, reader = Store.open(f"sqlite:///{folder / 'notes.sqlite'}"), "a" * 64
    notes, slices = Annotations(store), Slices(store)
    notes.merge([Annotation("d", 0, "", "Style", id=one, version=1) for one in "xy"], reader)
    notes.save(Annotation("d", 0, "", "Style"))
    own = notes.save(Annotation("d", 0, "", "Style"), reader)
    slices.save(Slice("d", "old", (1,)))
    (made,) = notes.list_imports("d", reader)
    assert run("--import", made.id[:5]) == 1 and "at least 16" in capsys.readouterr().err
    assert run("--import", made.id, "--without-owner") == 0
    said = capsys.readouterr().out
    assert "2 notes, 0 judged" in said and "1 notes, 1 slices, 0 judged" in said
    assert notes.list_all("d") == [own] and slices.list_all("d") == []
