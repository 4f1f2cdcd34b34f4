"""Notes of people on the open example: those that are there, and a form for another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import streamlit as st

from areaviz.notes.annotations import SEVERITIES, TAGS, Annotation, Annotations
from areaviz.notes.records import Stale
from areaviz.notes.store_schema import LONGEST_NAME, LONGEST_NOTE
from areaviz.ui.analyse.stored import Analysis, note_store
from areaviz.ui.shell.errors import defer_errors, show_deferred
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.reader import reader_mark

# The beginning of the keys of the form's widgets, and the key of one that every form shares.
FORM, AUTHOR = "note_form", "note_author"
# In the session: the note that is edited, the `Stale` that waits for a choice, what was done and
# what went wrong.
EDITED, STALE, SAID, PROBLEM = "note_edited", "note_stale", "note_said", "note_problem"
FIELDS = ("tag", "model", "severity", "text")


def notes_on(dataset: str, example: int, models: Mapping[str, str]) -> None:
    """Draw the notes on one example, and a form for another.

    Args:
        dataset: the digest of its set.
        example: its place in the set.
        models: whose outputs are shown, name -> title.
    """
    notes = note_store().notes
    # A note on the example itself has no model.
    names = {"": "The example itself", **models}
    here = [note for note in notes.of(dataset) if note.example == example]
    label = f"Notes ({len(here)})" if here else "Notes"
    with st.expander(label, key="notes", expanded=bool(here), type="compact"):
        for note in here:
            _note(notes, note, names)
        _form(notes, Annotation(dataset, example, "", ""), names)


def _note(notes: Annotations, note: Annotation, names: Mapping[str, str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        when = f"{note.changed[:16].replace('T', ' ')} UTC"
        model = names.get(note.model, note.model)
        about = " · ".join([note.severity, model, note.author or "anonymous", when])
        st.badge(escaped(note.tag))
        st.caption(escaped(about), width="stretch")
        st.button(
            "Edit",
            key=f"edit_{note.id}",
            on_click=_edit,
            args=(note,),
            type="tertiary",
        )
        with st.popover("Remove", key=f"removing_{note.id}", type="tertiary"):
            st.caption("It is removed for everybody who has this set.")
            key = f"remove_{note.id}"
            st.button(
                "Remove the note",
                key=key,
                on_click=_remove,
                args=(notes, note),
            )
    if note.differs:
        st.caption(
            f"Brought in; differs from note {escaped(note.differs[:8])}, which was here with other"
            " words."
        )
    if note.note:
        st.text(visible(note.note))


def _form(notes: Annotations, fresh: Annotation, names: Mapping[str, str]) -> None:
    """A form for a new note or the one that is edited; what is typed stays until it is saved."""
    start: Annotation = st.session_state.get(EDITED) or fresh
    if (start.dataset, start.example) != (fresh.dataset, fresh.example):
        start = fresh
    key = start.id or f"{fresh.dataset[:12]}_{fresh.example}"
    keys = {name: f"{FORM}_{name}_{key}" for name in FIELDS}
    values = (start.tag or None, start.model, start.severity, start.note)
    for name, value in zip(FIELDS, values, strict=True):
        st.session_state.setdefault(keys[name], value)
    tags = dict.fromkeys(filter(None, [*TAGS, *notes.counts(fresh.dataset), start.tag]))
    with st.form(f"{FORM}_{key}", border=False):
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            st.selectbox(
                "Tag",
                list(tags),
                key=keys["tag"],
                accept_new_options=True,
                placeholder="Choose or type",
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


@contextmanager
def _changing(doing: str) -> Iterator[None]:
    """Show in the form what goes wrong in the block, or what somebody else saved meanwhile."""
    with defer_errors(doing, PROBLEM):
        try:
            yield
        except Stale as stale:
            st.session_state[STALE] = stale


def _save(notes: Annotations, note: Annotation, keys: Mapping[str, str]) -> None:
    """Committed when the page says so; otherwise the form keeps what was typed."""
    state = st.session_state
    with _changing("saving the note"):
        tag, model, severity, text = (state.get(keys[name]) or "" for name in FIELDS)
        author = state.get(AUTHOR) or ""
        own = replace(
            note,
            tag=tag,
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
        notes.remove(note)
        _done("Removed.")


def _stale(notes: Annotations) -> None:
    """Both texts, where somebody was faster, and the choice between them."""
    stale: Stale[Annotation] | None = st.session_state.get(STALE)
    if stale is None:
        return
    who, did = "Somebody", "removed this note meanwhile"
    if stale.there:
        who, did = stale.there.author or who, "saved another text meanwhile"
    st.warning(escaped(f"{who} {did}; nothing was overwritten. Choose which of the two stays."))
    for title, note in (("Theirs", stale.there), ("Yours", stale.own)):
        if note is not None:
            with st.container(border=True):
                st.caption(escaped(f"{title}: {note.tag}, {note.severity}"))
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


def systems(analyses: Sequence[Analysis]) -> list[str]:
    """What notes call the systems whose outputs they are about."""
    names = [one.request.model if one.request else one.title for one in analyses]
    return [name[:LONGEST_NAME] for name in names]
