"""Stored data of a dataset: the rows of its analyses, notes, judgements and slices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import streamlit as st

from areaviz.analysis.date_check import is_date_steady
from areaviz.analysis.retention import Removed, get_notes_address, make_private, remove_old
from areaviz.analysis.row_lines import DamagedHeader, Header, Row
from areaviz.analysis.rows import RowFile, find_analyses_folder, find_rows_path
from areaviz.analysis.run import hash_outputs, make_header, make_rows_from_outputs
from areaviz.analysis.stored_analysis import find_stored_analysis
from areaviz.analysis.table import build_table, summarise_table
from areaviz.app.run import get_user_digest
from areaviz.cards.card import Card
from areaviz.draw.labels import escape_controls
from areaviz.notes.annotations import Annotations
from areaviz.notes.error_spans import Judgement
from areaviz.notes.judgements import Judgements
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.samples.dataset import Dataset
from areaviz.shares.keeping import keep_days
from areaviz.trace.request import Request
from areaviz.ui.analyse.link_access import check_writing, is_guest

# Seconds that results computed from rows are cached, and between deletions of old work.
SECONDS_PER_HOUR = 3600
# Largest number of damaged lines listed.
MAX_LISTED_LINES = 5


@dataclass(frozen=True, slots=True)
class Analysis:
    """A system's analysis of a dataset: a model with its options, or outputs from a file."""

    # The title of the model, or the name of the file of outputs.
    title: str
    # The request without text and picture, for every example; None for outputs from a file.
    request: Request | None = None
    # The file with a model's rows, and its header.
    path: Path | None = None
    header: Header | None = None
    # The outputs from a file: one per example, or None for a missing output.
    outputs: tuple[str | None, ...] = ()
    # Additional metrics by name, a value for each example (`areaviz/analysis/table.py`).
    scores: Mapping[str, Sequence[float]] = field(default_factory=dict)
    # In blind rating, where the title is an alias: the name by which marks and notes refer to it.
    name: str = ""

    def read_rows(self, dataset: Dataset) -> StoredRows:
        """Return its present rows on its dataset; raises as `read_stored_rows`."""
        if self.path is not None:
            return read_stored_rows(self.path, dataset)
        mark = hash_outputs(self.outputs), len(self.outputs), 0
        return StoredRows(
            dataset, mark, _measure_outputs(mark[0], dataset.digest, dataset, self.outputs)
        )


def build_model_analysis(dataset: Dataset, request: Request, card: Card) -> Analysis:
    """Return the analysis of a dataset by a model with its options."""
    about = make_header(dataset, request, card, get_user_digest())
    path = find_rows_path(about)
    if not path.exists():
        # The rows with which the page opens are part of the app.
        path = find_stored_analysis(about) or path
    return Analysis(card.title, request, path, about)


def build_outputs_analysis(
    name: str, outputs: tuple[str | None, ...], scores: Mapping[str, Sequence[float]]
) -> Analysis:
    """Return the analysis of another system's outputs, with its scores from files."""
    return Analysis(escape_controls(name), outputs=outputs, scores=scores)


@dataclass(frozen=True, slots=True)
class StoredRows:
    """One system's rows on a dataset so far."""

    dataset: Dataset
    # Identifies the rows: their file, its size in bytes and its time.
    mark: tuple[str, int, int]
    rows: Mapping[int, Row] = field(default_factory=dict)
    # The id of the user who started it, "" for the command line.
    reader: str = ""
    # A sentence about unreadable parts, or "".
    damage: str = ""


def read_stored_rows(path: Path, dataset: Dataset) -> StoredRows:
    """Return the present rows in a file on a dataset. A missing file has none.

    Raises:
        InputError: a newer version of the app wrote the file.
        BackendError: the file cannot be read.
    """
    name, damage = str(path.absolute()), ""
    try:
        about = path.stat()
        mark = name, about.st_size, about.st_mtime_ns
        return StoredRows(dataset, mark, *_read_rows(*mark))
    except FileNotFoundError:
        pass
    except DamagedHeader:
        damage = (
            f"The first line of {path.name} is damaged, so its rows cannot be used. If you run"
            " this analysis, the file is kept under another name."
        )
    return StoredRows(dataset, (name, 0, 0), damage=damage)


@st.cache_resource(show_spinner="Measuring the outputs", max_entries=8, ttl=SECONDS_PER_HOUR)
def _measure_outputs(
    outputs: str, digest: str, _dataset: Dataset, _lines: Sequence[str | None]
) -> Mapping[int, Row]:
    """Return the rows of outputs, cached by the digests of the outputs and of the dataset."""
    return make_rows_from_outputs(_dataset, _lines)


def _make_rows_key(stored: StoredRows) -> tuple[object, ...]:
    """Return a key that identifies these rows on this dataset.

    The outputs may be uploaded for two datasets, and a dataset may be uploaded with other metadata.
    """
    return *stored.mark, stored.dataset.digest, stored.dataset.metadata_digest


@st.cache_resource(show_spinner=False, max_entries=8, ttl=SECONDS_PER_HOUR)
def _read_rows(path: str, size: int, modified: int) -> tuple[Mapping[int, Row], str, str]:
    """Return the rows, the user's id and the damage. Size and time identify a file's version."""
    file = RowFile.read(Path(path))
    return file.rows, file.header.reader, _describe_damage(file) if file.damaged else ""


def _describe_damage(file: RowFile) -> str:
    numbers = ", ".join(f"{number:,}" for number in file.damaged[:MAX_LISTED_LINES])
    if len(file.damaged) > MAX_LISTED_LINES:
        numbers += f" and {len(file.damaged) - MAX_LISTED_LINES:,} more"
    if len(file.damaged) == 1:
        lines, are, examples = "Line", "is", "its example is"
    else:
        lines, are, examples = "Lines", "are", "their examples are"
    return (
        f"{lines} {numbers} of {file.path.name} {are} damaged and left out. If you continue,"
        f" {examples} run again, and the damaged file is kept under another name."
    )


@st.cache_resource(
    show_spinner=False,
    max_entries=8,
    ttl=SECONDS_PER_HOUR,
    hash_funcs={StoredRows: _make_rows_key},
)
def build_examples_table(runs: tuple[StoredRows, ...]) -> pd.DataFrame:
    """Return `build_table` of these runs. The object is cached and shared, so never change it."""
    return build_table(runs[0].dataset, [run.rows for run in runs])


@st.cache_data(
    show_spinner=False,
    max_entries=512,
    ttl=SECONDS_PER_HOUR,
    hash_funcs={StoredRows: _make_rows_key, tuple: repr},
)
def compute_figures(run: StoredRows, places: tuple[int, ...] | None = None) -> Mapping[str, float]:
    """Return `summarise_table` of a run, or of its rows for some examples."""
    if places is None:
        return summarise_table(run.dataset, run.rows)
    chosen = {place: run.rows[place] for place in places if place in run.rows}
    return summarise_table(run.dataset, chosen)


@dataclass(frozen=True, slots=True)
class NoteStore:
    """A store with its tables; opened once for all sessions."""

    store: Store
    notes: Annotations
    slices: Slices
    judgements: Judgements


def open_note_store() -> NoteStore:
    """Return the store of notes. Raise BackendError if it cannot be opened.

    Users of a shared link get a store that refuses changes that the link does not allow.
    """
    opened = _open_store(get_notes_address())
    return _build_note_store(opened.store.checked(check_writing)) if is_guest() else opened


def list_judgements(dataset: str) -> Sequence[Judgement]:
    """Return all judgements of a dataset. The result is cached until a judgement changes."""
    mark = open_note_store().judgements.revision(dataset)
    return _read_judgements(get_notes_address(), dataset, mark)


@st.cache_resource(show_spinner=False, max_entries=4, ttl=SECONDS_PER_HOUR)
def _read_judgements(url: str, dataset: str, revision: tuple[object, ...]) -> Sequence[Judgement]:
    return tuple(_open_store(url).judgements.list_all(dataset))


def remove_old_work() -> None:
    """Remove items older than the operator's retention period, at most once per hour.

    Nothing is removed within a day after a jump of this machine's date.

    Raises:
        InputError: the setting is not a number of days.
        BackendError: the store cannot be opened or written to.
    """
    days = keep_days()
    if days is not None:
        _remove_old_items(days, get_notes_address(), str(find_analyses_folder()))


@st.cache_resource(show_spinner=False, max_entries=4, ttl=SECONDS_PER_HOUR)
def _remove_old_items(days: float, url: str, folder: str) -> Removed | None:
    if not is_date_steady(Path(folder), datetime.now(UTC)):
        return None
    return remove_old(_open_store(url).store, Path(folder), days)


@st.cache_resource(show_spinner="Opening the notes", max_entries=4)
def _open_store(url: str) -> NoteStore:
    make_private(find_analyses_folder())
    return _build_note_store(Store.open(url))


def _build_note_store(store: Store) -> NoteStore:
    return NoteStore(store, Annotations(store), Slices(store), Judgements(store))
