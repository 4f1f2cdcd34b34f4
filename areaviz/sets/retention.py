"""Retention of users' work: the check of the date, the age of work, and its removal.

The last section is the command `forget`.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, NamedTuple

import sqlalchemy as sql
import typer

from areaviz.sets.notes.notes import Annotations, Judgement, Judgements, Slices
from areaviz.sets.notes.records import SHORT_ID
from areaviz.sets.notes.store import JUDGEMENTS, NOTES, SLICES, Store
from areaviz.sets.run import Header, find_analyses_folder, read_header, remove_idle
from areaviz.sets.user_files import remove_old_files, remove_old_links
from areaviz.shares import DAYS, MAX_DAYS, keep_days
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import PRIVATE_FILE, write_whole

# Check of the system date before the app deletes old work on its own.
#
# A clock that jumps a year ahead would make everything look old. So the app records the date at
# each check and deletes only after a day of dates without a jump. That gives an operator a day to
# correct a wrong clock before anything is lost.


log = logging.getLogger(__name__)

# The file in the folder of analyses with the dates of earlier checks.
DATES = "dates.json"
# A larger gap between two dates counts as a jump. It can also come from a long time without use.
MAX_GAP = timedelta(days=7)
# Time without a jump that has to pass before old work is deleted.
STEADY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class _Dates:
    """The first date since the last jump, and the date of the last check."""

    first: datetime
    last: datetime


def is_date_steady(folder: Path, now: datetime) -> bool:
    """Record the date of a check, and return whether a day has passed without a jump.

    Args:
        folder: the folder of analyses.
        now: the date, with its time zone.

    Raises:
        BackendError: the date cannot be recorded.
    """
    known = _read_dates(folder / DATES)
    if known is not None and timedelta(0) <= now - known.last <= MAX_GAP:
        dates = _Dates(known.first, now)
    else:
        dates = _Dates(now, now)
        if known is not None:
            log.warning(
                "The date changed from %s to %s since old work was last looked for. Nothing is"
                " deleted for a day. Correct the clock if it is wrong.",
                known.last.date(),
                now.date(),
            )
    content = {"first": dates.first.isoformat(), "last": dates.last.isoformat()}
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / DATES, json.dumps(content).encode(), PRIVATE_FILE)
    return dates.last - dates.first >= STEADY


def _read_dates(path: Path) -> _Dates | None:
    """Return the recorded dates, or None if they are missing or unreadable."""
    try:
        content = json.loads(path.read_bytes())
        dates = _Dates(*(datetime.fromisoformat(content[name]) for name in ("first", "last")))
        return dates if dates.first.tzinfo and dates.last.tzinfo else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


# Age of users' work, which shows an operator what a retention period would delete.


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


# Retention of users' work: where it is stored, and the removal of what is too old.


# Environment variable with the address of the store. The default is notes.sqlite next to the
# analyses.
NOTES_SETTING, STORE = "AREAVIZ_NOTES", "notes.sqlite"
MAX_HEADER_BYTES = 1 << 16


class Removed(NamedTuple):
    """Numbers of removed items, by kind."""

    notes: int
    slices: int
    judgements: int
    analyses: int
    # Files with notes or rows that were set aside as damaged or as copies of an older version.
    copies: int
    # Stored datasets, entries of lists of analyses, and links that share analyses.
    kept: int


def get_notes_address() -> str:
    """Return the address of the store of notes."""
    return os.environ.get(NOTES_SETTING) or f"sqlite:///{find_analyses_folder().resolve() / STORE}"


def read_stored_judgements(dataset: str) -> list[Judgement]:
    """Return the ratings of a dataset in the store of notes, [] if there is no store.

    Raises:
        BackendError: the store cannot be read.
    """
    if not os.environ.get(NOTES_SETTING) and not (find_analyses_folder() / STORE).exists():
        return []
    return Judgements.open(get_notes_address()).list_all(dataset)


def own_analyses(folder: Path, reader: str) -> Iterator[tuple[Path, Header]]:
    """Yield the analyses in a folder that one user started, without unreadable ones.

    Args:
        folder: the folder of analyses.
        reader: the user's id. "" yields nothing.
    """
    for path in sorted(folder.glob("*.jsonl")) if reader else ():
        with suppress(OSError, InputError), path.open("rb") as file:
            _, header = read_header(file.readline(MAX_HEADER_BYTES).rstrip(b"\n"), path.name)
            if header.reader == reader:
                yield path, header


def make_private(folder: Path) -> None:
    """Make analyses that older versions of the app wrote readable only for this user."""
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):  # the file has another owner or is gone
            if path.stat().st_mode & ~PRIVATE_FILE & 0o777:
                path.chmod(PRIVATE_FILE)


def remove_old(store: Store, folder: Path, days: float) -> Removed:
    """Delete items unchanged for `days` days. Running analyses are kept.

    Args:
        store: the store whose old notes, slices and ratings are deleted.
        folder: the folder whose old analyses, datasets, lists and links are deleted.
        days: the retention period in days.

    Raises:
        BackendError: the store cannot be written to.
    """
    limit = datetime.now(UTC) - timedelta(days=days)
    time = limit.isoformat(timespec="milliseconds")
    notes, slices = Annotations(store).remove_older(time), Slices(store).remove_older(time)
    judgements = Judgements(store).remove_older(time)
    analyses = sum(remove_idle(path) for path in _list_older_files(folder, "*.jsonl", limit))
    copies = _list_older_files(folder, "*.jsonl.damaged-*", limit)
    if store.file:
        for why in ("damaged", "version"):
            copies += _list_older_files(store.file.parent, f"{store.file.name}.{why}-*", limit)
    for path in copies:
        path.unlink(missing_ok=True)
    kept = remove_old_files(folder, limit.timestamp())
    kept += remove_old_links(folder, limit.timestamp())
    return Removed(notes, slices, judgements, analyses, len(copies), kept)


def _list_older_files(folder: Path, pattern: str, limit: datetime) -> list[Path]:
    """Return the files of a folder that match a pattern and were last written before a time."""
    found = []
    for path in sorted(folder.glob(pattern)):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < limit.timestamp():
                found.append(path)
    return found


# `forget`: delete old work, imported records, and records that have no owner.


def forget(
    days: Annotated[
        float | None,
        typer.Option(min=0, max=MAX_DAYS, help=f"Number of days. Default: the setting {DAYS}."),
    ] = None,
    import_id: Annotated[
        str, typer.Option("--import", help="Undo one import instead. The page shows its id.")
    ] = "",
    without_owner: Annotated[
        bool,
        typer.Option(
            "--without-owner",
            help="Delete the notes, slices and judgements without an owner instead.",
        ),
    ] = False,
    is_date_right: Annotated[
        bool, typer.Option("--yes", help="Trust the date of this machine without a check.")
    ] = False,
) -> None:
    """Delete notes, slices, judgements and analyses that have not changed for some days.

    The command also deletes their copies. If AREAVIZ_KEEP_DAYS gives a number of days, the app does
    this by itself, once an hour while it has visitors.

    A wrong date would make everything look old. The app and earlier runs of this command record
    dates. The command requires a day of recorded dates without a jump, or the option --yes.
    """
    if import_id or without_owner:
        _remove_records(import_id, without_owner)
        return
    chosen = keep_days() if days is None else days
    if chosen is None:
        raise InputError(f"The number of days is missing. Give --days or set {DAYS}.")
    store, folder, now = Store.open(get_notes_address()), find_analyses_folder(), datetime.now(UTC)
    typer.echo(_describe_age(measure_age_of_work(store, folder, chosen, now), chosen, now))
    if not is_date_steady(folder, now) and not is_date_right:
        raise InputError(
            f"Nothing was deleted. This machine's date is {now.date()}, but its dates have jumped"
            " or were recorded for less than a day. If the date is right, run the command again"
            " with --yes."
        )
    gone = remove_old(store, folder, chosen)
    typer.echo(
        f"Deleted everything unchanged for {chosen:g} days: {gone.notes:,} notes,"
        f" {gone.slices:,} slices, {gone.judgements:,} judged outputs, {gone.analyses:,}"
        f" analyses, {gone.copies:,} copies, {gone.kept:,} kept sets, entries of lists and"
        " shared links."
    )


def _describe_age(age: AgeOfWork, days: float, now: datetime) -> str:
    """Return sentences that say what is old, and how old the newest work is."""
    text = (
        f"Unchanged for {days:g} days: {age.notes:,} notes, {age.slices:,} slices,"
        f" {age.judgements:,} judged outputs and {age.analyses:,} analyses."
    )
    if age.newest is None:
        return text
    old = (now - age.newest).days
    return f"{text} The newest work is from {age.newest.date()}, {old:,} days ago."


def _remove_records(import_id: str, without_owner: bool) -> None:
    """Undo an import and delete records without an owner, as requested."""
    store = Store.open(get_notes_address())
    notes, judgements = Annotations(store), Judgements(store)
    if import_id:
        if len(import_id) < SHORT_ID:
            raise InputError(
                f"The id of an import has at least {SHORT_ID} characters. Copy all of them."
            )
        gone = notes.undo_import(import_id), judgements.undo_import(import_id)
        typer.echo(f"Undid the import: {gone[0]:,} notes, {gone[1]:,} judged outputs.")
    if without_owner:
        slices = Slices(store).remove_without_owner()
        gone = notes.remove_without_owner(), judgements.remove_without_owner()
        typer.echo(
            f"Deleted everything without an owner: {gone[0]:,} notes, {slices:,} slices,"
            f" {gone[1]:,} judged outputs."
        )
