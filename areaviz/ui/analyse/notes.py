"""Users' notes on the open example, and a form for another note."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace

import streamlit as st

from areaviz.notes.annotations import SEVERITIES, Annotation, Annotations
from areaviz.notes.ownership import SHORT_ID
from areaviz.notes.record_types import Shown, Stale
from areaviz.notes.store_schema import LONGEST_NAME, LONGEST_NOTE
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.form_parts import offered_categories, saving
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.stored_data import note_store
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.app.errors import show_deferred
from areaviz.ui.app.markdown import escape_markdown, visible
from areaviz.ui.app.user_identity import reader_mark

# The prefix of the form's widget keys, and the key of the author field that all forms share.
FORM, AUTHOR = "note_form", "note_author"
# Session keys: the edited note, the `Stale` that waits for a choice, the message of success and the
# error message.
EDITED, STALE, SAID, PROBLEM = "note_edited", "note_stale", "note_said", "note_problem"
FIELDS = ("tag", "model", "severity", "text")
# Session key: the open example, and the number of its notes that the user asked to see.
LISTED = "notes_listed"
# The tag of a note without a tag of its author's.
PLAIN = "Note"
# Number of notes drawn at first, and added per click.
PART = 20


def notes_on(systems: Systems, example: int) -> None:
    """Draw the notes on one example, given by its index, and a form for another."""
    notes, dataset = note_store().notes, systems.dataset.digest
    # A note on the example itself has no model.
    names = {"": "The example itself", **systems.titles_by_name}
    count = notes.count(dataset, example)
    label = f"Notes ({count:,})" if count else "Notes"
    # Attention follows below the outputs of models, so notes start collapsed there.
    is_open = count > 0 or not systems.has_models
    with st.expander(label, key="notes", expanded=is_open, type="compact"):
        if count:
            _list(notes, dataset, example, names, count)
        if can_write():
            _form(notes, Annotation(dataset, example, "", ""), names)
        elif not count:
            st.caption("No notes on this example.")


def _list(
    notes: Annotations, dataset: str, example: int, names: Mapping[str, str], count: int
) -> None:
    """Draw the first notes, and a button that draws more: an example may have thousands."""
    about, most = st.session_state.get(LISTED, (None, PART))
    most = most if about == (dataset, example) else PART
    for shown in notes.list_on_example(dataset, example, reader_mark(), most):
        _note(notes, shown, names)
    if count > most:
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(f"{most:,} of {count:,} notes, yours first", width="content")
            st.button(
                "Show more notes",
                key="notes_more",
                on_click=_list_more,
                args=((dataset, example), most + PART),
                type="tertiary",
            )


def _list_more(about: tuple[str, int], most: int) -> None:
    st.session_state[LISTED] = (about, most)


def _note(notes: Annotations, shown: Shown[Annotation], names: Mapping[str, str]) -> None:
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
            _buttons(notes, note)
        else:
            st.button(
                "Copy",
                key=f"copy_{note.id}",
                on_click=_copy,
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
        st.text(visible(note.note))


def _buttons(notes: Annotations, note: Annotation) -> None:
    """Draw the buttons that edit and remove a note."""
    st.button("Edit", key=f"edit_{note.id}", on_click=_edit, args=(note,), type="tertiary")
    with st.popover("Remove", key=f"removing_{note.id}", type="tertiary"):
        st.caption("This removes the note for everybody who has this set.")
        st.button("Remove the note", key=f"remove_{note.id}", on_click=_remove, args=(notes, note))


def _form(notes: Annotations, fresh: Annotation, names: Mapping[str, str]) -> None:
    """Draw a form for a new note or for the edited one. Typed text stays until it is saved."""
    start: Annotation = st.session_state.get(EDITED) or fresh
    if (start.dataset, start.example) != (fresh.dataset, fresh.example):
        start = fresh
    key = start.id or f"{fresh.dataset[:12]}_{fresh.example}"
    keys = {name: f"{FORM}_{name}_{key}" for name in FIELDS}
    values = (start.tag or None, start.model, start.severity, start.note)
    for name, value in zip(FIELDS, values, strict=True):
        st.session_state.setdefault(keys[name], value)
    tags = dict.fromkeys(filter(None, [*offered_categories(fresh.dataset), start.tag]))
    with st.form(f"{FORM}_{key}", border=False):
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            st.selectbox(
                "Tag",
                list(tags),
                key=keys["tag"],
                accept_new_options=True,
                placeholder=f"{PLAIN}, or choose or type",
                width=230,
                format_func=visible,
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
                key=AUTHOR,
                max_chars=LONGEST_NAME,
                width=160,
                persist_state="session",
            )
        st.text_area("Note", key=keys["text"], max_chars=LONGEST_NOTE, height=80)
        label = "Save the change" if start.id else "Save the note"
        st.form_submit_button(label, on_click=_save, args=(notes, start, keys))
    show_deferred(PROBLEM)
    said = st.session_state.pop(SAID, "")
    if said:
        st.caption(said)
    _stale(notes)


def _changing(doing: str) -> AbstractContextManager[None]:
    return saving(doing, PROBLEM, STALE)


def _save(notes: Annotations, note: Annotation, keys: Mapping[str, str]) -> None:
    """Save the note. The form keeps the typed text unless the note was committed."""
    state = st.session_state
    with _changing("saving the note"):
        tag, model, severity, text = (state.get(keys[name]) or "" for name in FIELDS)
        author = state.get(AUTHOR) or ""
        if not tag.strip() and not text.strip():
            raise InputError("The note is empty. Write a text or choose a tag.")
        own = replace(
            note,
            tag=tag if tag.strip() else PLAIN,
            model=model,
            severity=severity,
            note=text,
            author=author,
        )
        notes.save(own, reader_mark())
        for key in keys.values():
            state.pop(key, None)
        _done("Saved.")


def _done(said: str) -> None:
    st.session_state.pop(EDITED, None)
    st.session_state.pop(STALE, None)
    st.session_state[SAID] = said


def _edit(note: Annotation) -> None:
    st.session_state[EDITED] = note
    st.session_state.pop(STALE, None)


def _remove(notes: Annotations, note: Annotation) -> None:
    with _changing("removing the note"):
        notes.remove(note, reader_mark())
        _done("Removed.")


def _copy(notes: Annotations, note: Annotation) -> None:
    """Save a copy that the user owns, and open it in the form."""
    with _changing("copying the note"):
        author = st.session_state.get(AUTHOR) or ""
        fresh = replace(note, id="", version=0, differs="", author=author)
        saved = notes.save(fresh, reader_mark())
        _done("Copied.")
        _edit(saved)


def _stale(notes: Annotations) -> None:
    """Draw both versions if another user saved one meanwhile, and the choice between them."""
    stale: Stale[Annotation] | None = st.session_state.get(STALE)
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
                st.text(visible(note.note) or "no text")
    with st.container(horizontal=True):
        st.button("Keep theirs", on_click=_done, args=("Theirs was kept.",))
        st.button("Save mine", on_click=_overwrite, args=(notes, stale))


def _overwrite(notes: Annotations, stale: Stale[Annotation]) -> None:
    if stale.there:
        own = replace(stale.own, version=stale.there.version)
    else:
        own = replace(stale.own, id="", version=0)
    with _changing("saving the note"):
        notes.save(own, reader_mark())
        _done("Saved.")
