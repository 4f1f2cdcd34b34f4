"""Notes as files, and back again without loss: CSV, JSON Lines, Parquet."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

import pandas as pd

from areaviz.analysis.annotations import Annotation
from areaviz.trace.errors import InputError
from areaviz.views.export import escape, unescape

KINDS = ("csv", "jsonl", "parquet")
MAX_MEGABYTES, MAX_NOTES = 20, 100_000
_COLUMNS = tuple(field.name for field in fields(Annotation))
_NUMBERS = ("example", "version")


def to_bytes(notes: Sequence[Annotation], kind: str) -> bytes:
    """Notes as a file of one of KINDS. In CSV, text that a spreadsheet would run gets an apostrophe in front."""
    rows = [asdict(note) for note in notes]
    if kind == "jsonl":
        return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows).encode()
    if kind == "csv":
        rows = [
            {name: escape(value) if isinstance(value, str) else value for name, value in row.items()} for row in rows
        ]
    frame = pd.DataFrame(rows, columns=list(_COLUMNS))
    if kind == "csv":
        return frame.to_csv(index=False, lineterminator="\r\n").encode()
    buffer = io.BytesIO()
    frame.astype({name: "int64" if name in _NUMBERS else "string" for name in _COLUMNS}).to_parquet(buffer, index=False)
    return buffer.getvalue()


def from_bytes(data: bytes, kind: str) -> list[Annotation]:
    """The notes in a file that `to_bytes` made; InputError for one it did not make, naming what is wrong."""
    if len(data) > MAX_MEGABYTES << 20:
        raise InputError(f"The file has {len(data) >> 20} MB but at most {MAX_MEGABYTES} are possible; split it.")
    try:
        rows = _rows(data, kind)
    except Exception as error:  # pandas and pyarrow raise many kinds for files that are damaged
        raise InputError(f"The file is no {kind} file of notes; export one here to see what it looks like.") from error
    if len(rows) > MAX_NOTES:
        raise InputError(f"The file has {len(rows):,} notes but at most {MAX_NOTES:,} are possible; split it.")
    return [_note(number, row, kind == "csv") for number, row in enumerate(rows, 1)]


def _rows(data: bytes, kind: str) -> list[Mapping[str, object]]:
    if kind == "jsonl":
        return [json.loads(line) for line in data.decode("utf-8").split("\n") if line]
    if kind == "csv":
        frame = pd.read_csv(io.BytesIO(data), dtype=str, keep_default_na=False, encoding="utf-8")
    else:
        frame = pd.read_parquet(io.BytesIO(data))
    if missing := [name for name in _COLUMNS if name not in frame]:
        raise ValueError(f"There is no column {missing[0]}.")
    rows: list[Mapping[str, object]] = [
        dict(zip(frame.columns, row, strict=True)) for row in frame.itertuples(index=False)
    ]
    return rows


def _note(number: int, row: Mapping[str, object], escaped: bool) -> Annotation:
    missing = [name for name in _COLUMNS if not isinstance(row, Mapping) or name not in row]
    if missing:
        raise InputError(f"Note {number:,} lacks {', '.join(missing)}; export notes here to see what is needed.")
    texts = {name: str(row[name]) for name in _COLUMNS if name not in _NUMBERS}
    texts = {name: unescape(value) if escaped else value for name, value in texts.items()}
    try:
        example, version = (int(str(row[name])) for name in _NUMBERS)
    except ValueError:
        raise InputError(f"Note {number:,} has no whole number as example or version; mend or remove it.") from None
    if not texts["id"] or version < 1 or example < 0:
        raise InputError(f"Note {number:,} has no id, or a negative number; mend or remove it.")
    return Annotation(**texts, example=example, version=version).checked()
