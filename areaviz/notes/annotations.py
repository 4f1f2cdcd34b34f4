"""Users' notes on examples: a tag, a severity, a text, the author and the time."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import sqlalchemy as sql

from areaviz.notes.ownership import OPERATOR
from areaviz.notes.record_types import compute_copy_id
from areaviz.notes.records import Records
from areaviz.notes.store_schema import LENGTHS, NOTES, check_numbers, check_text
from areaviz.trace.errors import InputError, shorten

# The main categories of Multidimensional Quality Metrics (themqm.org). Users can add their own
# tags.
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
# Names of the fields of a note in error messages.
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
    """A note on an example or on a model's output for it."""

    # The digest of the dataset, and the index of the example in it, from 0.
    dataset: str
    example: int
    # The model whose output the note is about, "" for a note on the example itself.
    model: str
    tag: str
    severity: str = "neutral"
    note: str = ""
    author: str = ""
    id: str = ""
    # The time of the last change, ISO 8601 in UTC.
    changed: str = ""
    # 0 before the note is saved, then the number of saved changes.
    version: int = 0
    # The id of the stored note from which this imported note differs, "" for other notes.
    differs: str = ""

    def checked(self) -> Annotation:
        """Return this note in the form in which it is saved.

        Raises:
            InputError: The note cannot be saved.
        """
        for name, title in TITLES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        check_numbers(self.example, self.version)
        if not self.tag.strip():
            raise InputError("A note needs a tag. Choose one or type your own.")
        if self.severity not in SEVERITIES:
            raise InputError(
                f'"{shorten(self.severity)}" is not a severity. Choose one of:'
                f" {', '.join(SEVERITIES)}."
            )
        return replace(self, tag=self.tag.strip(), author=self.author.strip())

    def words(self) -> tuple[object, ...]:
        """Return the content of the note without the time and the version."""
        said = self.tag, self.severity, self.note, self.author
        return self.dataset, self.example, self.model, *said


_COLUMNS = [one.name for one in fields(Annotation)]


class Annotations(Records[Annotation]):
    """The notes in a store. Every method raises BackendError if the store fails."""

    table = NOTES
    one, several = "note", "notes"
    order = ("example", "changed", "id")

    def count_tags(self, dataset: str, examples: Sequence[int] | None = None) -> dict[str, int]:
        """Return the number of notes with each tag, the most frequent tag first.

        Args:
            dataset: the digest of the dataset.
            examples: indices of the examples to count. None counts all.
        """
        count = sql.func.count().label("count")
        chosen = sql.select(NOTES.c.tag, count).where(NOTES.c.dataset == dataset)
        if examples is not None:
            chosen = chosen.where(NOTES.c.example.in_(list(examples)))
        ordered = chosen.group_by(NOTES.c.tag).order_by(count.desc(), NOTES.c.tag)
        rows = self._store.rows("counting the notes", ordered)
        return {row["tag"]: row["count"] for row in rows}

    def list_tags(self, dataset: str, reader: str, most: int) -> list[str]:
        """Return tags of a dataset: first those used by the user, then the most frequent ones.

        Args:
            dataset: the digest of the dataset.
            reader: the id of the user for whom the tags are listed.
            most: the maximum number of tags to return.
        """
        is_other = sql.func.min(sql.case((NOTES.c.reader == reader, 0), else_=1))
        chosen = sql.select(NOTES.c.tag).where(NOTES.c.dataset == dataset).group_by(NOTES.c.tag)
        ordered = chosen.order_by(is_other, sql.func.count().desc(), NOTES.c.tag)
        rows = self._store.rows("reading the tags", ordered.limit(most))
        return [row["tag"] for row in rows]

    def list_tagged(self, dataset: str, tags: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return the indices of the examples with each tag, in rising order.

        Args:
            dataset: the digest of the dataset.
            tags: the tags to look for.
        """
        chosen = sql.select(NOTES.c.tag, NOTES.c.example).distinct()
        here = chosen.where(NOTES.c.dataset == dataset, NOTES.c.tag.in_(list(tags)))
        found: dict[str, list[int]] = {tag: [] for tag in tags}
        for row in self._store.rows("reading the tags", here.order_by(NOTES.c.example)):
            found[row["tag"]].append(row["example"])
        return {tag: tuple(places) for tag, places in found.items()}

    def take_over(self, earlier: str, dataset: str, reader: str = OPERATOR) -> int:
        """Copy the notes on an earlier version of a dataset to this version, as an import.

        Returns:
            The number of notes added to this version.
        """
        moved = [replace(note, dataset=dataset) for note in self.list_all(earlier)]
        return self.merge([replace(note, id=compute_copy_id(note)) for note in moved], reader).new

    def _read(self, row: Mapping[str, Any]) -> Annotation:
        return Annotation(**row)

    def _row(self, record: Annotation) -> dict[str, Any]:
        return {name: getattr(record, name) for name in _COLUMNS}

    def _id(self, record: Annotation) -> str:
        return uuid.uuid4().hex
