"""Export and import of notes, ratings and marked errors. An import can be undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import PurePosixPath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.analysis.marked_error_files import FORMATS as MARKED_FORMATS
from areaviz.analysis.marked_error_files import read_judgements, read_judgements_of_set
from areaviz.analysis.pearmut_export import MAX_RATERS, PROTOCOLS, to_campaign
from areaviz.analysis.wmt_export import to_wmt
from areaviz.app.run import get_user_digest
from areaviz.app.texts import defer_errors, pluralise, show_deferred, show_errors
from areaviz.notes.annotations import Annotation, Annotations
from areaviz.notes.error_spans import Judgement
from areaviz.notes.exchange import FORMATS, MAX_MEGABYTES, Context, from_bytes, to_bytes
from areaviz.notes.judgement_files import to_jsonl
from areaviz.notes.marot import to_marot
from areaviz.notes.record_types import R
from areaviz.notes.records import Records
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.dataset_form import ChosenSet
from areaviz.ui.analyse.link_access import draw_download_button
from areaviz.ui.analyse.stored_data import list_judgements, open_note_store
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.app.imports import import_once

# Session key: the error of an import of the ratings in a dataset's files.
SET_PROBLEM_KEY = "set_marks_problem"


def draw_notes_import_export(systems: Systems) -> None:
    """Draw buttons to export the notes on a dataset, an uploader for import, and the imports."""
    notes, digest = open_note_store().notes, systems.dataset.digest
    count = notes.count(digest)

    def export() -> None:
        said = f"{pluralise(count, 'note')} on this set"
        st.caption(said if count else "No notes on this set yet", width="content")
        for kind, (label, mime) in FORMATS.items() if count else ():
            make = partial(_export_notes, notes, kind, systems)
            draw_download_button(label, make, f"areaviz-notes.{kind}", mime, f"notes_{kind}")

    about = "Each note comes with its source, its output and the reference." if count else ""
    with st.expander("Export or import notes", key="notes_files", type="compact"):
        ask = "Import notes that were exported here"
        given = _draw_import_export_row("notes", export, ask, about)
        with show_errors("reading the notes"):
            if given is not None:
                import_once("notes_import", given, partial(_import_notes, digest, given))
        _draw_imports(notes, digest, "notes_import_problem")


def draw_errors_import_export(systems: Systems, judgements: Sequence[Judgement]) -> None:
    """Draw buttons to export the errors in a dataset, an uploader for import, and the imports."""
    store, dataset = open_note_store().judgements, systems.dataset

    def export() -> None:
        said = f"{pluralise(len(judgements), 'judged output')} on this set"
        st.caption(said if judgements else "No errors were marked yet", width="content")
        if judgements:
            _draw_error_downloads(systems, judgements)
        _draw_campaign_menu(systems, judgements)

    with st.expander("Export or import marked errors", key="judged_files", type="compact"):
        ask = "Import errors and ratings of this set"
        given = _draw_import_export_row("judged", export, ask, help=MARKED_FORMATS)
        with show_errors("reading the errors"):
            if given is not None:
                import_once("judged_import", given, partial(_import_errors, systems, given))
        _draw_imports(store, dataset.digest, "judged_import_problem")


def draw_marks_import(chosen: ChosenSet, systems: Systems) -> None:
    """Draw a button that imports the ratings and errors in the files of a dataset.

    The button is there until the dataset has ratings. Other readers of the dataset see what is
    imported, so nothing is imported without a click.
    """
    show_deferred(SET_PROBLEM_KEY)
    if chosen.marked_files and not list_judgements(chosen.dataset.digest):
        st.button(
            "Show the ratings and errors in the files",
            key="set_marks",
            on_click=_import_set_marks,
            args=(chosen, tuple(systems.names)),
            help="Imports them. You can undo the import under Export or import marked errors. Every"
            " reader who has the same set sees them.",
        )


def _import_set_marks(chosen: ChosenSet, names: Sequence[str]) -> None:
    with defer_errors("importing the ratings", SET_PROBLEM_KEY):
        found = read_judgements_of_set(chosen.marked_files, chosen.dataset, names)
        merged = open_note_store().judgements.merge(found, get_user_digest())
        st.toast(f"{pluralise(merged.new, 'judged output')} imported.")


def _draw_import_export_row(
    name: str, export: Callable[[], None], ask: str, about: str = "", help: str | None = None
) -> UploadedFile | None:
    """Draw the row of exports and the uploader, and return the uploaded file."""
    with st.container(horizontal=True, vertical_alignment="center"):
        export()
    if about:
        st.caption(about)
    return st.file_uploader(ask, key=f"{name}_given", help=help, max_upload_size=MAX_MEGABYTES)


def _draw_error_downloads(systems: Systems, judgements: Sequence[Judgement]) -> None:
    """Draw a download button for each format of marked errors."""
    dataset, lines, tsv = systems.dataset, "application/jsonl", "text/tab-separated-values"
    make = partial(to_jsonl, judgements)
    draw_download_button("JSON Lines", make, "areaviz-errors.jsonl", lines, "judged_jsonl")
    make = partial(to_marot, judgements, dataset.name)
    draw_download_button("Marot's TSV", make, "areaviz-errors.tsv", tsv, "judged_tsv")
    make = partial(to_wmt, judgements, dataset, systems.outputs)
    draw_download_button("WMT JSON Lines", make, "areaviz-humeval.jsonl", lines, "judged_wmt")


def _draw_campaign_menu(systems: Systems, judgements: Sequence[Judgement]) -> None:
    """Draw the choices of a campaign of Pearmut, and a button that downloads it.

    Sets with pictures, sounds or clips have no campaign, because a campaign has only texts.
    """
    outputs = systems.outputs
    if systems.dataset.files or not any(outputs.values()):
        return
    with st.popover("Rate with Pearmut", key="pearmut", type="tertiary"):
        st.caption(
            "Each rater gets all outputs. Errors of xCOMET are marked beforehand. Import the"
            " annotations here when they are done."
        )
        protocol = st.segmented_control(
            "Protocol",
            PROTOCOLS,
            key="pearmut_protocol",
            default=PROTOCOLS[0],
            required=True,
            help="ESA: errors and a score. MQM: errors with categories and a score. DA: a score.",
        )
        raters = int(st.number_input("Raters", 1, MAX_RATERS, key="pearmut_raters"))
        given = systems.dataset, outputs, judgements
        make = partial(to_campaign, *given, protocol=str(protocol), raters=raters)
        name = "areaviz-pearmut.json"
        draw_download_button("Campaign (JSON)", make, name, "application/json", "pearmut_campaign")


def _draw_imports(records: Records[R], dataset: str, problem_key: str) -> None:
    """Draw the user's imports of notes or judgements, each with a button that undoes it."""
    for one in records.list_imports(dataset, get_user_digest()):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            said = f"Your import of {one.time}: {pluralise(one.records, records.one)} ({one.id})"
            st.caption(said, width="content")
            with st.popover("Undo", key=f"undoing_{one.id}", type="tertiary"):
                st.caption(
                    "This removes everything that the file brought in, on all sets, including what"
                    " you changed since."
                )
                undo = records, one.id, problem_key
                st.button("Undo the import", key=f"undo_{one.id}", on_click=_undo_import, args=undo)
    show_deferred(problem_key)


def _undo_import(records: Records[R], import_id: str, problem_key: str) -> None:
    with defer_errors("undoing the import", problem_key):
        removed = records.undo_import(import_id, get_user_digest())
        st.toast(f"Removed {pluralise(removed, records.one)}.")


def _export_notes(notes: Annotations, kind: str, systems: Systems) -> bytes:
    """Return all notes on the dataset as a file. Streamlit calls this outside the session."""
    found = notes.list_all(systems.dataset.digest)
    return to_bytes(found, kind, _build_contexts(found, systems))


def _build_contexts(notes: Sequence[Annotation], systems: Systems) -> dict[int, Context]:
    """Return the texts of examples that are exported next to their notes, by index."""
    examples, found = systems.dataset.examples, {}
    for place in {note.example for note in notes if note.example < len(examples)}:
        outputs = {}
        for name, run in zip(systems.names, systems.runs, strict=True):
            if place in run.rows:
                outputs[name] = run.rows[place].output
        example = examples[place]
        reference = next(iter(example.references), "")
        found[place] = Context(example.name, example.text, reference, outputs)
    return found


def _import_notes(dataset: str, given: UploadedFile) -> str:
    """Import a file of notes, and return the sentence that describes the result."""
    kind = PurePosixPath(given.name).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        raise InputError(f"Notes are imported from {', '.join(FORMATS)} files. Choose such a file.")
    read = from_bytes(given.getvalue(), kind)
    merged = open_note_store().notes.merge(read, get_user_digest())
    said = f"{pluralise(len(read), 'note')} read"
    others = sum(note.dataset != dataset for note in read)
    if others:
        said += f", {others:,} on other sets"
    new = merged.new + merged.differing
    said += f", {new:,} new and saved." if new else ", none new."
    if merged.differing:
        verb = "differs" if merged.differing == 1 else "differ"
        said += f" {merged.differing:,} {verb} from a note that was here. Both are kept."
    return said


def _import_errors(systems: Systems, given: UploadedFile) -> str:
    """Import a file of judgements, and return the sentence that describes the result."""
    dataset = systems.dataset
    read = read_judgements(given.name, given.getvalue(), dataset, systems.names)
    merged = open_note_store().judgements.merge(read, get_user_digest())
    said = f"{pluralise(len(read), 'judged output')} read, {merged.new:,} new."
    others = sum(one.dataset != dataset.digest for one in read)
    if others:
        said += f" {others:,} are of other sets."
    if merged.differing:
        said += f" {merged.differing:,} differ from what the same rater marked here. Both are kept."
    return said
