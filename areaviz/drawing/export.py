"""Figures and tables as files, made in memory."""

from __future__ import annotations

import csv
import io
import json
import math
import re

from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure

from areaviz.drawing.base import Table

FORMATS = ("svg", "pdf", "png")
_ACTIVE = r"=+\-@\t\r＝＋－＠"
"""What begins a formula; some programs read the wide forms of East Asian writing alike."""
_BEGINNING = r"(^|[;\t\r\n])"
"""Where a cell begins, also in a program that separates by semicolons or tabs and so takes no
notice of quotes.
"""
_RUN = re.compile(rf"""{_BEGINNING}(?='|[ "]*[{_ACTIVE}])""")
_HELD = re.compile(rf"{_BEGINNING}'")


def figure_bytes(figure: PrintFigure, kind: str) -> bytes:
    """A print figure as an SVG, PDF or PNG (300 dpi, white paper) file.

    Raises:
        ValueError: when `kind` is none of FORMATS.
    """
    if kind not in FORMATS:
        raise ValueError(
            f"A figure cannot be written as {kind!r}; choose one of {', '.join(FORMATS)}."
        )
    # A date would make two files of one figure differ, and so would ids that are drawn by chance.
    dateless = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
        "png": {},
    }[kind]
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "areaviz"}):
        figure.savefig(buffer, format=kind, dpi=300, facecolor="white", metadata=dateless)
    return buffer.getvalue()


def table_csv(table: Table) -> str:
    """A table as CSV with a header line; numbers stay numbers, a missing number is an empty cell.

    A text that a spreadsheet would run as a formula (it starts with = + - @, a tab or a carriage
    return, or a part of it behind a semicolon, a tab or a line break does), and a text or part that
    starts with an apostrophe, gets an apostrophe in front; `unescape` takes it off again.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(escape, table.columns))
    writer.writerows([_cell(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def escape(text: str) -> str:
    """`text` so that no spreadsheet runs it, whatever it takes for a separator."""
    return _RUN.sub(r"\1'", text)


def unescape(text: str) -> str:
    """The text that `escape` was given."""
    return _HELD.sub(r"\1", text)


def table_json(table: Table) -> str:
    """A table as JSON: an object with "columns" and "rows"; a missing number is null."""
    rows = [[None if _missing(value) else value for value in row] for row in table.rows]
    return json.dumps({"columns": table.columns, "rows": rows}, ensure_ascii=False, allow_nan=False)


def _cell(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return escape(value)
    return "" if _missing(value) else value


def _missing(value: str | int | float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
