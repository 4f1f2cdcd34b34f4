"""The inputs of `benchmarks/intake.py`: invented examples in every kind of file."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from html import escape

LINES = 5000
_WORDS = (
    *("a", "red", "dog", "cat", "river", "house", "runs", "sleeps"),
    *("over", "under", "near", "old", "man", "two", "of", "in"),
)
_HEADER = ("id", "domain", "source", "reference", "output_alpha", "output_beta", "comet_alpha")
Rows = list[tuple[str, ...]]


def example_rows(lines: int = LINES) -> Rows:
    """Return invented rows with the columns of `_HEADER` and sentences of 8 to 24 words."""
    rng = random.Random(1)
    rows: Rows = []
    for number in range(lines):
        texts = [" ".join(rng.choices(_WORDS, k=rng.randint(8, 24))) for _ in range(4)]
        rows.append((str(number), rng.choice(("news", "chat")), *texts, f"{rng.random():.4f}"))
    return rows


def table(rows: Rows, separator: str) -> bytes:
    """Return rows as CSV or TSV. Their cells need no quotation marks."""
    return "\n".join(separator.join(row) for row in (_HEADER, *rows)).encode()


def json_lines(rows: Rows) -> bytes:
    """Return rows as JSON Lines."""
    return "\n".join(json.dumps(dict(zip(_HEADER, row, strict=True))) for row in rows).encode()


def wmt_xml(rows: Rows) -> bytes:
    """Return rows as a test set of WMT with two systems."""
    parts = ['<dataset id="s"><doc id="d" domain="news">']
    for tag, at in (("src", 2), ('ref translator="A"', 3), ('hyp system="a"', 4)):
        segments = [f'<seg id="{row[0]}">{escape(row[at])}</seg>' for row in rows]
        parts.append(f"<{tag}><p>{''.join(segments)}</p></{tag[:3]}>")
    return "".join([*parts, "</doc></dataset>"]).encode()


def sgm(rows: Rows) -> bytes:
    """Return the sources of rows as SGM."""
    segments = "\n".join(f'<seg id="{row[0]}">{escape(row[2])}</seg>' for row in rows)
    return f'<srcset setid="s"><doc docid="d">\n{segments}\n</doc></srcset>'.encode()


def spreadsheet(rows: Rows) -> bytes:
    """Return rows as an Excel file with texts in its cells."""
    lines = []
    for row in (_HEADER, *rows):
        cells = (f'<c t="inlineStr"><is><t>{escape(cell)}</t></is></c>' for cell in row)
        lines.append(f"<row>{''.join(cells)}</row>")
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    kinds = "http://schemas.openxmlformats.org/package/2006/content-types"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    links = "http://schemas.openxmlformats.org/package/2006/relationships"
    of_sheets = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{kinds}"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName='
        f'"/xl/workbook.xml" ContentType="{of_sheets}.sheet.main+xml"/><Override PartName='
        f'"/xl/worksheets/sheet1.xml" ContentType="{of_sheets}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{links}"><Relationship Id="r1" Type='
        f'"{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets><sheet name="S"'
        ' sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{links}"><Relationship Id="r1" Type='
        f'"{office}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}'
        "</sheetData></worksheet>",
    }
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()


def parquet_file(rows: Rows) -> bytes:
    """Return rows as Parquet."""
    import pyarrow as arrow
    from pyarrow import parquet

    file = io.BytesIO()
    columns = dict(zip(_HEADER, map(list, zip(*rows, strict=True)), strict=True))
    parquet.write_table(arrow.table(columns), file)
    return file.getvalue()


FILES: Mapping[str, Callable[[Rows], bytes]] = {
    "s.csv": lambda rows: table(rows, ","),
    "s.tsv": lambda rows: table(rows, "\t"),
    "s.jsonl": json_lines,
    "s.json": lambda rows: b"[" + json_lines(rows).replace(b"\n", b",\n") + b"]",
    "s.xml": wmt_xml,
    "s.sgm": sgm,
    "s.xlsx": spreadsheet,
    "s.en": lambda rows: "\n".join(row[2] for row in rows).encode(),
    "s.parquet": parquet_file,
}
"""The writer of each kind of file, by a file name with its extension."""
