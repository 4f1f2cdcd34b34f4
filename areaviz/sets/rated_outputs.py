"""Outputs that raters or metrics judged, and the files of COMET.

The form of a rated output comes first, and the readers of COMET's files return it.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from areaviz.sets.roles import (
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
from areaviz.sets.text_files import iterate_plain_lines
from areaviz.trace.errors import InputError, shorten

# Outputs that raters or metrics judged, read from the files of several tools.
#
# Each reader returns `RatedSegment`s. The functions below turn them into the columns of a dataset,
# and `areaviz/sets/notes/marot.py` turns them into ratings.


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


# Reading of the lines that `comet-score` prints, one for each segment of each file of outputs.


_NUMBER = r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"(.*?)\t(?:Segment (\d{{1,9}})\t)?score: ({_NUMBER}|nan)\s*")
_SEGMENT = re.compile(rb"[^\r\n]*\tSegment \d+\tscore: ")


def is_comet_output(start: bytes) -> bool:
    """Return whether a file starts like the output of `comet-score`."""
    return _SEGMENT.match(start) is not None


def read_comet_output(name: str, data: bytes) -> tuple[Column, ...]:
    """Read one column of scores per system, named by the system's file of outputs.

    Lines with the mean of a file are ignored.

    Raises:
        InputError: a line has another form, a segment is missing or occurs twice, or systems differ
            in the number of segments.
    """
    scores: dict[str, dict[int, str]] = {}
    for number, line in enumerate(iterate_plain_lines(name, data), 1):
        if not line.strip():
            continue
        found = _LINE.fullmatch(line)
        if not found:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" is not a line of comet-score. Keep only the'
                ' lines "FILE, Segment N, score: …".'
            )
        if found[2] is None:
            continue
        segment, of_file = int(found[2]), scores.setdefault(found[1], {})
        if segment in of_file:
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" scores segment {segment:,} of'
                f' "{shorten(found[1])}" for the second time. Remove one of the lines.'
            )
        of_file[segment] = found[3]
        if len(of_file) > MAX_ROWS:
            raise make_too_many_error(name, MAX_ROWS, "segments")
    return _make_columns(name, scores)


def _make_columns(name: str, scores: dict[str, dict[int, str]]) -> tuple[Column, ...]:
    count = max((max(one) + 1 for one in scores.values()), default=0)
    columns = []
    for path, of_file in scores.items():
        if len(of_file) < count:
            missing = next(segment for segment in range(count) if segment not in of_file)
            raise InputError(
                f'"{shorten(name)}" has no score for segment {missing:,} of "{shorten(path)}".'
                " Score all segments of all systems."
            )
        cells: tuple[Cell, ...] = tuple(of_file[segment] for segment in range(count))
        system = PurePosixPath(PureWindowsPath(path).as_posix()).name
        columns.append(Column(METRIC, cells, SCORE, system, file=name))
    return tuple(columns)


# Raters of outputs that are programs. The end of their names distinguishes them from people.


AUTOMATIC = " (automatic)"
"""The end of the name of a rater that is a metric or another program, such as xCOMET."""


def is_automatic(rater: str) -> bool:
    """Return whether a rater is a program. Its errors are shown, but no figure counts them."""
    return rater.endswith(AUTOMATIC)


# Reading of the JSON that `comet-score --to_json` writes: scores, and the error spans of xCOMET.
#
# The JSON has a list for each file of outputs. The entries have `src`, `mt`, `ref` and `COMET`. The
# metric xCOMET adds `errors`, with text, confidence, severity, start and end (Guerreiro et al.
# 2024).


Entry = tuple[str, Any]
METRIC = "COMET"
RATER = f"xCOMET{AUTOMATIC}"
"""Name of the rater for errors that xCOMET marks."""
_SPANS = ("errors", "error_spans")


def is_comet_json(value: object) -> bool:
    """Return whether a JSON value has scores or error spans of COMET.

    It may be a file of `comet-score --to_json`. It may also be an object with `mt` and `errors` or
    `error_spans`, or a list of such objects.
    """
    if isinstance(value, list):
        return bool(value) and _is_marked(value[0])
    if not isinstance(value, dict) or not value:
        return False
    lists = list(value.values())
    of_files = all(isinstance(one, list) and bool(one) for one in lists)
    return _is_marked(value) or (of_files and all(_is_scored(one[0]) for one in lists))


def _is_scored(value: object) -> bool:
    return isinstance(value, dict) and "mt" in value and METRIC in value


def _is_marked(value: object) -> bool:
    return isinstance(value, dict) and "mt" in value and any(name in value for name in _SPANS)


def read_comet_json(name: str, entries: Sequence[Entry]) -> list[RatedSegment]:
    """Return the segments with the scores of all systems and the errors that xCOMET marks.

    Outputs without the name of their system get the name of the file.

    Raises:
        InputError: an entry has another form, or an error's text is not in its output.
    """
    segments = Segments(name)
    of_file = PurePosixPath(name).stem
    seen: dict[str, Counter[str]] = {}
    for where, value in entries:
        if isinstance(value, list):
            lists = {"": value}
        elif isinstance(value, dict) and "mt" not in value:
            lists = value
        else:
            lists = {"": [value]}
        for path in lists:
            of_path = f' of "{shorten(path)}"' if path else ""
            for number, one in enumerate(get_objects(where, lists, path), 1):
                of_entry = f"{where}, entry {number:,}{of_path}"
                system = PurePosixPath(PureWindowsPath(path).as_posix()).name
                system = system or get_text(of_entry, one, "system", of_file)
                _add_scored(segments, seen.setdefault(system, Counter()), of_entry, (system, one))
    return list(segments.found.values())


def _add_scored(
    segments: Segments, seen: Counter[str], where: str, said: tuple[str, Mapping[str, Any]]
) -> None:
    """Add an output with its score and the errors marked in it.

    Args:
        segments: the segments to which the output is added.
        seen: how often the system had each source before. The n-th output for a source belongs to
            the n-th segment with this source.
        where: the place of the entry, for error messages.
        said: the name of the system, and the entry.
    """
    system, values = said
    source, output = get_text(where, values, "src", ""), get_text(where, values, "mt")
    reference = get_text(where, values, "ref", "")
    seen[source] += 1
    references = (reference,) if reference else ()
    segment = segments.add((source, seen[source]), where, source, references=references)
    segments.add_output(segment, where, system, output)
    score = score_in(where, values, METRIC)
    if score is not None:
        segment.scores[system] = {METRIC: score}
    for spans in _SPANS:
        if spans in values:
            marks = []
            for number, one in enumerate(get_objects(where, values, spans), 1):
                marks.append(_parse_mark(f"{where}, error {number:,}", one, output))
            segments.add_rating(segment, system, Rating(RATER, None, tuple(marks)))


def _parse_mark(where: str, values: Mapping[str, Any], output: str) -> Mark:
    start, end = values.get("start"), values.get("end")
    text = get_text(where, values, "text", "").strip()
    severity = get_text(where, values, "severity")
    confidence = score_in(where, values, "confidence")
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise InputError(
            f'{where} needs a whole number as "start" and a larger one as "end". Correct them.'
        )
    place = _find_error_place(output, text, start, end)
    if place is None:
        raise InputError(
            f'{where} marks "{shorten(text)}" from character {start:,} to {end:,}, but the output'
            f" ({len(output):,} characters) does not contain this text. Score the outputs again."
        )
    note = "" if confidence is None else f"confidence {confidence:.2f}"
    return Mark(*place, severity, "", note)


def _find_error_place(output: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span of an error without the white space around it, or None if it is not found.

    The tokenizer of xCOMET can change a text, and can count the space before it. If the text is not
    at the given place, the nearest occurrence in the output is used.
    """
    there = output[start : min(end, len(output))]
    if there.strip() and (not text or _normalise_text(there) == _normalise_text(text)):
        start += len(there) - len(there.lstrip())
        return start, start + len(there.strip())
    places = []
    at = output.find(text) if text else -1
    while at >= 0:
        places.append(at)
        at = output.find(text, at + 1)
    if not places:
        return None
    nearest = min(places, key=lambda place: abs(place - start))
    return nearest, nearest + len(text)


def _normalise_text(text: str) -> str:
    return "".join(unicodedata.normalize("NFKC", text).split())
