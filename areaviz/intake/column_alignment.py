"""Alignment of columns from several files, which gives them the same order of examples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from areaviz.intake.columns import (
    CORPUS,
    FILE,
    ID,
    IGNORE,
    METADATA,
    SCORE,
    SOURCE,
    SYSTEM,
    Column,
)
from areaviz.intake.joined_columns import JoinedColumns
from areaviz.trace.errors import InputError, shorten


def align_columns(opened: JoinedColumns) -> list[Column]:
    """Return the columns in use, each with one cell per example in a common order.

    If a file has the ids of the examples in a different order, its cells are sorted into the common
    order.

    Raises:
        InputError: no column has examples, or files differ in their number of cells, their
            documents or their ids.
    """
    used = [one for one in opened.columns if one.role not in (IGNORE, CORPUS, SYSTEM)]
    leading = next((one for role in (SOURCE, FILE) for one in used if one.role == role), None)
    if leading is None:
        raise _make_no_examples_error(opened)
    orders: dict[str, list[int] | None] = {}
    for file in {column.file for column in used if column.file != leading.file}:
        orders[file] = _match_ids(opened.columns, leading.file, file)
    found = []
    for column in used:
        order = orders.get(column.file)
        if len(column.cells) != len(leading.cells):
            raise InputError(
                f'"{shorten(column.file or column.name)}" has {len(column.cells):,} lines or rows,'
                f' but "{shorten(leading.file or leading.name)}" has {len(leading.cells):,}. Give'
                " each file one line or row per example, in the same order."
            )
        if order is not None:
            column = replace(column, cells=tuple(column.cells[at] for at in order))
        found.append(column)
    return [*found, *(one for one in opened.columns if one.role == CORPUS)]


def _match_ids(columns: Sequence[Column], first: str, second: str) -> list[int] | None:
    """Return for each id of the first file the index of its row in the second file, from 0.

    Return None if the ids are in the same order, or if they cannot be matched one to one.

    Raises:
        InputError: the documents of the files differ, or an id is not in the second file.
    """
    documents = [
        next(
            (one.texts for one in columns if one.file == file and _strip_file_name(one) == "doc"),
            None,
        )
        for file in (first, second)
    ]
    if None not in documents and documents[0] != documents[1]:
        raise InputError(
            f'"{shorten(first)}" and "{shorten(second)}" name different documents, so their'
            " segments do not belong together. Choose files of the same test set."
        )
    ids = []
    for file in (first, second):
        found = [one for one in columns if one.file == file and _is_id(one)]
        if len(found) != 1 or len(set(found[0].texts)) < len(found[0].texts):
            return None
        ids.append(found[0].texts)
    if ids[0] == ids[1] or len(ids[0]) != len(ids[1]):
        return None
    places = {one: place for place, one in enumerate(ids[1])}
    unknown = [one for one in ids[0] if one not in places]
    if unknown:
        raise InputError(
            f'"{shorten(second)}" has no row with the id "{shorten(unknown[0])}" of'
            f' "{shorten(first)}".'
            ' Give both files the same ids, or set the column with the ids to "ignore".'
        )
    return [places[one] for one in ids[0]]


def _is_id(column: Column) -> bool:
    is_further = column.role in (METADATA, IGNORE) and _strip_file_name(column) in (
        "id",
        "segment_id",
    )
    return column.role == ID or is_further


def _strip_file_name(column: Column) -> str:
    """Return the name of a column without its file."""
    return column.name.removeprefix(f"{column.file}: ").lower()


def _make_no_examples_error(opened: JoinedColumns) -> InputError:
    columns = [one for one in opened.columns if one.role != IGNORE]
    if not columns:
        said = opened.notes[0] if opened.notes else "There are no files."
        return InputError(f"The files have no examples. {said}")
    files = ", ".join(f'"{shorten(file)}"' for file in dict.fromkeys(one.file for one in columns))
    if all(column.role == SCORE for column in columns):
        return InputError(
            f"There are scores but no examples in {files}. Choose the file with the sources, too."
        )
    titles = ", ".join(shorten(column.name) for column in columns[:40])
    return InputError(
        f"{files}: no column is a source or names files. The columns are: {titles}. Give one of"
        ' them the role "source".'
    )
