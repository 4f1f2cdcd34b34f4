"""Retention of users' work: where it is stored, and the removal of what is too old."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from areaviz.analysis.reader_files import remove_old_files
from areaviz.analysis.row_lines import Header, read_header
from areaviz.analysis.rows import find_analyses_folder, remove_idle
from areaviz.analysis.shared_links import remove_old_links
from areaviz.notes.annotations import Annotations
from areaviz.notes.error_spans import Judgement
from areaviz.notes.judgements import Judgements
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.trace.errors import InputError
from areaviz.trace.safe_files import PRIVATE_FILE

# Environment variable with the address of the store. The default is notes.sqlite next to the
# analyses.
NOTES, STORE = "AREAVIZ_NOTES", "notes.sqlite"
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
    return os.environ.get(NOTES) or f"sqlite:///{find_analyses_folder().resolve() / STORE}"


def read_stored_judgements(dataset: str) -> list[Judgement]:
    """Return the ratings of a dataset in the store of notes, [] if there is no store.

    Raises:
        BackendError: the store cannot be read.
    """
    if not os.environ.get(NOTES) and not (find_analyses_folder() / STORE).exists():
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
