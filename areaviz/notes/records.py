"""Records that people make in a store: saved, changed, removed and brought in; none is lost.

A record that is reported as saved has been committed. A change names the version it was made from;
if another one was saved meanwhile it is refused, with both, so that nobody's words are lost.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.store import Store
from areaviz.notes.store_schema import LENGTHS, MAX_NUMBER, now

# Ids in one query; a store takes so many parameters and no more.
AT_ONCE = 500


class Record(Protocol):
    """What every record has, beside what was said."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """What it is found by; "" before it is saved."""

    @property
    def version(self) -> int:
        """0 before it is saved, then counted up with every change."""

    def checked(self) -> Self:
        """This record as it can be saved; InputError names what cannot."""

    def words(self) -> tuple[object, ...]:
        """What was said, and of what; not when, nor how often it was changed."""


R = TypeVar("R", bound=Record)


class Stale(Exception, Generic[R]):
    """Another version was saved meanwhile.

    Attributes:
        there: the record in the store; None where it was removed.
        own: the record that was to be saved or removed.
    """

    def __init__(self, there: R | None, own: R) -> None:
        super().__init__("The record was changed meanwhile.")
        self.there, self.own = there, own


class Merged(NamedTuple):
    """How many records were brought in."""

    # With an id that was not there.
    new: int
    # Beside a record with the same id and other words.
    differing: int


class Records(ABC, Generic[R]):
    """The records of one table; every method raises BackendError where the store fails."""

    table: ClassVar[sql.Table]
    # As error messages call one of them, and several.
    one: ClassVar[str]
    several: ClassVar[str]
    # The columns they are listed by; the last ones make the order certain.
    order: ClassVar[tuple[str, ...]]

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """The records in the store of an address, see `Store.open`."""
        return cls(Store.open(url))

    @abstractmethod
    def _read(self, row: sql.RowMapping) -> R:
        """A row of the table as a record."""

    @abstractmethod
    def _row(self, record: R) -> dict[str, Any]:
        """A record as a row of the table, without who wrote it."""

    @abstractmethod
    def _id(self, record: R) -> str:
        """The id of a record that has none yet."""

    def of(self, dataset: str) -> list[R]:
        """All records on a set, in the order of its examples."""
        chosen = self._select().where(self.table.c.dataset == dataset)
        ordered = chosen.order_by(*(self.table.c[name] for name in self.order))
        rows = self._store.rows(f"reading the {self.several}", ordered)
        return [self._read(row) for row in rows]

    def save(self, record: R, reader: str = "") -> R:
        """Add a record (version 0) or change one; it is committed when this returns.

        Args:
            record: what to save.
            reader: the mark of who writes it, kept of a new one.

        Raises:
            InputError: it cannot be saved as it is.
            Stale: another version was saved meanwhile.
        """
        own = record.checked()
        name = own.id or self._id(own)
        # After the largest number comes 1 again: a version only has to differ from the one before.
        new = replace(own, id=name, changed=now(), version=own.version % MAX_NUMBER + 1)
        with self._store.writer(f"saving the {self.one}") as connection:
            there = self._locked(connection, name)
            if own.version != (there.version if there else 0):
                raise Stale(there, own)
            if there:
                change = sql.update(self.table).where(self.table.c.id == name)
                connection.execute(change.values(**self._row(new)))
            else:
                added = sql.insert(self.table).values(**self._row(new), reader=reader)
                connection.execute(added)
        return new

    def remove(self, record: R) -> None:
        """Remove a record, if it is still there; raises Stale as `save`."""
        with self._store.writer(f"removing the {self.one}") as connection:
            there = self._locked(connection, record.id)
            if there and there.version != record.version:
                raise Stale(there, record)
            connection.execute(sql.delete(self.table).where(self.table.c.id == record.id))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove all records on a set that one reader wrote; returns how many there were."""
        own = self.table.c.dataset == dataset, self.table.c.reader == reader
        doing = f"removing the {self.several}"
        return self._store.delete(doing, self.table, *own) if reader else 0

    def remove_older(self, time: str) -> int:
        """Remove all records last changed before a time, ISO 8601 in UTC; returns how many."""
        old = self.table.c.changed < time
        return self._store.delete(f"removing old {self.several}", self.table, old)

    def merge(self, records: Sequence[R]) -> Merged:
        """Bring in exported records; what is there stays as it is. All are brought in, or none.

        A record whose id is there with other words is added under an id of its own, by which it is
        recognised when it is brought in again.

        Raises:
            InputError: a record cannot be saved as it is.
        """
        checked = [record.checked() for record in records]
        with self._store.writer(f"saving the {self.several}") as connection:
            there = self._by_id(connection, [record.id for record in checked])
            new: dict[str, R] = {}
            differing: dict[str, R] = {}
            for record in checked:
                known = there.get(record.id) or new.setdefault(record.id, record)
                if known.words() != record.words():
                    copy = replace(record, id=id_of_copy(record), differs=record.id)
                    differing[copy.id] = copy
            for copy_id in self._by_id(connection, list(differing)):
                del differing[copy_id]  # brought in before
            rows = [self._row(record) for record in (*new.values(), *differing.values())]
            if rows:
                connection.execute(sql.insert(self.table), [{**row, "reader": ""} for row in rows])
        return Merged(len(new), len(differing))

    def _select(self) -> sql.Select[Any]:
        """All columns but who wrote a record, which stays in the store."""
        return sql.select(*(column for column in self.table.c if column.name != "reader"))

    def _by_id(self, connection: Connection, ids: Sequence[str]) -> dict[str, R]:
        """The records with these ids that are there, by id."""
        found: dict[str, R] = {}
        for first in range(0, len(ids), AT_ONCE):
            chosen = self._select().where(self.table.c.id.in_(ids[first : first + AT_ONCE]))
            for row in connection.execute(chosen).mappings():
                found[row["id"]] = self._read(row)
        return found

    def _locked(self, connection: Connection, name: str) -> R | None:
        """The record with an id, locked from now on; None where there is none."""
        chosen = self._select().where(self.table.c.id == name).with_for_update()
        row = connection.execute(chosen).mappings().one_or_none()
        return None if row is None else self._read(row)


def id_of_copy(record: Record) -> str:
    """An id that the same words under the same id always get."""
    return digest(record.id, record.words())


def digest(*what: object) -> str:
    """An id that the same things always get."""
    return hashlib.sha256(repr(what).encode()).hexdigest()[: LENGTHS["id"]]
