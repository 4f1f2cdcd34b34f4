"""Looking into traces: the ribbon, the views, the files and the link.

All of it is one fragment, so that a click stays cheap: it does not run the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.drawing.base import Takeaway
from areaviz.drawing.sites import sites
from areaviz.interactive.grid import TAKEAWAY as GRID
from areaviz.interactive.ribbon import TAKEAWAY as RIBBON
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.components.grid import grid
from areaviz.ui.components.ribbon import Selection, ribbon
from areaviz.ui.look.chart import chart, data_table, takeaways, view_picker, written
from areaviz.ui.look.focus import current_focus, fitted, focus_picker, side_field
from areaviz.ui.look.opened import turn
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import AnyPage
from areaviz.ui.shell.state import COMPARE, NOTHING
from areaviz.views.difference import difference, difference_figure, difference_table, fits

TOGETHER = "together"
"""The name by which several ribbons on a page know each other."""
Traces = Sequence[Trace]
Titles = Sequence[str]
Panel = Callable[[Trace, Focus], None]
"""Drawn below what is pointed at: the first trace, and what is looked at in it."""


@st.fragment
def explore(
    page: AnyPage,
    traces: Traces,
    titles: Titles,
    request: Request | None = None,
    further: Mapping[str, str] = NOTHING,
    panel: Panel | None = None,
) -> None:
    """Show traces side by side under one focus.

    Args:
        page: holds the focus.
        traces: the first is the one that the focus is of.
        titles: one for each of them.
        request: what a link restores; None where there is no link.
        further: parameters of the link that the page's state does not have.
        panel: what can be done with what is pointed at.
    """
    with show_errors("drawing the attention"), turn(traces):
        further = {**_compared(traces), **further}
        traces, titles = _attending(traces, titles)
        if not traces:
            page.keep(page.state.to_link(request) | further if request else {})
            return
        with st.container(border=True):
            controls = st.container()
            with controls:
                focus = current_focus(page, traces[0])
            seen = _ribbons(page, traces, titles, focus)
            with controls:
                focus_picker(page, traces[0], focus.site)
        if panel:
            panel(traces[0], seen[0])
        with st.container(border=True):
            view = _views(page, traces, titles, seen)
        _difference(page, traces, titles, seen)
        if request:
            page.offer(page.state.to_link(request, seen[0], view) | further, request)


def _compared(traces: Traces) -> dict[str, str]:
    """The link's parameter of the model that the first is compared with, if there is one."""
    first = traces[0].request.model
    for trace in traces:
        if trace.request.model != first:
            return {COMPARE: trace.request.model}
    return {}


def _attending(traces: Traces, titles: Titles) -> tuple[Traces, Titles]:
    """The traces with attention in them; of the others, shows what was written."""
    attending, names = [], []
    for index, (trace, title) in enumerate(zip(traces, titles, strict=True)):
        if sites(trace):
            attending.append(trace)
            names.append(title)
            continue
        with st.container(border=True):
            written(trace, title, f"blind_{index}")
            st.caption(
                "This model attends to nothing: it reads the whole picture once, before the"
                " first word."
            )
    return attending, names


def _ribbons(page: AnyPage, traces: Traces, titles: Titles, focus: Focus) -> list[Focus]:
    """A ribbon for every trace; returns what is looked at in each, first the page's focus."""
    link = TOGETHER if len(traces) > 1 else None
    seen = []
    for index, (trace, place) in enumerate(zip(traces, _places(traces, "ribbons"), strict=True)):
        asked = chosen = shared(traces[0], trace, focus)
        draw, takeaway = _pointed(trace, asked)
        with place:
            written(trace, titles[index], str(index))
            if asked.site in trace.maps:
                selection = draw(trace, asked, key=f"{takeaway.name}_{index}", link=link)
                chosen = clicked(selection, asked)
        after = focus if chosen == asked else followed(traces[0], trace, focus, asked, chosen)
        if after != focus:
            focus = after
            page.hold(page.state.locking(focus))
            # The ribbons drawn so far do not know of it yet.
            if index:
                st.rerun()
        if asked.site in trace.maps:
            with place:
                takeaways(takeaway, trace, chosen, str(index))
        seen.append(chosen)
    return seen


def _pointed(trace: Trace, focus: Focus) -> tuple[Callable[..., Selection], Takeaway]:
    """What to point at, with its files: the grid where a picture is attended to, or the ribbon."""
    attention = trace.maps.get(focus.site)
    if attention and trace.fields[attention.memory].kind == "picture":
        return grid, GRID
    return ribbon, RIBBON


def _places(traces: Traces, key: str) -> Sequence[DeltaGenerator]:
    with st.container(key=f"pair_{key}"):
        return st.columns(len(traces), gap="medium")


def shared(main: Trace, other: Trace, focus: Focus) -> Focus:
    """What of a focus on `main` holds for `other`: its items only where both have the same."""
    if focus.site not in sites(other):
        return Focus(sites(other)[0])
    wanted = focus if same_items(main, other, focus) else replace(focus, items=())
    return fitted(other, wanted)


def followed(main: Trace, other: Trace, focus: Focus, asked: Focus, chosen: Focus) -> Focus:
    """The page's focus after a click in `other` made `chosen` of `asked`; its own items stay."""
    if chosen.site != focus.site:
        return focus
    if same_items(main, other, chosen):
        return chosen
    if chosen.head != asked.head:
        focus = replace(focus, head=chosen.head)
    if chosen.unit != asked.unit:
        focus = replace(focus, unit=chosen.unit)
    if chosen.areas != asked.areas:
        focus = replace(focus, areas=chosen.areas)
    return focus


def same_items(main: Trace, other: Trace, focus: Focus) -> bool:
    """Whether a focus is on the same pieces of the same text, or cells of one picture, in both."""
    if focus.site not in sites(other):
        return False
    one, two = side_field(main, focus), side_field(other, focus)
    if one.kind == "picture":
        first, second = main.request.picture, other.request.picture
        if (first and first.digest) != (second and second.digest):
            return False
    same_text = (one.kind, one.raw) == (two.kind, two.raw)
    return same_text and np.array_equal(one.anchors, two.anchors)


def clicked(selection: Selection, focus: Focus) -> Focus:
    """A focus after a click: site and layer stay."""
    return replace(
        focus,
        side=selection.side,
        items=selection.items,
        head=selection.head,
        unit=selection.unit,
        areas=selection.areas,
    )


def _views(page: AnyPage, traces: Traces, titles: Titles, seen: Sequence[Focus]) -> str:
    """One view of every trace, with its files; returns its name."""
    view = view_picker(page, traces[0], seen[0])
    if view is None:
        st.caption("No view fits this part of the trace.")
        return ""
    st.caption(view.question)
    for index, place in enumerate(_places(traces, "views")):
        trace, focus = traces[index], seen[index]
        with place:
            if len(traces) > 1:
                st.caption(escaped(titles[index]))
            if view.fits(trace, focus):
                chart(view, trace, focus, str(index))
            else:
                st.caption("This view has nothing to show of this model.")
    return view.name


def _difference(page: AnyPage, traces: Traces, titles: Titles, seen: Sequence[Focus]) -> None:
    """Of two traces, where their maps differ, when it is asked for."""
    if len(traces) != 2 or not fits(traces[0], traces[1], seen[0], seen[1]):
        return
    with st.container(border=True):
        if page.widget(st.toggle, "Show how the two maps differ", "differs"):
            found = difference(traces[0], traces[1], seen[0], seen[1])
            figure = difference_figure(found, (titles[0], titles[1]))
            title = figure.layout.title.text
            st.plotly_chart(figure, key="apart_map", config={"displayModeBar": False}, alt=title)
            with st.expander("The numbers", type="compact", key="apart_numbers"):
                data_table(difference_table(found))
