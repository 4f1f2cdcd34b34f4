"""Which examples are analysed: a set of the app's own, the reader's files, or a folder here."""

from __future__ import annotations

import os
from collections.abc import Callable
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

# Keys of widgets.
SOURCE, FILES = "analyse_source", "analyse_files"
# In the session: how often uploaded files were deleted.
TURN = "analyse_turn"
# Environment variable: a folder of this machine with a folder for each data set; nothing outside it
# is ever opened.
SETTING = "AREAVIZ_DATASETS"
# Megabytes of all files of a set; this uploader alone takes several, each of `MAX_MEGABYTES`.
MOST_TOGETHER, MEGA = 150, 2**20
_SAMPLES, _UPLOAD, _FOLDER = "Samples", "Upload", "Folder"
_HELP = (
    "Text files with a sentence a line; or one table (JSON Lines, CSV, TSV) with the columns text,"
    " reference, picture, links and boxes, as far as there are any; and the pictures it names."
)


def dataset_form() -> Dataset | None:
    """Draw the widgets; returns the set, or None while nothing is chosen.

    Raises:
        InputError: the set cannot be used.
    """
    folder = os.environ.get(SETTING, "")
    sources = [_SAMPLES, _UPLOAD]
    if folder:
        sources.append(_FOLDER)
    source = st.segmented_control(
        "Examples",
        sources,
        key=SOURCE,
        required=True,
        default=_SAMPLES,
    )
    if source == _UPLOAD:
        return _uploaded()
    if source == _FOLDER:
        return _from_folder(Path(folder).expanduser())
    names = list(SAMPLE_SETS)
    name = st.pills(
        "Set",
        names,
        key="analyse_sample",
        default=names[0],
        required=True,
    )
    return SAMPLE_SETS[name or names[0]]()


def _uploaded() -> Dataset | None:
    given = st.file_uploader(
        "Files",
        accept_multiple_files=True,
        key=files_key(),
        max_upload_size=MAX_MEGABYTES,
        help=_HELP,
    )
    if not given:
        return None
    together = sum(file.size for file in given) / MEGA
    if together > MOST_TOGETHER:
        raise InputError(
            f"The files have {together:,.1f} MB together but at most {MOST_TOGETHER} are possible"
            " in one session; remove some of them."
        )
    files = {file.name: file.getvalue() for file in given}
    return _read(files, tuple(file.file_id for file in given))


def files_key() -> str:
    """The key of the uploader; a new one is empty."""
    turn = st.session_state.get(TURN, 0)
    return f"{FILES}_{turn}" if turn else FILES


def has_files() -> bool:
    """Whether the reader's own files are in this session."""
    return bool(st.session_state.get(files_key()))


def delete_files() -> None:
    """Take the reader's own files out of the session; called before the page is drawn."""
    _cached.clear()
    st.session_state.pop(files_key(), None)
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1


def _from_folder(root: Path) -> Dataset | None:
    """One of the folders the setting offers; a link that leads out of it is not followed."""
    inside = root.resolve()
    names = []
    if inside.is_dir():
        names = sorted(one.name for one in inside.iterdir() if one.is_dir())
    if not names:
        raise InputError(
            f"The folder that {SETTING} names has no data sets; put each into a folder of its own"
            " there."
        )
    name = st.selectbox(
        "Folder",
        names,
        key="analyse_folder",
        index=None,
        placeholder="Choose a folder",
    )
    if not name:
        return None
    files = {}
    for path in sorted((inside / name).iterdir()):
        if path.is_file() and path.resolve().is_relative_to(inside):
            files[path.name] = path
    return _read(files)


def _read(files: Files, identity: tuple[str, ...] = ()) -> Dataset | None:
    """The set that files hold; where there are several texts, the reader says which is which.

    Args:
        files: by name.
        identity: of uploaded files, which stay as they are, so that they are read once.
    """
    tables = [name for name in files if _ending(name) in TABLES]
    texts = [name for name in files if _ending(name) not in (*TABLES, *PICTURES)]
    if tables:
        table = tables[0]
        if len(tables) > 1:
            table = st.selectbox("Table", tables, format_func=visible)
        return _read_once(identity, partial(read_table, table, files), table)
    if not texts:
        return _read_once(identity, partial(read_pictures, files))
    if len(texts) == 1:
        return _read_once(identity, partial(read_lines, texts[0], files), texts[0])
    return _aligned(texts, files, identity)


def _read_once(identity: tuple[str, ...], read: Callable[[], Dataset], *how: object) -> Dataset:
    """A set as it was read before, else read now; a refusal too, which takes as long to find out.

    Args:
        identity: of the files; () for those that may change, which are read every time.
        read: reads them.
        how: the reader's choices, with which they are read.
    """
    if not identity:
        return read()
    found = _cached(identity, repr(how), read)
    if isinstance(found, InputError):
        raise found
    return found


@st.cache_resource(scope="session", max_entries=1, show_spinner="Reading the examples")
def _cached(
    identity: tuple[str, ...], how: str, _read: Callable[[], Dataset]
) -> Dataset | InputError:
    try:
        return _read()
    except InputError as refusal:
        return refusal


def _aligned(texts: list[str], files: Files, identity: tuple[str, ...]) -> Dataset:
    """Several texts, line by line: sentences, references and gold links, guessed by their names."""
    endings = (".en", ".src", ".source")
    likely = next((name for name in texts if _ending(name) in endings), texts[0])
    with st.container(horizontal=True):
        index = texts.index(likely)
        source = st.selectbox("Sentences", texts, index=index, format_func=visible)
        others = [name for name in texts if name != source]
        linked = [name for name in texts if name != likely and ("align" in name or "link" in name)]
        links = st.selectbox(
            "Gold links",
            others,
            index=others.index(linked[0]) if linked and linked[0] in others else None,
            placeholder="None",
            format_func=visible,
        )
        first = [name for name in others if name != links]
        references = st.multiselect(
            "References",
            first,
            default=first,
            format_func=visible,
        )
    how = source, tuple(references), links or ""
    read = partial(read_lines, source, files, references, links or "")
    return _read_once(identity, read, *how)


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()
