"""A table with any cells is read back unchanged, and no bytes crash a reader."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as arrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from areaviz.sets.dataset import read_set
from areaviz.sets.joined_files import open_files
from areaviz.trace.errors import InputError
from benchmarks.intake_files import FILES, example_rows

NAMES = ("source", "reference", "output_a", "domain")
# Files cannot contain half of a surrogate pair, and readers refuse zero bytes.
LETTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
CELL = st.text(st.one_of(st.sampled_from('",;\t\n\r |„é\u2028\ufeff'), LETTERS), max_size=12)
ROW = st.tuples(CELL.map("A{}".format), CELL, CELL, CELL)
TABLES = st.lists(ROW, min_size=1, max_size=6)


def cells(name: str, content: bytes) -> list[tuple[str, ...]]:
    """Return the rows of a table as they are read."""
    columns = open_files({name: content}).columns
    return list(zip(*(column.texts for column in columns), strict=True))


@given(TABLES, st.sampled_from([",", ";"]), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]))
def test_csv_survives_round_trip(
    rows: list[tuple[str, ...]], separator: str, encoding: str
) -> None:
    file = io.StringIO(newline="")
    csv.writer(file, delimiter=separator).writerows([NAMES, *rows])
    assert cells("x.csv", file.getvalue().encode(encoding)) == rows


@given(TABLES, st.sampled_from(["utf-8", "utf-16"]))
def test_tsv_with_quoted_texts_survives_round_trip(
    rows: list[tuple[str, ...]], encoding: str
) -> None:
    # Without quotes, a cell with a tab and a line break could be two lines.
    rows = [tuple(cell.replace("\t", " ") for cell in row) for row in rows]
    file = io.StringIO(newline="")
    csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows([NAMES, *rows])
    assert cells("x.tsv", file.getvalue().encode(encoding)) == rows


@given(TABLES)
def test_tsv_without_quotes_survives_round_trip(rows: list[tuple[str, ...]]) -> None:
    clean = [tuple(" ".join(c.replace("\ufeff", "").split()) for c in row) for row in rows]
    # A completely quoted cell is read as a cell that a program quoted.
    clean = [tuple(cell.strip('"') for cell in row) for row in clean]
    text = "\n".join("\t".join(row) for row in (NAMES, *clean))
    assert cells("x.tsv", text.encode()) == clean


@given(TABLES, st.booleans())
def test_json_survives_round_trip(rows: list[tuple[str, ...]], is_ascii: bool) -> None:
    objects = [dict(zip(NAMES, row, strict=True)) for row in rows]
    lines = "\n".join(json.dumps(one, ensure_ascii=is_ascii) for one in objects)
    assert cells("x.jsonl", lines.encode()) == rows
    assert cells("x.json", json.dumps(objects, ensure_ascii=is_ascii).encode()) == rows


@settings(max_examples=25)
@given(TABLES)
def test_parquet_survives_round_trip(rows: list[tuple[str, ...]]) -> None:
    file = io.BytesIO()
    columns = dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(arrow.table(columns), file)
    assert cells("x.parquet", file.getvalue()) == rows


@settings(max_examples=300)
@given(
    st.binary(max_size=200),
    st.sampled_from(["", "source,mt\n", '{"source": "a"}', "PK\x03\x04", "<srcset>", "\ufeff"]),
    st.sampled_from([*FILES, "x", "s.txt", "s.sgml"]),
)
def test_random_bytes_are_read_or_refused(content: bytes, start: str, name: str) -> None:
    try:
        read_set({name: start.encode() + content})
    except InputError as error:
        assert str(error).endswith(".")


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_read_or_refused(name: str) -> None:
    good = FILES[name](example_rows(3))
    for at in range(0, len(good), max(1, len(good) // 60)):
        for damaged in (
            good[:at],
            good[:at] + b"\xff" + good[at + 1 :],
            good[:at] + good[at + 7 :],
        ):
            try:
                read_set({name: damaged})
            except InputError as error:
                assert str(error).endswith(".")
