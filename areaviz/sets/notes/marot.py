"""Files of marked errors: Marot's TSV, and the choice among all formats.

The rows of a file and their match with examples come first. The conversion to ratings follows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from areaviz.media.formats import get_extension
from areaviz.samples.dataset import Dataset, Files
from areaviz.sets.files import read_rated
from areaviz.sets.notes.exchange import (
    check_count,
    check_size,
    decode_text,
    from_jsonl,
    is_own_jsonl,
)
from areaviz.sets.notes.notes import (
    MAX_SPANS,
    OUTPUT,
    SEVERITIES,
    SOURCE,
    WHOLE,
    ErrorSpan,
    Judgement,
    parse_spans,
)
from areaviz.sets.notes.store import LONGEST_NAME, LONGEST_ORIGIN, LONGEST_TEXT
from areaviz.sets.rated_outputs import Mark, RatedSegment, Rating
from areaviz.sets.roles import find_system
from areaviz.sets.text_files import read_bytes
from areaviz.trace.errors import InputError, shorten

# Rows of the TSV files of Marot, a viewer of marked errors.
#
# Limits are checked before a row is parsed.


COLUMNS = (
    *("system", "doc", "docSegId", "globalSegId", "rater"),
    *("source", "target", "category", "severity", "metadata"),
)
# Older files have a note in the column of the metadata.
_FEWEST_COLUMNS = 9
# Maximum number of lines per rating, and of tags per cell. A line marks one error, which may have
# several parts.
MAX_LINES, _MAX_TAGS = MAX_SPANS, 2 * MAX_SPANS
# Maximum number of characters of each cell, without tags.
_CELL_LENGTHS = {
    "doc": LONGEST_TEXT,
    "source": LONGEST_TEXT,
    "target": LONGEST_TEXT,
    "category": LONGEST_NAME,
    "metadata": LONGEST_ORIGIN,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file."""

    # The line number, from 1.
    line: int
    # The cells of all columns. Older files have no metadata.
    cells: tuple[str, ...]

    def cell(self, name: str) -> str:
        """Return the cell of a column, or "" if the line ends before it."""
        at = COLUMNS.index(name)
        return self.cells[at] if at < len(self.cells) else ""

    @property
    def key(self) -> tuple[str, ...]:
        """The system, the segment and the rater. Lines with equal keys form one rating."""
        return self.cells[:5]


def read_rows(data: bytes, name: str) -> list[Row]:
    """Return the lines of a file.

    Args:
        data: the content of the file.
        name: the name of the file, for error messages.

    Raises:
        InputError: the file is not a Marot TSV, or a cell is too long.
    """
    lines = decode_text(data, "judgements").split("\n")
    check_count(len(lines))
    rows = []
    for number, line in enumerate(lines, 1):
        cells = tuple(line.removesuffix("\r").split("\t"))
        is_head = number == 1 and cells[:2] == COLUMNS[:2]
        if is_head or cells == ("",):
            continue
        if len(cells) < _FEWEST_COLUMNS or len(cells) > len(COLUMNS):
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" has {len(cells)} columns, but a TSV of'
                f" Marot has {len(COLUMNS)}: {', '.join(COLUMNS)}."
            )
        row = Row(number, cells)
        _check_cells(row)
        rows.append(row)
    if not rows:
        raise InputError(f'"{shorten(name)}" has no rows of Marot. Choose another file.')
    return rows


def _check_cells(row: Row) -> None:
    """Raise InputError if a cell is too long, before the line is parsed."""
    for name, cell in zip(COLUMNS, row.cells, strict=False):
        most = _CELL_LENGTHS.get(name, LONGEST_NAME)
        # Most cells are short, so their tags need not be counted.
        if len(cell) <= most:
            continue
        tags = cell.count("<v>") + cell.count("</v>")
        if tags > _MAX_TAGS:
            raise InputError(
                f"Line {row.line:,} has {tags:,} tags <v> and </v> in its {name}, but the limit"
                f" is {_MAX_TAGS}. Mark fewer errors."
            )
        if len(cell) - len("</v>") * tags > most:
            raise InputError(
                f"Line {row.line:,} has {len(cell):,} characters in its {name}, but the limit is"
                f" {most:,}. Shorten it."
            )


# Matching of the segments of another tool's file with examples of a dataset by source.


class SegmentPlaces:
    """The examples of a dataset by source.

    Segments with equal sources get these examples in turn.
    """

    def __init__(self, dataset: Dataset) -> None:
        """Start with all examples of the dataset unassigned."""
        self._free: dict[str, list[int]] = {}
        for place, example in enumerate(dataset.examples):
            self._free.setdefault(normalise_spaces(example.text), []).append(place)
        self._taken: dict[tuple[object, ...], int] = {}

    def find(self, where: str, key: tuple[object, ...], source: str) -> int:
        """Return the index of a segment's example.

        A new segment gets the next example with its source.

        Args:
            where: a description of the segment for error messages.
            key: identifies the segment in the file.
            source: the source text of the segment.

        Raises:
            InputError: the dataset has no example with this source, or too few of them.
        """
        if key in self._taken:
            return self._taken[key]
        free = self._free.get(normalise_spaces(source))
        if not free:
            problem = "is not in this set" if free is None else "this set has less often"
            raise InputError(
                f'{where} has the source "{shorten(source)}", which {problem}. Choose the set that'
                " was judged."
            )
        self._taken[key] = free.pop(0)
        return self._taken[key]

    def pass_over(self, source: str) -> None:
        """Assign an example to a segment without ratings, if an example with its source is left."""
        free = self._free.get(normalise_spaces(source))
        if free:
            free.pop(0)


def normalise_spaces(text: str) -> str:
    """Return a text in the form in which sources are compared, with single spaces."""
    return " ".join(text.split())


def match_system(name: str, systems: Sequence[str]) -> str:
    """Return the system with this name, except for a file extension, or else the name itself."""
    for one in systems:
        if name in (one, one.rpartition(".")[0]):
            return one
    return name


# Import and export of Marot's TSV of marked errors, as published by the WMT shared tasks.
#
# Each line is an error: system, document, number of the segment in the document and overall, rater,
# source and target with the error between <v> and </v>, category, severity, and metadata as JSON. A
# rater's lines on one segment of a system form one rating. The rating keeps the lines, so unchanged
# ratings are exported exactly as they were imported.


NO_ERROR = "no-error"
# The metadata key for details of errors that have no column in this format.
_OWN = "areaviz"
_TAG = re.compile(r"</?v>")
_BREAKS = re.compile(r"[\t\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def parse_judgements(
    rows: Sequence[Row], dataset: Dataset, systems: Sequence[str]
) -> list[Judgement]:
    """Return the ratings in a file's lines, for the examples with equal sources.

    Args:
        rows: the lines.
        dataset: the rated dataset.
        systems: the names of the systems in areaviz. A system of the file matches a name with or
            without the file extension.

    Raises:
        InputError: the dataset lacks a source, or a line has an invalid value.
    """
    places = SegmentPlaces(dataset)
    copies = _number_repeated_segments(rows)
    groups: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        segment = (*_make_segment_key(row), copies.get(_make_output_key(row), 0))
        places.find(f"Line {row.line:,}", segment, _remove_tags(row.cell("source")))
        groups.setdefault((*row.key, *segment), []).append(row)
    found = []
    for group in groups.values():
        first = group[0]
        if len(group) > MAX_LINES:
            raise InputError(
                f"Line {first.line:,} and {len(group) - 1:,} other lines mark one output for"
                f" one rater, but the limit is {MAX_LINES} lines. Mark fewer errors."
            )
        model = match_system(first.cell("system"), systems)
        source, output = _remove_tags(first.cell("source")), _remove_tags(first.cell("target"))
        segment = (*_make_segment_key(first), copies.get(_make_output_key(first), 0))
        place = places.find(f"Line {first.line:,}", segment, source)
        empty = Judgement(dataset.digest, place, model, first.cell("rater"), source, output)
        origin = json.dumps([[row.line, *row.cells] for row in group], ensure_ascii=False)
        judgement = replace(empty, origin=origin, **_parse_errors(group))
        try:
            found.append(judgement.checked())
        except InputError as error:
            raise InputError(f"Line {first.line:,} cannot be imported: {error}") from error
    return found


def to_marot(judgements: Iterable[Judgement], doc: str) -> bytes:
    """Return ratings as a Marot file, in the order of the imported file, then by example.

    Imported lines of unchanged ratings are written unchanged.

    Args:
        judgements: the ratings to write.
        doc: the name of the document whose segments are the examples.
    """
    placed: list[tuple[tuple[int, ...], Sequence[str]]] = []
    for judgement in judgements:
        placed += _make_lines(judgement, doc)
    placed.sort(key=lambda one: one[0])
    lines = ["\t".join(COLUMNS), *("\t".join(cells) for _, cells in placed)]
    return ("\n".join(lines) + "\n").encode()


def _make_lines(judgement: Judgement, doc: str) -> list[tuple[tuple[int, ...], Sequence[str]]]:
    """Return the cells of a rating's lines, each with the key that orders it."""
    rows = [Row(line, tuple(cells)) for line, *cells in json.loads(judgement.origin or "[]")]
    said = _parse_errors(rows)
    if rows and (said["spans"], said["score"]) == (judgement.spans, judgement.score):
        return [((0, row.line), row.cells) for row in rows]
    place: tuple[int, ...] = (0, rows[-1].line) if rows else (1, judgement.example)
    number = f"{judgement.example + 1}"
    ids = rows[0].cells[1:4] if rows else (doc, number, number)
    system = rows[0].cell("system") if rows else judgement.model
    named = [_remove_line_breaks(cell) for cell in (system, *ids, judgement.rater)]
    # The score is in the line of one error, which may have been removed. All lines are therefore
    # rewritten if there is a score.
    has_score = judgement.score is not None or said["score"] is not None
    kept = {} if has_score else {_parse_errors([row])["spans"]: row for row in rows}
    found: list[tuple[tuple[int, ...], Sequence[str]]] = []
    for span in judgement.spans or (None,):
        row = kept.pop((span,), None)
        cells = row.cells if row else (*named, *_make_cells(judgement, span, not found))
        found.append((((0, row.line) if row else (*place, 1 + len(found))), cells))
    return found


def _make_cells(judgement: Judgement, span: ErrorSpan | None, is_first: bool) -> tuple[str, ...]:
    """Return source, target, category, severity and metadata of an error, or of "no error"."""
    source, target = _remove_line_breaks(judgement.source), _remove_line_breaks(judgement.output)
    own: dict[str, object] = {}
    if is_first and judgement.score is not None:
        own["score"] = judgement.score
    if span is None:
        more = json.dumps({_OWN: own} if own else {})
        return source, target, "No-error", "No-error", more
    own["span"] = asdict(span)
    if span.side == SOURCE:
        source = f"{source[: span.start]}<v>{source[span.start : span.end]}</v>{source[span.end :]}"
    if span.side == OUTPUT:
        target = f"{target[: span.start]}<v>{target[span.start : span.end]}</v>{target[span.end :]}"
    metadata: dict[str, object] = {"note": span.note} if span.note else {}
    more = json.dumps(metadata | {_OWN: own}, ensure_ascii=False)
    category = _remove_line_breaks(span.category) or "Other"
    return source, target, category, span.severity.capitalize(), more


def _parse_errors(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the errors and the score in a rating's lines."""
    spans: list[ErrorSpan] = []
    score = None
    for row in rows:
        metadata = _parse_metadata(row)
        own = metadata.get(_OWN)
        if isinstance(own, Mapping) and type(own.get("score")) in (int, float):
            score = float(own["score"])
        if isinstance(own, Mapping) and "span" in own:
            spans += parse_spans([own["span"]])
        elif span := _parse_span(row, metadata):
            spans.append(span)
    return {"spans": tuple(spans), "score": score}


def _parse_span(row: Row, metadata: Mapping[str, object]) -> ErrorSpan | None:
    """Return the error of a line, or None if the line says that there is no error.

    An error in several parts becomes one span from the first part to the last.
    """
    category, severity = row.cell("category"), row.cell("severity").lower()
    if not row.cell("rater") or severity.replace("_", "-") == NO_ERROR or not (category + severity):
        return None
    note = metadata.get("note")
    # Unknown categories, such as those of errors inserted to test raters, cost nothing.
    known = severity if severity in SEVERITIES else SEVERITIES[0]
    about = ErrorSpan(WHOLE, 0, 0, None, category, known, note if isinstance(note, str) else "")
    for side, name in ((OUTPUT, "target"), (SOURCE, "source")):
        start, end = _find_marked_text(row.cell(name))
        if start < end:
            return replace(about, side=side, start=start, end=end)
    return about


def _find_marked_text(text: str) -> tuple[int, int]:
    """Return start and end of the text between <v> and </v>, without the tags. 0, 0 if empty."""
    ends, removed = [], 0
    for tag in _TAG.finditer(text):
        ends.append(tag.start() - removed)
        removed += len(tag[0])
    return (ends[0], ends[-1]) if len(ends) > 1 else (0, 0)


def _parse_metadata(row: Row) -> Mapping[str, object]:
    """Return the metadata of a line. Older files may have a plain note in this column."""
    text = row.cell("metadata")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {"note": text} if text else {}
    return found if isinstance(found, dict) else {}


def _make_segment_key(row: Row) -> tuple[str, ...]:
    """Return the key of a segment: document, number and source.

    Some files contain several documents with one name, and number the segments of each from 1. The
    number alone is therefore ambiguous.
    """
    return row.cell("doc"), row.cell("docSegId"), normalise_spaces(_remove_tags(row.cell("source")))


def _make_output_key(row: Row) -> tuple[str, ...]:
    """Return the key of a segment of one system, with the overall number and the output."""
    output = "".join(_remove_tags(row.cell("target")).split())
    return row.cell("system"), *_make_segment_key(row), row.cell("globalSegId"), output


def _number_repeated_segments(rows: Sequence[Row]) -> dict[tuple[str, ...], int]:
    """Return the numbers, from 0, of segments that share document, number and source.

    A rater rates an output once. If the lines of one rater have several overall numbers or several
    outputs for a segment, the file has several segments with equal texts. Each of them belongs to a
    separate example. Numbers that differ only between raters or systems do not count, because some
    tools number the lines.

    Returns:
        The number by the key of `_make_output_key`. Segments that occur once are left out.
    """
    of_rater: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    of_system: dict[tuple[str, ...], dict[tuple[str, ...], int]] = {}
    for row in rows:
        segment, copy = (row.cell("system"), *_make_segment_key(row)), _make_output_key(row)
        of_rater.setdefault((*segment, row.cell("rater")), set()).add(copy)
        copies = of_system.setdefault(segment, {})
        copies.setdefault(copy, len(copies))
    repeated = {key[:-1] for key, copies in of_rater.items() if len(copies) > 1}
    return {copy: number for segment in repeated for copy, number in of_system[segment].items()}


def _remove_tags(text: str) -> str:
    return _TAG.sub("", text)


def _remove_line_breaks(text: str) -> str:
    """Replace each tab and line break by a space, so that positions in the text do not change."""
    return _BREAKS.sub(" ", text)


# Files of marked errors in the formats of areaviz, Marot and `areaviz/sets/files.py`.


FORMATS = (
    "Errors that were exported here (.jsonl), Marot's TSV, human evaluations of WMT (.jsonl),"
    " annotations or a campaign of Pearmut (.json, .jsonl), and what comet-score --to_json writes"
    " with xCOMET (.json)."
)
"""The formats of marked errors that can be read, for users."""


def read_judgements(
    name: str, data: bytes, dataset: Dataset, systems: Sequence[str]
) -> list[Judgement]:
    """Return the ratings in a file of one of the `FORMATS`, for the examples of a dataset.

    Args:
        name: the name of the file.
        data: the content of the file.
        dataset: the rated dataset.
        systems: the names of the systems in areaviz. A name in the file may differ in its
            extension.

    Raises:
        InputError: the file has an unknown format, or does not fit the dataset.
    """
    ending = get_extension(name)
    check_size(data)
    if ending == ".tsv":
        return parse_judgements(read_rows(data, name), dataset, systems)
    if ending == ".jsonl" and is_own_jsonl(data):
        return from_jsonl(data)
    segments = read_rated(name, data) if ending in (".json", ".jsonl", ".ndjson") else None
    if segments is None:
        raise InputError(
            f'"{shorten(name)}" is not a file of marked errors. Choose one of: {FORMATS}'
        )
    return _convert_segments(segments, dataset, systems)


def read_judgements_of_set(
    files: Files, dataset: Dataset, systems: Sequence[str], known: Sequence[Judgement] = ()
) -> list[Judgement]:
    """Return the ratings in the files of a dataset, after the known ones.

    A rating that was imported earlier and then changed in areaviz keeps the change.

    Args:
        files: the files of the dataset that contain ratings or marked errors.
        dataset: the dataset.
        systems: the names of the systems in areaviz.
        known: the ratings of this dataset that areaviz already has.

    Raises:
        InputError: a file does not fit the dataset.
    """
    found = list(known)
    seen = {(one.example, one.model, one.rater, one.output) for one in known}
    for name, content in files.items():
        for one in read_judgements(name, read_bytes(name, content), dataset, systems):
            is_known = (one.example, one.model, one.rater, one.output) in seen
            if one.dataset == dataset.digest and not is_known:
                found.append(one)
    return found


def _convert_segments(
    segments: Sequence[RatedSegment], dataset: Dataset, systems: Sequence[str]
) -> list[Judgement]:
    check_count(sum(len(ratings) for one in segments for ratings in one.ratings.values()))
    places = SegmentPlaces(dataset)
    found = []
    for number, segment in enumerate(segments):
        if not any(segment.ratings.values()):
            places.pass_over(segment.source)
            continue
        place = _own_place(segment, dataset)
        if place is None:
            place = places.find(segment.where, (number,), segment.source)
        for system, ratings in segment.ratings.items():
            model = match_system(system, systems)
            model = model if model in systems else find_system(system, systems) or model
            for rating in ratings:
                output = segment.outputs[system]
                bare = Judgement(dataset.digest, place, model, "", segment.source, output)
                found.append(_convert_rating(segment.where, bare, rating))
    return found


def _own_place(segment: RatedSegment, dataset: Dataset) -> int | None:
    """Return the index that areaviz wrote into the file, or None if it is for another dataset."""
    if segment.origin is None:
        return None
    digest, place = segment.origin
    is_here = digest == dataset.digest and 0 <= place < len(dataset.examples)
    return place if is_here and dataset.examples[place].text == segment.source else None


def _convert_rating(where: str, bare: Judgement, rating: Rating) -> Judgement:
    try:
        spans = tuple(map(_convert_mark, rating.marks)) + parse_spans(list(rating.other_marks))
        return Judgement(
            bare.dataset,
            bare.example,
            bare.model,
            rating.rater,
            bare.source,
            bare.output,
            spans,
            rating.score,
        ).checked()
    except InputError as error:
        raise InputError(f"{where} cannot be imported: {error}") from error


def _convert_mark(mark: Mark) -> ErrorSpan:
    """Return a mark as an error. A mark of unknown severity costs nothing."""
    given = mark.severity.lower()
    severity = given if given in SEVERITIES else SEVERITIES[0]
    side = OUTPUT if mark.start < mark.end else WHOLE
    return ErrorSpan(side, mark.start, mark.end, None, mark.category, severity, mark.note)
