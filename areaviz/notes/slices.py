"""Slices, which are named sets of examples to look at again and to measure separately.

A slice belongs to the user who saved it. Other users can see it and save a copy under another name,
but they cannot replace or remove it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.ownership import OPERATOR
from areaviz.notes.store import Store
from areaviz.notes.store_schema import (
    LONGEST_SLICE,
    MAX_NUMBER,
    SLICES,
    check_text,
    format_current_time,
)
from areaviz.shares.limits import SLICES_ON_SET
from areaviz.trace.errors import InputError


@dataclass(frozen=True, slots=True)
class Slice:
    """A named set of examples of a dataset."""

    # The digest of the dataset.
    dataset: str
    # The name, which is unique in the dataset.
    name: str
    # Indices of the examples, from 0, in rising order.
    examples: tuple[int, ...]
    # 0 before the slice is saved, then the number of saved changes.
    version: int = 0
    # The id of the user who saved it, "" for the operator and in older stores.
    owner: str = OPERATOR

    def is_changeable(self, reader: str) -> bool:
        """Return whether a user may replace and remove the slice."""
        return reader in (OPERATOR, self.owner)

    def checked(self) -> Slice:
        """Return the slice in the form in which it is saved.

        Raises:
            InputError: The slice cannot be saved.
        """
        name = self.name.strip()
        if not name:
            raise InputError("A slice needs a name. Type one.")
        check_text("name of the slice", name, LONGEST_SLICE)
        if not self.examples:
            raise InputError("A slice needs at least one example. Widen the search or the filter.")
        return replace(self, name=name, examples=tuple(sorted(set(self.examples))))


class Slices:
    """The slices in a store. Every method raises BackendError if the store fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list_all(self, dataset: str) -> list[Slice]:
        """Return all slices of a dataset, by name."""
        chosen = sql.select(SLICES).where(SLICES.c.dataset == dataset).order_by(SLICES.c.name)
        return [_read_slice(row) for row in self._store.rows("reading the slices", chosen)]

    def list_for(self, dataset: str, reader: str, most: int) -> list[Slice]:
        """Return slices of a dataset: first those of one user, then the others, each by name.

        Args:
            dataset: the digest of the dataset.
            reader: the id of the user for whom the slices are listed.
            most: the maximum number of slices to return.
        """
        chosen = sql.select(SLICES).where(SLICES.c.dataset == dataset)
        ordered = chosen.order_by(SLICES.c.reader != reader, SLICES.c.name).limit(most)
        return [_read_slice(row) for row in self._store.rows("reading the slices", ordered)]

    def count(self, dataset: str) -> int:
        """Return the number of slices of a dataset."""
        chosen = sql.select(sql.func.count().label("count")).where(SLICES.c.dataset == dataset)
        (row,) = self._store.rows("counting the slices", chosen)
        return int(row["count"])

    def save(self, changed: Slice, reader: str = OPERATOR) -> Slice:
        """Add a slice (version 0) or change one. It is committed when this returns.

        Args:
            changed: the slice. Its owner is ignored.
            reader: the id of the user who saves it, and who owns it if it is new.

        Raises:
            InputError: the slice is invalid, its name belongs to another user, another version was
                saved since the slice was read, or the user has too many slices.
        """
        own = changed.checked()
        with self._store.writer("saving the slice") as connection:
            there = _lock_slice(connection, own, reader)
            _check_version(own, there)
            # After the largest number, versions begin again at 1. A version only has to differ
            # from the previous one.
            new = replace(own, version=own.version % MAX_NUMBER + 1, owner=reader)
            values = {
                "examples": json.dumps(new.examples),
                "changed": format_current_time(),
                "version": new.version,
            }
            if there:
                new = replace(new, owner=there.owner)
                connection.execute(sql.update(SLICES).where(*_match_slice(own)).values(**values))
            else:
                values |= {"dataset": own.dataset, "name": own.name, "reader": reader}
                connection.execute(sql.insert(SLICES).values(**values))
            _check_share(connection, own.dataset, reader)
        return new

    def take_over(self, earlier: str, dataset: str, reader: str = OPERATOR) -> int:
        """Copy the slices of an earlier dataset version to this version, and return their number.

        A slice is skipped if this version already has a slice with its name.
        """
        names = {one.name for one in self.list_all(dataset)}
        new = [one for one in self.list_all(earlier) if one.name not in names]
        for one in new:
            self.save(Slice(dataset, one.name, one.examples), reader)
        return len(new)

    def remove(self, gone: Slice, reader: str = OPERATOR) -> None:
        """Remove a slice if it still exists. Its examples stay in the dataset.

        Raises:
            InputError: it belongs to another user, or was changed since it was read.
        """
        with self._store.writer("removing the slice") as connection:
            there = _lock_slice(connection, gone, reader)
            if there is not None:
                _check_version(gone, there)
                connection.execute(sql.delete(SLICES).where(*_match_slice(gone)))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove the slices of a dataset that one user saved, and return their number."""
        if reader == OPERATOR:
            return 0
        own = SLICES.c.dataset == dataset, SLICES.c.reader == reader
        return self._store.delete("removing the slices", SLICES, *own)

    def remove_without_owner(self) -> int:
        """Remove all slices without an owner, and return their number."""
        return self._store.delete("removing old slices", SLICES, SLICES.c.reader == OPERATOR)

    def remove_older(self, time: str) -> int:
        """Remove slices last saved before a time (ISO 8601, UTC), and return their number."""
        return self._store.delete("removing old slices", SLICES, SLICES.c.changed < time)


def _read_slice(row: sql.RowMapping) -> Slice:
    examples = tuple(json.loads(row["examples"]))
    return Slice(row["dataset"], row["name"], examples, row["version"], row["reader"])


def _match_slice(one: Slice) -> tuple[sql.ColumnElement[bool], ...]:
    return SLICES.c.dataset == one.dataset, SLICES.c.name == one.name


def _lock_slice(connection: Connection, one: Slice, reader: str) -> Slice | None:
    """Lock the stored slice with a name and return it, or None if there is none.

    Raises:
        InputError: the user may not change it.
    """
    chosen = sql.select(SLICES).where(*_match_slice(one)).with_for_update()
    row = connection.execute(chosen).mappings().one_or_none()
    there = None if row is None else _read_slice(row)
    if there is None or there.is_changeable(reader):
        return there
    who = "Another reader saved it" if there.owner else "It has no owner"
    raise InputError(
        f'This set has a slice "{one.name}" that you cannot change. {who}. Choose another name to'
        " save a copy of your own."
    )


def _check_version(own: Slice, there: Slice | None) -> None:
    """Raise InputError unless the stored slice has the version on which the change is based."""
    if own.version == (there.version if there else 0):
        return
    did = "saved" if there else "removed"
    raise InputError(
        f'The slice "{own.name}" was {did} in another window since you opened this page, so nothing'
        " was changed. The page now shows what is stored. Try again if you still want the change."
    )


def _check_share(connection: Connection, dataset: str, reader: str) -> None:
    """Raise InputError if a slice would exceed its user's quota in the dataset."""
    if reader == OPERATOR:
        return
    counted = sql.select(sql.func.count()).where(
        SLICES.c.dataset == dataset, SLICES.c.reader == reader
    )
    if connection.execute(counted).scalar_one() > SLICES_ON_SET.value():
        raise InputError(f"{SLICES_ON_SET.said()} {SLICES_ON_SET.advice}")
