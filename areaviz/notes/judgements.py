"""The judgements in a store: one of each rater for each output; a stale change is refused.

As of notes, what is reported as saved has been committed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Self

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.notes.annotations import AT_ONCE, MAX_NUMBER, Merged
from areaviz.notes.error_spans import Judgement, span_values, spans_of
from areaviz.notes.store import Store
from areaviz.notes.store_schema import JUDGEMENTS, LENGTHS, now

# All but who wrote a judgement, which stays in the store.
_COLUMNS = tuple(column for column in JUDGEMENTS.c if column.name != "reader")


class StaleJudgement(Exception):
    """Another version was saved meanwhile.

    Attributes:
        there: the judgement in the store; None where it was removed.
        own: the judgement that was to be saved or removed.
    """

    def __init__(self, there: Judgement | None, own: Judgement) -> None:
        super().__init__("The judgement was changed meanwhile.")
        self.there, self.own = there, own


class Judgements:
    """The judgements in a store; every method raises BackendError where the store fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    def open(cls, url: str) -> Self:
        """The judgements in the store of an address, see `Store.open`."""
        return cls(Store.open(url))

    def of(self, dataset: str) -> list[Judgement]:
        """All judgements on a set, in the order of its examples, then of systems and raters."""
        chosen = sql.select(*_COLUMNS).where(JUDGEMENTS.c.dataset == dataset)
        ordered = chosen.order_by(
            JUDGEMENTS.c.example, JUDGEMENTS.c.model, JUDGEMENTS.c.rater, JUDGEMENTS.c.id
        )
        return [_judgement(row) for row in self._store.rows("reading the judgements", ordered)]

    def save(self, judgement: Judgement, reader: str = "") -> Judgement:
        """Add a rater's judgement of an output (version 0) or change it; it is committed then.

        Args:
            judgement: what to save.
            reader: the mark of who writes it, kept of a new one.

        Raises:
            InputError: the judgement cannot be saved as it is.
            StaleJudgement: another version was saved meanwhile.
        """
        own = judgement.checked()
        own = replace(own, id=own.id or id_of(own))
        new = replace(own, changed=now(), version=own.version % MAX_NUMBER + 1)
        with self._store.writer("saving the judgement") as connection:
            there = _locked(connection, own.id)
            if own.version != (there.version if there else 0):
                raise StaleJudgement(there, own)
            if there:
                change = sql.update(JUDGEMENTS).where(JUDGEMENTS.c.id == own.id)
                connection.execute(change.values(**_values(new)))
            else:
                added = sql.insert(JUDGEMENTS).values(**_values(new), reader=reader)
                connection.execute(added)
        return new

    def remove(self, judgement: Judgement) -> None:
        """Remove a judgement, if it is still there; raises StaleJudgement as `save`."""
        with self._store.writer("removing the judgement") as connection:
            there = _locked(connection, judgement.id)
            if there and there.version != judgement.version:
                raise StaleJudgement(there, judgement)
            connection.execute(sql.delete(JUDGEMENTS).where(JUDGEMENTS.c.id == judgement.id))

    def remove_own(self, dataset: str, reader: str) -> int:
        """Remove all judgements on a set that one reader wrote; returns how many there were."""
        own = JUDGEMENTS.c.dataset == dataset, JUDGEMENTS.c.reader == reader
        return self._store.delete("removing the judgements", JUDGEMENTS, *own) if reader else 0

    def remove_older(self, time: str) -> int:
        """Remove all that were last changed before a time, ISO 8601 in UTC; returns how many."""
        old = JUDGEMENTS.c.changed < time
        return self._store.delete("removing old judgements", JUDGEMENTS, old)

    def merge(self, judgements: Sequence[Judgement]) -> Merged:
        """Bring in judgements; what is there stays as it is. All are brought in, or none.

        One whose rater has judged the output here already, and otherwise, is added beside it under
        an id of its own, by which it is recognised when it is brought in again.

        Raises:
            InputError: a judgement cannot be saved as it is.
        """
        checked = []
        for one in judgements:
            about = one.checked()
            stamp = about.changed or now()
            version = max(about.version, 1)
            checked.append(replace(about, id=id_of(about), changed=stamp, version=version))
        with self._store.writer("saving the judgements") as connection:
            there = _by_id(connection, [one.id for one in checked])
            new: dict[str, Judgement] = {}
            differing: dict[str, Judgement] = {}
            for one in checked:
                known = there.get(one.id) or new.setdefault(one.id, one)
                if known.marks() != one.marks():
                    copy = replace(one, id=_id_of(one.id, one.marks()), differs=one.id)
                    differing[copy.id] = copy
            for copy_id in _by_id(connection, list(differing)):
                del differing[copy_id]  # brought in before
            rows = [_values(one) for one in (*new.values(), *differing.values())]
            if rows:
                connection.execute(sql.insert(JUDGEMENTS), [{**row, "reader": ""} for row in rows])
        return Merged(len(new), len(differing))


def id_of(judgement: Judgement) -> str:
    """The id of a rater's judgement of an output: the same wherever it is made."""
    one = judgement
    return _id_of(one.dataset, one.example, one.model, one.rater)


def _id_of(*what: object) -> str:
    return hashlib.sha256(repr(what).encode()).hexdigest()[: LENGTHS["id"]]


def _values(judgement: Judgement) -> dict[str, Any]:
    """A judgement as a row of the store."""
    spans = json.dumps(span_values(judgement.spans), ensure_ascii=False)
    return asdict(judgement) | {"spans": spans}


def _judgement(row: sql.RowMapping) -> Judgement:
    values: dict[str, Any] = {**row}
    return Judgement(**values | {"spans": spans_of(json.loads(values["spans"]))})


def _by_id(connection: Connection, ids: Sequence[str]) -> dict[str, Judgement]:
    """The judgements with these ids that are there, by id."""
    found: dict[str, Judgement] = {}
    for first in range(0, len(ids), AT_ONCE):
        some = JUDGEMENTS.c.id.in_(ids[first : first + AT_ONCE])
        for row in connection.execute(sql.select(*_COLUMNS).where(some)).mappings():
            found[row["id"]] = _judgement(row)
    return found


def _locked(connection: Connection, name: str) -> Judgement | None:
    """The judgement with an id, locked from now on; None where there is none."""
    chosen = sql.select(*_COLUMNS).where(JUDGEMENTS.c.id == name).with_for_update()
    row = connection.execute(chosen).mappings().one_or_none()
    return None if row is None else _judgement(row)
