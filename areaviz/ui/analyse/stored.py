"""What is stored on a set: the rows of its analyses, notes and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from areaviz.analysis.date_check import is_date_steady
from areaviz.analysis.retention import Removed, keep_days, make_private, notes_address, remove_old
from areaviz.analysis.row_lines import DamagedHeader, Header, Row
from areaviz.analysis.rows import RowFile, analyses_folder, rows_path
from areaviz.analysis.run import header, outputs_digest, rows_of_outputs
from areaviz.analysis.table import summary, table_of
from areaviz.cards.card import Card
from areaviz.data.examples import Dataset
from areaviz.notes.annotations import Annotations
from areaviz.notes.error_spans import Judgement
from areaviz.notes.judgements import Judgements
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.trace.request import Request
from areaviz.ui.analyse.guest import check_writing, is_guest
from areaviz.ui.shell.markdown import visible
from areaviz.ui.shell.reader import reader_mark

# Seconds that what is computed of rows is cached, and between two removals of what is old.
HOUR = 3600
# Damaged lines that are named.
MAX_LINES = 5


@dataclass(frozen=True, slots=True)
class Analysis:
    """One system on a set: a model with its options, or what another system wrote for it."""

    # Of the model, or the name of the file of outputs.
    title: str
    # For any example, without text and picture; None of outputs.
    request: Request | None = None
    # Where a model's rows lie, and what they are headed by.
    path: Path | None = None
    header: Header | None = None
    # What another system wrote, one for each example, None where it wrote nothing.
    outputs: tuple[str | None, ...] = ()
    # More measures of it by name, a value for each example (`areaviz/analysis/table.py`).
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # In blind rating, where the title is an alias: by which marks and notes know the system.
    name: str = ""

    def rows(self, dataset: Dataset) -> StoredRows:
        """What there is of it on its set now; raises as `stored_rows`."""
        if self.path is not None:
            return stored_rows(self.path, dataset)
        mark = outputs_digest(self.outputs), len(self.outputs), 0
        return StoredRows(dataset, mark, _measured(mark[0], dataset.digest, dataset, self.outputs))


def model_analysis(dataset: Dataset, request: Request, card: Card) -> Analysis:
    """Return what a model with its options is on a set."""
    about = header(dataset, request, card, reader_mark())
    return Analysis(card.title, request, rows_path(about), about)


def outputs_analysis(
    name: str, outputs: tuple[str | None, ...], scores: Mapping[str, Sequence[float]]
) -> Analysis:
    """Return what another system wrote, with its scores from files."""
    return Analysis(visible(name), outputs=outputs, scores=scores)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """One model's rows so far on a set."""

    dataset: Dataset
    # Tells them from all others: their file, its bytes and its time.
    mark: tuple[str, int, int]
    rows: Mapping[int, Row] = field(default_factory=dict)
    # The mark of who began it, "" for the command line.
    reader: str = ""
    # What cannot be read, one sentence, or "".
    damage: str = ""


def stored_rows(path: Path, dataset: Dataset) -> StoredRows:
    """What a file of rows on a set has now; a file that is missing has none.

    Raises:
        InputError: the file is of a newer version.
        BackendError: the file cannot be read.
    """
    name, damage = str(path.absolute()), ""
    try:
        about = path.stat()
        mark = name, about.st_size, about.st_mtime_ns
        return StoredRows(dataset, mark, *_read(*mark))
    except FileNotFoundError:
        pass
    except DamagedHeader:
        damage = (
            f"The first line of {path.name} is damaged, so nobody knows what its rows are of; when"
            " this is run, the file is kept under another name."
        )
    return StoredRows(dataset, (name, 0, 0), damage=damage)


@st.cache_resource(show_spinner="Measuring the outputs", max_entries=8, ttl=HOUR)
def _measured(
    outputs: str, digest: str, _dataset: Dataset, _lines: Sequence[str | None]
) -> Mapping[int, Row]:
    """Rows of outputs, which are known by their digest and that of the set."""
    return rows_of_outputs(_dataset, _lines)


def _mark(stored: StoredRows) -> tuple[object, ...]:
    """Return what tells these rows on this set from all others.

    The same outputs can be brought for two sets, and a set with other metadata.
    """
    return *stored.mark, stored.dataset.digest, stored.dataset.metadata_digest


@st.cache_resource(show_spinner=False, max_entries=8, ttl=HOUR)
def _read(path: str, size: int, modified: int) -> tuple[Mapping[int, Row], str, str]:
    """Rows, the reader's mark and what is damaged; size and time tell versions of a file apart."""
    file = RowFile.read(Path(path))
    return file.rows, file.header.reader, _damage(file) if file.damaged else ""


def _damage(file: RowFile) -> str:
    numbers = ", ".join(f"{number:,}" for number in file.damaged[:MAX_LINES])
    if len(file.damaged) > MAX_LINES:
        numbers += f" and {len(file.damaged) - MAX_LINES:,} more"
    if len(file.damaged) == 1:
        lines, are, examples = "Line", "is", "its example is"
    else:
        lines, are, examples = "Lines", "are", "their examples are"
    return (
        f"{lines} {numbers} of {file.path.name} {are} damaged and left out; when this goes on,"
        f" {examples} run again and the file is kept as it is under another name."
    )


@st.cache_resource(
    show_spinner=False,
    max_entries=8,
    ttl=HOUR,
    hash_funcs={StoredRows: _mark},
)
def examples_table(runs: tuple[StoredRows, ...]) -> pd.DataFrame:
    """`table_of` these runs; all who ask share the one object, so never change it."""
    return table_of(runs[0].dataset, [run.rows for run in runs])


@st.cache_data(
    show_spinner=False,
    max_entries=512,
    ttl=HOUR,
    hash_funcs={StoredRows: _mark, tuple: repr},
)
def figures(run: StoredRows, places: tuple[int, ...] | None = None) -> Mapping[str, float]:
    """The `summary` of a run, or of its rows of the examples at some places."""
    if places is None:
        return summary(run.dataset, run.rows)
    chosen = {place: run.rows[place] for place in places if place in run.rows}
    return summary(run.dataset, chosen)


@dataclass(frozen=True, slots=True)
class NoteStore:
    """One store, with what is in it; opened once for all sessions."""

    store: Store
    notes: Annotations
    slices: Slices
    judgements: Judgements


def note_store() -> NoteStore:
    """What people wrote in this app; raises BackendError where it cannot be opened.

    Who sees the page by a shared link gets a store that refuses what the link does not allow.
    """
    opened = _opened(notes_address())
    return _stores(opened.store.checked(check_writing)) if is_guest() else opened


def judgements_of(dataset: str) -> Sequence[Judgement]:
    """Return all judgements of a set; reading them again costs little while nobody changes them."""
    mark = note_store().judgements.revision(dataset)
    return _judgements(notes_address(), dataset, mark)


@st.cache_resource(show_spinner=False, max_entries=4, ttl=HOUR)
def _judgements(url: str, dataset: str, revision: tuple[object, ...]) -> Sequence[Judgement]:
    return tuple(_opened(url).judgements.list_all(dataset))


def remove_old_work() -> None:
    """Remove what is older than the operator's days, at most once an hour.

    Nothing is removed within a day after the date of this machine jumped.

    Raises:
        InputError: the setting is no number of days.
        BackendError: the store cannot be opened or written to.
    """
    days = keep_days()
    if days is not None:
        _removed_old(days, notes_address(), str(analyses_folder()))


@st.cache_resource(show_spinner=False, max_entries=4, ttl=HOUR)
def _removed_old(days: float, url: str, folder: str) -> Removed | None:
    if not is_date_steady(Path(folder), datetime.now(UTC)):
        return None
    return remove_old(_opened(url).store, Path(folder), days)


@st.cache_resource(show_spinner="Opening the notes", max_entries=4)
def _opened(url: str) -> NoteStore:
    make_private(analyses_folder())
    return _stores(Store.open(url))


def _stores(store: Store) -> NoteStore:
    return NoteStore(store, Annotations(store), Slices(store), Judgements(store))
