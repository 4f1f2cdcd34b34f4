"""Which examples are analysed: a set of the app's own, the reader's files, or a folder here.

A set of the reader's own stays with the session, and with its analysis (`earlier.keep`): who comes
back finds it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import streamlit as st

from areaviz.analysis.buckets import Frequency, read_corpus
from areaviz.analysis.reader_files import ReaderFiles, set_id
from areaviz.analysis.rows import analyses_folder
from areaviz.analysis.score_files import scores_of
from areaviz.analysis.table import score_columns, score_measure
from areaviz.data.example_files import MAX_MEGABYTES
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.examples import Dataset, Files
from areaviz.data.file_kinds import FORMATS, TABLES, ending_of
from areaviz.data.media import is_medium
from areaviz.data.set_files import Roles, likely_roles
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.state import FOLDER, IN_FOLDER, SAMPLES, UPLOAD, AnalysePage
from areaviz.ui.shell.markdown import counted, escaped, visible
from areaviz.ui.shell.reader import reader_mark

# Keys of widgets.
SOURCE, FILES = "analyse_source", "analyse_files"
# In the session: how often uploaded files were deleted, and the reader's own set.
TURN, HELD = "analyse_turn", "analyse_held"
# Environment variable: a folder of this machine with a folder for each data set; nothing outside it
# is ever opened.
SETTING = "AREAVIZ_DATASETS"
# Megabytes of all files of a set; this uploader alone takes several, each of `MAX_MEGABYTES`.
MOST_TOGETHER, MEGA = 150, 2**20
# Pixels of a list of files: four fit beside one another on a wide page, three on a narrow one.
WIDTH = 225
Outputs = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ChosenSet:
    """A set, and where it comes from.

    Args:
        dataset: the examples.
        address: what an address calls it.
        files: the reader's own, None of a set that is here for everybody.
        roles: what each file is.
        outputs: what systems wrote for it, by the names of their files.
        scores: of each system, measures of these outputs from files.
        corpus: word frequencies from a file, None for those of the references.
    """

    dataset: Dataset
    address: str
    files: Files | None = None
    roles: Roles = Roles()
    outputs: Outputs = field(default_factory=dict)
    scores: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)
    corpus: Frequency | None = None


def dataset_form(page: AnalysePage) -> ChosenSet | None:
    """Draw the widgets; returns the set, or None while nothing is chosen.

    Raises:
        InputError: the set cannot be used.
    """
    folder = os.environ.get(SETTING, "")
    sources = [SAMPLES, UPLOAD]
    if folder:
        sources.append(FOLDER)
    titles = {source: source for source in sources}
    source = page.choose(st.segmented_control, "Examples", "source", titles, required=True)
    if source == UPLOAD:
        return _own_set(page)
    if source == FOLDER:
        return _from_folder(page, Path(folder).expanduser())
    names = {name: name for name in SAMPLE_SETS}
    name = page.choose(st.pills, "Set", "sample", names, required=True)
    return ChosenSet(SAMPLE_SETS[name](), name)


def _own_set(page: AnalysePage) -> ChosenSet | None:
    """The reader's own files: those just chosen, or the set they had before."""
    if page.state.has_linked_set:
        _let_files_go()
        page.set(has_linked_set=False)
    if not has_files() and page.state.own:
        return _earlier_set(page)
    given = st.file_uploader(
        "Files",
        accept_multiple_files=True,
        key=files_key(),
        max_upload_size=MAX_MEGABYTES,
        on_change=page.set,
        kwargs={"own": ""},
    )
    st.caption(FORMATS)
    if not given:
        return None
    together = sum(file.size for file in given) / MEGA
    if together > MOST_TOGETHER:
        raise InputError(
            f"The files have {together:,.1f} MB together but at most {MOST_TOGETHER} are possible"
            " in one session; remove some of them."
        )
    files = {file.name: file.getvalue() for file in given}
    roles = _choose_roles(list(files))
    chosen = _read_once(tuple(file.file_id for file in given), repr(roles), files, roles)
    if isinstance(chosen, InputError):
        raise chosen
    page.set(own=chosen.address)
    st.session_state[HELD] = chosen
    return chosen


def _earlier_set(page: AnalysePage) -> ChosenSet:
    """The set that the reader had in this session, or keeps here."""
    held: ChosenSet | None = st.session_state.get(HELD)
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.empty()
        st.button("Choose other files", on_click=_choose_anew, args=(page,))
    if held is None or held.address != page.state.own:
        kept = ReaderFiles(analyses_folder(), reader_mark())
        held = _read(*kept.open_set(page.state.own))
        st.session_state[HELD] = held
    names = ", ".join(held.files or ())
    place.caption(f"Your files: {escaped(names)}", width="content")
    return held


def _choose_anew(page: AnalysePage) -> None:
    _let_files_go()
    page.set(own="")


def files_key() -> str:
    """The key of the uploader; a new one is empty."""
    turn = st.session_state.get(TURN, 0)
    return f"{FILES}_{turn}" if turn else FILES


def has_files() -> bool:
    """Whether the reader's own files were chosen on the page as it is."""
    return bool(st.session_state.get(files_key()))


def delete_files(page: AnalysePage) -> None:
    """Take the reader's own files out of the session; called before the page is drawn."""
    _read_once.clear()
    st.session_state.pop(HELD, None)
    _choose_anew(page)


def _let_files_go() -> None:
    st.session_state.pop(files_key(), None)
    st.session_state[TURN] = st.session_state.get(TURN, 0) + 1


def _from_folder(page: AnalysePage, root: Path) -> ChosenSet | None:
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
    if page.state.folder not in names:
        page.set(folder=None)
    name = page.widget(
        st.selectbox, "Folder", "folder", names, index=None, placeholder="Choose a folder"
    )
    if not name:
        return None
    files = {}
    for path in sorted((inside / name).iterdir()):
        if path.is_file() and path.resolve().is_relative_to(inside):
            files[path.name] = path
    read = _read(files, _choose_roles(list(files)))
    return replace(read, address=f"{IN_FOLDER}{name}", files=None)


def _choose_roles(names: list[str]) -> Roles:
    """What each file is, as its name says; where several could be meant, the reader says which."""
    likely = likely_roles(names)
    tables = [name for name in names if ending_of(name) in TABLES and name not in likely.scores]
    if len(tables) > 1:
        return Roles(table=st.selectbox("Table", tables, format_func=visible))
    texts = [name for name in names if ending_of(name) not in TABLES and not is_medium(name)]
    if tables or len(texts) < 2:
        return likely
    with st.container(horizontal=True):
        first = texts.index(likely.source)
        source = st.selectbox(
            "Sentences to run", texts, index=first, format_func=visible, width=WIDTH
        )
        others = [name for name in texts if name != source]
        links = st.selectbox(
            "Gold links",
            others,
            index=others.index(likely.links) if likely.links in others else None,
            placeholder="None",
            format_func=visible,
            width=WIDTH,
        )
        rest = [name for name in others if name != links]
        written = [name for name in likely.outputs if name in rest]
        outputs = _several("Outputs of other systems", rest, written)
        rest = [name for name in rest if name not in outputs]
        given = [name for name in rest if name != likely.corpus]
        references = _several("References", rest, given)
        scores = _several("Scores of these outputs", [*rest, *likely.scores], [*likely.scores])
        rest = [name for name in (*references, likely.corpus) if name and name not in scores]
        corpus = st.selectbox(
            "Corpus of word frequencies",
            rest,
            index=rest.index(likely.corpus) if likely.corpus in rest else None,
            placeholder="None",
            format_func=visible,
            width=WIDTH,
        )
        references = tuple(name for name in references if name not in (*scores, corpus))
    return Roles("", source, references, links or "", outputs, scores, corpus or "")


def _several(label: str, names: list[str], default: list[str]) -> tuple[str, ...]:
    """Some of the files, chosen by the reader."""
    chosen = st.multiselect(
        label, names, default=default, placeholder="None", format_func=visible, width=WIDTH
    )
    return tuple(chosen)


@st.cache_resource(scope="session", max_entries=1, show_spinner="Reading the examples")
def _read_once(
    identity: tuple[str, ...], how: str, _files: Files, _roles: Roles
) -> ChosenSet | InputError:
    """A set as it was read before, else read now; a refusal too, which takes as long to find out.

    Args:
        identity: of uploaded files, which stay as they are.
        how: the roles, as text.
    """
    try:
        return _read(_files, _roles)
    except InputError as refusal:
        return refusal


def _read(files: Files, roles: Roles) -> ChosenSet:
    """The set of these files in these roles; raises InputError."""
    dataset = roles.read(files)
    outputs = roles.read_outputs(files, dataset)
    if roles.scores and not outputs:
        raise InputError("Scores are of outputs; choose the files with the outputs, too.")
    found = scores_of(roles.scores, files, list(outputs), len(dataset.examples))
    scores = dict(zip(outputs, map(score_columns, found), strict=True))
    corpus = read_corpus(roles.corpus, files) if roles.corpus else None
    return ChosenSet(dataset, set_id(dataset), files, roles, outputs, scores, corpus)


def about_set(chosen: ChosenSet) -> str:
    """What a set has, in one line."""
    dataset = chosen.dataset
    known = sum(bool(one.references) for one in dataset.examples)
    linked = sum(bool(one.sure or one.possible) for one in dataset.examples)
    parts = [counted(len(dataset.examples), "example")]
    if known:
        parts.append(f"{known:,} with {'a reference' if known == 1 else 'references'}")
    else:
        parts.append("no references")
    if dataset.files:
        parts.append(counted(len(dataset.files), dataset.medium))
    if linked:
        parts.append(f"{linked:,} with gold links")
    if chosen.outputs:
        parts.append(f"outputs of {counted(len(chosen.outputs), 'system')}")
    names = dict.fromkeys(name for one in chosen.scores.values() for name in one)
    if names:
        parts.append(f"scores: {', '.join(score_measure(name).title for name in names)}")
    return ", ".join(parts)
