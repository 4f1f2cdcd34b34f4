"""Export of all notes on a dataset, import of notes, and imports that can be undone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.data.examples import Dataset
from areaviz.notes.annotations import Annotation, Annotations
from areaviz.notes.exchange import FORMATS, MAX_MEGABYTES, Context, from_bytes, to_bytes
from areaviz.notes.record_types import R
from areaviz.notes.records import Records
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.guest import while_shared
from areaviz.ui.analyse.notes import systems
from areaviz.ui.analyse.stored import Analysis, StoredRows, note_store
from areaviz.ui.shell.errors import defer_errors, show_deferred, show_errors
from areaviz.ui.shell.imports import import_once
from areaviz.ui.shell.markdown import counted
from areaviz.ui.shell.reader import reader_mark

# Session keys: the result of the imported file, and the error of an undone import.
RESULT, PROBLEM = "notes_import", "notes_import_problem"


def exchange(dataset: Dataset, analyses: Sequence[Analysis], runs: Sequence[StoredRows]) -> None:
    """Draw buttons to export the notes on a dataset, an uploader for import, and the imports."""
    notes = note_store().notes
    count = notes.count(dataset.digest)
    with st.expander("Export or import notes", key="notes_files", type="compact"):
        with st.container(horizontal=True, vertical_alignment="center"):
            said = f"{counted(count, 'note')} on this set"
            st.caption(said if count else "No notes on this set yet", width="content")
            for kind, (label, mime) in FORMATS.items() if count else ():
                st.download_button(
                    label,
                    while_shared(partial(_exported, notes, kind, analyses, runs)),
                    f"areaviz-notes.{kind}",
                    mime,
                    key=f"notes_{kind}",
                    on_click="ignore",
                )
        if count:
            st.caption("Each note comes with its source, its output and the reference.")
        given = st.file_uploader(
            "Import notes that were exported here",
            key="notes_given",
            max_upload_size=MAX_MEGABYTES,
        )
        if given is not None:
            read = partial(_import, notes, dataset.digest, given)
            with show_errors("reading the notes"):
                import_once(RESULT, given, read)
        list_imports(notes, dataset.digest, PROBLEM)


def list_imports(records: Records[R], dataset: str, problem_key: str) -> None:
    """Draw the user's imports on a dataset, each with a button that undoes it.

    Args:
        records: the notes or the judgements.
        dataset: the digest of the dataset.
        problem_key: the session key for the error of an undone import.
    """
    for one in records.list_imports(dataset, reader_mark()):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            said = f"Your import of {one.time}: {counted(one.records, records.one)} ({one.id})"
            st.caption(said, width="content")
            with st.popover("Undo", key=f"undoing_{one.id}", type="tertiary"):
                st.caption(
                    "This removes everything that the file brought in, on all sets, including what"
                    " you changed since."
                )
                st.button(
                    "Undo the import",
                    key=f"undo_{one.id}",
                    on_click=_undo,
                    args=(records, one.id, problem_key),
                )
    show_deferred(problem_key)


def _undo(records: Records[R], import_id: str, problem_key: str) -> None:
    with defer_errors("undoing the import", problem_key):
        removed = records.undo_import(import_id, reader_mark())
        st.toast(f"Removed {counted(removed, records.one)}.")


def _exported(
    notes: Annotations, kind: str, analyses: Sequence[Analysis], runs: Sequence[StoredRows]
) -> bytes:
    """Return all notes on the dataset as a file in one of the formats."""
    found = notes.list_all(runs[0].dataset.digest)
    return to_bytes(found, kind, _examples(found, analyses, runs))


def _examples(
    notes: Sequence[Annotation], analyses: Sequence[Analysis], runs: Sequence[StoredRows]
) -> dict[int, Context]:
    """Return the texts of examples that are exported next to their notes, by index."""
    dataset = runs[0].dataset
    found = {}
    for place in {note.example for note in notes if note.example < len(dataset.examples)}:
        example = dataset.examples[place]
        outputs = {}
        for name, run in zip(systems(analyses), runs, strict=True):
            if place in run.rows:
                outputs[name] = run.rows[place].output
        reference = next(iter(example.references), "")
        found[place] = Context(example.name, example.text, reference, outputs)
    return found


def _import(notes: Annotations, dataset: str, given: UploadedFile) -> str:
    """Import a file of notes, and return the sentence that describes the result."""
    kind = PurePosixPath(given.name).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"Notes are imported from {', '.join(FORMATS)} files. Choose such a file.")
    read = from_bytes(given.getvalue(), kind)
    merged = notes.merge(read, reader_mark())
    said = f"{counted(len(read), 'note')} read"
    others = sum(note.dataset != dataset for note in read)
    if others:
        said += f", {others:,} on other sets"
    new = merged.new + merged.differing
    said += f", {new:,} new and saved." if new else ", none new."
    if merged.differing:
        verb = "differs" if merged.differing == 1 else "differ"
        said += f" {merged.differing:,} {verb} from a note that was here. Both are kept."
    return said
