"""Reading of all files of a dataset into one list of columns, and the roles of the columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from areaviz.media.formats import is_medium
from areaviz.samples.dataset import Files
from areaviz.sets.files import MARKED, read_beginning, read_file
from areaviz.sets.roles import (
    CORPUS,
    EITHER,
    ID,
    IGNORE,
    LINKS_FROM_0,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    SYSTEM,
    Cell,
    Column,
    Content,
    assign_scores,
    guess_role_by_name,
    guess_roles,
    number_of,
    parse_numbers,
)
from areaviz.sets.text_files import guess_plain_roles, is_corpus_name, is_score_name
from areaviz.trace.errors import InputError, shorten

# Conversion of tables with one row per segment and system to tables with one row per segment.
#
# The converted tables have one column of outputs or scores per system.


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


# Reading of all files into one list of columns, in guessed or chosen roles.


Chosen = Mapping[str, str]
"""Maps the name of a column, or of a file with all its columns, to the role that a user gave."""
# Extensions of files whose marked errors can be imported.
_OF_MARKS = frozenset((".tsv", ".json", ".jsonl", ".ndjson"))


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """The columns of all files, and notes for the user."""

    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()
    # The kind of each file by its name, such as "CSV".
    kinds: Mapping[str, str] | None = None
    # The files with ratings or marked errors.
    marked: Files = field(default_factory=dict)


def open_files(
    files: Files, chosen: Chosen | None = None, models: Sequence[str] = ()
) -> JoinedColumns:
    """Read all files except pictures, sounds and clips into columns.

    Args:
        files: all files by name.
        chosen: roles that the user gave. All other roles are guessed.
        models: systems whose outputs are produced later. Columns of scores may belong to them.

    Raises:
        InputError: a file cannot be read, or a chosen role does not exist.
    """
    given = dict(chosen or {})
    notes: list[str] = []
    kinds: dict[str, str] = {}
    marked = {}
    tables: list[Column] = []
    plain: list[Column] = []
    for name, content in files.items():
        if is_medium(name):
            continue
        role = given.get(name, "")
        if role == CORPUS or (not role and is_corpus_name(name)):
            found = read_beginning(name, content)
        else:
            found = read_file(name, content)
        kinds[name] = found.kind
        notes += found.notes
        if found.has_marks:
            notes.append(_describe_marks(name, found))
            if _can_be_imported(name):
                marked[name] = content
        if found.kind == MARKED:
            continue
        if found.is_plain:
            plain += [_assign_role(column, role) for column in found.columns]
        else:
            columns, more = _open_table(name, found, given)
            tables += columns
            notes += more
    columns = _sort_by_file(files, tables, _assign_plain_roles(plain, tables, given))
    columns = _make_names_unique(columns)
    columns = [_assign_role(column, given.get(column.name, "")) for column in columns]
    columns = guess_roles(columns)
    columns = [_restore_role(column, given.get(column.name, "")) for column in columns]
    columns = assign_scores(columns, models)
    _check_chosen(given, columns, files)
    return JoinedColumns(tuple(columns), tuple(notes), kinds, marked)


def _describe_marks(name: str, content: Content) -> str:
    """Return a sentence about the ratings or marked errors in a file."""
    if content.kind != MARKED:
        return f'"{shorten(name)}" also contains ratings and marked errors.'
    said = f'"{shorten(name)}" contains errors that raters marked in a set.'
    if not _can_be_imported(name):
        said += " It is not used. Save it as Marot's TSV."
    return said


def _can_be_imported(name: str) -> bool:
    return PurePosixPath(name).suffix.lower() in _OF_MARKS


def _assign_plain_roles(
    plain: Sequence[Column], tables: Sequence[Column], given: Chosen
) -> list[Column]:
    """Return plain files in their guessed roles. A file with a given role keeps it."""
    free = [column for column in plain if not given.get(column.name)]
    has_source = any(one.role == SOURCE for one in (*tables, *plain))
    systems = {column.system for column in tables if column.role == SCORE}
    guesses = {column.name: column for column in guess_plain_roles(free, has_source, systems)}
    return [guesses.get(column.name, column) for column in plain]


def _open_table(name: str, content: Content, given: Chosen) -> tuple[list[Column], list[str]]:
    """Return the columns of a table with one row per segment, and notes for the user.

    A column without a given role gets the role that its name suggests.
    """
    columns = []
    for column in content.columns:
        columns.append(_assign_role(guess_role_by_name(column), given.get(column.name, "")))
    columns, notes = widen_table(name, columns)
    role = given.get(name, "")
    if role or is_score_name(name):
        columns = _open_table_of_role(name, columns, role or SCORE, bool(role))
    return _split_lists(columns), notes


def _open_table_of_role(name: str, columns: list[Column], given: str, must: bool) -> list[Column]:
    """Return the columns of a table that has one role as a whole.

    Args:
        name: the name of the file.
        columns: its columns in the roles that their names suggest.
        given: the role of the file.
        must: whether at least one column must have the role.

    Raises:
        InputError: `must` is set, and no single column can have the role.
    """
    role = given.partition(":")[0]
    if role == IGNORE:
        return [replace(column, role=IGNORE) for column in columns]
    if role == SCORE:
        return _open_scores(name, columns, must)
    if any(column.role == role for column in columns) or not must:
        return columns
    open_ones = [column for column in columns if column.role == EITHER] or [
        column for column in columns if column.role != ID
    ]
    if len(open_ones) != 1:
        titles = ", ".join(f'"{shorten(column.name)}"' for column in columns[:9])
        raise InputError(
            f'"{shorten(name)}" has several columns ({titles}), and none is called "{role}". Give'
            f" one of them this role, as in --column NAME={role}."
        )
    return [_assign_role(one, given) if one is open_ones[0] else one for one in columns]


def _open_scores(name: str, columns: list[Column], must: bool) -> list[Column]:
    found = []
    for column in columns:
        if column.role == METADATA and any(number_of(text) is not None for text in column.texts):
            # A cell that is not a number is refused later, with its line number.
            column = replace(column, role=SCORE, metric=column.name)
        found.append(column)
    if must and not any(column.role == SCORE for column in found):
        raise InputError(
            f'"{shorten(name)}" has no column of numbers. Give one number per line, or a table'
            " whose header names the scores."
        )
    return found


def _split_lists(columns: Sequence[Column]) -> list[Column]:
    """Split each output that is a list of texts into one column per position of the list."""
    found = []
    for column in columns:
        lists = [cell for cell in column.cells if isinstance(cell, tuple)]
        if column.role != OUTPUT or not lists:
            found.append(column)
            continue
        for at in range(max(map(len, lists))):
            cells = []
            for cell in column.cells:
                one = (cell,) if isinstance(cell, str) else cell or ()
                cells.append(one[at] if at < len(one) else None)
            title = f"{column.name} {at + 1}"
            found.append(replace(column, name=title, cells=tuple(cells), system=title))
    return found


def _assign_role(column: Column, given: str) -> Column:
    """Return a column in a given role, or unchanged if `given` is ""."""
    if not given:
        return column
    found = column.with_role(given)
    if found.role == OUTPUT and not found.system:
        return replace(found, system=column.system or column.name)
    return found


def _restore_role(column: Column, given: str) -> Column:
    """Restore the given role of a column if a guess has changed it."""
    role, _, system = given.partition(":")
    if not given or (column.role == role and system in ("", column.system)):
        return column
    return _assign_role(column, given)


def _sort_by_file(files: Files, *groups: Sequence[Column]) -> list[Column]:
    """Return columns in the order in which their files were given."""
    places = {name: place for place, name in enumerate(files)}
    found = [column for group in groups for column in group]
    return sorted(found, key=lambda column: places[column.file])


def _make_names_unique(columns: Sequence[Column]) -> list[Column]:
    """Return columns with unique names. The second of two equal names gets its system or file."""
    taken: set[str] = set()
    found = []
    for column in columns:
        name, metric = column.name, column.metric
        if name in taken or (column.role == SCORE and column.system and _is_twice(name, columns)):
            metric = metric or (name if column.role == SCORE else "")
            name = f"{name} ({column.system})" if column.system else f"{column.file}: {name}"
        number = 2
        while name in taken:
            name, number = f"{column.name} ({number})", number + 1
        taken.add(name)
        found.append(replace(column, name=name, metric=metric))
    return found


def _is_twice(name: str, columns: Sequence[Column]) -> bool:
    return sum(column.name == name for column in columns) > 1


def _check_chosen(given: Chosen, columns: Sequence[Column], files: Files) -> None:
    """Raise InputError if a role was given to a column or file that does not exist."""
    names = {column.name for column in columns} | set(files)
    unknown = [name for name in given if name not in names]
    # Tables with one row per system and segment have lost their columns of systems and outputs by
    # now, so roles of such columns are not checked.
    unknown = [name for name in unknown if given[name].partition(":")[0] not in (SYSTEM, OUTPUT)]
    if unknown:
        raise InputError(
            f'Column "{shorten(unknown[0])}" does not exist. The columns are:'
            f" {', '.join(shorten(column.name) for column in columns[:40])}."
        )


# The stored form of the roles that a user chose for the files of a dataset.


_COLUMNS = "columns"


def format_roles(chosen: Chosen) -> dict[str, Any]:
    """Return chosen roles as values for JSON."""
    return {_COLUMNS: dict(chosen)}


def parse_roles(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    """Return the chosen roles from values of `format_roles` or of an older version.

    Older versions had roles for whole files, and used only one table.

    Args:
        values: the stored values.
        files: the names of the stored files.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: the values have another form.
    """
    found = dict(values[_COLUMNS]) if _COLUMNS in values else _parse_roles_of_files(values, files)
    if not all(isinstance(text, str) for item in found.items() for text in item):
        raise ValueError("A chosen role is not a text.")
    return found


def _parse_roles_of_files(values: Mapping[str, Any], files: Mapping[str, object]) -> dict[str, str]:
    table = values["table"]
    if table:
        return {name: IGNORE for name in files if name != table}
    found = {values["source"]: SOURCE, values["links"]: LINKS_FROM_0}
    # Files stored before scores and corpora were supported have none.
    found[values.get("corpus", "")] = CORPUS
    several = {"references": REFERENCE, "outputs": OUTPUT, "scores": SCORE}
    for key, role in several.items():
        found |= dict.fromkeys(values.get(key, ()), role)
    found.pop("", None)
    return found
