"""The tables of the store of notes, their version, and the upgrades from older versions.

An older store is upgraded in one transaction, and a newer one is refused. To change a table, raise
`VERSION`, add a step to `STEPS`, and put a store of the new version into tests/notes/stores.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.trace.errors import BackendError, InputError

# Stores of version 0 have no table of versions, and some of them have no slices.
VERSION = 3
LONGEST_NOTE, LONGEST_NAME, LONGEST_SLICE = 4000, 100, 60
# Maximum number of characters of a rated text, and of the lines from another tool that rate it.
LONGEST_TEXT, LONGEST_ORIGIN = 20_000, 200_000
# Maximum example index and version that every store can hold.
MAX_NUMBER = 2**31 - 1
# Maximum number of characters of each text column.
LENGTHS = {
    "id": 32,
    "dataset": 64,
    "model": LONGEST_NAME,
    "tag": LONGEST_NAME,
    "severity": 16,
    "note": LONGEST_NOTE,
    "author": LONGEST_NAME,
    "changed": 32,
    "differs": 32,
    "reader": 64,
    "import_id": 32,
    "rater": LONGEST_NAME,
    "source": LONGEST_TEXT,
    "output": LONGEST_TEXT,
    "origin": LONGEST_ORIGIN,
}
# Unpaired surrogates, which UTF-8 cannot encode, and NUL, which PostgreSQL cannot store.
_BROKEN = re.compile("[\0\ud800-\udfff]")

METADATA = sql.MetaData()


def _make_text_column(name: str, later: bool = False, **options: Any) -> sql.Column[str]:
    """Return a text column. If a later version added the column, older rows have ""."""
    default = "" if later else None
    kind = sql.String(LENGTHS[name])
    return sql.Column(name, kind, nullable=False, server_default=default, **options)


def _make_ownership_columns() -> tuple[sql.Column[str], sql.Column[str]]:
    """Return the columns that determine who may change a row, see `areaviz/notes/ownership.py`."""
    # The id of the user who wrote or imported the row (`areaviz/app/run.py`). It is ""
    # for the operator, and for rows of older versions, which did not record users.
    reader = _make_text_column("reader", later=True)
    # The import that added the row, "" for a row that was written in the app.
    return reader, _make_text_column("import_id", later=True)


def _make_indexes(table: str) -> tuple[sql.Index, ...]:
    """Return the indexes that the app's queries need: by example, by owner and by import."""
    return (
        sql.Index(f"ix_{table}_example", "dataset", "example"),
        sql.Index(f"ix_{table}_reader", "reader", "dataset", "example"),
        sql.Index(f"ix_{table}_import", "import_id"),
    )


NOTES = sql.Table(
    "annotations",
    METADATA,
    _make_text_column("id", primary_key=True),
    _make_text_column("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _make_text_column("model"),
    _make_text_column("tag"),
    _make_text_column("severity"),
    sql.Column("note", sql.Text, nullable=False),
    _make_text_column("author"),
    _make_text_column("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    # The id of the stored note from which an imported note differs, "" for other notes.
    _make_text_column("differs", later=True),
    *_make_ownership_columns(),
    *_make_indexes("annotations"),
)
SLICES = sql.Table(
    "slices",
    METADATA,
    _make_text_column("dataset", primary_key=True),
    sql.Column("name", sql.String(LONGEST_SLICE), primary_key=True),
    sql.Column("examples", sql.Text, nullable=False),
    _make_text_column("changed", later=True),
    _make_text_column("reader", later=True),
    sql.Column("version", sql.Integer, nullable=False, server_default="1"),
)
JUDGEMENTS = sql.Table(
    "judgements",
    METADATA,
    _make_text_column("id", primary_key=True),
    _make_text_column("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _make_text_column("model"),
    _make_text_column("rater"),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("output", sql.Text, nullable=False),
    # The marked errors as JSON, see `areaviz/notes/error_spans.py`.
    sql.Column("spans", sql.Text, nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("origin", sql.Text, nullable=False),
    _make_text_column("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    _make_text_column("differs"),
    *_make_ownership_columns(),
    *_make_indexes("judgements"),
)
_VERSION = sql.Table(
    "store_version", METADATA, sql.Column("version", sql.Integer, primary_key=True)
)


def read_version(connection: Connection) -> int | None:
    """Return the version of a store, or None for an empty store.

    Raises:
        BackendError: a newer version of this app wrote the store.
    """
    there = sql.inspect(connection)
    if not there.has_table(_VERSION.name):
        return 0 if there.has_table(NOTES.name) else None
    found = int(connection.execute(sql.select(_VERSION.c.version)).scalar_one())
    if found > VERSION:
        raise BackendError(
            f"The notes database has version {found}, but this app can read versions up to"
            f" {VERSION}. Nothing was changed. Update the app to open it."
        )
    return found


def upgrade_store(connection: Connection) -> None:
    """Create the tables of an empty store, or upgrade an older store to `VERSION`.

    Everything happens in the caller's transaction.
    """
    found = read_version(connection)
    if found == VERSION:
        return
    if found is not None:
        for step in STEPS[found:]:
            step(connection)
    METADATA.create_all(connection)
    connection.execute(sql.delete(_VERSION))
    connection.execute(sql.insert(_VERSION).values(version=VERSION))


def _upgrade_from_0(connection: Connection) -> None:
    """Add the owners of notes and slices, the times of slices, and the column `differs`."""
    _add_columns(connection, NOTES.c.differs, NOTES.c.reader)
    if sql.inspect(connection).has_table(SLICES.name):
        _add_columns(connection, SLICES.c.changed, SLICES.c.reader)
        connection.execute(sql.update(SLICES).values(changed=format_current_time()))


def _upgrade_from_1(connection: Connection) -> None:
    """Add the table of ratings."""
    JUDGEMENTS.create(connection, checkfirst=True)


def _upgrade_from_2(connection: Connection) -> None:
    """Add imports, the versions of slices, and the indexes of notes and ratings."""
    _add_columns(connection, NOTES.c.import_id, JUDGEMENTS.c.import_id, SLICES.c.version)
    for index in sorted(NOTES.indexes | JUDGEMENTS.indexes, key=lambda one: str(one.name)):
        index.create(connection, checkfirst=True)


def _add_columns(connection: Connection, *columns: sql.Column[Any]) -> None:
    """Add columns to existing tables that lack them.

    An earlier step may have created the table, and then it has all columns of `VERSION`.
    """
    for column in columns:
        there = sql.inspect(connection)
        if not there.has_table(column.table.name):
            continue
        if column.name in {one["name"] for one in there.get_columns(column.table.name)}:
            continue
        added = sql.schema.CreateColumn(column).compile(dialect=connection.dialect)
        connection.exec_driver_sql(f"ALTER TABLE {column.table.name} ADD COLUMN {added}")


# The upgrade from each version to the next.
STEPS: tuple[Callable[[Connection], None], ...] = (
    _upgrade_from_0,
    _upgrade_from_1,
    _upgrade_from_2,
)


def check_text(title: str, value: str, most: int) -> None:
    """Raise InputError for a text that a store could not keep without changing it.

    Args:
        title: the name of the text in error messages.
        value: the text.
        most: the maximum number of characters.
    """
    if len(value) > most:
        raise InputError(
            f"The {title} has {len(value):,} characters, but the limit is {most:,}. Shorten it."
        )
    if _BROKEN.search(value):
        raise InputError(f"The {title} has a broken character. Delete it or type it again.")


def check_numbers(example: int, version: int) -> None:
    """Raise InputError for an example index or a version that a store could not keep."""
    for title, number in (("example", example), ("version", version)):
        if not 0 <= number <= MAX_NUMBER:
            raise InputError(
                f"The {title} has the number {number:.6g}. Enter a number from 0 to {MAX_NUMBER:,}."
            )


def format_current_time() -> str:
    """Return the present time as stores keep it: ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
