"""Export and import of notes and ratings, and export in the formats of WMT and Pearmut."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from areaviz.draw.view import escape_cell, unescape_cell
from areaviz.samples.dataset import Dataset
from areaviz.sets.notes.notes import (
    OUTPUT,
    WHOLE,
    Annotation,
    ErrorSpan,
    Judgement,
    convert_spans_to_json,
    parse_spans,
)
from areaviz.sets.pearmut import find_counted_span
from areaviz.sets.rated_outputs import OWN, is_automatic
from areaviz.sets.wmt import SEPARATOR
from areaviz.trace.errors import InputError, check_choice

# Lossless export and import of notes as CSV, JSON Lines and Parquet.


# File extensions, with the displayed name of the format and its media type.
FORMATS = {
    "csv": ("CSV", "text/csv"),
    "jsonl": ("JSON Lines", "application/jsonl"),
    "parquet": ("Parquet", "application/vnd.apache.parquet"),
}
MAX_MEGABYTES, MAX_NOTES = 20, 100_000
# Maximum number of characters of each text of an example that is exported next to its notes.
MAX_CONTEXT = 4000
# Maximum number of bytes per line, enough for the longest note with its example in any encoding.
MAX_LINE = 1 << 18
# Allowed compressions of Parquet. With other codecs, a small file can unpack to any size.
PACKED = {"SNAPPY", "UNCOMPRESSED"}
# Maximum megabytes of all texts of a Parquet file after unpacking. Repeated texts count each time.
MAX_SPREAD = 200
_COLUMNS = [one.name for one in fields(Annotation)]
_INTEGERS = ["example", "version"]
_NOTE_TEXTS = [name for name in _COLUMNS if name not in _INTEGERS]
# A column that older files do not have.
_LATER = "differs"
# The column with the number of an example, from 1. Older files have "example", from 0.
_NUMBER = "number"
_NEEDED_IN_NOTES = [name for name in _COLUMNS if name not in (_LATER, "example")]
# Columns that describe the example for readers of the file. Imports ignore them.
_CONTEXT = ("name", "text", "output", "reference")


@dataclass(frozen=True, slots=True)
class Context:
    """The texts of an example, for readers of exported notes.

    Args:
        name: the name of the example in the app.
        text: its source.
        reference: its first reference, "" if it has none.
        outputs: the outputs of systems, by the names of the systems in notes.
    """

    name: str
    text: str = ""
    reference: str = ""
    outputs: Mapping[str, str] = field(default_factory=dict)


NO_CONTEXT: Mapping[int, Context] = {}


def to_bytes(
    notes: Sequence[Annotation], kind: str, examples: Mapping[int, Context] = NO_CONTEXT
) -> bytes:
    """Write notes in one of `FORMATS`, each with the texts of its example.

    In CSV, texts that a spreadsheet would run as a formula get an apostrophe in front, and the file
    starts with a UTF-8 byte order mark.

    Args:
        notes: the notes to write.
        kind: a key of `FORMATS`.
        examples: the examples by their index in the dataset.
    """
    rows = [_make_row(note, examples.get(note.example)) for note in notes]
    if kind == "jsonl":
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    columns = [_NUMBER, "name", *[name for name in _COLUMNS if name != "example"], *_CONTEXT[1:]]
    frame = pd.DataFrame(rows, columns=columns)
    texts = [name for name in columns if name not in (_NUMBER, "version")]
    frame[texts] = frame[texts].astype("string")
    if kind == "csv":
        frame[texts] = frame[texts].map(escape_cell)
        return frame.to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig")
    frame[[_NUMBER, "version"]] = frame[[_NUMBER, "version"]].astype("int64")
    buffer = io.BytesIO()
    frame.to_parquet(buffer, index=False)
    return buffer.getvalue()


def _make_row(note: Annotation, example: Context | None) -> dict[str, object]:
    """Return the row of a note with the texts of its example. Examples are numbered from 1."""
    about = example or Context("")
    row: dict[str, object] = {_NUMBER: note.example + 1, "name": _format_text(about.name)}
    row |= {name: value for name, value in asdict(note).items() if name != "example"}
    written = about.outputs.get(note.model) or "\n".join(about.outputs.values())
    texts = about.text, written, about.reference
    return row | dict(zip(_CONTEXT[1:], map(_format_text, texts), strict=True))


def _format_text(text: str) -> str:
    """Return a text of an example in a form that every format can hold."""
    return text[:MAX_CONTEXT].encode("utf-8", "replace").decode()


def from_bytes(data: bytes, kind: str) -> list[Annotation]:
    """Read the notes in a file that `to_bytes` wrote.

    Raises:
        InputError: The file is of another kind or too large.
    """
    if len(data) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(data) >> 20} MB, but the limit is {MAX_MEGABYTES} MB. Split it."
        )
    try:
        rows = _read_rows(data, kind)
    except InputError:
        raise
    except Exception as error:  # damaged files raise many kinds of errors
        raise InputError(
            f"The file is not a {kind} file of notes. Export one here to see its format."
        ) from error
    return [_parse_note(number, row, kind == "csv") for number, row in enumerate(rows, 1)]


def _read_rows(data: bytes, kind: str) -> list[Mapping[str, object]]:
    """Return the rows of a file after checking its size."""
    if kind == "parquet":
        return _read_parquet_rows(data)
    _check_lines(data)
    if kind == "jsonl":
        _check_count(data.count(b"\n"))
        return [json.loads(line) for line in data.decode("utf-8").split("\n") if line]
    rows: list[Mapping[str, object]] = []
    reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""), strict=True)
    if not set(_NEEDED_IN_NOTES) <= set(reader.fieldnames or ()):
        raise ValueError("A column is missing.")
    for row in reader:
        rows.append({name: value for name, value in row.items() if value is not None})
        _check_count(len(rows))
    return rows


def _check_lines(data: bytes) -> None:
    """Raise InputError if a line is longer than any note."""
    breaks = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
    longest = int(np.diff(breaks, prepend=-1, append=len(data)).max()) - 1
    if longest > MAX_LINE:
        raise InputError(
            f"The file has a line of {longest:,} bytes, but the limit is {MAX_LINE:,}. Export"
            " notes to see the expected format."
        )


def _check_count(notes: int) -> None:
    if notes > MAX_NOTES:
        raise InputError(
            f"The file has more than {MAX_NOTES:,} notes, which is the limit. Split it."
        )


def _read_parquet_rows(data: bytes) -> list[Mapping[str, object]]:
    """Return the rows of a Parquet file after counting and measuring them.

    A file can store a text once and use it in a million rows, so the size is checked before the
    texts are expanded.
    """
    footer = parquet.read_metadata(io.BytesIO(data))
    packed = set()
    _check_count(footer.num_rows)
    for group in map(footer.row_group, range(footer.num_row_groups)):
        _check_count(group.num_rows)
        for column in map(group.column, range(group.num_columns)):
            _check_count(column.num_values)
            packed.add(column.compression)
    if not packed <= PACKED:
        raise InputError(
            f"The compression {', '.join(sorted(packed - PACKED))} is not supported. Save the"
            " file with Snappy or without compression."
        )
    names = footer.schema.to_arrow_schema().names
    texts = [name for name in names if name in _NOTE_TEXTS]
    numbers = [name for name in names if name in (_NUMBER, *_INTEGERS)]
    table = parquet.read_table(io.BytesIO(data), columns=[*texts, *numbers], read_dictionary=texts)
    spread = sum(_count_expanded_bytes(chunk) for name in texts for chunk in table[name].chunks)
    if spread > MAX_SPREAD << 20:
        raise InputError(
            f"The notes have {spread >> 20:,} MB, but the limit is {MAX_SPREAD} MB. Split the file."
        )
    rows: list[Mapping[str, object]] = table.to_pylist()
    return rows


def _count_expanded_bytes(texts: Any) -> int:
    """Return the number of bytes of a column's texts when repeated texts are expanded."""
    if not pa.types.is_dictionary(texts.type):
        return int(texts.nbytes)
    lengths = compute.take(compute.binary_length(texts.dictionary), texts.indices)
    return int(compute.sum(lengths).as_py() or 0)


def _parse_note(number: int, row: Mapping[str, object], from_csv: bool) -> Annotation:
    """Return the note of a row. `number` identifies the row in errors, from 1."""
    missing = [name for name in _NEEDED_IN_NOTES if not isinstance(row, Mapping) or name not in row]
    if not missing and _NUMBER not in row and "example" not in row:
        missing = [_NUMBER]
    if missing:
        raise InputError(
            f"Note {number:,} lacks {', '.join(missing)}. Export notes to see the expected format."
        )
    texts = {}
    for name in _NOTE_TEXTS:
        text = row.get(name, "")
        if not isinstance(text, str):
            raise InputError(f"Note {number:,} has no text as {name}. Correct or remove it.")
        texts[name] = _unescape(text, _LATER in row) if from_csv else text
    try:
        example = int(str(row[_NUMBER])) - 1 if _NUMBER in row else int(str(row["example"]))
        version = int(str(row["version"]))
    except ValueError:
        raise InputError(
            f"Note {number:,} has no whole number as its example or version. Correct or remove it."
        ) from None
    if not texts["id"] or version < 1 or example < 0:
        raise InputError(f"Note {number:,} has no id, or a negative number. Correct or remove it.")
    try:
        return Annotation(**texts, example=example, version=version).checked()
    except InputError as error:
        raise InputError(f"Note {number:,} cannot be imported: {error}") from error


def _unescape(text: str, is_new: bool) -> str:
    """Return a text of a CSV file without added apostrophes.

    Older files added only the first one.
    """
    return unescape_cell(text) if is_new else text.removeprefix("'")


# Lossless export and import of ratings as JSON Lines. `marot.py` handles Marot's TSV.


MAX_JUDGEMENTS = 100_000
# Maximum number of bytes of a first line that is parsed to recognise a file.
_MAX_LINE = 4 << 20
_JUDGEMENT_TEXTS = [one.name for one in fields(Judgement) if one.type == "str"]
_NEEDED_IN_JUDGEMENTS = ("dataset", _NUMBER, "model", "rater", "source", "output", "spans")


def to_jsonl(judgements: Sequence[Judgement]) -> bytes:
    """Return ratings as JSON Lines, one per line. Examples are numbered from 1."""
    lines = []
    for one in judgements:
        values: dict[str, object] = {_NUMBER: one.example + 1}
        values |= {name: value for name, value in asdict(one).items() if name != "example"}
        lines.append(f"{json.dumps(values, ensure_ascii=False)}\n")
    return "".join(lines).encode("utf-8", "surrogatepass")


def from_jsonl(data: bytes) -> list[Judgement]:
    """Read the ratings in a file that `to_jsonl` wrote.

    Raises:
        InputError: The file is of another kind or too large.
    """
    text = decode_text(data, "judgements")
    lines = [line for line in text.split("\n") if line.strip()]
    check_count(len(lines))
    return [_parse_judgement(f"Judgement {number:,}", line) for number, line in enumerate(lines, 1)]


def is_own_jsonl(data: bytes) -> bool:
    """Return whether the first line of a file is a rating that `to_jsonl` wrote."""
    start = data.lstrip(b"\xef\xbb\xbf \r\n\t").split(b"\n", 1)[0]
    if len(start) > _MAX_LINE:
        return False
    try:
        values = json.loads(start)
    except (ValueError, RecursionError):
        return False
    return isinstance(values, dict) and {"dataset", "spans"} <= values.keys()


def check_size(data: bytes) -> None:
    """Raise InputError for a file that is too large."""
    if len(data) > MAX_MEGABYTES << 20:
        raise InputError(
            f"The file has {len(data) >> 20} MB, but the limit is {MAX_MEGABYTES} MB. Split it."
        )


def decode_text(data: bytes, what: str) -> str:
    """Return the text of a file.

    Args:
        data: the content of the file.
        what: a noun for the content of the file, for error messages.

    Raises:
        InputError: the file is too large, or not UTF-8.
    """
    check_size(data)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"The file of {what} is not a UTF-8 text. Save it as UTF-8.") from error


def check_count(count: int) -> None:
    """Raise InputError if a file has too many lines."""
    if count > MAX_JUDGEMENTS:
        raise InputError(
            f"The file has more than {MAX_JUDGEMENTS:,} lines, which is the limit. Split it."
        )


def _parse_judgement(where: str, line: str) -> Judgement:
    """Return the rating of a line. `where` identifies the line in errors."""
    try:
        values = json.loads(line)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, Mapping):
        raise InputError(f"{where} is not a JSON object. Export some to see the expected format.")
    missing = [name for name in _NEEDED_IN_JUDGEMENTS if name not in values]
    if missing:
        raise InputError(
            f"{where} lacks {', '.join(missing)}. Export some to see the expected format."
        )
    texts = {name: values.get(name, "") for name in _JUDGEMENT_TEXTS}
    for name, text in texts.items():
        if not isinstance(text, str):
            raise InputError(f"{where} has no text as {name}. Correct or remove it.")
    number, version, score = values[_NUMBER], values.get("version", 0), values.get("score")
    if type(number) is not int or type(version) is not int or number < 1:
        raise InputError(
            f"{where} has no whole number as its example or version. Correct or remove it."
        )
    if not (score is None or type(score) in (int, float)):
        raise InputError(f"{where} has a score that is not a number. Correct it or leave it out.")
    try:
        spans = parse_spans(values["spans"])
        found = Judgement(
            **texts,
            example=number - 1,
            version=version,
            spans=spans,
            score=None if score is None else float(score),
        )
        return found.checked()
    except InputError as error:
        raise InputError(f"{where} cannot be imported: {error}") from error


# Ratings of a dataset as JSON Lines in the format of the WMT human evaluation of 2025.


Outputs = Mapping[str, Mapping[int, str]]
"""The outputs of each system, by the index of the example."""
# Names of metadata columns that contain the document of an example.
DOCUMENTS = ("doc", "document", "doc_id")


def to_wmt(judgements: Sequence[Judgement], dataset: Dataset, outputs: Outputs) -> bytes:
    """Return a line for each example, with its outputs, scores, raters and errors.

    Errors in the source or in a picture are in `other_errors1` and so on, which only areaviz reads.
    Ratings by programs, ratings of earlier outputs, and copies that differ from another rating are
    left out.

    Args:
        judgements: the ratings of the dataset.
        dataset: the dataset.
        outputs: the outputs of the systems.
    """
    by_output: dict[tuple[int, str], list[Judgement]] = {}
    for one in judgements:
        is_here = outputs.get(one.model, {}).get(one.example) == one.output
        if one.counts and is_here:
            by_output.setdefault((one.example, one.model), []).append(one)
    lines = []
    for place, example in enumerate(dataset.examples):
        scores = {}
        for system in outputs:
            if given := by_output.get((place, system)):
                scores[system] = _format_ratings(given)
        texts = {name: found[place] for name, found in outputs.items() if place in found}
        values = {
            "scores": scores,
            "src_text": example.text,
            "tgt_text": texts,
            "doc_id": _name_segment(dataset, place),
            OWN: {"dataset": dataset.digest, "number": place + 1},
        }
        lines.append(f"{json.dumps(values, ensure_ascii=False)}\n")
    return "".join(lines).encode("utf-8", "replace")


def _format_ratings(judgements: Sequence[Judgement]) -> dict[str, object]:
    """Return the ratings of one output, with a numbered round for each rater."""
    found: dict[str, object] = {}
    for number, one in enumerate(sorted(judgements, key=lambda one: one.rater), 1):
        if one.score is not None:
            found[f"human{number}"] = one.score
        found[f"annotator{number}"] = one.rater
        there = [span for span in one.spans if span.side in (OUTPUT, WHOLE)]
        others = [span for span in one.spans if span not in there]
        found[f"errors{number}"] = [_format_error(span) for span in there]
        if others:
            found[f"other_errors{number}"] = convert_spans_to_json(others)
    return found


def _format_error(span: ErrorSpan) -> dict[str, Any]:
    is_missing = span.side == WHOLE
    found: dict[str, Any] = {
        "start_i": "missing" if is_missing else span.start,
        "end_i": "missing" if is_missing else span.end - 1,
        "severity": span.severity,
    }
    more = {"category": span.category, "note": span.note}
    return found | {name: text for name, text in more.items() if text}


def _name_segment(dataset: Dataset, place: int) -> str:
    """Return languages, domain, document and segment as one name in WMT's form."""
    name = dataset.examples[place].name
    if SEPARATOR in name:
        return name
    document = document_of(dataset, place) or dataset.name
    langs = dataset.metadata.get("langs", {place: ""})[place] or "und"
    domain = dataset.metadata.get("domain", {place: ""})[place] or "unknown"
    return SEPARATOR.join((langs, domain, document, name))


def document_of(dataset: Dataset, place: int) -> str:
    """Return the document of an example by its metadata, or "" if there is none."""
    for column in DOCUMENTS:
        if column in dataset.metadata:
            return dataset.metadata[column][place]
    return ""


# A dataset and the outputs of systems as a campaign of Pearmut, where raters annotate outputs.


PROTOCOLS = ("ESA", "MQM", "DA")
"""The protocols: errors and a score (ESA), errors with categories (MQM), or a score alone (DA)."""
MAX_RATERS = 50


def to_campaign(
    dataset: Dataset,
    outputs: Outputs,
    judgements: Sequence[Judgement] = (),
    *,
    protocol: str = PROTOCOLS[0],
    raters: int = 1,
) -> bytes:
    """Return a campaign in which each rater gets all outputs, one document at a time.

    Errors from programs, such as xCOMET, are marked beforehand. Each item carries the digest of the
    dataset and the number of its example. An import uses them to find the example of an annotation.

    Args:
        dataset: the dataset, whose examples are texts.
        outputs: the outputs of each system.
        judgements: the ratings of the dataset.
        protocol: one of `PROTOCOLS`.
        raters: the number of raters, 1 to `MAX_RATERS`.

    Raises:
        InputError: an argument is out of range, there are no outputs, or sources are not texts.
    """
    check_choice("protocol", protocol, PROTOCOLS)
    if not 1 <= raters <= MAX_RATERS:
        raise InputError(f"A campaign has 1 to {MAX_RATERS} raters. Choose a number of them.")
    if dataset.files:
        raise InputError(
            "A campaign has texts alone, but this set has pictures, sounds or clips. Choose a set"
            " of texts."
        )
    names = _make_safe_names(outputs)
    prepared = _prepare_errors(judgements, outputs)
    unique = len({one.name for one in dataset.examples}) == len(dataset.examples)
    documents: list[list[dict[str, Any]]] = []
    earlier = None
    for place, example in enumerate(dataset.examples):
        texts = {name: found[place] for name, found in outputs.items() if place in found}
        if not texts:
            continue
        item: dict[str, Any] = {
            "item_id": example.name if unique else str(place + 1),
            "src": example.text,
            **({"ref": example.references[0]} if example.references else {}),
            "tgt": {names[system]: text for system, text in texts.items()},
            OWN: {
                "dataset": dataset.digest,
                "number": place + 1,
                "systems": {names[system]: system for system in texts},
            },
        }
        spans = {names[name]: prepared[place, name] for name in texts if (place, name) in prepared}
        if spans and protocol != "DA":
            item["error_spans"] = spans
        document = document_of(dataset, place)
        if document:
            item["doc"] = document
        if not document or document != earlier:
            documents.append([])
        documents[-1].append(item)
        earlier = document
    if not documents:
        raise InputError("No system has an output, so there is nothing to annotate. Add outputs.")
    campaign = {
        "info": {
            "assignment": "task-based",
            "protocol": protocol,
            "shuffle": all(map(_has_same_systems, documents)),
        },
        "campaign_id": f"{_make_safe_name(dataset.name)}_{dataset.digest[:8]}",
        "data": [documents] * raters,
    }
    return json.dumps(campaign, ensure_ascii=False, indent=1).encode("utf-8", "replace")


def _has_same_systems(document: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether all items of a document have the same systems. Pearmut can then shuffle it."""
    return len({tuple(item["tgt"]) for item in document}) == 1


def _make_safe_names(systems: Iterable[str]) -> dict[str, str]:
    """Return for each system a name that Pearmut accepts: letters, digits, "_" and "-".

    Pearmut refuses names that consist of digits, and uses names in the ids of its page.
    """
    found: dict[str, str] = {}
    for system in systems:
        name, number = _make_safe_name(system), 2
        while name in found.values():
            name, number = f"{_make_safe_name(system)}_{number}", number + 1
        found[system] = name
    return found


def _make_safe_name(text: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", text)
    return f"system_{name}" if not name.strip("_") or name.isdigit() else name


def _prepare_errors(
    judgements: Sequence[Judgement], outputs: Outputs
) -> dict[tuple[int, str], list[dict[str, Any]]]:
    """Return the errors from programs in Pearmut's format, by example and system."""
    found: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for one in judgements:
        is_here = outputs.get(one.model, {}).get(one.example) == one.output
        if not is_here or one.differs or not is_automatic(one.rater):
            continue
        for span in one.spans:
            place = find_counted_span(one.output, span.start, span.end)
            if span.side == OUTPUT and place is not None:
                error = {
                    "start_i": place[0],
                    "end_i": place[1],
                    "severity": "major" if span.severity == "critical" else span.severity,
                    "category": span.category or None,
                }
                found.setdefault((one.example, one.model), []).append(error)
    return found
