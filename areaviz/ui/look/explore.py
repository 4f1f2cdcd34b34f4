"""Looking into traces: the ribbon, the views, the files and the link, in one fragment so that a
click stays cheap.
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
from areaviz.ui.look.chart import chart, numbers, view_picker
from areaviz.ui.look.downloads import downloads
from areaviz.ui.look.focus_picker import focus_picker
from areaviz.ui.look.focus_state import adopt, current_focus, fitted, side_field
from areaviz.ui.look.opened import turn
from areaviz.ui.look.translation import translation
from areaviz.ui.shell.address import NOTHING, address, keep, offer
from areaviz.ui.shell.errors import calm
from areaviz.ui.shell.markdown import escaped
from areaviz.views.difference import difference, difference_figure, difference_table, fits

TOGETHER, APART = "together", "maps_apart"
Panel = Callable[[Trace, Focus], None]
"""Drawn below what is pointed at: the first trace, and what is looked at in it."""


@st.fragment
def explore(
    traces: Sequence[Trace],
    titles: Sequence[str],
    request: Request | None,
    further: Mapping[str, str] = NOTHING,
    panel: Panel | None = None,
) -> None:
    """Show traces side by side under one focus.

    request: what a link restores; None where there is no link. further: parameters of it that only
    the page knows.
    panel: what can be done with what is pointed at.
    """
    with calm("drawing the attention"), turn(traces):
        other = _other(traces)
        traces, titles = _attending(traces, titles)
        if not traces:
            keep(address(request, compare=other) | dict(further) if request else {})
            return
        with st.container(border=True):
            controls = st.container()
            with controls:
                focus = current_focus(traces[0])
            seen = _ribbons(traces, titles, focus)
            with controls:
                focus_picker(traces[0], focus.site)
        if panel:
            panel(traces[0], seen[0])
        with st.container(border=True):
            name = _views(traces, titles, seen)
        _apart(traces, titles, seen)
        if request:
            offer(address(request, seen[0], name, other) | dict(further), request)


def _attending(
    traces: Sequence[Trace], titles: Sequence[str]
) -> tuple[Sequence[Trace], Sequence[str]]:
    """The traces with attention in them; what the others wrote is shown here, as there is no more
    to see.
    """
    pairs = list(zip(traces, titles, strict=True))
    for index, (trace, title) in enumerate(pairs):
        if not sites(trace):
            with st.container(border=True):
                translation(trace, title, f"blind_{index}")
                st.caption(
                    "This model attends to nothing: it reads the whole picture once, before the"
                    " first word."
                )
    seeing = [(trace, title) for trace, title in pairs if sites(trace)]
    return [trace for trace, _ in seeing], [title for _, title in seeing]


def _ribbons(traces: Sequence[Trace], titles: Sequence[str], focus: Focus) -> list[Focus]:
    """A ribbon for every trace; returns what is looked at in each, the first of them being the
    page's focus.
    """
    link = TOGETHER if len(traces) > 1 else None
    seen = []
    for index, (trace, place) in enumerate(zip(traces, _places(traces, "ribbons"), strict=True)):
        asked = chosen = shared(traces[0], trace, focus)
        with place:
            translation(trace, titles[index], str(index))
            if asked.site in trace.maps:
                chosen = clicked(_pointed(trace, asked, str(index), link), asked)
        after = focus if chosen == asked else followed(traces[0], trace, focus, asked, chosen)
        if after != focus:
            adopt(focus := after)
            # The ribbons drawn so far do not know of it yet.
            if index:
                st.rerun()
        if chosen.site in trace.maps:
            with place:
                numbers(_takeaway(trace, chosen), trace, chosen, str(index))
                downloads(_takeaway(trace, chosen), trace, chosen, str(index))
        seen.append(chosen)
    return seen


def _pointed(trace: Trace, focus: Focus, key: str, link: str | None) -> Selection:
    """What to point at: a grid where a picture is attended to, else the ribbon; returns what is
    locked in it.
    """
    if _memory_kind(trace, focus) == "picture":
        return grid(trace, focus, key=f"grid_{key}", link=link)
    return ribbon(trace, focus, key=f"ribbon_{key}", link=link)


def _takeaway(trace: Trace, focus: Focus) -> Takeaway:
    """The files of what is pointed at."""
    return GRID if _memory_kind(trace, focus) == "picture" else RIBBON


def _memory_kind(trace: Trace, focus: Focus) -> str:
    return trace.fields[trace.maps[focus.site].memory].kind


def _places(traces: Sequence[Trace], key: str) -> Sequence[DeltaGenerator]:
    with st.container(key=f"pair_{key}"):
        return st.columns(len(traces), gap="medium")


def shared(main: Trace, other: Trace, focus: Focus) -> Focus:
    """What of a focus on `main` holds for `other`: the items only where they are the
    same in both.
    """
    if focus.site not in sites(other):
        return Focus(sites(other)[0])
    wanted = focus if same_items(main, other, focus) else replace(focus, items=())
    return fitted(other, wanted)


def followed(main: Trace, other: Trace, focus: Focus, asked: Focus, chosen: Focus) -> Focus:
    """The page's focus after `chosen` was made of `asked` in another trace: items of its own text
    stay there.
    """
    if chosen.site != focus.site:
        return focus
    if same_items(main, other, chosen):
        return chosen
    parts = {part: getattr(chosen, part) for part in ("head", "unit", "areas")}
    return replace(
        focus, **{part: value for part, value in parts.items() if value != getattr(asked, part)}
    )


def same_items(main: Trace, other: Trace, focus: Focus) -> bool:
    """Whether the items of a focus are the same pieces of the same text, or cells of the same
    picture, in both.
    """
    if focus.site not in sites(other):
        return False
    one, two = side_field(main, focus), side_field(other, focus)
    pictures = [trace.request.picture for trace in (main, other)] if one.kind == "picture" else []
    return (
        (one.kind, one.raw) == (two.kind, two.raw)
        and np.array_equal(one.anchors, two.anchors)
        and len({picture and picture.digest for picture in pictures}) <= 1
    )


def clicked(selection: Selection, asked: Focus) -> Focus:
    """The focus after what a ribbon says is locked in it and chosen beside it."""
    return replace(
        asked,
        side=selection.side,
        items=selection.items,
        head=selection.head,
        unit=selection.unit,
        areas=selection.areas,
    )


def _views(traces: Sequence[Trace], titles: Sequence[str], seen: Sequence[Focus]) -> str:
    """One view of every trace, with its files; returns its name."""
    view = view_picker(traces[0], seen[0])
    if view is None:
        st.caption("No view fits this part of the trace.")
        return ""
    st.caption(view.question)
    for index, (trace, focus, place) in enumerate(
        zip(traces, seen, _places(traces, "views"), strict=True)
    ):
        with place:
            if len(traces) > 1:
                st.caption(escaped(titles[index]))
            if view.fits(trace, focus):
                chart(view, trace, focus, str(index))
                downloads(view, trace, focus, str(index))
            else:
                st.caption("This view has nothing to show of this model.")
    return view.name


def _apart(traces: Sequence[Trace], titles: Sequence[str], seen: Sequence[Focus]) -> None:
    """Of two traces, where their maps differ, when it is asked for."""
    if len(traces) != 2 or not fits(traces[0], traces[1], seen[0], seen[1]):
        return
    with st.container(border=True):
        if st.toggle("Show how the two maps differ", key=APART, persist_state="session"):
            found = difference(traces[0], traces[1], seen[0], seen[1])
            figure = difference_figure(found, (titles[0], titles[1]))
            title = figure.layout.title.text
            st.plotly_chart(figure, key="apart_map", config={"displayModeBar": False}, alt=title)
            with st.expander("The numbers", type="compact", key="apart_numbers"):
                table = difference_table(found)
                st.dataframe(
                    [dict(zip(table.columns, row, strict=True)) for row in table.rows],
                    hide_index=True,
                )


def _other(traces: Sequence[Trace]) -> str:
    """The name of the model that the first is compared with, "" for none."""
    return next(
        (trace.request.model for trace in traces if trace.request.model != traces[0].request.model),
        "",
    )
