"""Outputs that raters or metrics judged, as the files of several tools hold them.

A reader of such a file returns `RatedSegment`s. They become columns of a set here, and judgements
of raters in `areaviz/analysis/marked_files.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from areaviz.intake.columns import (
    ID,
    MAX_COLUMNS,
    MAX_ROWS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    Cell,
    Column,
    TextBudget,
    check_header,
    make_too_many_error,
)
from areaviz.trace.errors import InputError
from areaviz.trace.limits import shorten

HUMAN = "human"
"""The score that raters gave, 0 to 100, in the columns of a set."""
OWN = "areaviz"
"""The key of what this app writes into files, to bring ratings back to their examples."""
MAX_RATED = 400_000
"""The most ratings and marked errors of a file together."""
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """One error that a rater marked in an output."""

    # Characters of the output, the end not included; 0 and 0 if something is missing there.
    start: int
    end: int
    severity: str
    category: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """What one rater said of one output."""

    rater: str
    # 0 to 100, None where none was given.
    score: float | None = None
    marks: tuple[Mark, ...] = ()
    # Errors that are not in the output, as JSON has them; only files written by this app have some.
    other_marks: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class RatedSegment:
    """One segment: its source, what systems wrote for it, and what raters said of that."""

    # Where the file has it, for people.
    where: str
    source: str
    name: str = ""
    references: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    # The metrics of each system, by their names.
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    ratings: dict[str, list[Rating]] = field(default_factory=dict)
    # The digest of the set and the place in it, if this app wrote them into the file.
    origin: tuple[str, int] | None = None


class Segments:
    """The segments of a file while it is read: what several rows say of one is put together."""

    def __init__(self, name: str) -> None:
        """Start without segments; `name` is the file for people."""
        self.name = name
        self.found: dict[Key, RatedSegment] = {}
        self._budget = TextBudget(name)
        self._systems: set[str] = set()
        self._rated = 0

    def add(self, key: Key, where: str, source: str, **about: Any) -> RatedSegment:
        """Return the segment with this key, which is new at its first row.

        Args:
            key: what tells the segments of the file apart.
            where: where the file has it, for people.
            source: its source.
            about: further fields of a new `RatedSegment`.

        Raises:
            InputError: there are too many segments, or two rows of one differ in their source.
        """
        if key not in self.found:
            if len(self.found) == MAX_ROWS:
                raise make_too_many_error(self.name, MAX_ROWS, "segments")
            metadata = about.get("metadata", {})
            self._budget.add((source, *about.get("references", ()), *metadata, *metadata.values()))
            self.found[key] = RatedSegment(where, source, **about)
        segment = self.found[key]
        if segment.source != source:
            raise InputError(
                f"{where} has a different source than an earlier row of its segment. Give each"
                " segment one source."
            )
        return segment

    def add_output(self, segment: RatedSegment, where: str, system: str, output: str) -> None:
        """Note what a system wrote for a segment.

        Raises:
            InputError: it wrote something else in an earlier row, or there are too many systems.
        """
        self._systems.add(system)
        if len(self._systems) > MAX_COLUMNS:
            raise make_too_many_error(self.name, MAX_COLUMNS, "systems")
        known = segment.outputs.setdefault(system, output)
        if known is output:
            self._budget.add((output,))
        if known != output:
            raise InputError(
                f'{where} has a different output of the system "{shorten(system)}" than an earlier'
                " row of its segment. Give each system one output."
            )

    def add_rating(self, segment: RatedSegment, system: str, rating: Rating) -> None:
        """Note what a rater said of an output; an earlier rating of the rater stays.

        Raises:
            InputError: there are too many ratings and marked errors.
        """
        self._rated += 1 + len(rating.marks) + len(rating.other_marks)
        if self._rated > MAX_RATED:
            raise make_too_many_error(self.name, MAX_RATED, "ratings and marked errors")
        segment.ratings.setdefault(system, []).append(rating)


def own_place(values: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the set and the place in it that this app wrote into an object, None without them."""
    own = values.get(OWN)
    if not isinstance(own, dict):
        return None
    digest, number = own.get("dataset"), own.get("number")
    if not isinstance(digest, str) or type(number) is not int:
        return None
    return digest, number - 1


def make_columns_from_segments(name: str, segments: Sequence[RatedSegment]) -> tuple[Column, ...]:
    """Return the columns of a set: sources, references, outputs, scores and metadata.

    The score of raters is their mean, under the name `HUMAN`.

    Raises:
        InputError: there are no segments.
    """
    if not segments:
        raise InputError(f'"{shorten(name)}" has no segments. Choose a file with some.')
    columns = [_make_column(name, "source", SOURCE, [one.source for one in segments])]
    if any(one.name for one in segments):
        columns.append(_make_column(name, "id", ID, [one.name for one in segments]))
    titles = _list_names(one.metadata for one in segments)
    check_header(name, ["source", *titles])
    for title in titles:
        cells: list[Cell] = [one.metadata.get(title, "") for one in segments]
        columns.append(_make_column(name, title, METADATA, cells))
    if any(one.references for one in segments):
        columns.append(
            _make_column(name, "reference", REFERENCE, [one.references for one in segments])
        )
    for system in _list_names(one.outputs for one in segments):
        cells = [one.outputs.get(system) for one in segments]
        columns.append(_make_column(name, f"output.{system}", OUTPUT, cells, system))
    by_system = [_average_scores(one) for one in segments]
    for system in _list_names(by_system):
        for metric in _list_names(one.get(system, {}) for one in by_system):
            values = [one.get(system, {}).get(metric) for one in by_system]
            cells = ["" if value is None else repr(value) for value in values]
            columns.append(_make_column(name, f"{metric}.{system}", SCORE, cells, system, metric))
    return tuple(columns)


def _average_scores(segment: RatedSegment) -> dict[str, dict[str, float]]:
    found = {system: dict(scores) for system, scores in segment.scores.items()}
    for system, ratings in segment.ratings.items():
        given = [one.score for one in ratings if one.score is not None]
        if given:
            found.setdefault(system, {})[HUMAN] = sum(given) / len(given)
    return found


def _list_names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for one in mappings for name in one))


def _make_column(
    file: str, name: str, role: str, cells: Sequence[Cell], system: str = "", metric: str = ""
) -> Column:
    return Column(name, tuple(cells), role, system, file=file, metric=metric)


def get_text(where: str, values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a text of an object.

    Raises:
        InputError: it is missing without a default, or not a text.
    """
    found = values.get(name, default)
    if not isinstance(found, str):
        raise InputError(f'{where} has no text in "{name}". Add it.')
    return found


def score_in(where: str, values: Mapping[str, Any], name: str) -> float | None:
    """Return a score of an object, as a number or as a text with one; None where there is none.

    Raises:
        InputError: it is something else.
    """
    found = values.get(name)
    if found is None or found == "":
        return None
    try:
        value = float(found) if type(found) in (int, float, str) else math.nan
    except (ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise InputError(
            f'{where} has a "{name}" that is not a number: "{shorten(str(found)[:99])}". Correct'
            " it."
        )
    return value


def get_object(where: str, values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object inside an object, an empty one where it is missing.

    Raises:
        InputError: it is something else.
    """
    found = values.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(f'{where} has a "{name}" that is not an object in braces. Correct it.')
    return found


def get_objects(where: str, values: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a list of objects inside an object, an empty one where it is missing.

    Raises:
        InputError: it is something else.
    """
    found = values.get(name)
    if found is None:
        return []
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise InputError(f'{where} has a "{name}" that is not a list of objects. Correct it.')
    return found


def parse_marks(
    where: str, values: Mapping[str, Any], name: str, places: Sequence[int]
) -> tuple[Mark, ...]:
    """Return errors with `start_i` and `end_i`, the last character, as Appraise and Pearmut do.

    Args:
        where: what has them, for people.
        values: the object with the list of errors.
        name: the name of the list.
        places: of each character that the tool counts, its place in the output, and at last the
            length of the output. What begins there or is called "missing" is missing.

    Raises:
        InputError: an error is of another form, or lies outside of the output.
    """
    found = []
    for number, one in enumerate(get_objects(where, values, name), 1):
        which = f"{where}, error {number:,}"
        start, end = one.get("start_i"), one.get("end_i")
        if start == "missing" or (type(start) is int and start == len(places) - 1):
            start = end = 0
        elif type(start) is not int or type(end) is not int:
            raise InputError(f'{which} has no whole numbers as "start_i" and "end_i". Add them.')
        elif not 0 <= start <= end < len(places):
            raise InputError(
                f"{which} goes from character {start:,} to {end:,}, but the output has"
                f" {len(places) - 1:,}. Correct it."
            )
        else:
            start, end = places[start], places[min(end + 1, len(places) - 1)]
        category = one.get("category") or one.get("error_type") or ""
        severity = one.get("severity") or ""
        texts = (severity, category, one.get("note") or "")
        if not all(isinstance(text, str) for text in texts):
            raise InputError(f"{which} has a severity or category that is not a text. Correct it.")
        found.append(Mark(start, end, *texts))
    return tuple(found)
