"""Downloads of a view, created on demand: a page, the figure, its numbers and the trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from mimetypes import guess_type

import streamlit as st

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
from areaviz.page.content import PageOptions
from areaviz.page.page import check_page, make_file_stem, make_page, write_python_lines
from areaviz.show.views import VIEWS
from areaviz.trace import file as codec
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.language import get_language
from areaviz.ui.results.live_download import build_live_html, explain_live_refusal

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
    made["npz"] = DownloadFile(name_trace_file(trace), lambda: codec.trace_to_bytes(trace), "Trace")
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
            "Figure width",
            list(WIDTHS),
            default="A page",
            required=True,
            key=f"width_{key}",
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
