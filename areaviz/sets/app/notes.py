"""Notes on the open example, and export and import of notes, ratings and marked errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import PurePosixPath
from typing import NamedTuple

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.app.run import get_user_digest
from areaviz.app.texts import (
    defer_errors,
    escape_markdown,
    pluralise,
    show_deferred,
    show_error,
    show_errors,
)
from areaviz.draw.labels import escape_controls
from areaviz.sets.app.form import ChosenSet
from areaviz.sets.app.state import (
    Systems,
    can_write,
    draw_download_button,
    list_judgements,
    open_note_store,
)
from areaviz.sets.notes.exchange import (
    FORMATS,
    MAX_MEGABYTES,
    MAX_RATERS,
    PROTOCOLS,
    Context,
    from_bytes,
    to_bytes,
    to_campaign,
    to_jsonl,
    to_wmt,
)
from areaviz.sets.notes.marot import FORMATS as MARKED_FORMATS
from areaviz.sets.notes.marot import read_judgements, read_judgements_of_set, to_marot
from areaviz.sets.notes.notes import SEVERITIES, TAGS, Annotation, Annotations, Judgement
from areaviz.sets.notes.records import SHORT_ID, R, Records, ShownRecord, Stale
from areaviz.sets.notes.store import LONGEST_NAME, LONGEST_NOTE
from areaviz.trace.errors import BackendError, InputError

# The shared parts of the forms for notes and for marked errors: categories and safe saving.


# Largest number of categories in a form. Users can type any other category.
MAX_CATEGORIES = 100


def list_offered_categories(dataset: str, only_of: str = "") -> list[str]:
    """Return the categories to offer: those of MQM, then those already used in the dataset.

    Args:
        dataset: the digest of the dataset.
        only_of: a rater in blind rating, who sees only personal categories; "" for all categories.
    """
    used = []
    if not only_of:
        used += open_note_store().notes.list_tags(dataset, get_user_digest(), MAX_CATEGORIES)
    for one in list_judgements(dataset):
        if only_of in ("", one.rater):
            used += [span.category for span in one.spans if span.category]
    return list(dict.fromkeys([*TAGS, *used]))[:MAX_CATEGORIES]


@contextmanager
def keep_save_error(doing: str, problem_key: str, stale_key: str) -> Iterator[None]:
    """Keep an error of the block in the session, or the `Stale` of a version saved meanwhile."""
    with defer_errors(doing, problem_key):
        try:
            yield
        except Stale as stale:
            st.session_state[stale_key] = stale


# Users' notes on the open example, and a form for another note.


# The prefix of the form's widget keys, and the key of the author field that all forms share.
FORM_KEY, AUTHOR_KEY = "note_form", "note_author"
# Session keys: the edited note, the `Stale` that waits for a choice, the message of success and the
# error message.
EDITED_KEY, STALE_KEY, SUCCESS_KEY, PROBLEM_KEY = (
    "note_edited",
    "note_stale",
    "note_said",
    "note_problem",
)
FIELDS = ("tag", "model", "severity", "text")
# Session key: the open example, and the number of its notes that the user asked to see.
LISTED_COUNT_KEY = "notes_listed"
# The tag of a note without a tag of its author's.
DEFAULT_TAG = "Note"
# Number of notes drawn at first, and added per click.
NOTES_PER_CLICK = 20


def draw_notes(systems: Systems, example: int) -> None:
    """Draw the notes on one example, given by its index, and a form for another."""
    notes, dataset = open_note_store().notes, systems.dataset.digest
    # A note on the example itself has no model.
    names = {"": "The example itself", **systems.titles_by_name}
    count = notes.count(dataset, example)
    label = f"Notes ({count:,})" if count else "Notes"
    # Attention follows below the outputs of models, so notes start collapsed there.
    is_open = count > 0 or not systems.has_models
    with st.expander(label, key="notes", expanded=is_open, type="compact"):
        if count:
            _draw_note_list(notes, dataset, example, names, count)
        if can_write():
            _draw_form(notes, Annotation(dataset, example, "", ""), names)
        elif not count:
            st.caption("No notes on this example.")


def _draw_note_list(
    notes: Annotations, dataset: str, example: int, names: Mapping[str, str], count: int
) -> None:
    """Draw the first notes, and a button that draws more: an example may have thousands."""
    about, most = st.session_state.get(LISTED_COUNT_KEY, (None, NOTES_PER_CLICK))
    most = most if about == (dataset, example) else NOTES_PER_CLICK
    for shown in notes.list_on_example(dataset, example, get_user_digest(), most):
        _draw_note(notes, shown, names)
    if count > most:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"{most:,} of {count:,} notes, yours first", width="content")
            st.button(
                "Show more notes",
                key="notes_more",
                on_click=_list_more_notes,
                args=((dataset, example), most + NOTES_PER_CLICK),
                type="tertiary",
            )


def _list_more_notes(about: tuple[str, int], most: int) -> None:
    st.session_state[LISTED_COUNT_KEY] = (about, most)


def _draw_note(
    notes: Annotations, shown: ShownRecord[Annotation], names: Mapping[str, str]
) -> None:
    note = shown.record
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        when = f"{note.changed[:16].replace('T', ' ')} UTC"
        model = names.get(note.model, note.model)
        about = " · ".join([note.severity, model, note.author or "anonymous", when])
        st.badge(escape_markdown(note.tag))
        st.caption(escape_markdown(about), width="stretch")
        if not can_write():
            pass
        elif shown.is_changeable:
            _draw_buttons(notes, note)
        else:
            st.button(
                "Copy",
                key=f"copy_{note.id}",
                on_click=_copy_note,
                args=(notes, note),
                type="tertiary",
                help="Only its owner can change this note. Copy it to have one of your own.",
            )
    if shown.import_id:
        said = f"Imported ({shown.import_id[:SHORT_ID]})."
        if note.differs:
            said += (
                f" Its words differ from note {escape_markdown(note.differs[:8])}, which was here."
            )
        st.caption(said)
    if note.note:
        st.text(escape_controls(note.note))


def _draw_buttons(notes: Annotations, note: Annotation) -> None:
    """Draw the buttons that edit and remove a note."""
    st.button("Edit", key=f"edit_{note.id}", on_click=_edit_note, args=(note,), type="tertiary")
    with st.popover("Remove", key=f"removing_{note.id}", type="tertiary"):
        st.caption("This removes the note for everybody who has this set.")
        st.button(
            "Remove the note", key=f"remove_{note.id}", on_click=_remove_note, args=(notes, note)
        )


def _draw_form(notes: Annotations, fresh: Annotation, names: Mapping[str, str]) -> None:
    """Draw a form for a new note or for the edited one. Typed text stays until it is saved."""
    start: Annotation = st.session_state.get(EDITED_KEY) or fresh
    if (start.dataset, start.example) != (fresh.dataset, fresh.example):
        start = fresh
    key = start.id or f"{fresh.dataset[:12]}_{fresh.example}"
    keys = {name: f"{FORM_KEY}_{name}_{key}" for name in FIELDS}
    values = (start.tag or None, start.model, start.severity, start.note)
    for name, value in zip(FIELDS, values, strict=True):
        st.session_state.setdefault(keys[name], value)
    tags = dict.fromkeys(filter(None, [*list_offered_categories(fresh.dataset), start.tag]))
    with st.form(f"{FORM_KEY}_{key}", border=False):
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            st.selectbox(
                "Tag",
                list(tags),
                key=keys["tag"],
                accept_new_options=True,
                placeholder=f"{DEFAULT_TAG}, or choose or type",
                width=230,
                format_func=escape_controls,
            )
            st.selectbox(
                "About",
                list(names),
                key=keys["model"],
                format_func=lambda name: names.get(name, name),
                width=230,
            )
            st.segmented_control("Severity", SEVERITIES, key=keys["severity"], required=True)
            st.text_input(
                "Your name",
                key=AUTHOR_KEY,
                max_chars=LONGEST_NAME,
                width=160,
                persist_state="session",
            )
        st.text_area("Note", key=keys["text"], max_chars=LONGEST_NOTE, height=80)
        label = "Save the change" if start.id else "Save the note"
        st.form_submit_button(label, on_click=_save_note, args=(notes, start, keys))
    show_deferred(PROBLEM_KEY)
    said = st.session_state.pop(SUCCESS_KEY, "")
    if said:
        st.caption(said)
    _draw_conflict(notes)


def _keep_change_error(doing: str) -> AbstractContextManager[None]:
    return keep_save_error(doing, PROBLEM_KEY, STALE_KEY)


def _save_note(notes: Annotations, note: Annotation, keys: Mapping[str, str]) -> None:
    """Save the note. The form keeps the typed text unless the note was committed."""
    state = st.session_state
    with _keep_change_error("saving the note"):
        tag, model, severity, text = (state.get(keys[name]) or "" for name in FIELDS)
        author = state.get(AUTHOR_KEY) or ""
        if not tag.strip() and not text.strip():
            raise InputError("The note is empty. Write a text or choose a tag.")
        own = replace(
            note,
            tag=tag if tag.strip() else DEFAULT_TAG,
            model=model,
            severity=severity,
            note=text,
            author=author,
        )
        notes.save(own, get_user_digest())
        for key in keys.values():
            state.pop(key, None)
        _end_edit("Saved.")


def _end_edit(said: str) -> None:
    st.session_state.pop(EDITED_KEY, None)
    st.session_state.pop(STALE_KEY, None)
    st.session_state[SUCCESS_KEY] = said


def _edit_note(note: Annotation) -> None:
    st.session_state[EDITED_KEY] = note
    st.session_state.pop(STALE_KEY, None)


def _remove_note(notes: Annotations, note: Annotation) -> None:
    with _keep_change_error("removing the note"):
        notes.remove(note, get_user_digest())
        _end_edit("Removed.")


def _copy_note(notes: Annotations, note: Annotation) -> None:
    """Save a copy that the user owns, and open it in the form."""
    with _keep_change_error("copying the note"):
        author = st.session_state.get(AUTHOR_KEY) or ""
        fresh = replace(note, id="", version=0, differs="", author=author)
        saved = notes.save(fresh, get_user_digest())
        _end_edit("Copied.")
        _edit_note(saved)


def _draw_conflict(notes: Annotations) -> None:
    """Draw both versions if another user saved one meanwhile, and the choice between them."""
    stale: Stale[Annotation] | None = st.session_state.get(STALE_KEY)
    if stale is None:
        return
    who, did = "Somebody", "removed this note meanwhile"
    if stale.there:
        who, did = stale.there.author or who, "saved another text meanwhile"
    st.warning(
        escape_markdown(f"{who} {did}. Nothing was overwritten. Choose which of the two stays.")
    )
    for title, note in (("Theirs", stale.there), ("Yours", stale.own)):
        if note is not None:
            with st.container(border=True):
                st.caption(escape_markdown(f"{title}: {note.tag}, {note.severity}"))
                st.text(escape_controls(note.note) or "no text")
    with st.container(horizontal=True):
        st.button("Keep theirs", on_click=_end_edit, args=("Theirs was kept.",))
        st.button("Save mine", on_click=_overwrite_saved_note, args=(notes, stale))


def _overwrite_saved_note(notes: Annotations, stale: Stale[Annotation]) -> None:
    if stale.there:
        own = replace(stale.own, version=stale.there.version)
    else:
        own = replace(stale.own, id="", version=0)
    with _keep_change_error("saving the note"):
        notes.save(own, get_user_digest())
        _end_edit("Saved.")


# Imported files: each file is read once, and its result is shown until another is chosen.


class _Result(NamedTuple):
    """The result of reading a file."""

    file_id: str
    sentence: str
    is_refused: bool


def import_once(key: str, file: UploadedFile, read: Callable[[], str]) -> None:
    """Read a file that the user chose, and draw the sentence that describes the result.

    A page runs again with every click. The result is remembered, including a refusal, which may
    take equally long. A record removed after the import therefore stays removed.

    Args:
        key: the key of the result in the session.
        file: the file in the uploader.
        read: reads the file and returns the sentence, or raises the reason for a refusal.
    """
    done: _Result | None = st.session_state.get(key)
    if done is not None and done.file_id == file.file_id:
        _draw_result(key, done)
        return
    try:
        result = _Result(file.file_id, read(), False)
    except (InputError, BackendError) as refusal:
        result = _Result(file.file_id, str(refusal), True)
    st.session_state[key] = result
    # The part of the page above the uploader is out of date now.
    st.rerun()


def _draw_result(key: str, done: _Result) -> None:
    if not done.is_refused:
        st.caption(done.sentence)
        return
    show_error(done.sentence)
    st.button("Try this file again", key=f"{key}_again", on_click=_forget_result, args=(key,))


def _forget_result(key: str) -> None:
    st.session_state.pop(key, None)


# Export and import of notes, ratings and marked errors. An import can be undone.


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
