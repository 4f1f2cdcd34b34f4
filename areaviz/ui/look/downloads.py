"""Files of what is shown, made when asked for: a page, the picture, its numbers, the trace."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from mimetypes import guess_type

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
    "The trace; reopen it here any time": ("npz",),
}
"""What is offered together, in this order, under which title."""

TOO_LARGE = (
    f"A page of this would take more than the {PageOptions().limit // 2**20} MiB that are possible"
    " here; download the trace below and write a larger page, or one of fewer layers, with: python"
    " -m areaviz export areaviz-trace.npz page.html --limit 64"
)
_REFUSALS, REMEMBERED = "page_refusals", 8


@dataclass(frozen=True, slots=True)
class File:
    """A file that can be made.

    Args:
        name: of the file.
        make: its bytes.
        title: what its button says, "" for the ending of the name.
    """

    name: str
    make: Callable[[], bytes]
    title: str = ""

    @property
    def label(self) -> str:
        return self.title or self.name.rpartition(".")[2].upper()

    @property
    def mime(self) -> str:
        return guess_type(self.name)[0] or "application/octet-stream"


def files(view: Takeaway, trace: Trace, focus: Focus) -> Mapping[str, File]:
    """The files of a view, by ending; making one touches no disk."""
    name, movie = f"areaviz-{view.name}", view.movie

    def picture(kind: str) -> File:
        return File(f"{name}.{kind}", lambda: figure_bytes(view.print(trace, focus), kind))

    def numbers(kind: str, write: Callable[[Table], str]) -> File:
        return File(f"{name}.{kind}", lambda: write(view.table(trace, focus)).encode())

    made = {kind: picture(kind) for kind in ("svg", "pdf", "png")}
    made["csv"] = numbers("csv", table_csv)
    made["json"] = numbers("json", table_json)
    if movie:
        made["gif"] = File(f"{name}.gif", lambda: movie(trace, focus))
    made["html"] = File(
        "areaviz-page.html", lambda: _page(trace, focus), "Interactive page (.html)"
    )
    made["npz"] = File("areaviz-trace.npz", lambda: codec.to_bytes(trace), "Trace")
    return made


def downloads(view: Takeaway, trace: Trace, focus: Focus, key: str) -> None:
    """A menu of files; before one is chosen, only whether a page is too large is worked out."""
    made, key = files(view, trace, focus), f"{view.name}_{key}"
    with st.popover("Download", key=f"files_{key}"):
        for title, kinds in GROUPS.items():
            offered = [made[kind] for kind in kinds if kind in made]
            if not offered:
                continue
            st.caption(title)
            refusal = page_refusal(trace) if kinds == PAGE else ""
            if refusal:
                st.caption(refusal)
            else:
                _buttons(offered, key)


def page_refusal(trace: Trace) -> str:
    """Why there is no page of a trace, in one sentence, or "".

    It is a guess: `_page` has the last word. It is remembered, as every run asks for it.
    """
    key = trace.request, tuple((site, one.weights.shape) for site, one in trace.maps.items())
    known: dict[object, str] = st.session_state.setdefault(_REFUSALS, {})
    if key not in known:
        while len(known) >= REMEMBERED:
            known.pop(next(iter(known)))
        try:
            check_page(trace)
            known[key] = ""
        except InputError:
            known[key] = TOO_LARGE
    return known[key]


def _page(trace: Trace, focus: Focus) -> bytes:
    """The page, or the sentence that says why there is none: a download cannot say it elsewhere."""
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
