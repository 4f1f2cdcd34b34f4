"""Outputs that raters or metrics judged, read from the files of several tools.

Each reader returns `RatedSegment`s. This module turns them into the columns of a dataset, and
`areaviz/analysis/marked_error_files.py` turns them into ratings.
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
from areaviz.trace.errors import InputError, shorten

HUMAN_RATER = "human"
"""Name of the metric for raters' scores from 0 to 100."""
OWN = "areaviz"
"""Key under which this app stores the dataset and example of a rating in files that it writes."""
MAX_RATED = 400_000
"""Maximum number of ratings and marked errors in a file, counted together."""
Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """One error that a rater marked in an output."""

    # First character and end (exclusive) of the error in the output. Both are 0 for a missing text.
    start: int
    end: int
    severity: str
    category: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Rating:
    """The rating of one output by one rater."""

    rater: str
    # From 0 to 100, or None if the rater gave no score.
    score: float | None = None
    marks: tuple[Mark, ...] = ()
    # Errors in other parts than the output, as JSON objects. Only files of this app have them.
    other_marks: tuple[Mapping[str, Any], ...] = ()


@dataclass(slots=True)
class RatedSegment:
    """One segment: its source, the outputs of the systems, and the ratings of these outputs."""

    # The place of the segment in the file, for error messages.
    where: str
    source: str
    name: str = ""
    references: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    # The scores of each system by metric.
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    ratings: dict[str, list[Rating]] = field(default_factory=dict)
    # The digest of the dataset and the index of the example, from 0, if this app wrote the file.
    origin: tuple[str, int] | None = None


class Segments:
    """The segments of a file while it is read. All rows of a segment are combined."""

    def __init__(self, name: str) -> None:
        """Start without segments. `name` is the file name for error messages."""
        self.name = name
        self.found: dict[Key, RatedSegment] = {}
        self._budget = TextBudget(name)
        self._systems: set[str] = set()
        self._rated = 0

    def add(self, key: Key, where: str, source: str, **about: Any) -> RatedSegment:
        """Return the segment with this key. The first call for a key creates its segment.

        Args:
            key: a value that identifies the segment within the file.
            where: the place in the file, for error messages.
            source: the source of the segment.
            about: further fields of a new `RatedSegment`.

        Raises:
            InputError: there are too many segments, or rows of a segment differ in their source.
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
        """Record the output of a system for a segment.

        Raises:
            InputError: an earlier row has another output, or there are too many systems.
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
        """Record a rating of an output, in addition to earlier ratings of the output.

        Raises:
            InputError: there are too many ratings and marked errors.
        """
        self._rated += 1 + len(rating.marks) + len(rating.other_marks)
        if self._rated > MAX_RATED:
            raise make_too_many_error(self.name, MAX_RATED, "ratings and marked errors")
        segment.ratings.setdefault(system, []).append(rating)


def own_place(values: Mapping[str, Any]) -> tuple[str, int] | None:
    """Return the dataset and example that this app stored in an object, or None.

    Returns:
        The digest of the dataset, and the index of the example from 0.
    """
    own = values.get(OWN)
    if not isinstance(own, dict):
        return None
    digest, number = own.get("dataset"), own.get("number")
    if not isinstance(digest, str) or type(number) is not int:
        return None
    return digest, number - 1


def make_columns_from_segments(name: str, segments: Sequence[RatedSegment]) -> tuple[Column, ...]:
    """Return the columns of a dataset: sources, references, outputs, scores and metadata.

    The scores of several raters become their mean, under the name `HUMAN_RATER`.

    Raises:
        InputError: there are no segments.
    """
    if not segments:
        raise InputError(f'"{shorten(name)}" has no segments. Choose a file with rated segments.')
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
            found.setdefault(system, {})[HUMAN_RATER] = sum(given) / len(given)
    return found


def _list_names(mappings: Iterable[Mapping[str, object]]) -> list[str]:
    return list(dict.fromkeys(name for one in mappings for name in one))


def _make_column(
    file: str, name: str, role: str, cells: Sequence[Cell], system: str = "", metric: str = ""
) -> Column:
    return Column(name, tuple(cells), role, system, file=file, metric=metric)


def get_text(where: str, values: Mapping[str, Any], name: str, default: str | None = None) -> str:
    """Return a text of an object, or the default if the text is missing.

    Args:
        where: the object, for error messages.
        values: the object.
        name: the key of the text.
        default: the text to return if the key is missing, or None if it must not be missing.

    Raises:
        InputError: the text is missing and there is no default, or it is not a text.
    """
    found = values.get(name, default)
    if not isinstance(found, str):
        raise InputError(f'{where} has no text in "{name}". Add it.')
    return found


def score_in(where: str, values: Mapping[str, Any], name: str) -> float | None:
    """Return a score of an object, given as a number or as text, or None if it is missing.

    Raises:
        InputError: the value is not a finite number.
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
            f'{where} has "{shorten(str(found)[:99])}" as its "{name}", which is not a number.'
            " Correct it."
        )
    return value


def get_object(where: str, values: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object inside an object, or {} if it is missing.

    Raises:
        InputError: the value is not an object.
    """
    found = values.get(name)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise InputError(f'{where} has a "{name}" that is not an object in braces. Correct it.')
    return found


def get_objects(where: str, values: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Return a list of objects inside an object, or [] if it is missing.

    Raises:
        InputError: the value is not a list of objects.
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
    """Return the errors in a list, in the format of Appraise and Pearmut.

    An error has `start_i` and `end_i`, the indices of its first and last character.

    Args:
        where: the object, for error messages.
        values: the object with the list of errors.
        name: the name of the list.
        places: the position in the output of each character that the tool counts, followed by the
            length of the output. An error whose `start_i` is this end or "missing" marks a missing
            text.

    Raises:
        InputError: an error has another form, or is outside the output.
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
