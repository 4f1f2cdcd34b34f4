"""Ownership of records: who may change a record, and how many records a user may have.

A record written in the app is shared: every user may change or remove it. An imported record
belongs to the user who imported it. A record without an owner comes from the operator or from an
older version of the app, and only the operator may change it.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.store_schema import NOTES
from areaviz.shares.limits import (
    IMPORTS_KEPT,
    RECORDS_KEPT,
    RECORDS_ON_EXAMPLE,
    RECORDS_ON_SET,
    TAGS_ON_SET,
    Limit,
)
from areaviz.trace.errors import InputError

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
