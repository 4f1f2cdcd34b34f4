"""Small files that need much memory are refused early, and files are read fast."""

from __future__ import annotations

import io
import struct
import subprocess
import sys
import time
import tracemalloc
import zipfile

import pyarrow as arrow
import pytest
from pyarrow import parquet

from areaviz.samples.paths import ROOT
from areaviz.sets.dataset import build_dataset, read_set
from areaviz.sets.joined_files import open_files
from areaviz.sets.roles import MAX_COLUMNS, check_header
from areaviz.trace.errors import InputError
from benchmarks.intake_files import FILES, LINES, example_rows, spreadsheet
from tests.sampled import sampled

MEGA = 1 << 20


def sheet_with(name: str, content: bytes) -> bytes:
    """Return a valid spreadsheet with one entry replaced."""
    file = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(spreadsheet(example_rows(1)))) as old,
        zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for entry in {*old.namelist(), name}:
            new.writestr(entry, content if entry == name else old.read(entry))
    return file.getvalue()


def with_lying_sizes(archive: bytes) -> bytes:
    """Return an archive whose table of contents gives every entry a size of 1,000 bytes."""
    found, at = bytearray(archive), 0
    while (at := found.find(b"PK\x01\x02", at)) >= 0:
        found[at + 24 : at + 28] = struct.pack("<I", 1000)
        at += 46
    return bytes(found)


@pytest.mark.parametrize("is_lying", [False, True])
def test_spreadsheet_with_huge_content_is_refused(is_lying: bool) -> None:
    bomb = sheet_with("xl/media/a.bin", bytes(300 * MEGA))
    bomb = with_lying_sizes(bomb) if is_lying else bomb
    tracemalloc.start()
    with pytest.raises(InputError, match="unpacks to more than|cannot be read as a spreadsheet"):
        read_set({"x.xlsx": bomb})
    assert tracemalloc.get_traced_memory()[1] < 20 * MEGA
    tracemalloc.stop()


def test_shared_text_counts_once_per_cell() -> None:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    cells = '<row><c t="s"><v>0</v></c></row>' * 20_000
    bomb = sheet_with(
        "xl/worksheets/sheet1.xml",
        f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>'.encode(),
    )
    file = io.BytesIO(bomb)
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/sharedStrings.xml", f"<sst><si><t>{'a' * 30_000}</t></si></sst>")
    with pytest.raises(InputError, match="unpacks to more than 256 MB"):
        read_set({"x.xlsx": file.getvalue()})


def test_parquet_file_with_huge_content_is_refused() -> None:
    long = arrow.DictionaryArray.from_arrays(
        arrow.array([0] * 300, arrow.int32()), arrow.array(["x" * (4 * MEGA)])
    )
    many = arrow.array(["a"] * 30_000)
    for column, said in ((long, "unpacks to more than 256 MB"), (many, "more than 20,000 rows")):
        file = io.BytesIO()
        parquet.write_table(arrow.table({"source": column}), file, compression="zstd")
        with pytest.raises(InputError, match=said):
            read_set({"x.parquet": file.getvalue()})


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", b"source\n" + b"a\n" * 20_001, "more than 20,000 rows"),
        ("x.csv", b",".join(b"c%d" % n for n in range(201)) + b"\n", "201 columns"),
        ("x.jsonl", b'{"source": "a"}\n' * 20_001, "more than 20,000 entries"),
        ("x.json", b"[" + b"[]," * (3 * MEGA) + b"1]", "more than 4,000,000 values"),
        ("x.json", b"[" * 100_000, "not a JSON object"),
        ("x.xml", b"<?xml version='1.0'?><a>" + b"<b/>" * (2 * MEGA) + b"</a>", "2,000,000 tags"),
        ("x.en", b"a\n" * 20_001, "more than 20,000 lines"),
        ("x.sgm", b"<srcset>" + b"<seg>a</seg>" * 20_001, "more than 20,000 segments"),
    ],
)
def test_files_beyond_limits_are_refused(name: str, content: bytes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_set({name: content})


def test_table_with_too_many_columns_is_refused() -> None:
    names = [f"c{number}" for number in range(MAX_COLUMNS + 1)]
    check_header("x.csv", names[:-1])
    with pytest.raises(InputError, match="201 columns, but the limit is 200"):
        check_header("x.csv", names)


@pytest.mark.parametrize("name", sampled(FILES, *list(FILES)[:2]))
def test_five_thousand_examples_are_read_quickly(name: str) -> None:
    """Check the processor time, which hardly depends on other work of the machine.

    The limit is twice the goal, for slow machines.
    """
    content = FILES[name](example_rows(LINES))
    times = []
    for _ in range(3):
        began = time.process_time()
        found = build_dataset({name: content}, open_files({name: content}))
        times.append(time.process_time() - began)
    assert len(found.dataset.examples) == LINES
    assert min(times) < (1.2 if name.endswith("parquet") else 0.4)


def test_reading_a_table_imports_no_large_library() -> None:
    code = (
        "import sys; from areaviz.sets.dataset import read_set;"
        "read_set({'x.csv': b'source,mt\\na,b\\n'});"
        "print([one for one in ('pandas', 'pyarrow', 'python_calamine', 'defusedxml', 'torch')"
        " if one in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"
