"""Slices: some examples of a set under a name, so that the same ones can be looked at again and measured alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import sqlalchemy as sql

from areaviz.analysis.store import Store
from areaviz.trace.errors import InputError

LONGEST_NAME, MOST = 60, 100

_METADATA = sql.MetaData()
_TABLE = sql.Table(
    "slices",
    _METADATA,
    sql.Column("dataset", sql.String(64), primary_key=True),
    sql.Column("name", sql.String(LONGEST_NAME), primary_key=True),
    sql.Column("examples", sql.Text, nullable=False),
)


@dataclass(frozen=True, slots=True)
class Slice:
    """dataset: digest of the set. name: unique there. examples: their places in the set, from 0, rising."""

    dataset: str
    name: str
    examples: tuple[int, ...]


class Slices:
    """The slices in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        store.keep(_TABLE)

    def of(self, dataset: str) -> list[Slice]:
        """All slices of a set, by name; raises BackendError."""
        chosen = sql.select(_TABLE).where(_TABLE.c.dataset == dataset).order_by(_TABLE.c.name)
        with self._store.reader("reading the slices") as connection:
            rows = connection.execute(chosen).all()
        return [Slice(str(row.dataset), str(row.name), tuple(json.loads(row.examples))) for row in rows]

    def save(self, dataset: str, name: str, examples: Sequence[int]) -> Slice:
        """Keep examples under a name, in the place of those that had it; committed when this returns.

        Raises:
            InputError: the name is empty or too long, there are no examples, or the set has too many slices.
            BackendError: the store cannot be written to.
        """
        name = name.strip()
        if not name or len(name) > LONGEST_NAME:
            raise InputError(
                f"The name of a slice has {len(name)} characters but 1 to {LONGEST_NAME} are possible; choose another."
            )
        if not examples:
            raise InputError("A slice needs at least one example; search or brush for less.")
        made = Slice(dataset, name, tuple(sorted(set(examples))))
        with self._store.writer("saving the slice") as connection:
            there = sql.select(_TABLE.c.name).where(_TABLE.c.dataset == dataset)
            names = set(connection.execute(there).scalars())
            if len(names | {name}) > MOST:
                raise InputError(f"This set has {MOST} slices and can have no more; remove one first.")
            connection.execute(_of(dataset, name))
            connection.execute(
                sql.insert(_TABLE).values(dataset=dataset, name=name, examples=json.dumps(made.examples))
            )
        return made

    def remove(self, dataset: str, name: str) -> None:
        """Forget a slice; its examples stay; raises BackendError."""
        with self._store.writer("removing the slice") as connection:
            connection.execute(_of(dataset, name))


def _of(dataset: str, name: str) -> sql.Delete:
    return sql.delete(_TABLE).where(_TABLE.c.dataset == dataset, _TABLE.c.name == name)
