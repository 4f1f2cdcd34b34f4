"""Lossless export and import of notes as CSV, JSON Lines and Parquet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from areaviz.draw.view import escape_cell, unescape_cell
from areaviz.notes.annotations import Annotation
from areaviz.trace.errors import InputError

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
_TEXTS = [name for name in _COLUMNS if name not in _INTEGERS]
# A column that older files do not have.
_LATER = "differs"
# The column with the number of an example, from 1. Older files have "example", from 0.
_NUMBER = "number"
_NEEDED = [name for name in _COLUMNS if name not in (_LATER, "example")]
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
    if not set(_NEEDED) <= set(reader.fieldnames or ()):
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
    texts = [name for name in names if name in _TEXTS]
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
    missing = [name for name in _NEEDED if not isinstance(row, Mapping) or name not in row]
    if not missing and _NUMBER not in row and "example" not in row:
        missing = [_NUMBER]
    if missing:
        raise InputError(
            f"Note {number:,} lacks {', '.join(missing)}. Export notes to see the expected format."
        )
    texts = {}
    for name in _TEXTS:
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
