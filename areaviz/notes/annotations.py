"""Notes of people on examples: error tags, severity, who and when; kept in SQLite or PostgreSQL."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import sqlalchemy as sql

from areaviz.notes.records import Records, id_of_copy
from areaviz.notes.store_schema import LENGTHS, NOTES, check_numbers, check_text
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

# The top categories of Multidimensional Quality Metrics (themqm.org); people add their own.
TAGS = (
    "Terminology",
    "Accuracy",
    "Linguistic conventions",
    "Style",
    "Locale conventions",
    "Audience appropriateness",
    "Design and markup",
)
SEVERITIES = ("neutral", "minor", "major", "critical")
# A note's texts, as error messages call them.
TITLES = {
    "id": "id",
    "dataset": "digest of the set",
    "model": "model",
    "tag": "tag",
    "note": "note",
    "author": "author",
    "changed": "time of the change",
    "differs": "id of the note it differs from",
}


@dataclass(frozen=True, slots=True)
class Annotation:
    """One note."""

    # The digest of its set, and the example's place there, from 0.
    dataset: str
    example: int
    # Whose output is meant, "" for the example itself.
    model: str
    tag: str
    severity: str = "neutral"
    note: str = ""
    author: str = ""
    id: str = ""
    # When it was saved last, ISO 8601 in UTC.
    changed: str = ""
    # 0 before it is saved, then counted up with every change.
    version: int = 0
    # The id of the note with other words that was there when this one was brought in, else "".
    differs: str = ""

    def checked(self) -> Annotation:
        """This note as it can be saved; InputError names what cannot."""
        for name, title in TITLES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        check_numbers(self.example, self.version)
        if not self.tag.strip():
            raise InputError("A note needs a tag; choose one or type your own.")
        if self.severity not in SEVERITIES:
            raise InputError(
                f'"{shown(self.severity)}" is no severity; choose one of: {", ".join(SEVERITIES)}.'
            )
        return replace(self, tag=self.tag.strip(), author=self.author.strip())

    def words(self) -> tuple[object, ...]:
        """What was said, and of what; not when, nor how often it was changed."""
        said = self.tag, self.severity, self.note, self.author
        return self.dataset, self.example, self.model, *said


class Annotations(Records[Annotation]):
    """The notes in a store; every method raises BackendError where the store fails."""

    table = NOTES
    one, several = "note", "notes"
    order = ("example", "changed", "id")

    def counts(
        self,
        dataset: str,
        examples: Sequence[int] | None = None,
    ) -> dict[str, int]:
        """How many notes there are of each tag, the most frequent first.

        Args:
            dataset: the digest of the set.
            examples: places in the set whose notes count; None for all.
        """
        count = sql.func.count().label("count")
        chosen = sql.select(NOTES.c.tag, count).where(NOTES.c.dataset == dataset)
        if examples is not None:
            chosen = chosen.where(NOTES.c.example.in_(list(examples)))
        ordered = chosen.group_by(NOTES.c.tag).order_by(count.desc(), NOTES.c.tag)
        rows = self._store.rows("counting the notes", ordered)
        return {row["tag"]: row["count"] for row in rows}

    def take_over(self, earlier: str, dataset: str) -> int:
        """Copy the notes on one set to another that it became; returns how many are new there."""
        moved = [replace(note, dataset=dataset) for note in self.of(earlier)]
        return self.merge([replace(note, id=id_of_copy(note)) for note in moved]).new

    def _read(self, row: sql.RowMapping) -> Annotation:
        return Annotation(**row)

    def _row(self, record: Annotation) -> dict[str, Any]:
        return asdict(record)

    def _id(self, record: Annotation) -> str:
        return uuid.uuid4().hex
