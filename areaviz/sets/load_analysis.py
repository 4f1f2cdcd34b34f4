"""An analysis as a tidy pandas DataFrame for notebooks: one row per example and system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from areaviz.samples.dataset import Dataset, Example, Files
from areaviz.sets.dataset import read_set
from areaviz.sets.files import find_media_beside
from areaviz.sets.notes.marot import read_judgements, read_judgements_of_set
from areaviz.sets.notes.notes import Judgement
from areaviz.sets.retention import read_stored_judgements
from areaviz.sets.run import DamagedHeader, Row, RowFile, make_rows_from_outputs, read_header
from areaviz.sets.table import (
    META,
    SCORE,
    average_ratings,
    build_table,
    group_by_example,
    score_columns,
    with_scores,
)
from areaviz.trace.errors import InputError, shorten
from areaviz.trace.record import find_file

AnyPath = str | Path
# Maximum number of bytes to read of a file's first line, which shows whether it is an analysis.
_HEADER_BYTES = 65_536
_OF_SET = ("name", "text", "file", "reference")


@dataclass(frozen=True, slots=True)
class _System:
    """The outputs of one system, with scores and ratings from other tools."""

    name: str
    rows: Mapping[int, Row]
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)


def load_analysis(
    paths: AnyPath | Sequence[AnyPath],
    *,
    columns: Mapping[str, str] | None = None,
    errors: AnyPath | Sequence[AnyPath] | None = None,
) -> pd.DataFrame:
    """Return an analysis as a pandas DataFrame with one row per example and system.

    The columns are `example` (from 1), `system`, `name`, `text`, `file`, `reference` (further
    references are `reference_2` and so on), the metadata, `output`, `error` (why there is no
    output), each metric and score by its name, `mqm` and `judged` (means over the raters), and
    `marks`: a list of the marked errors, each with its rater. The name of a rater that is a
    program, such as xCOMET, ends in "(automatic)". The errors of such a rater are only in `marks`.
    Columns without values are left out.

    Args:
        paths: the files of one dataset, as `areaviz analyse` reads them (examples, outputs,
            scores), and analyses of models (`.jsonl`), which `areaviz analyse --model` writes.
            Analyses alone do not contain the texts of the dataset.
        columns: maps names of columns or files to roles, such as {"mt": "output:alpha"}. The roles
            of other columns are guessed.
        errors: one or more files with errors that raters marked. None uses those in `paths` and the
            ratings made in the app on this machine.

    Raises:
        InputError: a file is missing or cannot be read, the files belong to different datasets,
            nothing was analysed, or an argument has a wrong type.
        BackendError: an analysis or the store of notes cannot be read.
    """
    given = _list_given_files(paths)
    _check_roles(columns)
    analyses = [path for path in given if _is_analysis(path)]
    files = _read_dataset_files(path for path in given if path not in analyses)
    runs = [RowFile.read(path) for path in analyses]
    found: list[_System] = []
    marked: Files = {}
    if files:
        brought = read_set(files, columns)
        dataset, marked = brought.dataset, brought.marked
        for name, texts in brought.outputs.items():
            scores = score_columns(brought.scores.get(name, {}))
            found.append(_System(name, make_rows_from_outputs(dataset, texts), scores))
    else:
        dataset = _set_without_texts(runs)
    for run in runs:
        _check_set(run, runs[0], dataset if files else None)
        found.append(_System(run.header.model, run.rows))
    if not found:
        raise InputError(
            "The files hold no outputs, so there is nothing to load. Add a file of outputs or an"
            " analysis of a model."
        )
    digest = dataset.digest if files else runs[0].header.digest
    names = [one.name for one in found]
    if errors is None:
        judgements = read_judgements_of_set(marked, dataset, names, read_stored_judgements(digest))
    else:
        judgements = _read_judgements(errors, dataset, digest, names)
    frames = [_build_frame(dataset, one, judgements) for one in _with_titles(found)]
    return _join_frames(frames, has_texts=bool(files))


def _list_given_files(paths: object) -> list[Path]:
    """Return the files of one path or of several paths.

    Raises:
        InputError: there is no file at a path, or an argument is not a path.
    """
    if isinstance(paths, Iterable) and not isinstance(paths, str | bytes):
        return [find_file(path) for path in paths]
    return [find_file(paths)]


def _check_roles(columns: object) -> None:
    """Raise InputError if `columns` is not a mapping of names to roles."""
    if columns is None:
        return
    if not isinstance(columns, Mapping) or not all(
        isinstance(one, str) for pair in columns.items() for one in pair
    ):
        raise InputError(
            "The option columns= must give a role for each name, as texts in a dictionary."
            ' Write for example {"mt": "output:alpha"}.'
        )


def _is_analysis(path: Path) -> bool:
    """Return whether a file starts with the header of an analysis."""
    with path.open("rb") as file:
        start = file.readline(_HEADER_BYTES)
    try:
        read_header(start.rstrip(b"\n"), path.name)
    except DamagedHeader:
        return False
    return True


def _read_dataset_files(paths: Iterator[Path]) -> dict[str, Path]:
    """Return the files of a dataset by name, with the pictures and sounds next to a table."""
    found: dict[str, Path] = {}
    for path in paths:
        if path.name in found:
            raise InputError(
                f'Two of the files are called "{shorten(path.name)}", but every file of a set'
                " needs its own name. Rename one of them."
            )
        found[path.name] = path
    for path in list(found.values()):
        found = {**find_media_beside(path), **found}
    return found


def _set_without_texts(runs: Sequence[RowFile]) -> Dataset:
    """Return a dataset of blank examples for analyses whose dataset file was not given."""
    count = 1 + max((place for run in runs for place in run.rows), default=-1)
    name = runs[0].header.dataset if runs else ""
    return Dataset(name, tuple(Example(str(place + 1), "") for place in range(count)), {})


def _check_set(run: RowFile, first: RowFile, dataset: Dataset | None) -> None:
    """Raise InputError if an analysis belongs to another dataset than the files."""
    wanted = dataset.digest if dataset else first.header.digest
    if run.header.digest not in (wanted, dataset.earlier_digest if dataset else wanted):
        other = dataset.name if dataset else first.header.dataset
        raise InputError(
            f'"{run.path.name}" is an analysis of the set "{shorten(run.header.dataset)}", whose'
            f' examples differ from those of "{shorten(other)}". Load each set by itself.'
        )


def _read_judgements(
    paths: AnyPath | Sequence[AnyPath], dataset: Dataset, digest: str, systems: Sequence[str]
) -> list[Judgement]:
    found: list[Judgement] = []
    for path in _list_given_files(paths):
        found += read_judgements(path.name, path.read_bytes(), dataset, systems)
    return [one for one in found if one.dataset == digest]


def _with_titles(systems: Sequence[_System]) -> Iterator[tuple[str, _System]]:
    """Yield each system with a unique title: a repeated name gets a number."""
    seen: dict[str, int] = {}
    for one in systems:
        seen[one.name] = number = seen.get(one.name, 0) + 1
        yield (one.name if number == 1 else f"{one.name} ({number})"), one


def _build_frame(
    dataset: Dataset, titled: tuple[str, _System], judgements: Sequence[Judgement]
) -> pd.DataFrame:
    """Return the rows of one system, with the columns of `build_table`."""
    title, system = titled
    judged = group_by_example(judgements, system.name, system.rows)
    scores = average_ratings(judged, len(dataset.examples))
    made = with_scores(build_table(dataset, [system.rows]), [{**system.scores, **scores}])
    made.insert(0, "example", made.index.to_numpy(int) + 1)
    made.insert(1, "system", title)
    there: dict[int, list[Judgement]] = {}
    for one in judgements:
        row = system.rows.get(one.example)
        is_here = one.model == system.name and row is not None and row.output == one.output
        if is_here and one.rater and not one.differs:
            there.setdefault(one.example, []).append(one)
    if there:
        marks = [_list_marks(there.get(int(place), ())) for place in made.index]
        made["marks"] = pd.Series(marks, made.index, dtype=object)
    return made


def _list_marks(judgements: Sequence[Judgement]) -> list[dict[str, Any]]:
    """Return the errors that all raters marked, each with its rater and the marked text."""
    found = []
    for one in judgements:
        for span in one.spans:
            marked = {"rater": one.rater, "marked": one.get_marked_text(span), **asdict(span)}
            found.append(marked)
    return found


def _join_frames(frames: Sequence[pd.DataFrame], has_texts: bool) -> pd.DataFrame:
    """Return the rows of all systems in the order of the examples, with plain column names."""
    if not has_texts:
        frames = [frame.drop(columns=list(_OF_SET)) for frame in frames]
    joined = pd.concat(frames, ignore_index=True)
    joined = joined.sort_values("example", kind="stable", ignore_index=True)
    marks = [column for column in joined.columns if column == "marks"]
    ordered = [column for column in joined.columns if column != "marks"] + marks
    return joined[[column for column in ordered if _has_values(joined[column])]].rename(
        columns=_strip_column_prefixes(ordered)
    )


def _has_values(column: pd.Series) -> bool:
    """Return whether a column has any value. The column of outputs always counts as having one."""
    if column.name == "output_0":
        return True
    return bool((column.notna() & (column.astype(object) != "")).any())


def _strip_column_prefixes(columns: Sequence[str]) -> dict[str, str]:
    """Return column names without the prefixes of a table of runs, as long as they stay unique."""
    found: dict[str, str] = {}
    taken = set()
    for column in columns:
        if not column.startswith((META, SCORE)):
            found[column] = column.removesuffix("_0")
            taken.add(found[column])
    for column in columns:
        if column not in found:
            marked = column if column.startswith(META) else column.removesuffix("_0")
            plain = marked.removeprefix(META).removeprefix(SCORE)
            found[column] = marked if plain in taken else plain
            taken.add(found[column])
    return found
