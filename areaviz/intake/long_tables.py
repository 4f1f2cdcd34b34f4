"""Conversion of tables with one row per segment and system to tables with one row per segment.

The converted tables have one column of outputs or scores per system.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from areaviz.data.metadata import parse_numbers
from areaviz.intake.columns import (
    ID,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    SYSTEM,
    Cell,
    Column,
)
from areaviz.trace.errors import InputError, shorten

# Names of columns with the document of a row. They are needed because segments are often numbered
# within a document.
_DOCUMENTS = ("doc", "doc_id", "docid", "document", "document_id")
Key = tuple[str, ...]


@dataclass(slots=True)
class _Segment:
    """The rows of one segment."""

    first: int
    by_system: dict[str, int] = field(default_factory=dict)


def widen_table(name: str, columns: Sequence[Column]) -> tuple[list[Column], list[str]]:
    """Return columns with one row per segment, and notes for the user.

    The rows of the table stay unchanged if no column names the system of a row, or if no segment
    has rows of several systems.

    Args:
        name: the name of the file, for errors.
        columns: the columns in the roles that their names suggest.

    Raises:
        InputError: a system has two rows for a segment, or a segment has two sources.
    """
    systems = [column for column in columns if column.role == SYSTEM]
    spread = [one for one in columns if one.role in (OUTPUT, SCORE) and not one.system]
    outputs = [one for one in columns if one.role == OUTPUT]
    if len(systems) != 1 or not spread or len(outputs) > 1:
        return _mark_as_metadata(columns), []
    of_row = systems[0].texts
    names = list(dict.fromkeys(of_row))
    if len(names) == 1:
        return _assign_to_system(columns, names[0]), []
    segments = _group_segments(name, columns, of_row)
    if all(len(segment.by_system) == 1 for segment in segments.values()):
        return _mark_as_metadata(columns), []
    found, of_systems = [], []
    for column in columns:
        if column.role == SYSTEM:
            continue
        if column in spread or _has_varying_values(column, segments):
            of_systems += _spread_over_systems(column, names, segments)
        else:
            cells = tuple(column.cells[segment.first] for segment in segments.values())
            found.append(replace(column, cells=cells))
    notes = [
        f'The {len(of_row):,} rows of "{shorten(name)}" are {len(segments):,} segments of'
        f" {len(names)} systems: {', '.join(map(shorten, names[:20]))}."
    ]
    return [*found, *of_systems], notes


def _mark_as_metadata(columns: Sequence[Column]) -> list[Column]:
    found = []
    for column in columns:
        is_system = column.role == SYSTEM
        found.append(replace(column, role=METADATA) if is_system else column)
    return found


def _assign_to_system(columns: Sequence[Column], system: str) -> list[Column]:
    found = []
    for column in columns:
        if column.role in (OUTPUT, SCORE) and not column.system:
            found.append(replace(column, system=system))
        elif column.role != SYSTEM:
            found.append(column)
    return found


def _group_segments(
    name: str, columns: Sequence[Column], systems: Sequence[str]
) -> dict[Key, _Segment]:
    """Return the segments by document and id, or by source if there are no ids."""
    sources = [column for column in columns if column.role == SOURCE]
    ids = [column for column in columns if column.role == ID]
    documents = [one for one in columns if one.name.strip().lower() in _DOCUMENTS]
    keys = [column.texts for column in (*documents[:1], *(ids or sources[:1]))]
    fixed = [column for column in columns if column.role in (SOURCE, REFERENCE)]
    seen: Counter[tuple[str, Key]] = Counter()
    found: dict[Key, _Segment] = {}
    for row, system in enumerate(systems):
        key: Key = tuple(texts[row] for texts in keys)
        if not ids:
            # A source may occur several times. All systems then have its rows in the same order.
            seen[system, key] += 1
            key = (*key, str(seen[system, key]))
        segment = found.setdefault(key, _Segment(row))
        for column in fixed:
            if column.cells[segment.first] != column.cells[row]:
                raise InputError(
                    f"{column.where(row)} has a different {column.role} than an earlier row of the"
                    f' segment "{shorten(" ".join(key))}". Give each segment one {column.role}.'
                )
        if system in segment.by_system:
            raise InputError(
                f'{columns[0].where(row)} is the second row of the system "{shorten(system)}" for'
                f' the segment "{shorten(" ".join(key))}". Remove one of these two rows.'
            )
        segment.by_system[system] = row
    return found


def _has_varying_values(column: Column, segments: dict[Key, _Segment]) -> bool:
    """Return whether the systems of any segment have different values in a column.

    A source, reference or id never counts as varying.
    """
    for segment in segments.values():
        first = column.cells[segment.first]
        if any(column.cells[row] != first for row in segment.by_system.values()):
            return column.role not in (SOURCE, REFERENCE, ID)
    return False


def _spread_over_systems(
    column: Column, systems: Sequence[str], segments: dict[Key, _Segment]
) -> list[Column]:
    """Return one column per system. Metadata with only numbers becomes a score."""
    role = column.role
    if role not in (OUTPUT, SCORE):
        role = SCORE if parse_numbers(column.texts) is not None else METADATA
    found = []
    for system in systems:
        cells: list[Cell] = []
        for segment in segments.values():
            row = segment.by_system.get(system)
            cells.append(None if row is None else column.cells[row])
        found.append(
            replace(
                column,
                name=f"{column.name}.{system}",
                cells=tuple(cells),
                role=role,
                system="" if role == METADATA else system,
                metric=column.metric or column.name,
            )
        )
    return found
