"""The tables of the store of notes, their version, and the steps from older versions.

An older store is brought to this version in one transaction; a newer one is refused. To change a
table: raise `VERSION`, add a step to `STEPS`, and put a store of the version before into
tests/notes/stores.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.trace.errors import BackendError, InputError

# Stores of version 0 have no table with their version, and some of them no slices.
VERSION = 2
LONGEST_NOTE, LONGEST_NAME, LONGEST_SLICE = 4000, 100, 60
# Characters of a text that is judged, and of what another tool's file said of it.
LONGEST_TEXT, LONGEST_ORIGIN = 20_000, 200_000
# Of an example's place and of a version: the largest number that every store takes.
MAX_NUMBER = 2**31 - 1
# Characters of each text of a note and of a judgement, at most.
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
    "rater": LONGEST_NAME,
    "source": LONGEST_TEXT,
    "output": LONGEST_TEXT,
    "origin": LONGEST_ORIGIN,
}
# Halves of surrogate pairs, and the character that ends a text in PostgreSQL.
_BROKEN = re.compile("[\0\ud800-\udfff]")

METADATA = sql.MetaData()


def _text(name: str, later: bool = False, **options: Any) -> sql.Column[str]:
    """A column of text; `later` where it came with a later version, so that old rows have ""."""
    default = "" if later else None
    kind = sql.String(LENGTHS[name])
    return sql.Column(name, kind, nullable=False, server_default=default, **options)


NOTES = sql.Table(
    "annotations",
    METADATA,
    _text("id", primary_key=True),
    _text("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _text("model"),
    _text("tag"),
    _text("severity"),
    sql.Column("note", sql.Text, nullable=False),
    _text("author"),
    _text("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    # The id of the note with other words that was there when this one was brought in, else "".
    _text("differs", later=True),
    # The mark of who first wrote it (`areaviz/ui/shell/reader.py`), "" where that is unknown.
    _text("reader", later=True),
)
SLICES = sql.Table(
    "slices",
    METADATA,
    _text("dataset", primary_key=True),
    sql.Column("name", sql.String(LONGEST_SLICE), primary_key=True),
    sql.Column("examples", sql.Text, nullable=False),
    _text("changed", later=True),
    _text("reader", later=True),
)
JUDGEMENTS = sql.Table(
    "judgements",
    METADATA,
    _text("id", primary_key=True),
    _text("dataset", index=True),
    sql.Column("example", sql.Integer, nullable=False),
    _text("model"),
    _text("rater"),
    sql.Column("source", sql.Text, nullable=False),
    sql.Column("output", sql.Text, nullable=False),
    # The marked errors as JSON, see `areaviz/notes/error_spans.py`.
    sql.Column("spans", sql.Text, nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("origin", sql.Text, nullable=False),
    _text("changed"),
    sql.Column("version", sql.Integer, nullable=False),
    _text("differs"),
    _text("reader"),
)
_VERSION = sql.Table(
    "store_version", METADATA, sql.Column("version", sql.Integer, primary_key=True)
)


def version_of(connection: Connection) -> int | None:
    """The version of a store; None where it is empty.

    Raises:
        BackendError: the store is of a newer version of this app.
    """
    there = sql.inspect(connection)
    if not there.has_table(_VERSION.name):
        return 0 if there.has_table(NOTES.name) else None
    found = int(connection.execute(sql.select(_VERSION.c.version)).scalar_one())
    if found > VERSION:
        raise BackendError(
            f"The store of notes is of version {found} but this app knows versions up to {VERSION};"
            " nothing was changed, update the app to open it."
        )
    return found


def upgrade(connection: Connection) -> None:
    """Make the tables of an empty store, or bring an older one to `VERSION`.

    All of it happens in the caller's transaction.
    """
    found = version_of(connection)
    if found == VERSION:
        return
    if found is not None:
        for step in STEPS[found:]:
            step(connection)
    METADATA.create_all(connection)
    connection.execute(sql.delete(_VERSION))
    connection.execute(sql.insert(_VERSION).values(version=VERSION))


def _from_0(connection: Connection) -> None:
    """Add who wrote notes and slices, when slices changed, and what imported notes differ from."""
    _add(connection, NOTES.c.differs)
    _add(connection, NOTES.c.reader)
    if sql.inspect(connection).has_table(SLICES.name):
        _add(connection, SLICES.c.changed)
        _add(connection, SLICES.c.reader)
        connection.execute(sql.update(SLICES).values(changed=now()))


def _from_1(connection: Connection) -> None:
    """Add the judgements of raters."""
    JUDGEMENTS.create(connection, checkfirst=True)


def _add(connection: Connection, column: sql.Column[str]) -> None:
    kind = column.type.compile(connection.dialect)
    connection.exec_driver_sql(
        f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind} NOT NULL DEFAULT ''"
    )


# From each version to the next.
STEPS: tuple[Callable[[Connection], None], ...] = (_from_0, _from_1)


def check_text(title: str, value: str, most: int) -> None:
    """Raise InputError for a text that not every store takes as it is.

    Args:
        title: what people call it.
        value: the text.
        most: its characters, at most.
    """
    if len(value) > most:
        raise InputError(
            f"The {title} has {len(value):,} characters but at most {most:,} are possible;"
            " shorten it."
        )
    if _BROKEN.search(value):
        raise InputError(f"The {title} has a broken character; delete it or type it anew.")


def check_numbers(example: int, version: int) -> None:
    """Raise InputError for an example's place or a version that not every store takes."""
    for title, number in (("example", example), ("version", version)):
        if not 0 <= number <= MAX_NUMBER:
            raise InputError(
                f"The {title} has the number {number:.6g} but 0 to {MAX_NUMBER:,} are possible;"
                " fix it."
            )


def now() -> str:
    """The time as it is kept: ISO 8601 in UTC, with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")
