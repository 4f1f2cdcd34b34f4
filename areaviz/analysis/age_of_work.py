"""Age of users' work, which shows an operator what a retention period would delete."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import sqlalchemy as sql

from areaviz.notes.store import Store
from areaviz.notes.store_schema import JUDGEMENTS, NOTES, SLICES


@dataclass(frozen=True, slots=True)
class AgeOfWork:
    """Number of items unchanged for some days, and the date of the newest item.

    Args:
        notes: the number of old notes.
        slices: the number of old slices.
        judgements: the number of old ratings.
        analyses: the number of old analyses.
        newest: the last change of any note, slice, rating or analysis, None if there are none.
    """

    notes: int
    slices: int
    judgements: int
    analyses: int
    newest: datetime | None


def measure_age_of_work(store: Store, folder: Path, days: float, now: datetime) -> AgeOfWork:
    """Count the items unchanged for `days` days. Nothing is changed.

    Args:
        store: the store of notes, slices and ratings.
        folder: the folder of analyses.
        days: the age in days.
        now: the date, in UTC.

    Raises:
        BackendError: the store cannot be read.
    """
    limit = now - timedelta(days=days)
    counts: list[int] = []
    changes: list[datetime] = []
    for table in (NOTES, SLICES, JUDGEMENTS):
        older = table.c.changed < limit.isoformat(timespec="milliseconds")
        count = sql.func.count().filter(older).label("count")
        query = sql.select(count, sql.func.max(table.c.changed).label("newest"))
        (row,) = store.rows("counting old work", query)
        counts.append(row["count"])
        if row["newest"]:
            changes.append(datetime.fromisoformat(row["newest"]))
    written = _read_analysis_times(folder)
    old = sum(time < limit for time in written)
    notes, slices, judgements = counts
    newest = max([*changes, *written], default=None)
    return AgeOfWork(notes, slices, judgements, old, newest)


def _read_analysis_times(folder: Path) -> list[datetime]:
    """Return the times when the analyses of a folder were last written."""
    times = []
    for path in folder.glob("*.jsonl"):
        # An analysis may be deleted in the meantime.
        with suppress(FileNotFoundError):
            times.append(datetime.fromtimestamp(path.stat().st_mtime, UTC))
    return times
