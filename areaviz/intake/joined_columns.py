"""Reading of all files into one list of columns, in guessed or chosen roles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from areaviz.data.metadata import number_of
from areaviz.intake.columns import (
    CORPUS,
    ID,
    IGNORE,
    METADATA,
    OUTPUT,
    SCORE,
    SOURCE,
    SYSTEM,
    Column,
    Content,
)
from areaviz.intake.files import MARKED, read_beginning, read_file
from areaviz.intake.long_tables import widen_table
from areaviz.intake.names import EITHER, guess_role_by_name
from areaviz.intake.plain_files import guess_plain_roles, is_corpus_name, is_score_name
from areaviz.intake.roles import assign_scores, guess_roles
from areaviz.media.formats import is_medium
from areaviz.samples.dataset import Files
from areaviz.trace.errors import InputError, shorten

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
