"""The choice of the dataset, and of the roles of its columns."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import streamlit as st

from areaviz.app.run import get_user_digest
from areaviz.app.texts import escape_markdown, pluralise, shorten_line
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import Dataset, Files, hash_content
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.app.state import FOLDER, FOLDER_PREFIX, SAMPLES, UPLOAD, AnalysePage
from areaviz.sets.buckets import Frequency, read_corpus
from areaviz.sets.dataset import BuiltDataset, Outputs, build_dataset
from areaviz.sets.files import FORMATS
from areaviz.sets.joined_files import Chosen, JoinedColumns, open_files
from areaviz.sets.roles import OF_SYSTEMS, OUTPUT, ROLES, SCORE, Column, list_systems
from areaviz.sets.run import find_analyses_folder
from areaviz.sets.table import score_columns, score_measure
from areaviz.sets.text_files import MAX_MEGABYTES
from areaviz.sets.user_files import ReaderFiles, set_id
from areaviz.trace.errors import InputError, without_traceback

# The column chooser: one row per column, with its name, three of its cells and its role.


# Session key: the files to which the choice applies, the chosen roles, and whether it is open.
CHOICE_KEY = "analyse_column_choice"
# Prefixes of widget keys. The name of a column follows.
ROLE_KEY_PREFIX, SYSTEM_KEY_PREFIX = "analyse_role ", "analyse_system "
_MAX_SHOWN_CELLS, _MAX_CELL_CHARACTERS = 3, 44


@dataclass(frozen=True, slots=True)
class _RoleChoice:
    """The roles chosen for some files."""

    identity: tuple[str, ...]
    roles: Mapping[str, str]
    # Whether the chooser is open on its own. It then stays open while roles are chosen.
    is_open: bool = False


def read_chosen_roles(identity: tuple[str, ...], kept: Chosen) -> Chosen:
    """Return the roles that the user has chosen for some files in this session.

    Args:
        identity: identifies the files.
        kept: the roles chosen for the files in an earlier session.
    """
    held: _RoleChoice | None = st.session_state.get(CHOICE_KEY)
    if held is None or held.identity != identity:
        st.session_state[CHOICE_KEY] = held = _RoleChoice(identity, dict(kept))
    return held.roles


def draw_column_chooser(
    opened: JoinedColumns | InputError, chosen: Chosen, is_refused: bool
) -> None:
    """Draw the chooser. It is open if a guess is uncertain or the dataset was refused.

    Args:
        opened: the columns, or the reason why there are none.
        chosen: the roles that the user has chosen.
        is_refused: whether the columns could not be combined into a dataset.
    """
    if isinstance(opened, InputError):
        if chosen:
            st.button("Undo all choices of roles", on_click=_reset_roles)
        return
    if not opened.columns:
        return
    unsure = sum(not column.is_sure for column in opened.columns)
    label = f"Columns: {len(opened.columns)}"
    is_open = st.session_state[CHOICE_KEY].is_open or bool(unsure) or is_refused
    _update_choice(is_open=is_open)
    with st.expander(label, expanded=is_open, key="analyse_columns"):
        if unsure:
            what = "is a guess" if unsure == 1 else "are guesses"
            st.caption(f"{pluralise(unsure, 'role')} {what}. Please check what is marked.")
        for column in opened.columns:
            _draw_column_row(column, list_systems(opened.columns))
        if chosen:
            st.button("Undo all choices", on_click=_reset_roles, type="tertiary")


def _draw_column_row(column: Column, systems: list[str]) -> None:
    """Draw the row of a column: name, cells, role, and the system of an output or a score."""
    name, cells, role = st.columns([3, 5, 4], vertical_alignment="center")
    with name:
        st.markdown(f"**{escape_markdown(column.name)}**")
        if not column.is_sure:
            st.badge("please check", color="orange")
    cells.caption("  \n".join(_format_cells(column)))
    with role:
        key = f"{ROLE_KEY_PREFIX}{column.name}"
        # A guess can change with the role of another column, so update the widget.
        st.session_state[key] = column.role
        st.selectbox(
            f"Role of {column.name}",
            list(ROLES),
            key=key,
            format_func=ROLES.__getitem__,
            label_visibility="collapsed",
            on_change=_apply_role,
            args=(column,),
        )
        if column.role in OF_SYSTEMS:
            _draw_system_input(column, systems)


def _format_cells(column: Column) -> list[str]:
    texts = [text for text in column.texts if text.strip()][:_MAX_SHOWN_CELLS]
    return [escape_markdown(shorten_line(text, _MAX_CELL_CHARACTERS)) for text in texts] or [
        "(empty)"
    ]


def _draw_system_input(column: Column, systems: list[str]) -> None:
    """Draw the system's name: free text for an output, a choice of known systems for a score."""
    key = f"{SYSTEM_KEY_PREFIX}{column.name}"
    if column.role == OUTPUT:
        st.session_state[key] = column.system or column.name
        st.text_input(
            f"System of {column.name}",
            key=key,
            max_chars=80,
            label_visibility="collapsed",
            on_change=_apply_system_name,
            args=(column,),
        )
    elif systems:
        st.session_state[key] = column.system if column.system in systems else None
        st.selectbox(
            f"System of {column.name}",
            systems,
            key=key,
            index=None,
            placeholder="Choose the system",
            format_func=escape_controls,
            label_visibility="collapsed",
            on_change=_apply_system_name,
            args=(column,),
        )


def _apply_role(column: Column) -> None:
    role = st.session_state[f"{ROLE_KEY_PREFIX}{column.name}"]
    is_same_system = role in OF_SYSTEMS and column.role in OF_SYSTEMS and column.system
    _set_role(column.name, f"{role}:{column.system}" if is_same_system else role)


def _apply_system_name(column: Column) -> None:
    system = (st.session_state[f"{SYSTEM_KEY_PREFIX}{column.name}"] or "").strip()
    role = OUTPUT if column.role == OUTPUT else SCORE
    _set_role(column.name, f"{role}:{system}" if system else role)


def _set_role(name: str, role: str) -> None:
    _update_choice(roles={**st.session_state[CHOICE_KEY].roles, name: role})


def _reset_roles() -> None:
    _update_choice(roles={})


def _update_choice(**changes: Any) -> None:
    st.session_state[CHOICE_KEY] = replace(st.session_state[CHOICE_KEY], **changes)


# The choice of the dataset: a sample, uploaded files, or a folder on this machine.
#
# An uploaded dataset is kept with the session. It is also kept with its analysis
# (`save_to_history`), so that returning users find it.


# Keys of widgets.
SOURCE_KEY, FILES_KEY_PREFIX = "analyse_source", "analyse_files"
# Session keys: the number of times that files were removed, and the uploaded dataset.
UPLOADER_TURN_KEY, UPLOADED_SET_KEY = "analyse_turn", "analyse_held"
# Environment variable: a folder on this machine that contains one folder per dataset. Nothing
# outside it is ever opened.
DATASETS_FOLDER_VARIABLE = "AREAVIZ_DATASETS"
# Limit on all files of a dataset in MB. Only this uploader takes several files, each of at most
# `MAX_MEGABYTES`.
MAX_SET_MEGABYTES, BYTES_PER_MIB = 150, 2**20


@dataclass(frozen=True, slots=True)
class ChosenSet:
    """A dataset and its origin.

    Args:
        dataset: the examples.
        address: the name of the dataset in URLs.
        files: the uploaded files, None for a sample or a folder.
        roles: the roles that the user gave to columns.
        outputs: outputs of systems from files, by the names of the systems.
        scores: scores of these outputs from files, by system and metric.
        corpus: word frequencies from a file. If it is None, the references give the frequencies.
        marked_files: the files with ratings or marked errors.
    """

    dataset: Dataset
    address: str
    files: Files | None = None
    roles: Chosen = field(default_factory=dict)
    outputs: Outputs = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    corpus: Frequency | None = None
    marked_files: Files = field(default_factory=dict)


def draw_dataset_form(page: AnalysePage) -> ChosenSet | None:
    """Draw the widgets, and return the dataset, or None while none is chosen.

    Raises:
        InputError: the dataset cannot be used.
    """
    sources = [SAMPLES, UPLOAD, *([FOLDER] if os.environ.get(DATASETS_FOLDER_VARIABLE) else [])]
    titles = {source: source for source in sources}
    source = page.choose(st.segmented_control, "Examples", "source", titles, required=True)
    if source == UPLOAD:
        return _choose_own_set(page)
    if source == FOLDER:
        return _choose_folder_set(page)
    names = {name: name for name in SAMPLE_SETS}
    name = page.choose(st.pills, "Set", "sample", names, required=True)
    return ChosenSet(SAMPLE_SETS[name](), name)


def _choose_own_set(page: AnalysePage) -> ChosenSet | None:
    """Return the user's own dataset: the files just chosen, or the dataset chosen before."""
    if page.state.has_linked_set:
        _clear_uploader()
        page.set(has_linked_set=False)
    if not has_uploaded_files() and page.state.own:
        return _load_earlier_set(page)
    given = st.file_uploader(
        "Files",
        accept_multiple_files=True,
        key=get_uploader_key(),
        max_upload_size=MAX_MEGABYTES,
        on_change=page.set,
        kwargs={"own": ""},
    )
    st.caption(FORMATS)
    if not given:
        return None
    together = sum(file.size for file in given) / BYTES_PER_MIB
    if together > MAX_SET_MEGABYTES:
        raise InputError(
            f"The files together have {together:,.1f} MB. The limit is {MAX_SET_MEGABYTES} MB."
            " Remove some of them."
        )
    files = {file.name: file.getvalue() for file in given}
    chosen = _choose_roles_and_read(tuple(file.file_id for file in given), files, {})
    page.set(own=chosen.address)
    st.session_state[UPLOADED_SET_KEY] = chosen
    return chosen


def _load_earlier_set(page: AnalysePage) -> ChosenSet:
    """Return the dataset that the user chose before, from this session or the server's disk."""
    held: ChosenSet | None = st.session_state.get(UPLOADED_SET_KEY)
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.empty()
        st.button("Choose other files", on_click=_forget_own_set, args=(page,))
    if held is None or held.address != page.state.own:
        kept = ReaderFiles(find_analyses_folder(), get_user_digest())
        files, roles = kept.open_set(page.state.own)
    else:
        files, roles = held.files or {}, held.roles
    names = ", ".join(files)
    place.caption(f"Your files: {escape_markdown(names)}", width="content")
    identity = tuple(f"{name} {hash_content(name, content)}" for name, content in files.items())
    held = _choose_roles_and_read(identity, files, roles)
    page.set(own=held.address)
    st.session_state[UPLOADED_SET_KEY] = held
    return held


def _forget_own_set(page: AnalysePage) -> None:
    _clear_uploader()
    page.set(own="")


def get_uploader_key() -> str:
    """Return the key of the uploader. A new key gives an empty uploader."""
    turn = st.session_state.get(UPLOADER_TURN_KEY, 0)
    return f"{FILES_KEY_PREFIX}_{turn}" if turn else FILES_KEY_PREFIX


def has_uploaded_files() -> bool:
    """Return whether the uploader contains files."""
    return bool(st.session_state.get(get_uploader_key()))


def delete_uploaded_files(page: AnalysePage) -> None:
    """Remove the uploaded files from the session. Call this before the page is drawn."""
    _read_once.clear()
    st.session_state.pop(UPLOADED_SET_KEY, None)
    _forget_own_set(page)


def _clear_uploader() -> None:
    st.session_state.pop(get_uploader_key(), None)
    st.session_state[UPLOADER_TURN_KEY] = st.session_state.get(UPLOADER_TURN_KEY, 0) + 1


def _list_dataset_folders() -> dict[str, Path]:
    """Return the offered folders by name."""
    setting = os.environ.get(DATASETS_FOLDER_VARIABLE, "")
    inside = Path(setting).expanduser().resolve()
    if not setting or not inside.is_dir():
        return {}
    return {one.name: one for one in sorted(inside.iterdir()) if one.is_dir()}


def _choose_folder_set(page: AnalysePage) -> ChosenSet | None:
    """Let the user choose one of the offered folders."""
    folders = _list_dataset_folders()
    if not folders:
        raise InputError(
            f"The folder that {DATASETS_FOLDER_VARIABLE} names has no datasets. Put each dataset"
            " there, in a folder of its own."
        )
    titles = {name: name for name in folders}
    name = page.choose_optional("Folder", "folder", titles, placeholder="Choose a folder")
    if not name:
        return None
    files = _read_folder_files(folders[name])
    identity = tuple(f"{name} {hash_content(name, path)}" for name, path in files.items())
    return _read_from_folder(name, _choose_roles_and_read(identity, files, {}))


def read_folder_set(name: str) -> ChosenSet:
    """Return the dataset in one of the offered folders, without drawing anything.

    Raises:
        InputError: the folder does not exist, or cannot be used as one dataset.
    """
    folder = _list_dataset_folders().get(name)
    if folder is None:
        raise InputError("The folder of this dataset no longer exists.")
    return _read_from_folder(name, read_set(_read_folder_files(folder), {}))


def _read_from_folder(name: str, read: ChosenSet) -> ChosenSet:
    return replace(read, address=f"{FOLDER_PREFIX}{name}", files=None)


def _read_folder_files(folder: Path) -> dict[str, Path]:
    """Return the files of a folder by name, except links to files outside the folder's parent."""
    files = {}
    for path in sorted(folder.iterdir()):
        if path.is_file() and path.resolve().is_relative_to(folder.parent):
            files[path.name] = path
    return files


def _choose_roles_and_read(identity: tuple[str, ...], files: Files, kept: Chosen) -> ChosenSet:
    """Let the user choose the roles of columns, and return the dataset.

    Args:
        identity: a key for the files. Files with the same key have the same content.
        files: all files.
        kept: the roles that the user chose for these files before.

    Raises:
        InputError: the files cannot be used as one dataset.
    """
    chosen = read_chosen_roles(identity, kept)
    opened, brought = _read_once(identity, repr(chosen), files, chosen)
    draw_column_chooser(opened, chosen, isinstance(brought, InputError))
    for refusal in (opened, brought):
        if isinstance(refusal, InputError):
            raise without_traceback(refusal)
    if isinstance(opened, InputError) or isinstance(brought, InputError):
        raise AssertionError("unreachable")
    if brought.notes:
        st.caption("  \n".join(map(escape_markdown, brought.notes)))
    return _build_chosen_set(brought, files, chosen)


def read_set(files: Files, chosen: Chosen) -> ChosenSet:
    """Return the dataset in files with chosen roles, without drawing anything.

    Raises:
        InputError: the files cannot be used as one dataset.
    """
    return _build_chosen_set(build_dataset(files, open_files(files, chosen)), files, chosen)


def _build_chosen_set(brought: BuiltDataset, files: Files, chosen: Chosen) -> ChosenSet:
    corpus = read_corpus(brought.corpus, files) if brought.corpus else None
    scores = {system: score_columns(one) for system, one in brought.scores.items()}
    dataset = brought.dataset
    found = brought.outputs, scores, corpus, brought.marked
    return ChosenSet(dataset, set_id(dataset), files, chosen, *found)


@st.cache_resource(scope="session", max_entries=2, show_spinner="Reading the examples")
def _read_once(
    identity: tuple[str, ...], how: str, _files: Files, _chosen: Chosen
) -> tuple[JoinedColumns | InputError, BuiltDataset | InputError]:
    """Read files, or return the cached result.

    Errors are cached too, because finding them takes as long as reading correct files.

    Args:
        identity: a key for the files. Files with the same key have the same content.
        how: the chosen roles as text.
    """
    try:
        opened = open_files(_files, _chosen)
    except InputError as refusal:
        kept = without_traceback(refusal)
        return kept, kept
    try:
        return opened, build_dataset(_files, opened)
    except InputError as refusal:
        return opened, without_traceback(refusal)


def describe_set(chosen: ChosenSet) -> str:
    """Describe the content of a dataset in one line."""
    dataset = chosen.dataset
    known = sum(bool(one.references) for one in dataset.examples)
    linked = sum(bool(one.sure or one.possible) for one in dataset.examples)
    parts = [pluralise(len(dataset.examples), "example")]
    if known:
        parts.append(f"{known:,} with {'a reference' if known == 1 else 'references'}")
    else:
        parts.append("no references")
    if dataset.files:
        parts.append(pluralise(len(dataset.files), dataset.medium))
    if linked:
        parts.append(f"{linked:,} with gold links")
    if dataset.metadata:
        parts.append(f"metadata: {', '.join(map(escape_markdown, dataset.metadata))}")
    if chosen.outputs:
        parts.append(f"outputs of {pluralise(len(chosen.outputs), 'system')}")
    names = dict.fromkeys(name for one in chosen.scores.values() for name in one)
    if names:
        parts.append(f"scores: {', '.join(score_measure(name).title for name in names)}")
    return ", ".join(parts)
