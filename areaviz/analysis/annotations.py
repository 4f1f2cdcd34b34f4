"""Notes of people on examples: error tags, severity, who and when; kept in SQLite or PostgreSQL.

What is told as saved has been committed. A change names the version it was made from; if another one was saved
meanwhile it is refused, with both texts, so that nobody's words are lost.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Self

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.analysis.store import Store
from areaviz.trace.errors import InputError

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
LONGEST_NOTE, LONGEST_NAME = 4000, 100

_METADATA = sql.MetaData()
_TABLE = sql.Table(
    "annotations",
    _METADATA,
    sql.Column("id", sql.String(32), primary_key=True),
    sql.Column("dataset", sql.String(64), nullable=False, index=True),
    sql.Column("example", sql.Integer, nullable=False),
    sql.Column("model", sql.String(LONGEST_NAME), nullable=False),
    sql.Column("tag", sql.String(LONGEST_NAME), nullable=False),
    sql.Column("severity", sql.String(16), nullable=False),
    sql.Column("note", sql.Text, nullable=False),
    sql.Column("author", sql.String(LONGEST_NAME), nullable=False),
    sql.Column("changed", sql.String(32), nullable=False),
    sql.Column("version", sql.Integer, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Annotation:
    """One note. dataset: digest of the set. example: its place there, from 0. model: whose output is meant, "" for the
    example itself. changed: when, ISO 8601 in UTC. version: 0 before it is saved, then counted up with every change."""

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

    def checked(self) -> Annotation:
        """This note as it can be saved; InputError names what cannot."""
        for name, value, most in (
            ("tag", self.tag, LONGEST_NAME),
            ("author", self.author, LONGEST_NAME),
            ("note", self.note, LONGEST_NOTE),
        ):
            if len(value) > most:
                raise InputError(
                    f"The {name} has {len(value):,} characters but at most {most:,} are possible; shorten it."
                )
            if any("\ud800" <= character <= "\udfff" or character == "\0" for character in value):
                raise InputError(f"The {name} has a broken character; delete it or type it anew.")
        if not self.tag.strip():
            raise InputError("A note needs a tag; choose one or type your own.")
        if self.severity not in SEVERITIES:
            raise InputError(f'"{self.severity}" is no severity; choose one of: {", ".join(SEVERITIES)}.')
        return replace(self, tag=self.tag.strip(), author=self.author.strip())


class Stale(Exception):
    """Somebody saved another version meanwhile: `there` is what stands in the store (None: removed), `own` what was
    to be saved."""

    def __init__(self, there: Annotation | None, own: Annotation) -> None:
        super().__init__("The note was changed meanwhile.")
        self.there, self.own = there, own


class Annotations:
    """The notes in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.keep(_TABLE)

    @classmethod
    def open(cls, url: str) -> Self:
        """The notes in the store of an address, see `Store.open`; raises BackendError."""
        return cls(Store.open(url))

    def of(self, dataset: str) -> list[Annotation]:
        """All notes on a set, in the order of its examples, then of time."""
        chosen = sql.select(_TABLE).where(_TABLE.c.dataset == dataset)
        with self._store.reader("reading the notes") as connection:
            rows = connection.execute(chosen.order_by(_TABLE.c.example, _TABLE.c.changed, _TABLE.c.id)).mappings().all()
        return [_note(row) for row in rows]

    def counts(self, dataset: str, examples: Sequence[int] | None = None) -> dict[str, int]:
        """How many notes there are of each tag, the most frequent first; of all examples or of some."""
        count = sql.func.count()
        chosen = sql.select(_TABLE.c.tag, count).where(_TABLE.c.dataset == dataset)
        if examples is not None:
            chosen = chosen.where(_TABLE.c.example.in_(list(examples)))
        with self._store.reader("counting the notes") as connection:
            rows = connection.execute(chosen.group_by(_TABLE.c.tag).order_by(count.desc(), _TABLE.c.tag)).all()
        return {str(tag): int(number) for tag, number in rows}

    def save(self, note: Annotation) -> Annotation:
        """Add a note (version 0) or change one; it is committed when this returns.

        Raises:
            InputError: the note cannot be saved as it is.
            Stale: another version was saved meanwhile.
            BackendError: the store cannot be written to.
        """
        own = note.checked()
        new = replace(own, id=own.id or uuid.uuid4().hex, changed=_now(), version=own.version + 1)
        with self._store.writer("saving the note") as connection:
            if own.version:
                there = _there(connection, own.id)
                if there is None or there.version != own.version:
                    raise Stale(there, own)
                connection.execute(sql.update(_TABLE).where(_TABLE.c.id == new.id).values(**_values(new)))
            else:
                connection.execute(sql.insert(_TABLE).values(**_values(new)))
        return new

    def remove(self, note: Annotation) -> None:
        """Remove a note; raises Stale where another version was saved meanwhile, BackendError as `save`."""
        with self._store.writer("saving the note") as connection:
            there = _there(connection, note.id)
            if there is not None and there.version != note.version:
                raise Stale(there, note)
            connection.execute(sql.delete(_TABLE).where(_TABLE.c.id == note.id))

    def merge(self, notes: Sequence[Annotation]) -> int:
        """Bring in exported notes; of one that is there the higher version stays. Returns how many were taken."""
        fresh = 0
        with self._store.writer("saving the note") as connection:
            for note in notes:
                own = note.checked()
                there = _there(connection, own.id)
                if there is None:
                    connection.execute(sql.insert(_TABLE).values(**_values(own)))
                    fresh += 1
                elif there.version < own.version:
                    connection.execute(sql.update(_TABLE).where(_TABLE.c.id == own.id).values(**_values(own)))
                    fresh += 1
        return fresh


def _there(connection: Connection, id: str) -> Annotation | None:
    chosen = sql.select(_TABLE).where(_TABLE.c.id == id).with_for_update()
    row = connection.execute(chosen).mappings().one_or_none()
    return None if row is None else _note(row)


def _note(row: Any) -> Annotation:
    return Annotation(**dict(row))


def _values(note: Annotation) -> dict[str, object]:
    return {column.name: getattr(note, column.name) for column in _TABLE.columns}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
