"""Records of users: who owns them, their common parts, and their changes in the store.

`Records` in the last section is the base of notes, ratings and slices.
"""

from __future__ import annotations

import hashlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.sets.notes.store import LENGTHS, MAX_NUMBER, NOTES, Store, format_current_time
from areaviz.shares import (
    IMPORTS_KEPT,
    RECORDS_KEPT,
    RECORDS_ON_EXAMPLE,
    RECORDS_ON_SET,
    TAGS_ON_SET,
    Limit,
)
from areaviz.trace.errors import InputError

# Ownership of records: who may change a record, and how many records a user may have.
#
# A record written in the app is shared: every user may change or remove it. An imported record
# belongs to the user who imported it. A record without an owner comes from the operator or from an
# older version of the app, and only the operator may change it.


# The user id of the operator, who uses the command line or Python instead of a page.
OPERATOR = ""
# Number of leading characters of an import's id that identify it to users.
SHORT_ID = 16
_TIME = "%Y%m%dT%H%M%SZ"


class Owner(NamedTuple):
    """The owner of a stored record."""

    # The user's id, "" if the record has no owner.
    reader: str
    # The import that added the record, "" if it was written in the app.
    import_id: str

    def allows(self, reader: str) -> bool:
        """Return whether a user may change and remove the record."""
        if reader == OPERATOR:
            return True
        return reader == self.reader if self.import_id else bool(self.reader)

    def check(self, one: str, reader: str) -> None:
        """Raise InputError if a user may not change the record.

        Args:
            one: the word for a record, such as "note".
            reader: the user's id, or `OPERATOR`.
        """
        if self.allows(reader):
            return
        if self.reader:
            raise InputError(
                f"Another reader imported this {one}, and only that reader can change it. Save a"
                " copy of your own instead."
            )
        raise InputError(
            f"This {one} has no owner, so only the operator can change it. Save a copy of your own"
            " instead."
        )


class Import(NamedTuple):
    """An import of a user, with the number of records that are still stored."""

    id: str
    # The number of its records in all datasets.
    records: int

    @property
    def time(self) -> str:
        """The time of the import in UTC, for display."""
        made = datetime.strptime(self.id.partition("-")[0], _TIME)
        return f"{made:%Y-%m-%d %H:%M} UTC"


def make_import_id() -> str:
    """Return an id that starts with the time, so that ids sort by time."""
    now = datetime.now(UTC)
    # Microseconds follow the readable time, because two imports can happen within one second. The
    # column in the store holds 32 characters.
    return f"{now:{_TIME}}-{now:%f}{secrets.token_hex(4)}"


def check_shares(
    connection: Connection, table: sql.Table, several: str, reader: str, datasets: Collection[str]
) -> None:
    """Refuse changes in a transaction that exceed a user's quota.

    Args:
        connection: the connection with the uncommitted changes.
        table: the table of notes or ratings.
        several: the plural word for records of the table.
        reader: the owner of the changed records. The operator has no quota.
        datasets: the digests of the changed datasets.

    Raises:
        InputError: a quota is exceeded.
    """
    if reader == OPERATOR:
        return
    own = table.c.reader == reader
    here = [own, table.c.dataset.in_(list(datasets))]
    count = sql.func.count()
    examples = sql.select(table.c.dataset, table.c.example, count).where(*here)
    by_example = examples.group_by(table.c.dataset, table.c.example).order_by(count.desc())
    fullest = connection.execute(by_example.limit(1)).first()
    if fullest is not None:
        where = f"on example {fullest[1] + 1:,}"
        _check_limit(RECORDS_ON_EXAMPLE, fullest[2], several, where)
    _check_limit(
        RECORDS_ON_SET,
        _find_largest_count(connection, table.c.dataset, count, here),
        several,
        "on a set",
    )
    total = connection.execute(sql.select(count).where(own)).scalar_one()
    _check_limit(RECORDS_KEPT, total, several, "in all")
    if table is NOTES:
        tags = sql.func.count(sql.distinct(table.c.tag))
        found = _find_largest_count(connection, table.c.dataset, tags, here)
        _check_limit(TAGS_ON_SET, found, "different tags", "on a set")
    imports = sql.func.count(sql.distinct(table.c.import_id))
    kept = connection.execute(sql.select(imports).where(own, table.c.import_id != "")).scalar_one()
    _check_limit(IMPORTS_KEPT, kept, f"imports of {several}", "in all")


def _find_largest_count(
    connection: Connection,
    group: sql.Column[Any],
    count: sql.ColumnElement[int],
    conditions: Sequence[sql.ColumnElement[bool]],
) -> int:
    """Return the largest count of all groups, 0 if there are no rows."""
    counted = sql.select(count).where(*conditions).group_by(group).order_by(count.desc()).limit(1)
    return connection.execute(counted).scalar() or 0


def _check_limit(limit: Limit, found: int, what: str, where: str) -> None:
    if found > limit.value():
        raise InputError(
            f"You would have {found:,} {what} {where}, so nothing was saved. {limit.said()}"
            f" {limit.advice}"
        )


# The common parts of all kinds of records: fields, ids, and conflicts between versions.


class Record(Protocol):
    """The fields and methods that every kind of record has."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def id(self) -> str:
        """The id of the record, "" before it is saved."""

    @property
    def dataset(self) -> str:
        """The digest of the record's dataset."""

    @property
    def version(self) -> int:
        """The number of saved changes, 0 before the record is saved."""

    def checked(self) -> Self:
        """Return the record in the form in which it is saved.

        Raises:
            InputError: The record cannot be saved.
        """

    def words(self) -> tuple[object, ...]:
        """Return the content of the record without the time and the version."""


R = TypeVar("R", bound=Record)


class Stale(Exception, Generic[R]):
    """Another version of a record was saved since the caller read it.

    Attributes:
        there: the stored record, or None if it was removed.
        own: the record that the caller tried to save or remove.
    """

    def __init__(self, there: R | None, own: R) -> None:
        super().__init__("Another version of the record was saved since.")
        self.there, self.own = there, own


class ImportCounts(NamedTuple):
    """The numbers of imported records."""

    # Records whose id was not in the store.
    new: int
    # Records whose id was in the store with different content.
    differing: int


@dataclass(frozen=True, slots=True)
class ShownRecord(Generic[R]):
    """A record as one user sees it."""

    record: R
    # True if this user may change and remove it.
    is_changeable: bool
    # The import that added it, "" if it was written in the app.
    import_id: str


def compute_copy_id(record: Record) -> str:
    """Return an id that depends only on the id and the content of the record."""
    return compute_digest(record.id, record.words())


def compute_digest(*values: object) -> str:
    """Return an id that depends only on the values."""
    return hashlib.sha256(repr(values).encode()).hexdigest()[: LENGTHS["id"]]


# Saving, changing, removing and importing users' records, which are notes and ratings.
#
# A record that is reported as saved has been committed. A change names the version on which it is
# based. It is refused if another version was saved since, so that no text is lost.


# Maximum number of ids per query, because stores limit the number of parameters.
_IDS_AT_ONCE = 500
# Columns that are left out of files and pages.
_HIDDEN = ("reader", "import_id")


class Records(ABC, Generic[R]):
    """The records of one table. Every method raises BackendError if the store fails.

    Methods that change records take the id of the user who requests the change. Code that no user
    controls passes `OPERATOR`.
    """

    table: ClassVar[sql.Table]
    # The singular and plural words for records in error messages.
    one: ClassVar[str]
    several: ClassVar[str]
    # The columns by which records are ordered. The last one is unique.
    order: ClassVar[tuple[str, ...]]

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """Open the store at a database URL (see `Store.open`) and return its records."""
        return cls(Store.open(url))

    @abstractmethod
    def _read(self, row: Mapping[str, Any]) -> R:
        """Return the record of a row without the hidden columns."""

    @abstractmethod
    def _row(self, record: R) -> dict[str, Any]:
        """Return the row of a record, without its owner."""

    @abstractmethod
    def _id(self, record: R) -> str:
        """Return the id of a record that has none yet."""

    def _imported(self, record: R) -> R:
        """Return a checked record from a file with the values that an import adds."""
        return record

    def list_all(self, dataset: str) -> list[R]:
        """Return all records of a dataset, ordered by example."""
        chosen = sql.select(self.table).where(self.table.c.dataset == dataset)
        rows = self._store.rows(f"reading the {self.several}", chosen.order_by(*self._order()))
        return [self._read(_drop_hidden_columns(row)) for row in rows]

    def list_on_example(
        self, dataset: str, example: int, reader: str, most: int
    ) -> list[ShownRecord[R]]:
        """Return the first records on one example, as a user sees them.

        The user's own records come first, then those written in the app, then imports. An import
        therefore never hides what users wrote.

        Args:
            dataset: the digest of the dataset.
            example: the index of the example in the dataset, from 0.
            reader: the id of the user for whom the records are listed.
            most: the maximum number of records to return.
        """
        table = self.table
        chosen = sql.select(table).where(table.c.dataset == dataset, table.c.example == example)
        ordered = chosen.order_by(table.c.reader != reader, table.c.import_id != "", *self._order())
        rows = self._store.rows(f"reading the {self.several}", ordered.limit(most))
        return [self._shown(row, reader) for row in rows]

    def count(self, dataset: str, example: int | None = None) -> int:
        """Return the number of records of a dataset, or of one of its examples."""
        count = sql.func.count().label("count")
        chosen = sql.select(count).where(self.table.c.dataset == dataset)
        if example is not None:
            chosen = chosen.where(self.table.c.example == example)
        (row,) = self._store.rows(f"counting the {self.several}", chosen)
        return int(row["count"])

    def revision(self, dataset: str) -> tuple[object, ...]:
        """Return a value that changes whenever the records of a dataset change."""
        table, last = self.table, sql.func.max
        # Ids of imports increase with time, so they distinguish two imports with equal record
        # counts.
        values = last(table.c.import_id), last(table.c.changed), sql.func.sum(table.c.version)
        chosen = sql.select(sql.func.count(), *values).where(table.c.dataset == dataset)
        (row,) = self._store.rows(f"reading the {self.several}", chosen)
        return tuple(row.values())

    def save(self, record: R, reader: str = OPERATOR) -> R:
        """Add a record (version 0) or change one. It is committed when this returns.

        Args:
            record: the record to save.
            reader: the id of the user who saves it, and who owns it if it is new.

        Raises:
            InputError: the record is invalid, belongs to another user, or exceeds a quota.
            Stale: another version was saved since the record was read.
        """
        own = record.checked()
        name = own.id or self._id(own)
        # The largest number is followed by 1. A version only has to differ from the previous one.
        new = replace(
            own, id=name, changed=format_current_time(), version=own.version % MAX_NUMBER + 1
        )
        with self._store.writer(f"saving the {self.one}") as connection:
            there = self._lock_record(connection, name, reader)
            if own.version != (there.version if there else 0):
                raise Stale(there, own)
            if there:
                change = sql.update(self.table).where(self.table.c.id == name)
                connection.execute(change.values(**self._row(new)))
            else:
                row = self._row(new) | {"reader": reader, "import_id": ""}
                connection.execute(sql.insert(self.table).values(**row))
            check_shares(connection, self.table, self.several, reader, {new.dataset})
        return new

    def remove(self, record: R, reader: str = OPERATOR) -> None:
        """Remove a record if it still exists. Raise the errors of `save`."""
        with self._store.writer(f"removing the {self.one}") as connection:
            there = self._lock_record(connection, record.id, reader)
            if there and there.version != record.version:
                raise Stale(there, record)
            connection.execute(sql.delete(self.table).where(self.table.c.id == record.id))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove the records of a user on a dataset, and return their number."""
        if reader == OPERATOR:
            return 0
        own = self.table.c.dataset == dataset, self.table.c.reader == reader
        return self._store.delete(f"removing the {self.several}", self.table, *own)

    def remove_without_owner(self) -> int:
        """Remove all records without an owner, and return their number."""
        return self._store.delete(
            f"removing {self.several} without an owner", self.table, self.table.c.reader == ""
        )

    def remove_older(self, time: str) -> int:
        """Remove records last changed before a time (ISO 8601, UTC), and return their number."""
        old = self.table.c.changed < time
        return self._store.delete(f"removing old {self.several}", self.table, old)

    def merge(self, records: Sequence[R], reader: str = OPERATOR) -> ImportCounts:
        """Import all records from a file or none of them. Stored records are not changed.

        A record whose id is stored with different content is added under a new id. The new id
        depends on its content, so a second import of the record does not add it again.

        Args:
            records: the records of the file.
            reader: the id of the importing user, who owns new records.

        Raises:
            InputError: a record is invalid, or the import exceeds a quota of the user.
        """
        checked = [self._imported(record.checked()) for record in records]
        with self._store.writer(f"saving the {self.several}") as connection:
            there = self._read_by_id(connection, [record.id for record in checked])
            new: dict[str, R] = {}
            differing: dict[str, R] = {}
            for record in checked:
                known = there.get(record.id) or new.setdefault(record.id, record)
                if known.words() != record.words():
                    copy = replace(record, id=compute_copy_id(record), differs=record.id)
                    differing[copy.id] = copy
            for copy_id in self._read_by_id(connection, list(differing)):
                del differing[copy_id]  # an earlier import added it
            added = [*new.values(), *differing.values()]
            if added:
                owner = {"reader": reader, "import_id": make_import_id()}
                rows = [self._row(record) | owner for record in added]
                connection.execute(sql.insert(self.table), rows)
                datasets = {record.dataset for record in added}
                check_shares(connection, self.table, self.several, reader, datasets)
        return ImportCounts(len(new), len(differing))

    def list_imports(self, dataset: str, reader: str) -> list[Import]:
        """Return a user's imports with records on a dataset, the latest first."""
        table, count = self.table, sql.func.count()
        own = table.c.reader == reader, table.c.import_id != ""
        here = sql.select(table.c.import_id).where(*own, table.c.dataset == dataset)
        counted = sql.select(table.c.import_id, count.label("records"))
        chosen = counted.where(*own, table.c.import_id.in_(here)).group_by(table.c.import_id)
        ordered = chosen.order_by(table.c.import_id.desc())
        rows = self._store.rows(f"reading the imports of {self.several}", ordered)
        return [Import(row["import_id"], row["records"]) for row in rows]

    def undo_import(self, import_id: str, reader: str = OPERATOR) -> int:
        """Remove all records of an import on all datasets, including records changed since.

        Args:
            import_id: the id of the import. The operator may give its first `SHORT_ID` characters.
            reader: the id of the importing user. Records of other users are not removed.

        Returns:
            The number of removed records.
        """
        column, doing = self.table.c.import_id, f"undoing the import of {self.several}"
        if reader == OPERATOR and len(import_id) >= SHORT_ID:
            known = column.startswith(import_id, autoescape=True)
            return self._store.delete(doing, self.table, known)
        own = self.table.c.reader == reader, column == import_id, column != ""
        return self._store.delete(doing, self.table, *own)

    def _order(self) -> list[sql.Column[Any]]:
        return [self.table.c[name] for name in self.order]

    def _shown(self, row: sql.RowMapping, reader: str) -> ShownRecord[R]:
        owner = Owner(row["reader"], row["import_id"])
        return ShownRecord(
            self._read(_drop_hidden_columns(row)), owner.allows(reader), owner.import_id
        )

    def _read_by_id(self, connection: Connection, ids: Sequence[str]) -> dict[str, R]:
        """Return the stored records with these ids, by id."""
        found: dict[str, R] = {}
        for first in range(0, len(ids), _IDS_AT_ONCE):
            some = ids[first : first + _IDS_AT_ONCE]
            chosen = sql.select(self.table).where(self.table.c.id.in_(some))
            for row in connection.execute(chosen).mappings():
                found[row["id"]] = self._read(_drop_hidden_columns(row))
        return found

    def _lock_record(self, connection: Connection, name: str, reader: str) -> R | None:
        """Lock the record with an id and return it, or None if there is none.

        Raises:
            InputError: the user may not change it.
        """
        chosen = sql.select(self.table).where(self.table.c.id == name).with_for_update()
        row = connection.execute(chosen).mappings().one_or_none()
        if row is None:
            return None
        Owner(row["reader"], row["import_id"]).check(self.one, reader)
        return self._read(_drop_hidden_columns(row))


def _drop_hidden_columns(row: sql.RowMapping) -> dict[str, Any]:
    """Return a row without the hidden columns."""
    return {name: value for name, value in row.items() if name not in _HIDDEN}
