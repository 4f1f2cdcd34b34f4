"""Rows of the TSV files of Marot, a viewer of marked errors.

Limits are checked before a row is parsed.
"""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.notes.error_spans import MAX_SPANS
from areaviz.notes.judgement_files import check_count, decode_text
from areaviz.notes.store_schema import LONGEST_NAME, LONGEST_ORIGIN, LONGEST_TEXT
from areaviz.trace.errors import InputError, shorten

COLUMNS = (
    *("system", "doc", "docSegId", "globalSegId", "rater"),
    *("source", "target", "category", "severity", "metadata"),
)
# Older files have a note in the column of the metadata.
_FEWEST_COLUMNS = 9
# Maximum number of lines per rating, and of tags per cell. A line marks one error, which may have
# several parts.
MAX_LINES, _MAX_TAGS = MAX_SPANS, 2 * MAX_SPANS
# Maximum number of characters of each cell, without tags.
_CELL_LENGTHS = {
    "doc": LONGEST_TEXT,
    "source": LONGEST_TEXT,
    "target": LONGEST_TEXT,
    "category": LONGEST_NAME,
    "metadata": LONGEST_ORIGIN,
}


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a file."""

    # The line number, from 1.
    line: int
    # The cells of all columns. Older files have no metadata.
    cells: tuple[str, ...]

    def cell(self, name: str) -> str:
        """Return the cell of a column, or "" if the line ends before it."""
        at = COLUMNS.index(name)
        return self.cells[at] if at < len(self.cells) else ""

    @property
    def key(self) -> tuple[str, ...]:
        """The system, the segment and the rater. Lines with equal keys form one rating."""
        return self.cells[:5]


def read_rows(data: bytes, name: str) -> list[Row]:
    """Return the lines of a file.

    Args:
        data: the content of the file.
        name: the name of the file, for error messages.

    Raises:
        InputError: the file is not a Marot TSV, or a cell is too long.
    """
    lines = decode_text(data, "judgements").split("\n")
    check_count(len(lines))
    rows = []
    for number, line in enumerate(lines, 1):
        cells = tuple(line.removesuffix("\r").split("\t"))
        is_head = number == 1 and cells[:2] == COLUMNS[:2]
        if is_head or cells == ("",):
            continue
        if len(cells) < _FEWEST_COLUMNS or len(cells) > len(COLUMNS):
            raise InputError(
                f'Line {number:,} of "{shorten(name)}" has {len(cells)} columns, but a TSV of'
                f" Marot has {len(COLUMNS)}: {', '.join(COLUMNS)}."
            )
        row = Row(number, cells)
        _check_cells(row)
        rows.append(row)
    if not rows:
        raise InputError(f'"{shorten(name)}" has no rows of Marot. Choose another file.')
    return rows


def _check_cells(row: Row) -> None:
    """Raise InputError if a cell is too long, before the line is parsed."""
    for name, cell in zip(COLUMNS, row.cells, strict=False):
        most = _CELL_LENGTHS.get(name, LONGEST_NAME)
        # Most cells are short, so their tags need not be counted.
        if len(cell) <= most:
            continue
        tags = cell.count("<v>") + cell.count("</v>")
        if tags > _MAX_TAGS:
            raise InputError(
                f"Line {row.line:,} has {tags:,} tags <v> and </v> in its {name}, but the limit"
                f" is {_MAX_TAGS}. Mark fewer errors."
            )
        if len(cell) - len("</v>") * tags > most:
            raise InputError(
                f"Line {row.line:,} has {len(cell):,} characters in its {name}, but the limit is"
                f" {most:,}. Shorten it."
            )
