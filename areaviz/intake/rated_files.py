"""The kinds of JSON files with rated outputs.

To add a kind, write a module that reads it and add a line to `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from areaviz.intake.columns import MAX_ROW_CHARACTERS, MAX_ROWS, make_too_many_error
from areaviz.intake.comet_json import is_comet_json, read_comet_json
from areaviz.intake.json_files import parse_json, parse_json_object
from areaviz.intake.pearmut import (
    is_annotations,
    is_campaign,
    read_annotations,
    read_campaign,
)
from areaviz.intake.rated_outputs import RatedSegment
from areaviz.intake.texts import check_row, iterate_plain_lines
from areaviz.intake.wmt_ratings import is_wmt_ratings, read_wmt_ratings
from areaviz.trace.errors import InputError, shorten

Entry = tuple[str, Any]
# In some files, each rating of a segment has its own line.
_MAX_LINES = 5 * MAX_ROWS


@dataclass(frozen=True, slots=True)
class RatedKind:
    """A kind of file with rated outputs."""

    # The name of the kind for users.
    title: str
    # Returns whether the first object of a file is of this kind.
    fits: Callable[[object], bool]
    # Returns the segments of a file. Its arguments are the name of the file, and the objects in it,
    # each with its place for error messages.
    read: Callable[[str, Sequence[Entry]], list[RatedSegment]]


KINDS = (
    RatedKind("human evaluation of WMT", is_wmt_ratings, read_wmt_ratings),
    RatedKind("campaign of Pearmut", is_campaign, read_campaign),
    RatedKind("annotations of Pearmut", is_annotations, read_annotations),
    RatedKind("comet-score JSON", is_comet_json, read_comet_json),
)


def find_rated_kind(value: object) -> RatedKind | None:
    """Return the kind of a file with rated outputs, found by its first object, or None."""
    for kind in KINDS:
        if kind.fits(value):
            return kind
    return None


def read_rated(name: str, data: bytes) -> list[RatedSegment] | None:
    """Read a JSON or JSON Lines file with rated outputs, or return None for other files.

    Raises:
        InputError: the file is not JSON, is damaged or is too large.
    """
    first = parse_first_object(name, data)
    if first is not None:
        kind = find_rated_kind(first)
        return read_rated_lines(name, data, kind) if kind else None
    value = parse_json(name, data)
    kind = find_rated_kind(value)
    return read_rated_value(name, value, kind) if kind else None


def read_rated_value(name: str, value: object, kind: RatedKind) -> list[RatedSegment]:
    """Return the segments of a JSON file, given its whole value."""
    return kind.read(name, [(f'"{shorten(name)}"', value)])


def read_rated_lines(name: str, data: bytes, kind: RatedKind) -> list[RatedSegment]:
    """Return the segments of a JSON Lines file."""
    return kind.read(name, _iterate_entries(name, data))


def parse_first_object(name: str, data: bytes) -> dict[str, Any] | None:
    """Return the object in the first line, or None if the file is not JSON Lines.

    A line beyond the length limit is not parsed, because it could fill the memory.
    """
    start, _, _ = data.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")
    if len(start) > MAX_ROW_CHARACTERS:
        return None
    try:
        return parse_json_object(name, 1, start.decode("utf-8", "replace"))
    except InputError:
        return None


def _iterate_entries(name: str, data: bytes) -> list[Entry]:
    """Return the objects of JSON Lines, each with its place for error messages."""
    found = []
    for number, line in enumerate(iterate_plain_lines(name, data), 1):
        if number > _MAX_LINES:
            raise make_too_many_error(name, _MAX_LINES, "lines")
        if line.strip():
            check_row(name, number, len(line))
            found.append(
                (
                    f'Line {number:,} of "{shorten(name)}"',
                    parse_json_object(name, number, line),
                )
            )
    return found
