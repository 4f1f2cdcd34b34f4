"""All notes of a set as files, each with the example it is on, and back again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import PurePosixPath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.data.examples import Dataset
from areaviz.notes.annotations import Annotation, Annotations
from areaviz.notes.exchange import FORMATS, MAX_MEGABYTES, Context, from_bytes, to_bytes
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.notes import systems
from areaviz.ui.analyse.stored import Analysis, StoredRows, note_store
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.markdown import counted

# In the session: which file was brought in, and what came of it.
BROUGHT = "note_brought"


def exchange(dataset: Dataset, analyses: Sequence[Analysis], runs: Sequence[StoredRows]) -> None:
    """Draw all notes on a set as files, and an uploader for files of notes."""
    notes = note_store().notes
    found = notes.of(dataset.digest)
    with st.expander("Export or import notes", key="notes_files", type="compact"):
        with st.container(horizontal=True, vertical_alignment="center"):
            said = f"{counted(len(found), 'note')} on this set"
            st.caption(said if found else "No notes on this set yet", width="content")
            for kind, (label, mime) in FORMATS.items() if found else ():
                st.download_button(
                    label,
                    partial(_exported, found, kind, analyses, runs),
                    f"areaviz-notes.{kind}",
                    mime,
                    key=f"notes_{kind}",
                    on_click="ignore",
                )
        if found:
            st.caption("Each with the source, the output it is about and the reference.")
        given = st.file_uploader(
            "Bring in notes that were exported here",
            type=list(FORMATS),
            key="notes_given",
            max_upload_size=MAX_MEGABYTES,
        )
        if given is not None:
            with show_errors("reading the notes"):
                st.caption(_brought_in(notes, dataset.digest, given))


def _exported(
    notes: Sequence[Annotation],
    kind: str,
    analyses: Sequence[Analysis],
    runs: Sequence[StoredRows],
) -> bytes:
    """The notes as a file of a kind."""
    return to_bytes(notes, kind, _examples(notes, analyses, runs))


def _examples(
    notes: Sequence[Annotation], analyses: Sequence[Analysis], runs: Sequence[StoredRows]
) -> dict[int, Context]:
    """What the examples of notes are."""
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


def _brought_in(notes: Annotations, dataset: str, given: UploadedFile) -> str:
    """What came of a file, which is read once: a note that is removed afterwards stays removed."""
    done: tuple[str, str] = st.session_state.get(BROUGHT, ("", ""))
    if done[0] != given.file_id:
        done = given.file_id, _bring_in(notes, dataset, given.name, given.getvalue())
        st.session_state[BROUGHT] = done
    return done[1]


def _bring_in(notes: Annotations, dataset: str, name: str, data: bytes) -> str:
    kind = PurePosixPath(name).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(
            f"Notes are brought in from {', '.join(FORMATS)} files; choose one of those."
        )
    read = from_bytes(data, kind)
    merged = notes.merge(read)
    said = f"{counted(len(read), 'note')} read"
    others = sum(note.dataset != dataset for note in read)
    if others:
        said += f", {others:,} on other sets"
    new = merged.new + merged.differing
    if new:
        said += f", {new:,} new and saved now."
    else:
        said += ", none new."
    if merged.differing:
        is_one = merged.differing == 1
        verb, stand = ("differs", "stands") if is_one else ("differ", "stand")
        said += f" {merged.differing:,} {verb} from a note that was here and {stand} beside it."
    return said
