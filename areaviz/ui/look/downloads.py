"""Everything on the page as files: a page to send, the picture, its numbers, the whole trace. Made
when asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import streamlit as st

from areaviz.drawing.base import Table, Takeaway
from areaviz.drawing.export import figure_bytes, table_csv, table_json
from areaviz.publish.markup import element
from areaviz.publish.options import PageOptions
from areaviz.publish.page import check_page, page
from areaviz.trace import codec
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

PAGE = ("html",)
GROUPS = {
    "All of it as one file, to be looked into without this app": PAGE,
    "As a film": ("gif",),
    "The picture, for print": ("svg", "pdf", "png"),
    "Its numbers": ("csv", "json"),
}
"""What is offered together, in this order, under which title."""

TOO_LARGE = (
    f"A page of this would take more than the {PageOptions().limit // 2**20} MiB that are possible"
    " here; download the trace below and write a larger page, or one of fewer layers, with: python"
    " -m areaviz export areaviz-trace.npz page.html --limit 64"
)
_TOLD, REMEMBERED = "page_refusals", 8


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be made: its button's label, its name and type, and how."""

    label: str
    name: str
    mime: str
    make: Callable[[], bytes]


def files(view: Takeaway, trace: Trace, focus: Focus) -> Mapping[str, File]:
    """The files of a view, by ending; making one touches no disk."""

    def picture(kind: str, mime: str) -> File:
        name = f"areaviz-{view.name}.{kind}"
        return File(kind.upper(), name, mime, lambda: figure_bytes(view.print(trace, focus), kind))

    def numbers(kind: str, mime: str, write: Callable[[Table], str]) -> File:
        return File(
            kind.upper(),
            f"areaviz-{view.name}.{kind}",
            mime,
            lambda: write(view.table(trace, focus)).encode(),
        )

    movie = view.movie
    moving = (
        {"gif": File("GIF", f"areaviz-{view.name}.gif", "image/gif", lambda: movie(trace, focus))}
        if movie
        else {}
    )
    return {
        "html": File(
            "Interactive page (.html)",
            "areaviz-page.html",
            "text/html",
            lambda: _page(trace, focus),
        ),
        **moving,
        "svg": picture("svg", "image/svg+xml"),
        "pdf": picture("pdf", "application/pdf"),
        "png": picture("png", "image/png"),
        "csv": numbers("csv", "text/csv", table_csv),
        "json": numbers("json", "application/json", table_json),
        "npz": File(
            "Trace", "areaviz-trace.npz", "application/octet-stream", lambda: codec.to_bytes(trace)
        ),
    }


def downloads(view: Takeaway, trace: Trace, focus: Focus, key: str) -> None:
    """A menu of files; nothing is computed before one is chosen, but whether a large trace fits in
    a page.
    """
    made = files(view, trace, focus)
    with st.popover("Download", key=f"files_{view.name}_{key}"):
        for title, kinds in GROUPS.items():
            if offered := [made[kind] for kind in kinds if kind in made]:
                st.caption(title)
                if kinds == PAGE and (refused := page_refusal(trace)):
                    st.caption(refused)
                    continue
                _buttons(offered, f"{view.name}_{key}")
        st.caption("Everything the model attended to, to be opened here again")
        _buttons([made["npz"]], f"{view.name}_{key}")


def page_refusal(trace: Trace) -> str:
    """Why there is no page of a trace, in one sentence, "" where there is one; remembered, as it is
    asked in every run.

    It is a guess: `_page` has the last word.
    """
    key = trace.request, tuple((site, one.weights.shape) for site, one in trace.maps.items())
    told: dict[object, str] = st.session_state.setdefault(_TOLD, {})
    if key not in told:
        while len(told) >= REMEMBERED:
            told.pop(next(iter(told)))
        try:
            check_page(trace)
            told[key] = ""
        except InputError:
            told[key] = TOO_LARGE
    return told[key]


def _page(trace: Trace, focus: Focus) -> bytes:
    """The page, or in its place the sentence that says why there is none: a download has no other
    way to tell it.
    """
    try:
        text = page(trace, focus)
    except InputError:
        text = "<!doctype html>\n" + element("title", "areaviz") + element("p", TOO_LARGE)
    return text.encode("utf-8", "replace")


def _buttons(offered: list[File], key: str) -> None:
    with st.container(horizontal=True):
        for file in offered:
            name = f"{file.name}_{key}"
            st.download_button(
                file.label, file.make, file.name, file.mime, key=name, on_click="ignore"
            )
