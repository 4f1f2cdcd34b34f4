"""Slices: some examples of a set under a name, so that the same ones can be looked at again and
measured alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sql

from areaviz.notes.store import Store
from areaviz.notes.store_schema import LONGEST_SLICE, SLICES, check_text, now
from areaviz.trace.errors import InputError

LONGEST_NAME, MOST = LONGEST_SLICE, 100


@dataclass(frozen=True, slots=True)
class Slice:
    """dataset: digest of the set. name: unique there. examples: their places in the set, from 0,
    rising.
    """

    dataset: str
    name: str
    examples: tuple[int, ...]


class Slices:
    """The slices in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, dataset: str) -> list[Slice]:
        """All slices of a set, by name; raises BackendError."""
        chosen = (
            sql.select(SLICES.c.dataset, SLICES.c.name, SLICES.c.examples)
            .where(SLICES.c.dataset == dataset)
            .order_by(SLICES.c.name)
        )
        with self._store.reader("reading the slices") as connection:
            rows = connection.execute(chosen).all()
        return [
            Slice(str(row.dataset), str(row.name), tuple(json.loads(row.examples))) for row in rows
        ]

    def save(self, dataset: str, name: str, examples: Sequence[int], reader: str = "") -> Slice:
        """Keep examples under a name, in the place of those that had it; committed when this
        returns.

        reader: the mark of who keeps them.

        Raises:
            InputError: the name is empty, too long or broken, there are no examples, or the set has
                too many slices.
            BackendError: the store cannot be written to.
        """
        name = name.strip()
        if not name or len(name) > LONGEST_NAME:
            raise InputError(
                f"The name of a slice has {len(name)} characters but 1 to {LONGEST_NAME} are"
                " possible; choose another."
            )
        check_text("name", name, LONGEST_NAME)
        if not examples:
            raise InputError("A slice needs at least one example; search or brush for less.")
        made = Slice(dataset, name, tuple(sorted(set(examples))))
        with self._store.writer("saving the slice") as connection:
            there = sql.select(SLICES.c.name).where(SLICES.c.dataset == dataset)
            names = set(connection.execute(there).scalars())
            if len(names | {name}) > MOST:
                raise InputError(
                    f"This set has {MOST} slices and can have no more; remove one first."
                )
            connection.execute(_of(dataset, name))
            values = {"dataset": dataset, "name": name, "examples": json.dumps(made.examples)}
            connection.execute(sql.insert(SLICES).values(**values, changed=now(), reader=reader))
        return made

    def take_over(self, earlier: str, dataset: str, reader: str = "") -> int:
        """Keep the slices of one set for another that it became, but those whose names are taken;
        returns how many.
        """
        names = {one.name for one in self.of(dataset)}
        new = [one for one in self.of(earlier) if one.name not in names]
        for one in new:
            self.save(dataset, one.name, one.examples, reader)
        return len(new)

    def remove(self, dataset: str, name: str) -> None:
        """Forget a slice; its examples stay; raises BackendError."""
        with self._store.writer("removing the slice") as connection:
            connection.execute(_of(dataset, name))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Forget all slices of a set that one reader kept; returns how many there were; raises
        BackendError.
        """
        chosen = sql.delete(SLICES).where(SLICES.c.dataset == dataset, SLICES.c.reader == reader)
        with self._store.writer("removing the slices") as connection:
            return connection.execute(chosen).rowcount if reader else 0

    def remove_older(self, time: str) -> int:
        """Forget all slices kept before a time, ISO 8601 in UTC; returns how many; raises
        BackendError.
        """
        with self._store.writer("removing old slices") as connection:
            return connection.execute(sql.delete(SLICES).where(SLICES.c.changed < time)).rowcount


def _of(dataset: str, name: str) -> sql.Delete:
    return sql.delete(SLICES).where(SLICES.c.dataset == dataset, SLICES.c.name == name)
