"""Slices: examples of a set under a name, to be looked at again and measured on their own."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sql

from areaviz.notes.store import Store
from areaviz.notes.store_schema import LONGEST_SLICE, SLICES, check_text, now
from areaviz.trace.errors import InputError

# Slices of a set.
MAX_SLICES = 100


@dataclass(frozen=True, slots=True)
class Slice:
    """Some examples of a set."""

    # The digest of the set.
    dataset: str
    # Unique in the set.
    name: str
    # Places in the set, from 0, rising.
    examples: tuple[int, ...]


class Slices:
    """The slices in a store; every method raises BackendError where the store fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, dataset: str) -> list[Slice]:
        """All slices of a set, by name."""
        chosen = sql.select(SLICES).where(SLICES.c.dataset == dataset).order_by(SLICES.c.name)
        rows = self._store.rows("reading the slices", chosen)
        return [Slice(dataset, row["name"], tuple(json.loads(row["examples"]))) for row in rows]

    def save(
        self,
        dataset: str,
        name: str,
        examples: Sequence[int],
        reader: str = "",
    ) -> Slice:
        """Save examples under a name, in place of those that had it; committed when this returns.

        Args:
            dataset: the digest of the set.
            name: of the slice.
            examples: places in the set.
            reader: the mark of who saves it.

        Raises:
            InputError: the name is empty, too long or broken, there are no examples, or the set has
                too many slices.
        """
        name = name.strip()
        if not name or len(name) > LONGEST_SLICE:
            raise InputError(
                f"The name of a slice has {len(name)} characters but 1 to {LONGEST_SLICE} are"
                " possible; choose another."
            )
        check_text("name", name, LONGEST_SLICE)
        if not examples:
            raise InputError("A slice needs at least one example; search or brush for less.")
        made = Slice(dataset, name, tuple(sorted(set(examples))))
        with self._store.writer("saving the slice") as connection:
            there = sql.select(SLICES.c.name).where(SLICES.c.dataset == dataset)
            names = set(connection.execute(there).scalars())
            if len(names | {name}) > MAX_SLICES:
                raise InputError(
                    f"This set has {MAX_SLICES} slices and can have no more; remove one first."
                )
            connection.execute(sql.delete(SLICES).where(*_named(dataset, name)))
            values = {"dataset": dataset, "name": name, "examples": json.dumps(made.examples)}
            connection.execute(sql.insert(SLICES).values(**values, changed=now(), reader=reader))
        return made

    def take_over(self, earlier: str, dataset: str, reader: str = "") -> int:
        """Copy the slices of one set to another that it became; returns how many were copied.

        A slice whose name is taken there is left out.
        """
        names = {one.name for one in self.of(dataset)}
        new = [one for one in self.of(earlier) if one.name not in names]
        for one in new:
            self.save(dataset, one.name, one.examples, reader)
        return len(new)

    def remove(self, dataset: str, name: str) -> None:
        """Remove a slice; its examples stay."""
        self._store.delete("removing the slice", SLICES, *_named(dataset, name))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove all slices of a set that one reader saved; returns how many there were."""
        own = SLICES.c.dataset == dataset, SLICES.c.reader == reader
        return self._store.delete("removing the slices", SLICES, *own) if reader else 0

    def remove_older(self, time: str) -> int:
        """Remove all slices saved before a time, ISO 8601 in UTC; returns how many."""
        return self._store.delete("removing old slices", SLICES, SLICES.c.changed < time)


def _named(dataset: str, name: str) -> tuple[sql.ColumnElement[bool], ...]:
    return SLICES.c.dataset == dataset, SLICES.c.name == name
