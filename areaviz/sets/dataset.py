"""Conversion of columns to a dataset with outputs, scores and gold alignments.

The order of examples, the alignments and the systems come first. `build_dataset` in the last
section uses them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from areaviz.media.formats import PICTURE, find_medium, is_medium
from areaviz.samples.dataset import (
    SHOW_PHOTOS,
    Dataset,
    Example,
    Files,
    Links,
    read_boxes,
    read_facts,
    read_links,
)
from areaviz.sets.joined_files import Chosen, JoinedColumns, open_files
from areaviz.sets.roles import (
    BOXES,
    CORPUS,
    FACTS,
    FILE,
    ID,
    IGNORE,
    LINKS,
    LINKS_FROM_0,
    LINKS_FROM_1,
    MAX_ROWS,
    METADATA,
    OUTPUT,
    REFERENCE,
    SCORE,
    SOURCE,
    SYSTEM,
    Column,
    TextBudget,
    is_missing,
    make_too_many_error,
    number_of,
)
from areaviz.trace.errors import InputError, shorten

# Alignment of columns from several files, which gives them the same order of examples.


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


# Gold alignments: the number of the first word (0 or 1), and a check that all words exist.
#
# The Pharaoh format does not define whether words count from 0 or from 1. Alignments that are read
# with the wrong number look plausible but are wrong.


# Number of words of a source, and of its reference or None if there is none.
Lengths = tuple[int, int | None]
Both = tuple[Links, Links]


def parse_links(
    column: Column, sources: Sequence[str], references: Sequence[str]
) -> tuple[list[Both], str]:
    """Return the sure and the possible links of every example, counted from 0.

    If a link contains 0, words count from 0. If no link contains 0 and one exceeds its sentence,
    words count from 1.

    Args:
        column: a column of links, in one of the three roles for links.
        sources: the source of each example.
        references: the first reference of each example, "" if there is none.

    Returns:
        The links, and a note for the user if words were found to count from 1, otherwise "".

    Raises:
        InputError: it is unclear whether words count from 0 or 1, or a link is outside its
            sentence.
    """
    texts = column.texts
    given = [read_links(column.where(place), text) for place, text in enumerate(texts)]
    lengths: list[Lengths] = []
    for source, reference in zip(sources, references, strict=True):
        lengths.append((len(source.split()), len(reference.split()) if reference else None))
    first = _find_first_number(column, given, lengths)
    found = []
    for place, text in enumerate(texts):
        both = read_links(column.where(place), text, first) if first else given[place]
        _check_links(column, place, both[1], lengths[place], first)
        found.append(both)
    note = ""
    if first and column.role != LINKS_FROM_1:
        note = (
            f'The links in "{shorten(column.name)}" count words from 1, because no link has a 0 and'
            " some links have the number of words in their sentence."
        )
    return found, note


def _find_first_number(column: Column, given: Sequence[Both], lengths: Sequence[Lengths]) -> int:
    """Return the number of the first word, 0 or 1."""
    if column.role in (LINKS_FROM_0, LINKS_FROM_1):
        return int(column.role == LINKS_FROM_1)
    pairs = [(place, link) for place, (_, possible) in enumerate(given) for link in possible]
    if not pairs or any(0 in link for _, link in pairs):
        return 0
    if any(_is_beyond(link, lengths[place]) for place, link in pairs):
        return 1
    raise InputError(
        f'It is not clear whether the links in "{shorten(column.name)}" count words from 0 or'
        f' from 1. None has a 0, and none exceeds its sentence. Choose "{LINKS_FROM_0}" or'
        f' "{LINKS_FROM_1}" as the role of the column.'
    )


def _is_beyond(link: tuple[int, int], lengths: Lengths) -> bool:
    source, reference = lengths
    return link[0] >= source or (reference is not None and link[1] >= reference)


def _check_links(column: Column, place: int, links: Links, lengths: Lengths, first: int) -> None:
    """Raise InputError if a link refers to a word that its sentence does not have."""
    for link in sorted(links):
        if _is_beyond(link, lengths):
            source, reference = lengths
            has = f"the source has {source:,} words"
            has += "" if reference is None else f" and the reference {reference:,}"
            raise InputError(
                f"{column.where(place)} links word {link[0] + first:,} to word"
                f" {link[1] + first:,}, but {has} (links count from {first}). Check that the links"
                " belong to these sentences."
            )


# Conversion of columns with outputs and scores to one entry per system.


Outputs = Mapping[str, tuple[str | None, ...]]
Scores = Mapping[str, Mapping[str, tuple[float, ...]]]


def list_outputs(columns: Sequence[Column]) -> dict[str, tuple[str | None, ...]]:
    """Return the outputs of each system, one per example. None means a missing output.

    Raises:
        InputError: two columns are outputs of one system.
    """
    found: dict[str, tuple[str | None, ...]] = {}
    for column in columns:
        system = column.system or column.name
        if system in found:
            raise InputError(
                f'Two columns are outputs of the system "{shorten(system)}". Give the column'
                f' "{shorten(column.name)}" a system of its own, with a role such as "output:NAME".'
            )
        found[system] = tuple(None if one is None else _get_first_text(one) for one in column.cells)
    return found


def _get_first_text(cell: str | tuple[str, ...]) -> str:
    return cell if isinstance(cell, str) else " ".join(cell)


def list_scores(
    columns: Sequence[Column], systems: Sequence[str]
) -> dict[str, dict[str, tuple[float, ...]]]:
    """Return the scores of each system by metric, one per example. NaN means a missing score.

    Raises:
        InputError: a score belongs to none of the systems, or is not a number.
    """
    if columns and not systems:
        raise InputError(
            f'"{shorten(columns[0].name)}" has scores, but there are no outputs. Choose the file'
            ' with the outputs, too, or set the role "metadata".'
        )
    found: dict[str, dict[str, tuple[float, ...]]] = {}
    for column in columns:
        if column.system not in systems:
            known = ", ".join(map(shorten, systems))
            raise InputError(
                f'It is not clear which system "{shorten(column.name)}" scores. Set the role'
                f' "score:NAME" with one of these systems: {known}.'
            )
        of_system = found.setdefault(column.system, {})
        metric = column.metric or column.name
        if metric in of_system:
            metric = column.name
        of_system[metric] = tuple(
            _parse_number(column, place, text) for place, text in enumerate(column.texts)
        )
    return found


def _parse_number(column: Column, place: int, text: str) -> float:
    value = number_of(text)
    if value is None and not is_missing(text):
        raise InputError(
            f'{column.where(place)} has "{shorten(text.strip())}" as its'
            f" {shorten(column.metric or column.name)}, which is not a number. Correct it or leave"
            " it empty."
        )
    return math.nan if value is None else value


# Conversion of columns to a dataset with metadata, outputs of systems and their scores.


MAX_LINKS, MAX_BOXES = 500_000, 100_000
"""Limits on the links and the boxes of all examples together."""
_SINGLE = (SOURCE, ID, FILE, BOXES, FACTS)
_LISTED = 8


@dataclass(frozen=True, slots=True)
class BuiltDataset:
    """Everything that was built from the files."""

    dataset: Dataset
    # The outputs of each system, one per example. None means a missing output.
    outputs: Outputs = field(default_factory=dict)
    # The scores of each system by metric, one per example. NaN means a missing score.
    scores: Scores = field(default_factory=dict)
    # The name of the file whose word frequencies are used, or "" for none.
    corpus: str = ""
    # Sentences for the user, for example about files and columns that are not used.
    notes: tuple[str, ...] = ()
    # The files with ratings or marked errors.
    marked: Files = field(default_factory=dict)


def read_set(files: Files, chosen: Chosen | None = None) -> BuiltDataset:
    """Read files as one dataset.

    Args:
        files: all files by name, without folders. No name inside a file is opened as a path.
        chosen: roles by the names of columns or files. All other roles are guessed.

    Raises:
        InputError: the files cannot be used as one dataset.
    """
    return build_dataset(files, open_files(files, chosen))


def build_dataset(files: Files, opened: JoinedColumns, models: Sequence[str] = ()) -> BuiltDataset:
    """Build a dataset from opened columns.

    Args:
        files: all files by name.
        opened: their columns.
        models: systems whose outputs are produced later. Columns of scores may belong to them.

    Raises:
        InputError: no column has examples, columns do not match, or a cell is invalid.
    """
    if not opened.columns and any(map(is_medium, files)):
        return _build_media_dataset(files)
    columns = align_columns(opened)
    by_role = _group_by_role(columns)
    notes = list(opened.notes)
    dataset = _build_from_roles(files, by_role, notes)
    return _with_systems(files, dataset, by_role, opened, models, notes)


def bring_beside(
    dataset: Dataset, opened: JoinedColumns, models: Sequence[str] = ()
) -> BuiltDataset:
    """Build outputs and scores from opened columns, for an existing dataset.

    Raises:
        InputError: a column has more or fewer cells than the dataset has examples.
    """
    for column in opened.columns:
        is_used = column.role in (OUTPUT, SCORE)
        if is_used and len(column.cells) != len(dataset.examples):
            raise InputError(
                f'"{shorten(column.file)}" has {len(column.cells):,} lines or rows, but the set has'
                f" {len(dataset.examples):,} examples. Give one for each, in the same order."
            )
    by_role = _group_by_role(opened.columns)
    return _with_systems({}, dataset, by_role, opened, models, list(opened.notes))


def _with_systems(
    files: Files,
    dataset: Dataset,
    by_role: Mapping[str, list[Column]],
    opened: JoinedColumns,
    models: Sequence[str],
    notes: list[str],
) -> BuiltDataset:
    outputs = list_outputs(by_role[OUTPUT])
    scores = list_scores(by_role[SCORE], [*outputs, *models])
    for system, texts in outputs.items():
        missing = texts.count(None)
        if missing:
            notes.append(
                f'"{shorten(system)}" has no output for {missing:,} of {len(texts):,} examples.'
                " They count as not run."
            )
    notes += _describe_unused(files, dataset, opened.columns)
    corpus = by_role[CORPUS][0].file if by_role[CORPUS] else ""
    return BuiltDataset(dataset, outputs, scores, corpus, tuple(notes), opened.marked)


def _build_media_dataset(files: Files) -> BuiltDataset:
    """Return a dataset of pictures, sounds or clips without a table, in order of their names."""
    found = {name: files[name] for name in sorted(files) if is_medium(name)}
    if len(found) > MAX_ROWS:
        raise make_too_many_error("the set", MAX_ROWS, "files")
    medium = find_medium(found)
    kind = SHOW_PHOTOS if medium == PICTURE else ""
    examples = tuple(Example(name, "", file=name) for name in found)
    return BuiltDataset(Dataset(f"{medium}s", examples, found, kind, medium))


def _group_by_role(columns: Sequence[Column]) -> dict[str, list[Column]]:
    found: dict[str, list[Column]] = {}
    for role in (SOURCE, REFERENCE, OUTPUT, SCORE, ID, FILE, BOXES, FACTS, METADATA, CORPUS):
        found[role] = [column for column in columns if column.role == role]
    links = (LINKS, LINKS_FROM_0, LINKS_FROM_1)
    found[LINKS] = [column for column in columns if column.role in links]
    for role in (*_SINGLE, LINKS, CORPUS):
        if len(found[role]) > 1:
            first, second = (shorten(one.name) for one in found[role][:2])
            raise InputError(
                f'Two columns have the role "{role}": "{first}" and "{second}". Give one of them'
                ' another role, such as "metadata" or "ignore".'
            )
    return found


def _build_from_roles(
    files: Files, by_role: Mapping[str, list[Column]], notes: list[str]
) -> Dataset:
    sources, media = by_role[SOURCE], by_role[FILE]
    leading = (sources or media)[0]
    count = len(leading.cells)
    blank = ("",) * count
    texts = sources[0].texts if sources else blank
    references = _list_references(by_role[REFERENCE], count)
    names = by_role[ID][0].texts if by_role[ID] else blank
    named_files = [PurePosixPath(text).name for text in (media[0].texts if media else blank)]
    firsts = [one[0] if one else "" for one in references]
    links: list[tuple[Links, Links]] = [(frozenset(), frozenset())] * count
    if by_role[LINKS]:
        links, note = parse_links(by_role[LINKS][0], texts, firsts)
        notes += [note] if note else []
    boxes, facts = (by_role[role][0] if by_role[role] else None for role in (BOXES, FACTS))
    budget = TextBudget(leading.file or leading.name)
    for column in (*sources, *media, *by_role[REFERENCE], *by_role[ID], *by_role[METADATA]):
        budget.add(column.texts)
    examples = []
    for place in range(count):
        if named_files[place] and named_files[place] not in files:
            raise InputError(
                f'{leading.where(place)} names the file "{shorten(named_files[place])}", which is'
                " not among the chosen files. Add it."
            )
        example = Example(
            names[place] or str(place + 1),
            texts[place],
            references[place],
            named_files[place],
            *links[place],
            read_boxes(boxes.where(place), boxes.texts[place]) if boxes else (),
            read_facts(facts.where(place), facts.texts[place]) if facts else (),
        )
        examples.append(example)
    _check_marks(leading.file, examples)
    used = {one.file: files[one.file] for one in examples if one.file}
    if not used and not any(one.text.strip() for one in examples):
        raise InputError(
            f'"{shorten(leading.file)}" has no examples. It needs at least one text or file.'
        )
    medium = find_medium(used)
    kind = SHOW_PHOTOS if medium == PICTURE else ""
    metadata = {column.name: column.texts for column in by_role[METADATA]}
    return Dataset(leading.file, tuple(examples), used, kind, medium, metadata)


def _list_references(columns: Sequence[Column], count: int) -> list[tuple[str, ...]]:
    """Return the references of every example, without blank ones."""
    found: list[tuple[str, ...]] = [()] * count
    for column in columns:
        for place, cell in enumerate(column.cells):
            texts = cell if isinstance(cell, tuple) else (cell or "",)
            found[place] += tuple(text for text in texts if text.strip())
    return found


def _check_marks(name: str, examples: Sequence[Example]) -> None:
    if sum(len(one.possible) for one in examples) > MAX_LINKS:
        raise make_too_many_error(name, MAX_LINKS, "links")
    if sum(len(one.boxes) for one in examples) > MAX_BOXES:
        raise make_too_many_error(name, MAX_BOXES, "boxes")


def _describe_unused(files: Files, dataset: Dataset, columns: Sequence[Column]) -> list[str]:
    """Return sentences about columns and files that are not used."""
    found = []
    ignored = [column.name for column in columns if column.role in (IGNORE, SYSTEM)]
    if ignored:
        found.append(f"Columns that are not used: {_join_names(ignored)}.")
    media = [name for name in files if is_medium(name) and name not in dataset.files]
    # A folder on this machine contains many files that were not chosen.
    chosen = [name for name in media if not isinstance(files[name], Path)]
    if chosen:
        found.append(f"Files that no example names: {_join_names(chosen)}.")
    return found


def _join_names(names: Sequence[str]) -> str:
    listed = ", ".join(f'"{shorten(name)}"' for name in names[:_LISTED])
    more = len(names) - _LISTED
    return f"{listed} and {more:,} more" if more > 0 else listed
