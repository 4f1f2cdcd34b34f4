"""Which examples are analysed: a set of the app's own, files of the reader, or a folder of this
machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path, PurePosixPath

import streamlit as st

from areaviz.data.example_files import (
    MAX_MEGABYTES,
    PICTURES,
    TABLES,
    read_lines,
    read_pictures,
    read_table,
)
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.examples import Dataset, Files
from areaviz.trace.errors import InputError
from areaviz.ui.shell.markdown import visible

PAGE = "analyse"
SOURCE, SAMPLE, FILES, FOLDER = (
    f"{PAGE}_{name}" for name in ("source", "sample", "files", "folder")
)
TURN = f"{PAGE}_turn"
"""In the session: how often uploaded files were deleted."""
SETTING = "AREAVIZ_DATASETS"
"""Environment variable: a folder of this machine with a folder a data set; nothing outside it is
ever opened.
"""
MOST_TOGETHER, MEGA = 150, 2**20
"""Megabytes of all files of a set: this uploader alone takes several, and each as large as one may
be.
"""
_SAMPLES, _UPLOAD, _FOLDER = "Samples", "Upload", "Folder"
_HELP = (
    "Text files with a sentence a line; or one table (JSON Lines, CSV, TSV) with the columns text,"
    " reference, picture, links and boxes, as far as there are any; and the pictures it names."
)


def dataset_form() -> Dataset | None:
    """Draw the widget; returns the set, or None while nothing is chosen; InputError where it cannot
    be used.
    """
    folder = os.environ.get(SETTING, "")
    offered = [_SAMPLES, _UPLOAD, *([_FOLDER] if folder else [])]
    source = st.segmented_control("Examples", offered, key=SOURCE, required=True, default=_SAMPLES)
    if source == _UPLOAD:
        return _uploaded()
    if source == _FOLDER:
        return _from_folder(Path(folder).expanduser())
    name = st.pills(
        "Set", list(SAMPLE_SETS), key=SAMPLE, default=next(iter(SAMPLE_SETS)), required=True
    )
    return SAMPLE_SETS[name or next(iter(SAMPLE_SETS))]()


def _uploaded() -> Dataset | None:
    key = files_key()
    given = st.file_uploader(
        "Files", accept_multiple_files=True, key=key, max_upload_size=MAX_MEGABYTES, help=_HELP
    )
    if not given:
        return None
    together = sum(file.size for file in given) / MEGA
    if together > MOST_TOGETHER:
        raise InputError(
            f"The files have {together:,.1f} MB together but at most {MOST_TOGETHER} are possible"
            " in one session; remove some of them."
        )
    return _read(
        {file.name: file.getvalue() for file in given}, tuple(file.file_id for file in given)
    )


def files_key() -> str:
    """The key of the uploader; a new one is empty."""
    turn = st.session_state.get(TURN, 0)
    return f"{FILES}_{turn}" if turn else FILES


def has_files() -> bool:
    """Whether the reader's own files are in this session."""
    return bool(st.session_state.get(files_key()))


def delete_files() -> None:
    """Take the reader's own files out of the session; called before the page is drawn."""
    _kept.clear()
    st.session_state.pop(files_key(), None)
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1


def _from_folder(root: Path) -> Dataset | None:
    """One of the folders the setting offers; a link that leads out of it is not followed."""
    inside = root.resolve()
    offered = (
        sorted(one.name for one in inside.iterdir() if one.is_dir()) if inside.is_dir() else []
    )
    if not offered:
        raise InputError(
            f"The folder that {SETTING} names has no data sets; put each into a folder of its own"
            " there."
        )
    name = st.selectbox("Folder", offered, key=FOLDER, index=None, placeholder="Choose a folder")
    if not name:
        return None
    paths = [path for path in sorted((inside / name).iterdir()) if path.is_file()]
    return _read({path.name: path for path in paths if path.resolve().is_relative_to(inside)})


def _read(files: Files, identity: tuple[str, ...] = ()) -> Dataset | None:
    """The set that files hold; where several texts are there, the reader says which is which.

    identity: of files that stay as they are, so that they are read once.
    """
    tables = [name for name in files if _ending(name) in TABLES]
    texts = [name for name in files if _ending(name) not in (*TABLES, *PICTURES)]
    if tables:
        chosen = (
            tables[0] if len(tables) == 1 else st.selectbox("Table", tables, format_func=visible)
        )
        return _once(identity, partial(read_table, chosen, files), chosen)
    return (
        _aligned(texts, files, identity)
        if texts
        else _once(identity, partial(read_pictures, files))
    )


def _once(identity: tuple[str, ...], read: Callable[[], Dataset], *how: object) -> Dataset:
    """A set as it was read before, else read now; so is a refusal, for to find it out takes as
    long.
    """
    if not identity:
        return read()
    found = _kept(identity, repr(how), read)
    if isinstance(found, InputError):
        raise found
    return found


@st.cache_resource(scope="session", max_entries=1, show_spinner="Reading the examples")
def _kept(
    identity: tuple[str, ...], how: str, _read: Callable[[], Dataset]
) -> Dataset | InputError:
    try:
        return _read()
    except InputError as refusal:
        return refusal


def _aligned(texts: list[str], files: Files, identity: tuple[str, ...]) -> Dataset | None:
    if len(texts) == 1:
        return _once(identity, partial(read_lines, texts[0], files), texts[0])
    guessed = _guess(texts)
    with st.container(horizontal=True):
        source = st.selectbox(
            "Sentences", texts, index=texts.index(guessed["source"]), format_func=visible
        )
        others = [name for name in texts if name != source]
        links = st.selectbox(
            "Gold links",
            others,
            index=others.index(guessed["links"]) if guessed["links"] in others else None,
            placeholder="None",
            format_func=visible,
        )
        first = [name for name in others if name != links]
        references = st.multiselect("References", first, default=first, format_func=visible)
    how = source, tuple(references), links or ""
    return _once(identity, partial(read_lines, source, files, references, links or ""), *how)


def _guess(texts: list[str]) -> Mapping[str, str]:
    """Which file has the sentences, and which the links, by their names."""
    source = next((name for name in texts if _ending(name) in (".en", ".src", ".source")), texts[0])
    links = next(
        (name for name in texts if name != source and ("align" in name or "link" in name)), ""
    )
    return {"source": source, "links": links}


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
