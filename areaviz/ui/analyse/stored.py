"""What is stored on a set: rows of analyses, notes, slices; whose it is, and its deletion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd
import streamlit as st

from areaviz.analysis.retention import (
    Removed,
    keep_days,
    make_private,
    notes_address,
    own_analyses,
    remove_old,
)
from areaviz.analysis.row_lines import DamagedHeader, Header, Row
from areaviz.analysis.rows import RowFile, analyses_folder, remove_rows, rows_path
from areaviz.analysis.table import summary, table_of
from areaviz.data.examples import Dataset
from areaviz.notes.annotations import Annotations
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.trace.request import Request
from areaviz.ui.analyse.dataset_form import delete_files, has_files
from areaviz.ui.shell.errors import defer_errors, problem, show_deferred
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.reader import reader_mark

PROBLEM = "analyse_kept_problem"
# Seconds that what is computed of rows is cached, and between two removals of what is old.
HOUR = 3600
# Damaged lines that are named.
MAX_LINES = 5


@dataclass(frozen=True, slots=True)
class Analysis:
    """One model and its options on a set."""

    # For any example: without text and picture.
    request: Request
    # Of the model.
    title: str
    # Where its rows lie, and what they are headed by.
    path: Path
    header: Header


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


def _mark(stored: StoredRows) -> tuple[str, int, int]:
    return stored.mark


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
    """One store, with its notes and slices; opened once for all sessions."""

    store: Store
    notes: Annotations
    slices: Slices


def note_store() -> NoteStore:
    """The notes and slices of this app; raises BackendError where they cannot be opened."""
    return _opened(notes_address())


def remove_old_work() -> None:
    """Remove what is older than the operator's days, at most once an hour.

    Raises:
        InputError: the setting is no number of days.
        BackendError: the store cannot be opened or written to.
    """
    days = keep_days()
    if days is not None:
        _removed_old(days, notes_address(), str(analyses_folder()))


@st.cache_resource(show_spinner=False, max_entries=4, ttl=HOUR)
def _removed_old(days: float, url: str, folder: str) -> Removed:
    return remove_old(_opened(url).store, Path(folder), days)


@st.cache_resource(show_spinner="Opening the notes", max_entries=4)
def _opened(url: str) -> NoteStore:
    make_private(analyses_folder())
    store = Store.open(url)
    return NoteStore(store, Annotations(store), Slices(store))


def show_ownership(
    dataset: Dataset, analyses: Sequence[Analysis], runs: Sequence[StoredRows]
) -> None:
    """Draw whose analyses these are, what is damaged or older, and the menu that deletes.

    Args:
        dataset: the set.
        analyses: of the set.
        runs: the rows of each.
    """
    show_deferred(PROBLEM)
    for run in runs:
        if run.damage:
            problem(run.damage)
    if dataset.earlier_digest:
        _earlier(dataset, analyses)
    begun = [run for run in runs if run.rows]
    with st.container(horizontal=True, vertical_alignment="center"):
        if begun:
            sentences = dict.fromkeys(_owner(run) for run in begun)
            st.caption(". ".join(sentences), width="content")
        if begun or has_files():
            _delete_menu(dataset, begun)


def _owner(run: StoredRows) -> str:
    if run.reader == reader_mark():
        return "Begun by you"
    if run.reader:
        return "Begun by somebody else who has this set"
    return "Begun on the command line or by an older app"


def _earlier(dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    """Analyses and notes of the time when sets were known by the names of their pictures alone."""
    earlier = dataset.earlier_digest
    paths = [rows_path(replace(analysis.header, digest=earlier)) for analysis in analyses]
    there = ", ".join(path.name for path in paths if path.exists())
    if there:
        st.caption(
            f"An earlier analysis of these texts and names of pictures is kept as {escaped(there)}."
            " It was told from others by the names of its pictures alone, so nobody knows whether"
            " it was of these pictures; run it again."
        )
    store = note_store()
    notes, slices = store.notes.of(earlier), store.slices.of(earlier)
    has_own = store.notes.of(dataset.digest) or store.slices.of(dataset.digest)
    if (notes or slices) and not has_own:
        st.caption(
            f"{len(notes):,} notes and {len(slices):,} slices were written on a set with these"
            " texts and names of pictures, perhaps on other pictures."
        )
        st.button("Bring them to this set", on_click=_take_over, args=(earlier, dataset.digest))


def _take_over(earlier: str, digest: str) -> None:
    with defer_errors("bringing the notes to this set", PROBLEM):
        notes = note_store().notes.take_over(earlier, digest)
        slices = note_store().slices.take_over(earlier, digest, reader_mark())
        st.toast(f"{notes:,} notes and {slices:,} slices were brought to this set.")


def _delete_menu(dataset: Dataset, begun: Sequence[StoredRows]) -> None:
    """A menu in which the reader deletes what is theirs; what others wrote stays."""
    own = [Path(run.mark[0]) for run in begun if run.reader == reader_mark()]
    with st.popover("Delete", key="analyse_delete", type="tertiary"):
        if own:
            st.caption(
                "The rows of your analyses of these models on this set. Notes and slices stay."
            )
            label = "Delete the analysis" if len(own) == 1 else f"Delete the {len(own)} analyses"
            st.button(
                label,
                key="analyse_delete_rows",
                on_click=_delete_rows,
                args=(own,),
            )
        st.caption(
            "All that is yours on this set: analyses of any model, notes and slices; and the files"
            " you uploaded."
        )
        label, digest = "Delete all of mine", dataset.digest
        st.button(
            label,
            key="analyse_delete_all",
            on_click=_delete_all,
            args=(digest,),
        )


def _delete_rows(paths: Sequence[Path]) -> None:
    with defer_errors("deleting the analysis", PROBLEM):
        for path in paths:
            remove_rows(path, reader_mark())
        st.toast("The analysis was deleted.")


def _delete_all(digest: str) -> None:
    mark, analyses = reader_mark(), 0
    with defer_errors("deleting what is yours", PROBLEM):
        for path, header in own_analyses(analyses_folder(), mark):
            if header.digest == digest:
                remove_rows(path, mark)
                analyses += 1
        notes = note_store().notes.remove_own(digest, mark)
        slices = note_store().slices.remove_own(digest, mark)
        delete_files()
        st.toast(
            f"Deleted: {analyses:,} analyses, {notes:,} notes, {slices:,} slices and the files you"
            " uploaded."
        )
