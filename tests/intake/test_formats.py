"""Every kind of file becomes columns with the right roles, or is refused in one sentence."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as arrow
import pytest
from pyarrow import parquet

from areaviz.sets.dataset import BuiltDataset, read_set
from areaviz.sets.joined_files import open_files
from areaviz.trace.errors import InputError
from benchmarks.intake_files import FILES, example_rows, spreadsheet

Said = dict[str, tuple[str, str]]


def roles(name: str, content: bytes) -> Said:
    """Return the role and the system of every column of a file."""
    columns = open_files({name: content}).columns
    return {column.name: (column.role, column.system) for column in columns}


def brought(name: str, content: str, **chosen: str) -> BuiltDataset:
    return read_set({name: content.encode()}, chosen)


def refusal(name: str, content: bytes) -> str:
    with pytest.raises(InputError) as refused:
        read_set({name: content})
    return str(refused.value)


@pytest.mark.parametrize("name", FILES)
def test_read_set_gives_equal_datasets_for_all_formats(name: str) -> None:
    rows = example_rows(30)
    found = read_set({name: FILES[name](rows)})
    assert [one.text for one in found.dataset.examples] == [row[2] for row in rows]
    if name in ("s.en", "s.sgm"):
        return
    assert [one.references for one in found.dataset.examples] == [(row[3],) for row in rows]
    assert next(iter(found.outputs.values())) == tuple(row[4] for row in rows)
    if name != "s.xml":
        assert found.dataset.metadata["domain"] == tuple(row[1] for row in rows)
        scores = {system: list(one) for system, one in found.scores.items()}
        assert scores == {"alpha": ["comet"]} and len(found.outputs) == 2
        assert found.scores["alpha"]["comet"] == tuple(float(row[6]) for row in rows)


def test_csv_outputs_and_scores_name_their_systems() -> None:
    text = "source,ref,output_a-1,mt_B,COMET22_a-1,b_score,length\nA,B,C,D,0.5,1,3\n"
    assert roles("x.csv", text.encode()) == {
        "source": ("source", ""),
        "ref": ("reference", ""),
        "output_a-1": ("output", "a-1"),
        "mt_B": ("output", "B"),
        "COMET22_a-1": ("score", "a-1"),
        "b_score": ("score", "B"),
        "length": ("metadata", ""),
    }


def test_tsv_with_equal_tabs_keeps_quotation_marks() -> None:
    found = brought("x.tsv", 'source\ttarget\n"Yes, he said.\tJa.\nA "b" c\t"Nein", sagte sie.\n')
    assert [one.text for one in found.dataset.examples] == ['"Yes, he said.', 'A "b" c']
    assert found.dataset.examples[1].references == ('"Nein", sagte sie.',)
    # A blank line is no row, and does not make the quotation marks those of a program.
    literal = brought("x.tsv", 'source\ttarget\n"Stop!"\t„Halt!“\n\nGo, dog.\tLauf.\n')
    assert len(literal.dataset.examples) == 2
    assert literal.dataset.examples[0].text == '"Stop!"'


@pytest.mark.parametrize(
    "text",
    [
        'source\treference\n"He said ""no"""\t"Er sagte „nein“"\n',
        'source\treference\n"He said ""no"""\tEr sagte „nein“\n',
        '"source"\t"reference"\n"He said ""no"""\t"Er sagte „nein“"\n',
    ],
)
def test_quoted_tsv_loses_its_quotation_marks(text: str) -> None:
    (example,) = brought("x.tsv", text).dataset.examples
    assert (example.text, example.references) == ('He said "no"', ("Er sagte „nein“",))


def test_csv_cells_may_contain_line_breaks_and_separators() -> None:
    (example,) = brought("x.csv", 'source;mt\r\n"One;\r\ntwo";Eins\r\n').dataset.examples
    assert example.text == "One;\r\ntwo"
    assert len(brought("x.csv", "sep=;\nsource;mt\na;b\n").outputs) == 1


def test_utf_16_and_byte_order_marks_are_read() -> None:
    text = "source\treference\r\nGrün\tgreen\r\n"
    for encoding in ("utf-16", "utf-8-sig", "utf-8"):
        (example,) = read_set({"x.tsv": text.encode(encoding)}).dataset.examples
        assert example.text == "Grün"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.csv", b"source,mt\na,b\nc, d,e\n", 'Line 3 of "x.csv" has 3 cells, but the header na'),
        ("x.csv", b"source,mt\na,b\nc\n", 'Line 3 of "x.csv" has 1 cells, but the header names 2'),
        ("x.csv", b'source,mt\n"a,b\n' + b"c,d\n" * 90, 'Line 2 of "x.csv" has a quotation mark'),
        ("x.csv", b'source,mt\na,"b" c\n', 'Line 2 of "x.csv" cannot be read as CSV'),
        ("x.csv", b"text,mt,MT\na,b,c\n", 'two columns called "MT"'),
        ("x.csv", b"\n\n", "is empty"),
        ("x.csv", b"source,mt\n", "has a header but no rows"),
        ("x.csv", "text\na\ngrün\n".encode("latin-1"), 'Line 3 of "x.csv" is not UTF-8'),
        ("x.txt", b"a\nb\0\n", 'Line 2 of "x.txt" contains a zero byte'),
        ("x.jsonl", b'{"text": "a", "text": "b"}', 'the name "text" twice'),
        ("x.json", b'{"text": ["a", "b"], "mt": ["c"]}', "have 1 to 2 entries"),
        ("x.json", b'[{"text": "a"}, 3]', 'Entry 2 of "x.json" is not an object'),
        ("x.json", b'{"a": [{"b": 1}], "c": [{"d": 1}]}', "several lists of objects (a, c)"),
        ("x.xml", b"<?xml version='1.0'?><note><to>a</to></note>", "not a test set of WMT"),
        ("x.xml", b"<?xml version='1.0'?><note><to>a</note>", "cannot be read as XML"),
        ("x.xml", b"<!DOCTYPE d [<!ENTITY a 'b'>]><dataset>&a;</dataset>", "declares entities"),
        ("x.sgm", b"<srcset><doc><seg id=1>a <seg id=2>b</seg></doc></srcset>", "inside another"),
        ("x.sgm", b"<srcset><doc><seg id=1>a", "that is never closed"),
        ("x.sgm", b"<srcset></srcset>", "has no segments"),
        ("x.xlsx", b"PK\x03\x04xl/ damaged", "cannot be read as a spreadsheet"),
        ("x.zip", b"PK\x03\x04", "is a packed folder"),
        ("x.parquet", b"PAR1 damaged", "cannot be read as Parquet"),
        ("x.txt", b"h\tSegment 0\tscore: 0.1\nh\tSegment 2\tscore: 0.1\n", "segment 1 of"),
        ("x.txt", b"h\tSegment 0\tscore: 0.1\nhello\n", "Line 2"),
        ("x.pdf", b"", "is a .pdf file"),
        ("x.tsv", b"system\tdoc\trater\tseverity\na\tb\tc\td\n", "errors that raters marked"),
    ],
)
def test_unusable_files_are_refused(name: str, content: bytes, said: str) -> None:
    assert said in refusal(name, content)


def test_wmt_xml_counts_missing_outputs_as_not_run() -> None:
    segments = '<seg id="1">A</seg><seg id="2">B &amp; C</seg>'
    xml = (
        '<dataset><doc id="d" domain="x" origlang="en"><hyp system="s"><seg id="2">c</seg></hyp>'
        f'<src><p>{segments}</p></src><ref translator="R"><p>{segments}</p></ref></doc></dataset>'
    )
    found = brought("x.xml", xml)
    assert found.outputs == {"s": (None, "c")} and found.dataset.examples[1].text == "B & C"
    assert found.dataset.metadata["domain"] == ("x", "x")
    assert '"s" has no output for 1 of 2 examples' in found.notes[0]


def test_sgm_sides_are_joined() -> None:
    def side(tag: str, texts: str, system: str = "") -> bytes:
        segments = "".join(f'<seg id="{n}">{one}</seg>\n' for n, one in enumerate(texts, 1))
        head = f'<{tag} setid="t"><doc docid="d" genre="news" sysid="{system}">'
        return f"{head}\n{segments}</doc></{tag}>".encode()

    files = {
        "s.sgm": side("srcset", "AB"),
        "r.sgm": side("refset", "ab"),
        "t.sgm": side("tstset", "xy", "sys"),
    }
    found = read_set(files)
    assert [one.references for one in found.dataset.examples] == [("a",), ("b",)]
    assert found.outputs == {"sys": ("x", "y")}
    assert found.dataset.metadata == {"doc": ("d", "d"), "genre": ("news", "news")}
    files["t.sgm"] = files["t.sgm"].replace(b'docid="d"', b'docid="e"')
    with pytest.raises(InputError, match="name different documents"):
        read_set(files)


def test_long_tables_become_one_row_per_segment() -> None:
    rows = [
        {"src": "A", "ref": "a", "hyp": "x", "system": "one", "segment_id": 1, "score": 0.5},
        {"src": "B", "ref": "b", "hyp": "y", "system": "one", "segment_id": 2, "score": 0.1},
        {"src": "A", "ref": "a", "hyp": "z", "system": "two", "segment_id": 1, "score": 0.7},
    ]
    lines = "\n".join(map(json.dumps, rows))
    found = brought("x.jsonl", lines)
    assert found.outputs == {"one": ("x", "y"), "two": ("z", None)}
    assert found.scores["two"]["score"][0] == 0.7
    assert [one.name for one in found.dataset.examples] == ["1", "2"]
    for key, said in {"src": "different source", "ref": "different reference"}.items():
        other = "\n".join(map(json.dumps, [*rows[:2], {**rows[2], key: "C"}]))
        assert said in refusal("x.jsonl", other.encode())
    assert "second row of the system" in refusal("x.jsonl", f"{lines}\n{lines}".encode())


def test_json_arrays_objects_of_lists_and_records_are_read() -> None:
    array = '[{"source": "A", "references": ["a", "b"], "outputs": {"x": "c"}}]'
    found = brought("x.json", array)
    assert found.dataset.examples[0].references == ("a", "b") and found.outputs == {"x": ("c",)}
    lists = brought("x.json", '{"source": ["A", "B"], "hyp": ["a", "b"]}')
    assert len(lists.dataset.examples) == 2
    inside = brought("x.json", '{"version": 2, "data": [{"source": "A"}]}')
    assert inside.notes == ('The examples of "x.json" are its list "data". Not used: "version".',)
    records = open_files({"x.jsonl": b'{"translation": {"en": "A", "de": "B"}}'}).columns
    assert [(one.role, one.is_sure) for one in records] == [("source", False), ("reference", False)]


def test_parquet_reads_nested_columns() -> None:
    file = io.BytesIO()
    values = {"translation": [{"en": "A", "de": "B"}], "n": [3]}
    parquet.write_table(arrow.table(values), file)
    assert roles("x.bin", file.getvalue()) == {
        "translation.en": ("source", ""),
        "translation.de": ("reference", ""),
        "n": ("metadata", ""),
    }


def test_line_aligned_system_files_are_outputs() -> None:
    names = ("newstest.de", "sysA.de", "newstest.en", "sysB.de")
    found = read_set({name: f"{name} 1\n{name} 2\n".encode() for name in names})
    assert found.dataset.examples[0].text == "newstest.en 1"
    assert found.dataset.examples[0].references == ("newstest.de 1",)
    assert list(found.outputs) == ["sysA.de", "sysB.de"]


def test_comet_output_gives_scores_of_its_files() -> None:
    scores = "out/h.a.txt\tSegment 0\tscore: 0.5\nout/h.b.txt\tSegment 0\tscore: nan\n"
    files = {"s.en": b"A\n", "h.a.txt": b"x\n", "h.b.txt": b"y\n", "c.txt": scores.encode()}
    found = read_set(files)
    assert found.scores["h.a.txt"]["COMET"] == (0.5,) and set(found.scores) == {
        "h.a.txt",
        "h.b.txt",
    }


def test_unused_columns_and_files_are_listed() -> None:
    files = {"x.csv": b"source,mt,mine\nA,B,\n", "a.png": b"x"}
    found = read_set(files, {"mt": "ignore"})
    assert found.notes == (
        'Columns that are not used: "mt", "mine".',
        'Files that no example names: "a.png".',
    )


def test_spreadsheet_numbers_keep_their_shown_format(tmp_path: Path) -> None:
    rows: list[tuple[str, ...]] = [("1", "news", "Room 3", "Zimmer 3", "Raum 3", "Zimmer", "0.5")]
    (example,) = read_set({"any.name": spreadsheet(rows)}).dataset.examples
    assert (example.name, example.text) == ("1", "Room 3")
