"""Conversion of columns to a dataset with metadata, outputs of systems and their scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from areaviz.intake.column_alignment import align_columns
from areaviz.intake.columns import (
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
    make_too_many_error,
)
from areaviz.intake.joined_columns import Chosen, JoinedColumns, open_files
from areaviz.intake.links import parse_links
from areaviz.intake.systems import Outputs, Scores, list_outputs, list_scores
from areaviz.media.formats import PICTURE, find_medium, is_medium
from areaviz.samples.dataset import (
    SHOW_PHOTOS,
    Dataset,
    Example,
    Files,
    Links,
    read_boxes,
    read_facts,
)
from areaviz.trace.errors import InputError, shorten

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
