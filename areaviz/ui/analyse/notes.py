"""Users' notes on the open example, and a form for another note."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import streamlit as st

from areaviz.app.run import get_user_digest
from areaviz.app.texts import escape_markdown, show_deferred
from areaviz.draw.labels import escape_controls
from areaviz.notes.annotations import SEVERITIES, Annotation, Annotations
from areaviz.notes.ownership import SHORT_ID
from areaviz.notes.record_types import ShownRecord, Stale
from areaviz.notes.store_schema import LONGEST_NAME, LONGEST_NOTE
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.form_parts import keep_save_error, list_offered_categories
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.stored_data import open_note_store
from areaviz.ui.analyse.systems import Systems

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
            st.segmented_control(
                "Severity",
                SEVERITIES,
                key=keys["severity"],
                required=True,
            )
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
