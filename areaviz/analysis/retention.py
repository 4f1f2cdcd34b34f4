"""What people wrote: where it is kept, and for how many days; for ever where the operator does not
say.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from areaviz.analysis.row_lines import Header, read_header
from areaviz.analysis.rows import analyses_folder, remove_idle
from areaviz.notes.annotations import Annotations
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.trace.errors import InputError
from areaviz.trace.files import PRIVATE_FILE

NOTES = "AREAVIZ_NOTES"
"""Environment variable: the address of the store (default: notes.sqlite in the folder of the
analyses).
"""
DAYS = "AREAVIZ_KEEP_DAYS"
"""Environment variable: the days after which notes, slices and analyses go that nobody changed
(default: never).
"""
MOST_DAYS = 36_500
LONGEST_HEADER = 1 << 16  # bytes


class Removed(NamedTuple):
    """How many went. copies: files that were set aside or kept from before, with notes or rows in
    them.
    """

    notes: int
    slices: int
    analyses: int
    copies: int


def notes_address() -> str:
    """The address of the store of notes."""
    return os.environ.get(NOTES) or f"sqlite:///{analyses_folder().resolve() / 'notes.sqlite'}"


def keep_days() -> float | None:
    """The days the operator chose, None for ever; InputError where that is no number of days."""
    given = os.environ.get(DAYS, "").strip()
    if not given:
        return None
    with suppress(ValueError):
        if 0 < (days := float(given)) <= MOST_DAYS:
            return days
    raise InputError(
        f'{DAYS} is "{given[:40]}" but must be a number of days up to {MOST_DAYS:,}; mend the'
        " setting."
    )


def own_analyses(folder: Path, reader: str) -> Iterator[tuple[Path, Header]]:
    """The analyses of a folder that one reader began, by their mark; those that cannot be read are
    passed over.
    """
    for path in sorted(folder.glob("*.jsonl")) if reader else ():
        with suppress(OSError, InputError), path.open("rb") as file:
            header = read_header(file.readline(LONGEST_HEADER).rstrip(b"\n"), path.name)[1]
            if header.reader == reader:
                yield path, header


def make_private(folder: Path) -> None:
    """Take the rights of others from analyses that older versions of this app wrote."""
    for path in folder.glob("*.jsonl"):
        with suppress(OSError):  # another owner's, or gone
            if path.stat().st_mode & ~PRIVATE_FILE & 0o777:
                path.chmod(PRIVATE_FILE)


def remove_old(store: Store, folder: Path, days: float) -> Removed:
    """Remove the notes and slices of a store, and the analyses of a folder, that nobody changed for
    so many days.

    An analysis that is running stays.

    Raises:
        BackendError: the store cannot be written to.
    """
    limit = datetime.now(UTC) - timedelta(days=days)
    time = limit.isoformat(timespec="milliseconds")
    notes, slices = Annotations(store).remove_older(time), Slices(store).remove_older(time)
    analyses = [path for path in _older(folder, "*.jsonl", limit) if remove_idle(path)]
    copies = list(_older(folder, "*.jsonl.damaged-*", limit))
    if store.file:
        for why in ("damaged", "version"):
            copies += _older(store.file.parent, f"{store.file.name}.{why}-*", limit)
    for path in copies:
        path.unlink(missing_ok=True)
    return Removed(notes, slices, len(analyses), len(copies))


def _older(folder: Path, pattern: str, limit: datetime) -> Iterator[Path]:
    """Files last written to before a time."""
    for path in sorted(folder.glob(pattern)):
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < limit.timestamp():
                yield path
