"""Notes, ratings with marked errors, and slices in the store."""

from __future__ import annotations

import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import sqlalchemy as sql
from sqlalchemy.engine import Connection

from areaviz.samples.dataset import Box
from areaviz.sets.notes.records import OPERATOR, Records, compute_copy_id, compute_digest
from areaviz.sets.notes.store import (
    JUDGEMENTS,
    LENGTHS,
    LONGEST_SLICE,
    LONGEST_TEXT,
    MAX_NUMBER,
    NOTES,
    SLICES,
    Store,
    check_numbers,
    check_text,
    format_current_time,
)
from areaviz.sets.rated_outputs import is_automatic
from areaviz.shares import SLICES_ON_SET
from areaviz.trace.errors import InputError, shorten

# Users' notes on examples: a tag, a severity, a text, the author and the time.


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


_NOTE_COLUMNS = [one.name for one in fields(Annotation)]


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
        return {name: getattr(record, name) for name in _NOTE_COLUMNS}

    def _id(self, record: Annotation) -> str:
        return uuid.uuid4().hex


# A rater's rating of one output, with marked errors and a score from 0 to 100.
#
# An error has a category and a severity, as in Multidimensional Quality Metrics (themqm.org).
# Ratings with only severities and a score follow Error Span Annotation (Kocmi et al. 2024).


# The part in which an error is marked. An error of the whole output, such as an omission, has no
# position.
SOURCE, OUTPUT, PICTURE, WHOLE = "source", "output", "picture", "whole"
SIDES = (SOURCE, OUTPUT, PICTURE, WHOLE)
MAX_SPANS = 200
BEST = 100
# The cost of an error by severity (themqm.org). The WMT tasks do not use "critical".
WEIGHTS: Mapping[str, float] = {"neutral": 0, "minor": 1, "major": 5, "critical": 25}
# Other costs (Freitag et al. 2021), by the start of the category's name and the severity.
_EXCEPTIONS: Mapping[tuple[str, str], float] = {
    ("non-translation", "major"): 25,
    ("fluency/punctuation", "minor"): 0.1,
}
# Displayed descriptions of errors that are not in the output.
_PLACES = {PICTURE: "in the picture", WHOLE: "without a place", SOURCE: "in the source"}
# Names of the fields of a judgement in error messages.
_TITLES = {
    "id": "id",
    "dataset": "digest of the set",
    "model": "system",
    "rater": "rater's name",
    "source": "source",
    "output": "output",
    "origin": "origin",
    "changed": "time of the change",
    "differs": "id of the judgement it differs from",
}


@dataclass(frozen=True, slots=True)
class ErrorSpan:
    """An error that a rater marked."""

    # One of `SIDES`.
    side: str
    # Character positions in the source or the output, the end excluded. 0 for other sides.
    start: int = 0
    end: int = 0
    # Position in the picture as shares of its size: left, top, right, bottom.
    box: Box | None = None
    category: str = ""
    severity: str = "minor"
    note: str = ""

    @property
    def weight(self) -> float:
        """The cost of the error by the weights of MQM."""
        for (category, severity), weight in _EXCEPTIONS.items():
            if self.category.lower().startswith(category) and self.severity == severity:
                return weight
        return WEIGHTS[self.severity]


@dataclass(frozen=True, slots=True)
class Judgement:
    """One rater's judgement of one system's output for one example, with the judged texts."""

    # The digest of the dataset, and the index of the example in it, from 0.
    dataset: str
    example: int
    # The system that wrote the output, and the rater.
    model: str
    rater: str
    source: str
    output: str
    spans: tuple[ErrorSpan, ...] = ()
    # From 0 to 100, None if the rater gave no score.
    score: float | None = None
    # The lines of another tool's file from which it was imported (`notes/marot.py`), "" if
    # it was not imported.
    origin: str = ""
    id: str = ""
    # The time of the last change, ISO 8601 in UTC.
    changed: str = ""
    # 0 before it is saved, then the number of saved changes.
    version: int = 0
    # The id of the stored rating from which this imported rating differs, "" for other ratings.
    differs: str = ""

    @property
    def mqm(self) -> float:
        """The total cost of its errors by the weights of MQM. 0 is best."""
        return sum(span.weight for span in self.spans)

    @property
    def counts(self) -> bool:
        """True if statistics include it. They exclude ratings by programs and differing copies."""
        return bool(self.rater) and not self.differs and not is_automatic(self.rater)

    def describe(self, span: ErrorSpan) -> str:
        """Describe an error in words: its severity, category, position and note."""
        parts = [span.severity]
        if span.category:
            parts.append(span.category)
        if span.side in _PLACES:
            parts.append(_PLACES[span.side])
        found = ", ".join(parts)
        if marked := self.get_marked_text(span):
            found += f" “{marked}”"
        return f"{found}: {span.note}" if span.note else found

    def get_marked_text(self, span: ErrorSpan) -> str:
        """Return the text that an error marks, "" if it is in a picture or has no position."""
        texts = {SOURCE: self.source, OUTPUT: self.output}
        return texts.get(span.side, "")[span.start : span.end]

    def words(self) -> tuple[object, ...]:
        """Return the content of the judgement without the time and the version."""
        said = self.spans, self.score, self.source, self.output
        return self.dataset, self.example, self.model, self.rater, *said

    def checked(self) -> Judgement:
        """Return this rating in the form in which it is saved.

        Raises:
            InputError: A field is invalid.
        """
        for name, title in _TITLES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        check_numbers(self.example, self.version)
        if not self.rater.strip() and not self.origin:
            raise InputError("You mark errors under a rater's name. Enter yours.")
        if self.score is not None and not (math.isfinite(self.score) and 0 <= self.score <= BEST):
            raise InputError(
                f"The score must be from 0 to {BEST}, but it is {self.score:g}. Correct it."
            )
        if len(self.spans) > MAX_SPANS:
            raise InputError(
                f"The output has {len(self.spans):,} errors marked, but the limit is {MAX_SPANS}."
                " Mark fewer, longer spans."
            )
        texts = {SOURCE: self.source, OUTPUT: self.output}
        for number, span in enumerate(self.spans, 1):
            _check_span(f"Error {number:,}", span, texts)
        return replace(self, rater=self.rater.strip())


def _check_span(where: str, span: ErrorSpan, texts: Mapping[str, str]) -> None:
    """Raise InputError if a span is not within its text. The message starts with `where`."""
    check_text("category", span.category, LENGTHS["tag"])
    check_text("note", span.note, LENGTHS["note"])
    if span.severity not in SEVERITIES:
        raise InputError(
            f'{where} has the severity "{shorten(span.severity)}". Choose one of:'
            f" {', '.join(SEVERITIES)}."
        )
    if span.side not in SIDES:
        raise InputError(
            f'{where} is marked in "{shorten(span.side)}". It can be in: {", ".join(SIDES)}.'
        )
    if span.side in texts:
        length = len(texts[span.side])
        if not 0 <= span.start < span.end <= length:
            raise InputError(
                f"{where} runs from character {span.start:,} to {span.end:,} but the"
                f" {span.side} has {length:,} characters. Mark it again."
            )
    if span.side == PICTURE:
        left, top, right, bottom = span.box or (0, 0, 0, 0)
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f"{where} has a box outside the picture. Give its left, top, right and bottom edge"
                " as shares from 0 to 1."
            )


def check_length(source: str, output: str) -> None:
    """Raise InputError if a text is too long, or has characters that cannot be stored."""
    for title, text in (("source", source), ("output", output)):
        check_text(title, text, LONGEST_TEXT)


def convert_spans_to_json(spans: Sequence[ErrorSpan]) -> list[dict[str, object]]:
    """Return spans as JSON values."""
    return [asdict(span) for span in spans]


def parse_spans(values: object) -> tuple[ErrorSpan, ...]:
    """Return the spans that `convert_spans_to_json` converted to JSON values.

    Raises:
        InputError: the values are not spans.
    """
    if not isinstance(values, list):
        raise InputError("The errors are not a list. Mark them again.")
    return tuple(_parse_span(number, one) for number, one in enumerate(values, 1))


def _parse_span(number: int, values: object) -> ErrorSpan:
    try:
        if not isinstance(values, Mapping):
            raise TypeError("It is not an object.")
        box = values.get("box")
        texts = [values.get(name, "") for name in ("side", "category", "severity", "note")]
        places = [values.get(name, 0) for name in ("start", "end")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("A text is none.")
        if not all(type(place) is int for place in places):
            raise TypeError("A position is not a whole number.")
        side, category, severity, note = texts
        where = None
        if box is not None:
            left, top, right, bottom = map(float, box)
            where = (left, top, right, bottom)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Error {number:,} is incomplete. It needs a side, a start, an end, a category, a"
            " severity and a note. Mark it again."
        ) from error
    start, end = places
    return ErrorSpan(side, start, end, where, category, severity, note)


# The ratings in a store, one per rater and output.


_JUDGEMENT_COLUMNS = [one.name for one in fields(Judgement)]


class Judgements(Records[Judgement]):
    """The ratings in a store. Every method raises BackendError if the store fails."""

    table = JUDGEMENTS
    one, several = "judgement", "judgements"
    order = ("example", "model", "rater", "id")

    def _imported(self, record: Judgement) -> Judgement:
        """Give a rating its id, which is equal for all ratings by one rater of one output."""
        stamp, version = record.changed or format_current_time(), max(record.version, 1)
        return replace(record, id=compute_judgement_id(record), changed=stamp, version=version)

    def _read(self, row: Mapping[str, Any]) -> Judgement:
        values: dict[str, Any] = {**row}
        return Judgement(**values | {"spans": parse_spans(json.loads(values["spans"]))})

    def _row(self, record: Judgement) -> dict[str, Any]:
        spans = json.dumps(convert_spans_to_json(record.spans), ensure_ascii=False)
        # `asdict` would copy every value, which is slow for imports of many ratings.
        return {name: getattr(record, name) for name in _JUDGEMENT_COLUMNS} | {"spans": spans}

    def _id(self, record: Judgement) -> str:
        return compute_judgement_id(record)


def compute_judgement_id(judgement: Judgement) -> str:
    """Return the id of a rating, which depends only on the dataset, example, model and rater."""
    return compute_digest(judgement.dataset, judgement.example, judgement.model, judgement.rater)


# Slices, which are named sets of examples to look at again and to measure separately.
#
# A slice belongs to the user who saved it. Other users can see it and save a copy under another
# name, but they cannot replace or remove it.


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
