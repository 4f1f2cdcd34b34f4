"""Import and export of Marot's TSV of marked errors, as published by the WMT shared tasks.

Each line is an error: system, document, number of the segment in the document and overall, rater,
source and target with the error between <v> and </v>, category, severity, and metadata as JSON. A
rater's lines on one segment of a system form one rating. The rating keeps the lines, so unchanged
ratings are exported exactly as they were imported.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from areaviz.notes.annotations import SEVERITIES
from areaviz.notes.error_spans import OUTPUT, SOURCE, WHOLE, ErrorSpan, Judgement, parse_spans
from areaviz.notes.marot_rows import COLUMNS, MAX_LINES, Row
from areaviz.notes.segment_places import SegmentPlaces, match_system, normalise_spaces
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError

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
