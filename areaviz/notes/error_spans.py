"""What a rater says of one output: the errors marked in it, and a score from 0 to 100.

An error has a category and a severity, as in Multidimensional Quality Metrics (themqm.org); with
severities and a score alone it is Error Span Annotation (Kocmi et al. 2024).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from areaviz.data.grounding import Box
from areaviz.data.raters import is_automatic
from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.store_schema import LENGTHS, LONGEST_TEXT, check_numbers, check_text
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shown

# Where an error is marked; what is wrong with an output as a whole, or missing, has no place.
SOURCE, OUTPUT, PICTURE, WHOLE = "source", "output", "picture", "whole"
SIDES = (SOURCE, OUTPUT, PICTURE, WHOLE)
MAX_SPANS = 200
BEST = 100
# What an error costs by its severity, as themqm.org has it; the WMT tasks know no critical one.
WEIGHTS: Mapping[str, float] = {"neutral": 0, "minor": 1, "major": 5, "critical": 25}
# What costs otherwise (Freitag et al. 2021): (beginning of the category, severity).
_EXCEPTIONS: Mapping[tuple[str, str], float] = {
    ("non-translation", "major"): 25,
    ("fluency/punctuation", "minor"): 0.1,
}
# What errors are in that are not in the output, for people.
_PLACES = {PICTURE: "in the picture", WHOLE: "without a place", SOURCE: "in the source"}
# A judgement's texts, as error messages call them.
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
    """One error."""

    # One of `SIDES`.
    side: str
    # Characters of the source or the output, the end not included; 0 elsewhere.
    start: int = 0
    end: int = 0
    # In the picture, in shares of it: left, top, right, bottom.
    box: Box | None = None
    category: str = ""
    severity: str = "minor"
    note: str = ""

    @property
    def weight(self) -> float:
        """What it costs by the weights of MQM."""
        for (category, severity), weight in _EXCEPTIONS.items():
            if self.category.lower().startswith(category) and self.severity == severity:
                return weight
        return WEIGHTS[self.severity]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one rater says of one system's output for one example; it holds what was judged."""

    # The digest of its set, and the example's place there, from 0.
    dataset: str
    example: int
    # Whose output it is, and who judges it.
    model: str
    rater: str
    source: str
    output: str
    spans: tuple[ErrorSpan, ...] = ()
    # 0 to 100, None where none was given.
    score: float | None = None
    # Where it was brought in from: rows of another tool's file (`areaviz/notes/marot.py`), else "".
    origin: str = ""
    id: str = ""
    # When it was saved last, ISO 8601 in UTC.
    changed: str = ""
    # 0 before it is saved, then counted up with every change.
    version: int = 0
    # The id of the judgement with other marks that was there when this was brought in, else "".
    differs: str = ""

    @property
    def mqm(self) -> float:
        """What its errors cost together by the weights of MQM; 0 is best."""
        return sum(span.weight for span in self.spans)

    @property
    def counts(self) -> bool:
        """Whether it counts in figures: neither a program's nor a differing copy does."""
        return bool(self.rater) and not self.differs and not is_automatic(self.rater)

    def in_words(self, span: ErrorSpan) -> str:
        """One of its errors as a sentence has it: how severe, what kind, where, and the note."""
        parts = [span.severity]
        if span.category:
            parts.append(span.category)
        if span.side in _PLACES:
            parts.append(_PLACES[span.side])
        found = ", ".join(parts)
        if marked := self.marked_text(span):
            found += f" “{marked}”"
        return f"{found}: {span.note}" if span.note else found

    def marked_text(self, span: ErrorSpan) -> str:
        """Return the text that an error marks, "" for one in a picture or without a place."""
        texts = {SOURCE: self.source, OUTPUT: self.output}
        return texts.get(span.side, "")[span.start : span.end]

    def words(self) -> tuple[object, ...]:
        """What its rater said, and of what; not when, nor how often it was changed."""
        said = self.spans, self.score, self.source, self.output
        return self.dataset, self.example, self.model, self.rater, *said

    def checked(self) -> Judgement:
        """This judgement as it can be saved; InputError names what cannot."""
        for name, title in _TITLES.items():
            check_text(title, getattr(self, name), LENGTHS[name])
        check_numbers(self.example, self.version)
        if not self.rater.strip() and not self.origin:
            raise InputError("Errors are marked under a rater's name; type yours.")
        if self.score is not None and not (math.isfinite(self.score) and 0 <= self.score <= BEST):
            raise InputError(f"The score is {self.score:g} but 0 to {BEST} are possible; fix it.")
        if len(self.spans) > MAX_SPANS:
            raise InputError(
                f"The output has {len(self.spans):,} errors marked but at most {MAX_SPANS} are"
                " possible; mark fewer, longer spans."
            )
        texts = {SOURCE: self.source, OUTPUT: self.output}
        for number, span in enumerate(self.spans, 1):
            _check_span(f"Error {number:,}", span, texts)
        return replace(self, rater=self.rater.strip())


def _check_span(where: str, span: ErrorSpan, texts: Mapping[str, str]) -> None:
    """Raise InputError, which begins with `where`, for a span that is not in its text."""
    check_text("category", span.category, LENGTHS["tag"])
    check_text("note", span.note, LENGTHS["note"])
    if span.severity not in SEVERITIES:
        raise InputError(
            f'{where} has the severity "{shown(span.severity)}"; choose one of:'
            f" {', '.join(SEVERITIES)}."
        )
    if span.side not in SIDES:
        raise InputError(
            f'{where} is marked in "{shown(span.side)}"; it can be in: {", ".join(SIDES)}.'
        )
    if span.side in texts:
        length = len(texts[span.side])
        if not 0 <= span.start < span.end <= length:
            raise InputError(
                f"{where} runs from character {span.start:,} to {span.end:,} but the {span.side}"
                f" has {length:,} characters; mark it anew."
            )
    if span.side == PICTURE:
        left, top, right, bottom = span.box or (0, 0, 0, 0)
        if not (0 <= left < right <= 1 and 0 <= top < bottom <= 1):
            raise InputError(
                f"{where} has a box outside the picture; a box is four shares of it, 0 to 1: left,"
                " top, right, bottom."
            )


def check_length(source: str, output: str) -> None:
    """Raise InputError for texts that are too long, or broken, to be judged."""
    for title, text in (("source", source), ("output", output)):
        check_text(title, text, LONGEST_TEXT)


def span_values(spans: Sequence[ErrorSpan]) -> list[dict[str, object]]:
    """Spans as JSON can hold them."""
    return [asdict(span) for span in spans]


def spans_of(values: object) -> tuple[ErrorSpan, ...]:
    """The spans that `span_values` gave.

    Raises:
        InputError: they are something else.
    """
    if not isinstance(values, list):
        raise InputError("The errors are no list; mark them anew.")
    return tuple(_span(number, one) for number, one in enumerate(values, 1))


def _span(number: int, values: object) -> ErrorSpan:
    try:
        if not isinstance(values, Mapping):
            raise TypeError("It is no object.")
        box = values.get("box")
        texts = [values.get(name, "") for name in ("side", "category", "severity", "note")]
        places = [values.get(name, 0) for name in ("start", "end")]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("A text is none.")
        if not all(type(place) is int for place in places):
            raise TypeError("A place is no whole number.")
        side, category, severity, note = texts
        where = None
        if box is not None:
            left, top, right, bottom = map(float, box)
            where = (left, top, right, bottom)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"Error {number:,} is none: it needs a side, a start, an end, a category, a severity"
            " and a note; mark it anew."
        ) from error
    start, end = places
    return ErrorSpan(side, start, end, where, category, severity, note)
