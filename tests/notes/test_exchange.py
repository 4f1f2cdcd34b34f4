"""Notes as files: an export can be imported unchanged, and no spreadsheet runs its texts."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from areaviz.sets.notes.exchange import FORMATS, Context, from_bytes, to_bytes
from areaviz.sets.notes.notes import SEVERITIES, Annotation
from areaviz.trace.errors import InputError

NOTE = Annotation(
    "d" * 64, 3, "model", "Style", "minor", "a", "Ada", "f" * 32, "2026-01-02T03:04:05.678+00:00", 2
)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
NOTES = st.builds(
    lambda note, author, tag, severity, example: replace(
        NOTE,
        note=note,
        author=author.strip(),
        tag=tag.strip() or "x",
        severity=severity,
        example=example,
    ),
    TEXT,
    TEXT,
    TEXT,
    st.sampled_from(SEVERITIES),
    st.integers(0, 10**6),
)


def parquet_file(notes: list[str], **options: str) -> bytes:
    """Return a file of notes that differ only in their text, as other programs may write it."""
    row = asdict(NOTE)
    table = {
        name: pa.array(notes if name == "note" else [value] * len(notes))
        for name, value in row.items()
    }
    buffer = io.BytesIO()
    parquet.write_table(pa.table(table), buffer, **options)
    return buffer.getvalue()


@given(st.lists(NOTES, max_size=5), st.sampled_from(list(FORMATS)))
def test_exported_notes_are_read_unchanged(notes: list[Annotation], kind: str) -> None:
    assert from_bytes(to_bytes(notes, kind), kind) == notes


@pytest.mark.parametrize(
    "text", ["=1+1", "+x", "-x", "@x", "\tx", "\rx", "'x", '"=1"', "a,b\nc", "NA", "null", "1e5"]
)
@pytest.mark.parametrize("kind", FORMATS)
def test_awkward_texts_are_exported_unchanged(text: str, kind: str) -> None:
    note = replace(NOTE, note=text)
    assert from_bytes(to_bytes([note], kind), kind) == [note]


EXAMPLES = {
    3: Context("scene 3", "=A cät", "Eine Kätze", {"model": "Eine \ud800", "other": "Katze"}),
    4: Context("x" * 10_000, "y" * 10_000, "", {}),
}


@pytest.mark.parametrize("kind", FORMATS)
def test_exported_examples_are_ignored_by_import(kind: str) -> None:
    notes = [NOTE, replace(NOTE, id="g" * 32, model=""), replace(NOTE, id="h" * 32, example=4)]
    assert from_bytes(to_bytes(notes, kind, EXAMPLES), kind) == notes


def test_exported_notes_open_in_a_spreadsheet() -> None:
    data = to_bytes([NOTE, replace(NOTE, model="")], "csv", EXAMPLES)
    assert data.startswith(b"\xef\xbb\xbfnumber,name,dataset")
    first, second = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
    assert (first["number"], first["name"]) == ("4", "scene 3")
    assert (first["text"], first["output"], first["reference"]) == (
        "'=A cät",
        "Eine ?",
        "Eine Kätze",
    )
    assert second["output"] == "Eine ?\nKatze"


def test_no_cell_begins_like_a_formula() -> None:
    data = to_bytes([replace(NOTE, note="=cmd()", tag="@x", author="-1")], "csv").decode()
    (row,) = list(csv.DictReader(io.StringIO(data, newline="")))
    assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row.values())


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        (b"\xff\xfe", "csv", "is not a csv file of notes"),
        (b"PAR1 not really", "parquet", "is not a parquet file of notes"),
        (b"{", "jsonl", "is not a jsonl file of notes"),
        (b'{"id": "x"}', "jsonl", "Note 1 lacks dataset"),
        (b"[1]", "jsonl", "Note 1 lacks dataset"),
        (to_bytes([NOTE], "csv").replace(b"\n4,", b"\nfour,"), "csv", "Note 1 has no whole number"),
        (to_bytes([NOTE], "jsonl").replace(b'"number"', b'"place"'), "jsonl", "lacks number"),
        (to_bytes([replace(NOTE, id="")], "csv"), "csv", "Note 1 has no id"),
        (to_bytes([replace(NOTE, severity="grave")], "jsonl"), "jsonl", "is not a severity"),
        (to_bytes([NOTE], "csv")[:-20], "csv", "Note 1 "),
        (
            to_bytes([replace(NOTE, id="x\0")], "jsonl"),
            "jsonl",
            "Note 1 cannot be imported: The id has a broken",
        ),
        (
            to_bytes([NOTE], "jsonl").replace(b'"model": "model"', b'"model": "\\ud800"'),
            "jsonl",
            "model has a broken",
        ),
        (
            to_bytes([NOTE], "jsonl").replace(b'"model": "model"', b'"model": null'),
            "jsonl",
            "no text as model",
        ),
        (
            to_bytes([NOTE], "jsonl").replace(b'"version": 2', b'"version": 1e30'),
            "jsonl",
            "no whole number",
        ),
        (
            to_bytes([replace(NOTE, version=2**63 - 1)], "parquet"),
            "parquet",
            "The version has the number 9.22337e",
        ),
        (
            to_bytes([replace(NOTE, example=2**31)], "csv"),
            "csv",
            "The example has the number 2.1474",
        ),
        (
            to_bytes([replace(NOTE, dataset="d" * 60_000)], "csv"),
            "csv",
            "set has 60,000 characters",
        ),
        (b"{" + b" " * 300_000, "jsonl", "a line of 300,00[01] bytes, but the limit is 262,144"),
        (b"{}\n" * 100_001, "jsonl", "more than 100,000 notes"),
        (to_bytes([], "csv") + b"a\n" * 100_003, "csv", "more than 100,000 notes"),
        (parquet_file(["x"] * 100_001), "parquet", "more than 100,000 notes"),
        (parquet_file(["x" * 2**20] * 300), "parquet", "have 300 MB, but the limit is 200 MB"),
        (
            parquet_file(["x"], compression="zstd"),
            "parquet",
            "compression ZSTD is not supported. Save the file with Snappy",
        ),
    ],
)
def test_file_without_notes_is_refused(data: bytes, kind: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        from_bytes(data, kind)
