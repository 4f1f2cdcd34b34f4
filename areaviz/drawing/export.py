"""Conversion of figures and tables to files, in memory."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import textwrap
from dataclasses import dataclass

from matplotlib import rc_context
from matplotlib.figure import Figure as PrintFigure
from matplotlib.text import Text

from areaviz.drawing.base import Table
from areaviz.drawing.theme import PRINT_FONT, PRINT_LETTERS, PRINT_WIDTH
from areaviz.trace.errors import check_range

FORMATS = ("svg", "pdf", "png")
_ACTIVE = r"=+\-@\t\r＝＋－＠"
"""Characters that start a formula in spreadsheets, including their East Asian full-width forms."""
_BEGINNING = r"(^|[;\t\r\n])"
"""Start of a cell. Some programs also split cells at semicolons or tabs and ignore quotes."""
_RUN = re.compile(rf"""{_BEGINNING}(?='|[ "]*[{_ACTIVE}])""")
_HELD = re.compile(rf"{_BEGINNING}'")


WIDTHS = {"A column": 3.35, "A page": PRINT_WIDTH, "A slide": 12.0}
"""Widths offered for figures, in inches."""
LETTERS = (6.0, PRINT_FONT, 9.0, 12.0, 18.0)
"""Font sizes offered for the labels of a figure, in points."""


@dataclass(frozen=True, slots=True)
class Paper:
    """Size of a figure in print.

    Args:
        width: in inches, 2 to 20.
        letters: font size of labels in points, 4 to 40. Titles scale with it.
    """

    width: float = PRINT_WIDTH
    letters: float = PRINT_FONT

    def checked(self) -> Paper:
        """Return this paper if its values are valid.

        Raises:
            InputError: a value is outside its range.
        """
        check_range("width", self.width, (2, 20))
        check_range("letters", self.letters, (4, 40))
        return self


def resize_for_paper(figure: PrintFigure, paper: Paper) -> PrintFigure:
    """Change a figure to the width and font size of a paper.

    The title, note and caption, which are the first three texts of the figure, are wrapped again.
    The height of the plot grows by the factor of the width or of the font size, whichever is
    larger.
    """
    if paper == Paper():
        return figure
    wider, larger = paper.width / PRINT_WIDTH, paper.letters / PRINT_FONT
    engine = figure.get_layout_engine()
    _, _, _, share = engine.get()["rect"]  # type: ignore[union-attr]
    plot = share * figure.get_figheight() * max(wider, larger)
    for text in figure.findobj(Text):
        text.set_fontsize(float(text.get_fontsize()) * larger)
    title, note, caption = figure.texts[:3]
    lines = []
    for text, letters in zip((title, note, caption), PRINT_LETTERS, strict=True):
        whole_line = " ".join(text.get_text().split())
        wrapped = textwrap.wrap(whole_line, max(10, int(letters * wider / larger)))
        text.set_text("\n".join(wrapped))
        lines.append(len(wrapped))
    head = larger * (0.13 + 0.15 * lines[0] + 0.17 * lines[1])
    foot = larger * (0.07 + 0.12 * lines[2])
    whole = plot + head + foot
    figure.set_size_inches(paper.width, whole)
    engine.set(rect=(0, foot / whole, 1, plot / whole))  # type: ignore[union-attr, call-arg]
    title.set_y(1 - 0.07 * larger / whole)
    note.set_y(1 - (head - 0.03 * larger) / whole)
    caption.set_y(0.06 * larger / whole)
    return figure


def encode_figure(figure: PrintFigure, kind: str, paper: Paper | None = None) -> bytes:
    """Write a print figure as an SVG, PDF or PNG file (300 dpi, white background).

    Args:
        figure: the figure.
        kind: one of `FORMATS`.
        paper: size of the figure. None keeps its size.

    Raises:
        ValueError: `kind` is not in `FORMATS`.
    """
    if kind not in FORMATS:
        raise ValueError(
            f"A figure cannot be written as {kind!r}. Choose one of {', '.join(FORMATS)}."
        )
    if paper is not None:
        resize_for_paper(figure, paper)
    # Leave out dates and random ids, so that two files of one figure are equal.
    dateless = {
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
        "png": {},
    }[kind]
    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "areaviz"}):
        figure.savefig(buffer, format=kind, dpi=300, facecolor="white", metadata=dateless)
    return buffer.getvalue()


def format_csv(table: Table) -> str:
    """Write a table as CSV with a header line. A missing number is an empty cell.

    A spreadsheet would run a text as a formula if it starts with = + - @, a tab or a carriage
    return. Such a text gets an apostrophe in front. A part of a text after a semicolon, a tab or a
    line break is treated like a whole text. A text or part that starts with an apostrophe gets a
    second one. `unescape` removes the added apostrophes.
    """
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(map(escape, table.columns))
    writer.writerows([_format_cell(value) for value in row] for row in table.rows)
    return buffer.getvalue()


def encode_csv(table: Table) -> bytes:
    """Write a table as a CSV file with a byte order mark, so that Excel also reads it as UTF-8."""
    return format_csv(table).encode("utf-8-sig")


def escape(text: str) -> str:
    """Escape a text so that no spreadsheet runs it as a formula, see `format_csv`."""
    return _RUN.sub(r"\1'", text)


def unescape(text: str) -> str:
    """Return the original text for a result of `escape`."""
    return _HELD.sub(r"\1", text)


def format_json(table: Table) -> str:
    """Write a table as a JSON object with "columns" and "rows". A missing number is null."""
    rows = [[None if _is_missing(value) else value for value in row] for row in table.rows]
    return json.dumps({"columns": table.columns, "rows": rows}, ensure_ascii=False, allow_nan=False)


def _format_cell(value: str | int | float) -> str | int | float:
    if isinstance(value, str):
        return escape(value)
    return "" if _is_missing(value) else value


def _is_missing(value: str | int | float) -> bool:
    return isinstance(value, float) and not math.isfinite(value)
