"""Notes of people on the opened example, and all notes of a set as files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path, PurePosixPath

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.analysis.retention import Removed, keep_days, make_private, notes_address, remove_old
from areaviz.analysis.rows import analyses_folder
from areaviz.notes.annotations import (
    LONGEST_NAME,
    LONGEST_NOTE,
    SEVERITIES,
    TAGS,
    Annotation,
    Annotations,
    Stale,
)
from areaviz.notes.exchange import KINDS, MAX_MEGABYTES, from_bytes, to_bytes
from areaviz.notes.slices import Slices
from areaviz.notes.store import Store
from areaviz.trace.errors import InputError
from areaviz.ui.shell.errors import defer_errors, show_deferred, show_errors
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.reader import reader_mark

HOUR = 3600  # seconds
FORM, EDITED, AUTHOR, STALE, SAID, PROBLEM, BROUGHT = (
    f"note_{name}" for name in ("form", "edited", "author", "stale", "said", "problem", "brought")
)
FIELDS = ("tag", "model", "severity", "text")
EXAMPLE_ITSELF = ""
LABELS = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}
MIME = {
    "csv": "text/csv",
    "jsonl": "application/jsonl",
    "parquet": "application/vnd.apache.parquet",
}


@dataclass(frozen=True, slots=True)
class Notebook:
    """One store, with its notes and slices; opened once for all sessions."""

    store: Store
    notes: Annotations
    slices: Slices


def notebook() -> Notebook:
    """What is kept of people's work; raises BackendError where the store cannot be opened."""
    return _opened(notes_address())


def remove_old_work() -> None:
    """Remove what is older than the operator's days, at most once an hour; raises InputError,
    BackendError.
    """
    days = keep_days()
    if days is not None:
        _removed_old(days, notes_address(), str(analyses_folder()))


@st.cache_resource(show_spinner=False, max_entries=4, ttl=HOUR)
def _removed_old(days: float, url: str, folder: str) -> Removed:
    return remove_old(_opened(url).store, Path(folder), days)


@st.cache_resource(show_spinner="Opening the notes", max_entries=4)
def _opened(url: str) -> Notebook:
    make_private(analyses_folder())
    store = Store.open(url)
    return Notebook(store, Annotations(store), Slices(store))


def notes_on(dataset: str, example: int, models: Sequence[str], titles: Sequence[str]) -> None:
    """The notes on one example, and a form for another; dataset: the digest of its set."""
    notes = notebook().notes
    named = {EXAMPLE_ITSELF: "The example itself", **dict(zip(models, titles, strict=True))}
    here = [note for note in notes.of(dataset) if note.example == example]
    with st.expander(
        f"Notes ({len(here)})" if here else "Notes",
        key="notes",
        expanded=bool(here),
        type="compact",
    ):
        for note in here:
            _note(notes, note, named)
        _form(notes, Annotation(dataset, example, "", ""), named, notes.counts(dataset))


def _note(notes: Annotations, note: Annotation, named: dict[str, str]) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        when = f"{note.changed[:16].replace('T', ' ')} UTC"
        about = [
            note.severity,
            named.get(note.model, note.model),
            note.author or "nobody named",
            when,
        ]
        st.badge(escaped(note.tag))
        st.caption(escaped(" · ".join(about)), width="stretch")
        st.button("Edit", key=f"edit_{note.id}", on_click=_edit, args=(note,), type="tertiary")
        with st.popover("Remove", key=f"removing_{note.id}", type="tertiary"):
            st.caption("It is removed for everybody who has this set.")
            st.button(
                "Remove the note", key=f"remove_{note.id}", on_click=_remove, args=(notes, note)
            )
    if note.differs:
        st.caption(
            f"Brought in; differs from note {escaped(note.differs[:8])}, which was here with other"
            " words."
        )
    if note.note:
        st.text(visible(note.note))


def _form(
    notes: Annotations, fresh: Annotation, named: dict[str, str], used: dict[str, int]
) -> None:
    """What is typed stays until it has been saved."""
    edited: Annotation | None = st.session_state.get(EDITED)
    if edited and (edited.dataset, edited.example) != (fresh.dataset, fresh.example):
        edited = None
    key = edited.id if edited else f"{fresh.dataset[:12]}_{fresh.example}"
    keys = {name: f"{FORM}_{name}_{key}" for name in FIELDS}
    start = edited or fresh
    for name, value in zip(
        FIELDS, (start.tag or None, start.model, start.severity, start.note), strict=True
    ):
        st.session_state.setdefault(keys[name], value)
    tags = list(dict.fromkeys([*TAGS, *used, *([edited.tag] if edited else [])]))
    with st.form(f"{FORM}_{key}", border=False):
        with st.container(horizontal=True, gap="small", vertical_alignment="bottom"):
            st.selectbox(
                "Tag",
                tags,
                key=keys["tag"],
                accept_new_options=True,
                placeholder="Choose or type",
                width=230,
                format_func=visible,
            )
            st.selectbox(
                "About",
                list(named),
                key=keys["model"],
                format_func=lambda name: named.get(name, name),
                width=230,
            )
            st.segmented_control("Severity", SEVERITIES, key=keys["severity"], required=True)
            st.text_input(
                "Your name", key=AUTHOR, max_chars=LONGEST_NAME, width=160, persist_state="session"
            )
        st.text_area("Note", key=keys["text"], max_chars=LONGEST_NOTE, height=80)
        label = "Save the change" if edited else "Save the note"
        st.form_submit_button(label, on_click=_save, args=(notes, edited or fresh, keys))
    show_deferred(PROBLEM)
    if said := st.session_state.pop(SAID, ""):
        st.caption(said)
    _stale(notes)


def _save(notes: Annotations, note: Annotation, keys: dict[str, str]) -> None:
    """Committed when the page says so; otherwise the form keeps what was typed."""
    state = st.session_state
    with defer_errors("saving the note", PROBLEM):
        tag, model, severity, text = (state.get(keys[name]) or "" for name in FIELDS)
        own = replace(
            note, tag=tag, model=model, severity=severity, note=text, author=state.get(AUTHOR) or ""
        )
        try:
            notes.save(own, reader_mark())
        except Stale as stale:
            state[STALE] = stale
            return
        _done("Saved.", keys)


def _done(said: str, keys: dict[str, str] | None = None) -> None:
    state = st.session_state
    for key in (keys or {}).values():
        state.pop(key, None)
    state.pop(EDITED, None)
    state.pop(STALE, None)
    state[SAID] = said


def _edit(note: Annotation) -> None:
    st.session_state[EDITED] = note
    st.session_state.pop(STALE, None)


def _remove(notes: Annotations, note: Annotation) -> None:
    with defer_errors("removing the note", PROBLEM):
        try:
            notes.remove(note)
        except Stale as stale:
            st.session_state[STALE] = stale
            return
        _done("Removed.")


def _stale(notes: Annotations) -> None:
    """Both texts, where somebody was faster, and the choice between them."""
    stale: Stale | None = st.session_state.get(STALE)
    if stale is None:
        return
    who = (stale.there.author or "Somebody") if stale.there else "Somebody"
    did = "saved another text meanwhile" if stale.there else "removed this note meanwhile"
    st.warning(escaped(f"{who} {did}; nothing was overwritten. Choose which of the two stays."))
    for title, note in (("Theirs", stale.there), ("Yours", stale.own)):
        if note is not None:
            with st.container(border=True):
                st.caption(escaped(f"{title}: {note.tag}, {note.severity}"))
                st.text(visible(note.note) or "no text")
    with st.container(horizontal=True):
        st.button("Keep theirs", on_click=_done, args=("Theirs was kept.",))
        st.button("Save mine", on_click=_overwrite, args=(notes, stale))


def _overwrite(notes: Annotations, stale: Stale) -> None:
    there = stale.there
    own = (
        replace(stale.own, version=there.version) if there else replace(stale.own, id="", version=0)
    )
    with defer_errors("saving the note", PROBLEM):
        try:
            notes.save(own, reader_mark())
        except Stale as again:
            st.session_state[STALE] = again
            return
        _done("Saved.")


def exchange(dataset: str) -> None:
    """All notes on a set as files, and files of notes brought in."""
    notes = notebook().notes
    found = notes.of(dataset)
    with st.expander("Notes as files", key="notes_files", type="compact"):
        with st.container(horizontal=True, vertical_alignment="center"):
            st.caption(f"{len(found):,} notes on this set", width="content")
            for kind in KINDS if found else ():
                file = f"areaviz-notes.{kind}"
                make = partial(to_bytes, found, kind)
                st.download_button(
                    LABELS[kind], make, file, MIME[kind], key=f"notes_{kind}", on_click="ignore"
                )
        given = st.file_uploader(
            "Bring in notes that were exported here",
            type=list(KINDS),
            key="notes_given",
            max_upload_size=MAX_MEGABYTES,
        )
        if given is not None:
            with show_errors("reading the notes"):
                st.caption(_brought_in(notes, dataset, given))


def _brought_in(notes: Annotations, dataset: str, given: UploadedFile) -> str:
    """What came of a file, which is read once: a note that is removed afterwards stays removed."""
    done: tuple[str, str] = st.session_state.get(BROUGHT, ("", ""))
    if done[0] != given.file_id:
        done = given.file_id, _bring_in(notes, dataset, given.name, given.getvalue())
        st.session_state[BROUGHT] = done
    return done[1]


def _bring_in(notes: Annotations, dataset: str, name: str, data: bytes) -> str:
    kind = PurePosixPath(name).suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise InputError(
            f"Notes are brought in from {', '.join(KINDS)} files; choose one of those."
        )
    read = from_bytes(data, kind)
    others = sum(note.dataset != dataset for note in read)
    merged = notes.merge(read)
    more = f", {others:,} of them on other sets" if others else ""
    beside = (
        f" {merged.differing:,} differ from a note that was here and stand beside it."
        if merged.differing
        else ""
    )
    return (
        f"{len(read):,} notes read{more}; {merged.new + merged.differing:,} were new and are"
        f" saved.{beside}"
    )
