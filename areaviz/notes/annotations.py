"""Notes of people on examples: error tags, severity, who and when; kept in SQLite or PostgreSQL.

What is told as saved has been committed. A change names the version it was made from; if another
one was saved meanwhile it is refused, with both texts, so that nobody's words are lost.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.store import Store
from areaviz.notes.store_schema import LENGTHS, LONGEST_NAME, LONGEST_NOTE, NOTES, check_text, now
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

__all__ = [
    "LONGEST_NAME",
    "LONGEST_NOTE",
    "SEVERITIES",
    "TAGS",
    "Annotation",
    "Annotations",
    "Merged",
    "Stale",
]

TAGS = (
    "Terminology",
    "Accuracy",
    "Linguistic conventions",
    "Style",
    "Locale conventions",
    "Audience appropriateness",
    "Design and markup",
)
"""The top categories of Multidimensional Quality Metrics (themqm.org); people add their own."""
SEVERITIES = ("neutral", "minor", "major", "critical")
MOST = 2**31 - 1
"""Of an example's place and of a version: the largest number that every store takes."""
AT_ONCE = 500
"""Ids that are asked for together."""
NAMES = {
    "id": "id",
    "dataset": "digest of the set",
    "model": "model",
    "tag": "tag",
    "note": "note",  # fmt: skip
    "author": "author",
    "changed": "time of the change",
    "differs": "id of the note it differs from",
}
"""What people are told of a note's texts."""
_COLUMNS = tuple(column for column in NOTES.c if column.name != "reader")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One note. dataset: digest of the set. example: its place there, from 0. model: whose output
    is meant, "" for the example itself. changed: when, ISO 8601 in UTC. version: 0 before it is
    saved, then counted up with every change.
    differs: the id of the note with other words that was there when this one was brought in, else
    "".
    """

    dataset: str
    example: int
    model: str
    tag: str
    severity: str = "neutral"
    note: str = ""
    author: str = ""
    id: str = ""
    changed: str = ""
    version: int = 0
    differs: str = ""

    def checked(self) -> Annotation:
        """This note as it can be saved; InputError names what cannot."""
        for name, title in NAMES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        for title, number in (("example", self.example), ("version", self.version)):
            if not 0 <= number <= MOST:
                raise InputError(
                    f"The {title} has the number {number:.6g} but 0 to {MOST:,} are possible;"
                    " mend it."
                )
        if not self.tag.strip():
            raise InputError("A note needs a tag; choose one or type your own.")
        if self.severity not in SEVERITIES:
            raise InputError(
                f'"{shown(self.severity)}" is no severity; choose one of: {", ".join(SEVERITIES)}.'
            )
        return replace(self, tag=self.tag.strip(), author=self.author.strip())


class Stale(Exception):
    """Somebody saved another version meanwhile: `there` is what stands in the store (None:
    removed), `own` what was to be saved.
    """

    def __init__(self, there: Annotation | None, own: Annotation) -> None:
        super().__init__("The note was changed meanwhile.")
        self.there, self.own = there, own


class Annotations:
    """The notes in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """The notes in the store of an address, see `Store.open`; raises BackendError."""
        return cls(Store.open(url))

    def of(self, dataset: str) -> list[Annotation]:
        """All notes on a set, in the order of its examples, then of time."""
        chosen = sql.select(*_COLUMNS).where(NOTES.c.dataset == dataset)
        ordered = chosen.order_by(NOTES.c.example, NOTES.c.changed, NOTES.c.id)
        with self._store.reader("reading the notes") as connection:
            return [_note(row) for row in connection.execute(ordered).mappings()]

    def counts(self, dataset: str, examples: Sequence[int] | None = None) -> dict[str, int]:
        """How many notes there are of each tag, the most frequent first; of all examples or of
        some.
        """
        count = sql.func.count()
        chosen = sql.select(NOTES.c.tag, count).where(NOTES.c.dataset == dataset)
        if examples is not None:
            chosen = chosen.where(NOTES.c.example.in_(list(examples)))
        with self._store.reader("counting the notes") as connection:
            rows = connection.execute(
                chosen.group_by(NOTES.c.tag).order_by(count.desc(), NOTES.c.tag)
            ).all()
        return {str(tag): int(number) for tag, number in rows}

    def save(self, note: Annotation, reader: str = "") -> Annotation:
        """Add a note (version 0) or change one; it is committed when this returns.

        reader: the mark of who writes it, kept of a new note.

        Raises:
            InputError: the note cannot be saved as it is.
            Stale: another version was saved meanwhile.
            BackendError: the store cannot be written to.
        """
        own = note.checked()
        # Behind the last number comes 1 again: a version only has to differ from the one before.
        new = replace(
            own, id=own.id or uuid.uuid4().hex, changed=now(), version=own.version % MOST + 1
        )
        with self._store.writer("saving the note") as connection:
            if own.version:
                there = _there(connection, own.id)
                if there is None or there.version != own.version:
                    raise Stale(there, own)
                connection.execute(
                    sql.update(NOTES).where(NOTES.c.id == new.id).values(**asdict(new))
                )
            else:
                connection.execute(sql.insert(NOTES).values(**asdict(new), reader=reader))
        return new

    def remove(self, note: Annotation) -> None:
        """Remove a note; raises Stale where another version was saved meanwhile, BackendError as
        `save`.
        """
        with self._store.writer("removing the note") as connection:
            there = _there(connection, note.id)
            if there is not None and there.version != note.version:
                raise Stale(there, note)
            connection.execute(sql.delete(NOTES).where(NOTES.c.id == note.id))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove all notes on a set that one reader wrote; returns how many there were; raises
        BackendError.
        """
        chosen = sql.delete(NOTES).where(NOTES.c.dataset == dataset, NOTES.c.reader == reader)
        with self._store.writer("removing the notes") as connection:
            return connection.execute(chosen).rowcount if reader else 0

    def remove_older(self, time: str) -> int:
        """Remove all notes last changed before a time, ISO 8601 in UTC; returns how many; raises
        BackendError.
        """
        with self._store.writer("removing old notes") as connection:
            return connection.execute(sql.delete(NOTES).where(NOTES.c.changed < time)).rowcount

    def merge(self, notes: Sequence[Annotation]) -> Merged:
        """Bring in exported notes; what is there stays as it is. All are brought in, or none.

        A note whose id is there with other words, or on another example, is added under an id of
        its own; brought in again, it is known by that.

        Raises:
            InputError: a note cannot be saved as it is.
            BackendError: the store cannot be written to.
        """
        checked = [note.checked() for note in notes]
        with self._store.writer("saving the notes") as connection:
            known = _known(connection, [note.id for note in checked])
            new: dict[str, Annotation] = {}
            differing: dict[str, Annotation] = {}
            for note in checked:
                there = known.get(note.id) or new.setdefault(note.id, note)
                if _words(there) != _words(note):
                    copy = replace(note, id=_id_of_copy(note), differs=note.id)
                    differing[copy.id] = copy
            for id in _known(connection, list(differing)):
                del differing[id]  # brought in before
            if rows := [asdict(note) for note in (*new.values(), *differing.values())]:
                connection.execute(sql.insert(NOTES), rows)
        return Merged(len(new), len(differing))

    def take_over(self, earlier: str, dataset: str) -> int:
        """Bring the notes on one set to another that it became; the old ones stay. Returns how many
        are new there.

        Raises:
            BackendError: the store cannot be written to.
        """
        moved = [replace(note, dataset=dataset) for note in self.of(earlier)]
        return self.merge([replace(note, id=_id_of_copy(note)) for note in moved]).new


class Merged(NamedTuple):
    """How many notes were brought in. new: with an id that was not there. differing: beside a note
    with the same id and other words.
    """

    new: int
    differing: int


def _words(note: Annotation) -> tuple[object, ...]:
    """What people said, and of what; not when, nor how often it was changed."""
    return note.dataset, note.example, note.model, note.tag, note.severity, note.note, note.author


def _id_of_copy(note: Annotation) -> str:
    """An id that the same words under the same id always get."""
    return hashlib.sha256(repr((note.id, _words(note))).encode()).hexdigest()[: LENGTHS["id"]]


def _known(connection: Connection, ids: Sequence[str]) -> dict[str, Annotation]:
    """The notes with these ids that are there, by id."""
    found: dict[str, Annotation] = {}
    for first in range(0, len(ids), AT_ONCE):
        chosen = sql.select(*_COLUMNS).where(NOTES.c.id.in_(ids[first : first + AT_ONCE]))
        found |= {row["id"]: _note(row) for row in connection.execute(chosen).mappings()}
    return found


def _there(connection: Connection, id: str) -> Annotation | None:
    chosen = sql.select(*_COLUMNS).where(NOTES.c.id == id).with_for_update()
    row = connection.execute(chosen).mappings().one_or_none()
    return None if row is None else _note(row)


def _note(row: Any) -> Annotation:
    return Annotation(**dict(row))
