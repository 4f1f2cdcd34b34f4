"""Notes of people on examples: error tags, severity, who and when; kept in SQLite or PostgreSQL.

A note that is reported as saved has been committed. A change names the version it was made from; if
another one was saved meanwhile it is refused, with both texts, so that nobody's words are lost.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, Self

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.store import Store
from areaviz.notes.store_schema import LENGTHS, NOTES, check_text, now
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

# The top categories of Multidimensional Quality Metrics (themqm.org); people add their own.
TAGS = (
    "Terminology",
    "Accuracy",
    "Linguistic conventions",
    "Style",
    "Locale conventions",
    "Audience appropriateness",
    "Design and markup",
)
SEVERITIES = ("neutral", "minor", "major", "critical")
# Of an example's place and of a version: the largest number that every store takes.
MAX_NUMBER = 2**31 - 1
# Ids in one query; a store takes so many parameters and no more.
AT_ONCE = 500
# A note's texts, as error messages call them.
TITLES = {
    "id": "id",
    "dataset": "digest of the set",
    "model": "model",
    "tag": "tag",
    "note": "note",
    "author": "author",
    "changed": "time of the change",
    "differs": "id of the note it differs from",
}
# All but who wrote a note, which stays in the store.
_COLUMNS = tuple(column for column in NOTES.c if column.name != "reader")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One note."""

    # The digest of its set, and the example's place there, from 0.
    dataset: str
    example: int
    # Whose output is meant, "" for the example itself.
    model: str
    tag: str
    severity: str = "neutral"
    note: str = ""
    author: str = ""
    id: str = ""
    # When it was saved last, ISO 8601 in UTC.
    changed: str = ""
    # 0 before it is saved, then counted up with every change.
    version: int = 0
    # The id of the note with other words that was there when this one was brought in, else "".
    differs: str = ""

    def checked(self) -> Annotation:
        """This note as it can be saved; InputError names what cannot."""
        for name, title in TITLES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        for title, number in (("example", self.example), ("version", self.version)):
            if not 0 <= number <= MAX_NUMBER:
                raise InputError(
                    f"The {title} has the number {number:.6g} but 0 to {MAX_NUMBER:,} are possible;"
                    " fix it."
                )
        if not self.tag.strip():
            raise InputError("A note needs a tag; choose one or type your own.")
        if self.severity not in SEVERITIES:
            raise InputError(
                f'"{shown(self.severity)}" is no severity; choose one of: {", ".join(SEVERITIES)}.'
            )
        return replace(self, tag=self.tag.strip(), author=self.author.strip())


class Stale(Exception):
    """Another version was saved meanwhile.

    Attributes:
        there: the note in the store; None where it was removed.
        own: the note that was to be saved or removed.
    """

    def __init__(self, there: Annotation | None, own: Annotation) -> None:
        super().__init__("The note was changed meanwhile.")
        self.there, self.own = there, own


class Merged(NamedTuple):
    """How many notes were brought in."""

    # With an id that was not there.
    new: int
    # Beside a note with the same id and other words.
    differing: int


class Annotations:
    """The notes in a store; every method raises BackendError where the store fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """The notes in the store of an address, see `Store.open`."""
        return cls(Store.open(url))

    def of(self, dataset: str) -> list[Annotation]:
        """All notes on a set, in the order of its examples, then of time."""
        chosen = sql.select(*_COLUMNS).where(NOTES.c.dataset == dataset)
        ordered = chosen.order_by(NOTES.c.example, NOTES.c.changed, NOTES.c.id)
        return [Annotation(**row) for row in self._store.rows("reading the notes", ordered)]

    def counts(
        self,
        dataset: str,
        examples: Sequence[int] | None = None,
    ) -> dict[str, int]:
        """How many notes there are of each tag, the most frequent first.

        Args:
            dataset: the digest of the set.
            examples: places in the set whose notes count; None for all.
        """
        count = sql.func.count().label("count")
        chosen = sql.select(NOTES.c.tag, count).where(NOTES.c.dataset == dataset)
        if examples is not None:
            chosen = chosen.where(NOTES.c.example.in_(list(examples)))
        ordered = chosen.group_by(NOTES.c.tag).order_by(count.desc(), NOTES.c.tag)
        rows = self._store.rows("counting the notes", ordered)
        return {row["tag"]: row["count"] for row in rows}

    def save(self, note: Annotation, reader: str = "") -> Annotation:
        """Add a note (version 0) or change one; it is committed when this returns.

        Args:
            note: what to save.
            reader: the mark of who writes it, kept of a new note.

        Raises:
            InputError: the note cannot be saved as it is.
            Stale: another version was saved meanwhile.
        """
        own = note.checked()
        # After the largest number comes 1 again: a version only has to differ from the one before.
        version = own.version % MAX_NUMBER + 1
        new = replace(
            own,
            id=own.id or uuid.uuid4().hex,
            changed=now(),
            version=version,
        )
        with self._store.writer("saving the note") as connection:
            if own.version:
                _check_version(connection, own)
                change = sql.update(NOTES).where(NOTES.c.id == new.id)
                connection.execute(change.values(**asdict(new)))
            else:
                connection.execute(sql.insert(NOTES).values(**asdict(new), reader=reader))
        return new

    def remove(self, note: Annotation) -> None:
        """Remove a note, if it is still there; raises Stale as `save`."""
        with self._store.writer("removing the note") as connection:
            _check_version(connection, note, may_be_gone=True)
            connection.execute(sql.delete(NOTES).where(NOTES.c.id == note.id))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove all notes on a set that one reader wrote; returns how many there were."""
        own = NOTES.c.dataset == dataset, NOTES.c.reader == reader
        return self._store.delete("removing the notes", NOTES, *own) if reader else 0

    def remove_older(self, time: str) -> int:
        """Remove all notes last changed before a time, ISO 8601 in UTC; returns how many."""
        return self._store.delete("removing old notes", NOTES, NOTES.c.changed < time)

    def merge(self, notes: Sequence[Annotation]) -> Merged:
        """Bring in exported notes; what is there stays as it is. All are brought in, or none.

        A note whose id is there with other words, or on another example, is added under an id of
        its own, by which it is recognised when it is brought in again.

        Raises:
            InputError: a note cannot be saved as it is.
        """
        checked = [note.checked() for note in notes]
        with self._store.writer("saving the notes") as connection:
            there = _by_id(connection, [note.id for note in checked])
            new: dict[str, Annotation] = {}
            differing: dict[str, Annotation] = {}
            for note in checked:
                known = there.get(note.id) or new.setdefault(note.id, note)
                if _words(known) != _words(note):
                    copy = replace(note, id=_id_of_copy(note), differs=note.id)
                    differing[copy.id] = copy
            for copy_id in _by_id(connection, list(differing)):
                del differing[copy_id]  # brought in before
            rows = [asdict(note) for note in (*new.values(), *differing.values())]
            if rows:
                connection.execute(sql.insert(NOTES), rows)
        return Merged(len(new), len(differing))

    def take_over(self, earlier: str, dataset: str) -> int:
        """Copy the notes on one set to another that it became; returns how many are new there."""
        moved = [replace(note, dataset=dataset) for note in self.of(earlier)]
        return self.merge([replace(note, id=_id_of_copy(note)) for note in moved]).new


def _words(note: Annotation) -> tuple[object, ...]:
    """What people said, and of what; not when, nor how often it was changed."""
    return note.dataset, note.example, note.model, note.tag, note.severity, note.note, note.author


def _id_of_copy(note: Annotation) -> str:
    """An id that the same words under the same id always get."""
    return hashlib.sha256(repr((note.id, _words(note))).encode()).hexdigest()[: LENGTHS["id"]]


def _by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Annotation]:
    """The notes with these ids that are there, by id."""
    found: dict[str, Annotation] = {}
    for first in range(0, len(ids), AT_ONCE):
        chosen = sql.select(*_COLUMNS).where(NOTES.c.id.in_(ids[first : first + AT_ONCE]))
        notes = [Annotation(**row) for row in connection.execute(chosen).mappings()]
        found |= {note.id: note for note in notes}
    return found


def _check_version(
    connection: Connection,
    own: Annotation,
    may_be_gone: bool = False,
) -> None:
    """Raise Stale where the store has another version of a note; it is locked from now on."""
    chosen = sql.select(*_COLUMNS).where(NOTES.c.id == own.id).with_for_update()
    row = connection.execute(chosen).mappings().one_or_none()
    there = None if row is None else Annotation(**row)
    is_same = may_be_gone if there is None else there.version == own.version
    if not is_same:
        raise Stale(there, own)
