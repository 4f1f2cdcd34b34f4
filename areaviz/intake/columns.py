"""The common form of all files: columns of cells, each with a role."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from areaviz.trace.errors import InputError, check_choice, shorten

# A cell is a text, the references of one example, or None for a missing output.
Cell = str | tuple[str, ...] | None

MAX_ROWS, MAX_COLUMNS = 20_000, 200
MAX_ROW_CHARACTERS = 1 << 18
"""Maximum length of a row in characters. Parsing a row takes many times its size in memory."""
MAX_TEXT_BYTES = 96 * 2**20
"""Limit on the memory of a file's cells in bytes.

It counts Python's own sizes, because one rare character makes every character of a text take 4
bytes.
"""

SOURCE, REFERENCE, OUTPUT, SCORE = "source", "reference", "output", "score"
LINKS, LINKS_FROM_0, LINKS_FROM_1 = "links", "links-from-0", "links-from-1"
BOXES, FACTS, FILE, ID = "boxes", "facts", "file", "id"
METADATA, CORPUS, IGNORE, SYSTEM = "metadata", "corpus", "ignore", "system"
ROLES: Mapping[str, str] = {
    SOURCE: "Source",
    REFERENCE: "Reference",
    OUTPUT: "Output of a system",
    SCORE: "Score of a system",
    METADATA: "Metadata",
    ID: "Name of the example",
    SYSTEM: "Name of the system of a row",
    FILE: "Picture, sound or clip",
    LINKS: "Gold links",
    LINKS_FROM_0: "Gold links, counted from 0",
    LINKS_FROM_1: "Gold links, counted from 1",
    BOXES: "Boxes",
    FACTS: "Facts",
    CORPUS: "Corpus of word frequencies",
    IGNORE: "Ignore",
}
"""The roles that a user can give to a column, with their titles."""
OF_SYSTEMS = (OUTPUT, SCORE)
"""Roles to which a system can be added, as in "output:alpha"."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a file, or a file with one value per line."""

    name: str
    cells: tuple[Cell, ...]
    role: str = METADATA
    # The system of an output or a score, or "" if it is unknown.
    system: str = ""
    # Whether the role is certain. If it is not, the user is asked to check it.
    is_sure: bool = True
    # The file of the column, and the line of its first cell there.
    file: str = ""
    first_line: int = 1
    # The metric of a score. If it is "", the name of the column is the metric.
    metric: str = ""

    @property
    def given_role(self) -> str:
        """The role as a user writes it, such as "output:alpha"."""
        return f"{self.role}:{self.system}" if self.system else self.role

    def with_role(self, given: str) -> Self:
        """Return this column with the role that a user gave, such as "score:alpha".

        Raises:
            InputError: the role does not exist.
        """
        role, _, system = given.partition(":")
        check_choice("column role", role, tuple(ROLES))
        if system and role not in OF_SYSTEMS:
            raise InputError(
                f'The role "{shorten(given)}" names a system, but only an output or a score has'
                f' one. Write "{role}".'
            )
        return replace(self, role=role, system=system, is_sure=True)

    @property
    def texts(self) -> tuple[str, ...]:
        """One text per cell: the first of several references, or "" for a missing cell."""
        if set(map(type, self.cells)) == {str}:
            return self.cells  # type: ignore[return-value]
        return tuple(map(get_cell_text, self.cells))

    def where(self, place: int) -> str:
        """Return the line of a cell for error messages, such as 'Line 3 of "a.csv"'.

        The number is right if the file has one example per line.

        Args:
            place: the index of the cell, from 0.
        """
        return f'Line {self.first_line + place:,} of "{shorten(self.file or self.name)}"'


@dataclass(frozen=True, slots=True)
class Content:
    """The content of one file."""

    # The displayed kind of file, such as "CSV".
    kind: str
    columns: tuple[Column, ...]
    # Sentences for the user.
    notes: tuple[str, ...] = ()
    # Whether the file is a list of values without a header, one per line.
    is_plain: bool = False
    # Whether the file has ratings or marked errors.
    has_marks: bool = False


def get_cell_text(cell: Cell) -> str:
    """Return a cell as one text: the first of several references, or "" for a missing cell."""
    if isinstance(cell, tuple):
        return cell[0] if cell else ""
    return cell or ""


def make_too_many_error(name: str, most: int, what: str) -> InputError:
    """Return the error for a file with more than `most` items, such as "rows"."""
    return InputError(
        f'"{shorten(name)}" has more than {most:,} {what}, which is the limit. Split the file.'
    )


class TextBudget:
    """A limit on the memory of a file's texts, counted while the file is read."""

    def __init__(self, name: str) -> None:
        """Start at 0 bytes. `name` is the name of the file for errors."""
        self.name = name
        self.taken = 0

    def add(self, texts: Iterable[str]) -> None:
        """Add the memory of texts to the sum.

        Raises:
            InputError: the texts of the file take too much memory.
        """
        self.taken += sum(map(sys.getsizeof, texts))
        if self.taken > MAX_TEXT_BYTES:
            raise InputError(
                f'The texts of "{shorten(self.name)}" take more than {MAX_TEXT_BYTES >> 20} MB of'
                " memory, which is the limit. Split the file."
            )


def check_header(name: str, header: Sequence[str]) -> None:
    """Check that a header has names, at most `MAX_COLUMNS` of them, and no name twice.

    Raises:
        InputError: one of the checks fails.
    """
    if not any(header):
        raise InputError(
            f'"{shorten(name)}" has no header. Write the names of the columns into its first line.'
        )
    if len(header) > MAX_COLUMNS:
        raise InputError(
            f'"{shorten(name)}" has {len(header):,} columns, but the limit is {MAX_COLUMNS}. Remove'
            " some columns."
        )
    seen: set[str] = set()
    for title in header:
        if title and title.lower() in seen:
            raise InputError(
                f'"{shorten(name)}" has two columns called "{shorten(title)}". Rename one of them.'
            )
        seen.add(title.lower())


def make_columns_from_rows(
    name: str, header: Sequence[str], rows: Sequence[Sequence[str]], first_line: int = 2
) -> tuple[Column, ...]:
    """Return the columns of rows that are as long as the header.

    A column without a name is named by its position, such as "column 3". It is left out if all its
    cells are empty, too.

    Raises:
        InputError: there are no rows.
    """
    if not rows:
        raise InputError(f'"{shorten(name)}" has a header but no rows. Add a row for each example.')
    found = []
    for number, (title, cells) in enumerate(zip(header, zip(*rows, strict=True), strict=True), 1):
        if title or any(cells):
            title = title or f"column {number}"
            found.append(Column(title, cells, file=name, first_line=first_line))
    return tuple(found)
