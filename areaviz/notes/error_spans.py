"""A rater's rating of one output, with marked errors and a score from 0 to 100.

An error has a category and a severity, as in Multidimensional Quality Metrics (themqm.org). Ratings
with only severities and a score follow Error Span Annotation (Kocmi et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from areaviz.data.raters import is_automatic
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.store_schema import LENGTHS, LONGEST_TEXT, check_numbers, check_text
from areaviz.samples.dataset import Box
from areaviz.trace.errors import InputError, shorten

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
    # The lines of another tool's file from which it was imported (`areaviz/notes/marot.py`), "" if
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
