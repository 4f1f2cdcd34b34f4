"""Files of a result: live pages, downloads, and traces that users upload."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from mimetypes import guess_type
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.app.options import MAX_MEGABYTES, STORED_FILE_KEY
from areaviz.app.run import get_disk_budget, get_memory_budget, get_visitor, is_file_gone
from areaviz.app.texts import escape_markdown, get_language
from areaviz.cards.card import read_card
from areaviz.draw.labels import make_element
from areaviz.draw.view import (
    LETTERS,
    WIDTHS,
    Download,
    Paper,
    Table,
    View,
    encode_csv,
    encode_figure,
    format_json,
)
from areaviz.live.build import LiveModel, check_live, make_live_page
from areaviz.page.content import PageOptions
from areaviz.page.page import check_page, make_file_stem, make_page, write_python_lines
from areaviz.samples.paths import find_checkpoints_folder
from areaviz.trace.arrays import from_npz, holds_trace, make_example_file, open_npz
from areaviz.trace.errors import BackendError, InputError, without_traceback
from areaviz.trace.file import OPERATOR, open_trace, trace_to_bytes
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.views.views import VIEWS

# The live page of the model that a page shows, written when the user asks for it.


CHANGED_REFUSAL = "A live page opens with a run without changes. Undo your changes to download it."


def explain_live_refusal(trace: Trace) -> str:
    """Return why there is no live page of a trace's model as Markdown, "" if there is one."""
    if trace.request.changes:
        return CHANGED_REFUSAL
    folder = _find_folder(trace)
    if folder is None:
        name = escape_markdown(trace.request.model) or "this model"
        return f"The app does not have the files of {name}, so it cannot write a live page."
    try:
        check_live(read_card(folder / "card.json"))
    except (InputError, BackendError) as error:
        return escape_markdown(str(error))
    return ""


def build_live_html(trace: Trace, focus: Focus) -> bytes:
    """Return the live page of a trace's model, which opens with the trace."""
    folder = _find_folder(trace)
    assert folder is not None
    model = LiveModel.load(folder, read_card(folder / "card.json"))
    picture = trace.request.picture
    pictures = [] if picture is None else [picture]
    try:
        html = make_live_page(model, trace, focus, pictures=pictures)
    except InputError:
        # The page cannot open with this selection.
        html = make_live_page(model, trace, pictures=pictures)
    return html.encode("utf-8", "replace")


def _find_folder(trace: Trace) -> Path | None:
    """Return the folder of a trace's model. Check the name, because a file can contain any name."""
    name = trace.request.model
    folder = find_checkpoints_folder() / name
    if not name or Path(name).name != name or not (folder / "card.json").is_file():
        return None
    return folder


# Downloads of a view, created on demand: a page, the figure, its numbers and the trace.


PAGE_EXTENSIONS = ("html",)
FILE_GROUPS = {
    "One interactive page with everything, which opens without this app": PAGE_EXTENSIONS,
    "Animation": ("gif",),
    "Figure for print": ("svg", "pdf", "png"),
    "Data behind the figure": ("csv", "json"),
    "Trace file, which you can open again on any page, under Options": ("npz",),
}
"""Groups of files in the order of the menu, by their titles."""

TOO_LARGE = (
    f"This page would exceed the limit of {PageOptions().limit // 2**20} MiB. Download the trace"
    " below and export a larger page, or fewer layers, with: python -m areaviz export trace.npz"
    " page.html --limit 64"
)
DEFAULT_PAPER = Paper()
_REFUSALS_KEY, MAX_STORED_REFUSALS = "page_refusals", 8


@dataclass(frozen=True, slots=True, eq=False)
class ShownView:
    """Something on the page that can be downloaded: a view of a selection of a trace."""

    view: Download
    trace: Trace
    focus: Focus


@dataclass(frozen=True, slots=True)
class DownloadFile:
    """A file that can be created.

    Args:
        name: the name of the file.
        make: returns its content.
        title: the label of its button, "" for the extension of the name.
    """

    name: str
    make: Callable[[], bytes]
    title: str = ""

    @property
    def label(self) -> str:
        """The label of its button."""
        return self.title or self.name.rpartition(".")[2].upper()

    @property
    def mime(self) -> str:
        """Its MIME type."""
        return guess_type(self.name)[0] or "application/octet-stream"


def list_files(
    view: Download, trace: Trace, focus: Focus, paper: Paper = DEFAULT_PAPER
) -> Mapping[str, DownloadFile]:
    """Return the files of a view by extension. Creating one does not access the disk."""
    name, movie = make_file_stem(view.name, trace, focus), view.movie

    def make_picture(kind: str) -> DownloadFile:
        return DownloadFile(
            f"{name}.{kind}", lambda: encode_figure(view.print(trace, focus), kind, paper)
        )

    def make_numbers(kind: str, write: Callable[[Table], bytes]) -> DownloadFile:
        return DownloadFile(f"{name}.{kind}", lambda: write(view.table(trace, focus)))

    made = {kind: make_picture(kind) for kind in ("svg", "pdf", "png")}
    made["csv"] = make_numbers("csv", encode_csv)
    made["json"] = make_numbers("json", lambda table: format_json(table).encode())
    if movie:
        made["gif"] = DownloadFile(f"{name}.gif", lambda: movie(trace, focus))
    made["html"] = DownloadFile(
        f"{trace.request.model}_page.html",
        partial(_create_page, view, trace, focus, get_language()),
        "Interactive page (.html)",
    )
    made["npz"] = DownloadFile(name_trace_file(trace), lambda: trace_to_bytes(trace), "Trace")
    return made


def draw_downloads(label: str, offered: Mapping[str, ShownView], key: str) -> None:
    """Draw a menu of files. Only the page's size is checked before a file is chosen."""
    with st.popover(label, key=f"files_{key}", type="tertiary"):
        title = next(iter(offered))
        if len(offered) > 1:
            title = st.segmented_control(
                "From", list(offered), default=title, required=True, key=f"from_{key}"
            )
        _draw_menu(offered[title], f"{key}_{list(offered).index(title)}")


def _draw_menu(shown: ShownView, key: str) -> None:
    """Draw the choice of the figure's size, the files in groups, and the Python code."""
    trace, paper = shown.trace, _choose_paper(key)
    made = list_files(shown.view, trace, shown.focus, paper)
    for title, kinds in FILE_GROUPS.items():
        group = [made[kind] for kind in kinds if kind in made]
        if not group:
            continue
        st.caption(title)
        refusal = explain_page_refusal(trace) if kinds == PAGE_EXTENSIONS else ""
        if refusal:
            st.caption(refusal)
        else:
            _draw_buttons(group, key)
        if kinds == PAGE_EXTENSIONS:
            _draw_live_page_button(trace, shown.focus, key)
    st.caption("Python code that redraws this figure from the trace")
    code = write_python_lines(shown.view.name, trace, shown.focus, paper, name_trace_file(trace))
    st.code(code, "python")


def _draw_live_page_button(trace: Trace, focus: Focus, key: str) -> None:
    """Draw the button of the live page, or the sentence that says why there is none."""
    st.caption("As a live page: one file that runs the model without this app")
    refusal = explain_live_refusal(trace)
    if refusal:
        st.caption(refusal)
        return
    name = f"{trace.request.model}_live.html"
    _draw_buttons(
        [DownloadFile(name, lambda: build_live_html(trace, focus), "Live page (.html)")], key
    )


def name_trace_file(trace: Trace) -> str:
    """Return the name of a trace's file."""
    return f"{trace.request.model or 'attention'}_trace.npz"


def _choose_paper(key: str) -> Paper:
    """Let the user choose the size of figures."""
    with st.container(horizontal=True):
        width = st.segmented_control(
            "Figure width", list(WIDTHS), default="A page", required=True, key=f"width_{key}"
        )
        letters = st.segmented_control(
            "Font size (pt)",
            LETTERS,
            default=DEFAULT_PAPER.letters,
            required=True,
            format_func=lambda size: f"{size:g}",
            key=f"letters_{key}",
        )
    return Paper(WIDTHS[width], letters)


def explain_page_refusal(trace: Trace) -> str:
    """Return why a trace cannot be exported as a page, in one sentence, or "".

    This is an estimate. `_create_page` decides. The result is cached, because every run of the
    page needs it.
    """
    key = trace.request, tuple((site, one.weights.shape) for site, one in trace.maps.items())
    known: dict[object, str] = st.session_state.setdefault(_REFUSALS_KEY, {})
    if key not in known:
        while len(known) >= MAX_STORED_REFUSALS:
            known.pop(next(iter(known)))
        try:
            check_page(trace)
            known[key] = ""
        except InputError:
            known[key] = TOO_LARGE
    return known[key]


def _create_page(view: Download, trace: Trace, focus: Focus, code: str) -> bytes:
    """Return the page, or the sentence that says why there is none, as the content of the download.

    A figure that needs more than the trace, such as the explanation of a weight, is included.

    Args:
        view: the view that is downloaded.
        trace: the trace.
        focus: the selection with which the page opens.
        code: the language of the page.
    """
    try:
        also = [view] if isinstance(view, View) and view.name not in VIEWS else []
        text = make_page(trace, focus, PageOptions(language=code), also=also)
    except InputError:
        text = "<!doctype html>\n" + make_element("title", "areaviz") + make_element("p", TOO_LARGE)
    return text.encode("utf-8", "replace")


def _draw_buttons(offered: list[DownloadFile], key: str) -> None:
    with st.container(horizontal=True):
        for file in offered:
            name = f"{file.name}_{key}"
            st.download_button(
                file.label, file.make, file.name, file.mime, key=name, on_click="ignore"
            )


# Files of attention: opened once, with weights on disk, and freed when their user leaves.


TRACE_VARIABLE = "AREAVIZ_TRACE"
"""Environment variable: a file to show to all users, as `serve --trace FILE` sets it."""
LARGE_BYTES = 8 * 2**20
"""Bytes of a layer above which the app processes only one trace at a time."""


def open_upload(file: UploadedFile, area_size: int | None = None) -> Trace:
    """Return the trace in an uploaded file, which is read once for all runs of the page.

    Args:
        file: the uploaded file.
        area_size: for raw arrays, the size of the largest area to show; None accepts only stored
            traces.

    Raises:
        InputError: the file cannot be used.
        BackendError: the app has no room for it.
    """
    if file.size > MAX_MEGABYTES * 2**20:
        raise InputError(
            f"The file has {file.size / 2**20:,.1f} MB, and the limit is {MAX_MEGABYTES}. Choose"
            " a smaller file, or have the app started with: python -m areaviz serve --trace FILE"
        )
    found = _read_upload(file.file_id, area_size, file)
    if isinstance(found, InputError):
        raise without_traceback(found)
    get_memory_budget().hold(found, found.nbytes, get_visitor())
    return found


def open_stored_trace() -> Trace | None:
    """Return a stored trace that the user has opened, or None; raises as `open_upload`."""
    file = st.session_state.get(STORED_FILE_KEY)
    return None if file is None or is_file_gone(file) else open_upload(file)


def open_served_file() -> Path | None:
    """Return the file with which the app was started, None if there is none."""
    given = os.environ.get(TRACE_VARIABLE, "")
    return Path(given) if given else None


def is_served_file_trace(path: Path) -> bool:
    """Return whether the app was started with a stored trace; raises as `open_upload`."""
    with _share_file(path) as file:
        return holds_trace(file, OPERATOR)


def open_served_trace(path: Path, area_size: int = 1) -> Trace:
    """Return the trace in the file of `serve --trace`, which sessions share.

    Raises:
        InputError: as for `open_upload`.
    """
    with _share_file(path) as file:
        about = os.fstat(file.fileno())
        found = _read_served_file(str(path), about.st_mtime_ns, about.st_size, area_size, file)
    if isinstance(found, InputError):
        raise without_traceback(found)
    return found


@contextmanager
def _share_file(path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise BackendError(
            f"The file that the app was started with cannot be opened ({error.strerror})."
            " Tell the person who runs the app."
        ) from error


@contextmanager
def wait_for_turn(traces: Sequence[Trace]) -> Iterator[None]:
    """Wait for the turn to process a large trace, so that few layers are in memory at once."""
    if all(_count_layer_bytes(trace) < LARGE_BYTES for trace in traces):
        yield
        return
    with _get_turn_lock():
        yield


def _count_layer_bytes(trace: Trace) -> int:
    return max((one.weights.nbytes // one.layers for one in trace.maps.values()), default=0)


@st.cache_resource(scope="session", max_entries=2, show_spinner="Reading the file")
def _read_upload(file_id: str, area_size: int | None, _file: UploadedFile) -> Trace | InputError:
    """Read a file. Errors are cached too, because finding one may take equally long."""
    try:
        with _get_turn_lock():
            reserve = partial(get_disk_budget().reserve, owner=get_visitor())
            if area_size is None:
                return open_trace(_file, reserve=reserve)
            return open_npz(_file, area_size, reserve=reserve)
    except InputError as refusal:
        return without_traceback(refusal)


@st.cache_resource(max_entries=2, show_spinner="Reading the file")
def _read_served_file(
    path: str, changed: int, size: int, area_size: int, _file: BinaryIO
) -> Trace | InputError:
    try:
        with _get_turn_lock():
            return open_npz(_file, area_size, room=OPERATOR)
    except InputError as refusal:
        return without_traceback(refusal)


@st.cache_resource(max_entries=2, show_spinner=False)
def open_example_trace(area_size: int) -> Trace:
    """Return the trace of the example."""
    return from_npz(make_example_file(), area_size)


@st.cache_resource(max_entries=1, show_spinner=False)
def _get_turn_lock() -> Lock:
    return Lock()
