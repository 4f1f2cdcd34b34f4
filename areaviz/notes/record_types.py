"""The common parts of all kinds of records: fields, ids, and conflicts between versions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

from areaviz.notes.store_schema import LENGTHS


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
