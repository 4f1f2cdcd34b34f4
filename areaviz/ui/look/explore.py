"""Exploring traces: the card with the picture, the tabs below it, the files and the link.

All of it is one Streamlit fragment, so a click reruns only this part and not the page.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from areaviz.drawing.axes import common_top, refitted
from areaviz.drawing.base import Takeaway, View, caption
from areaviz.drawing.select import counterparts, matched_characters
from areaviz.drawing.sites import sites
from areaviz.drawing.theme import SCREEN_WIDTH, WIDE
from areaviz.interactive.grid import TAKEAWAY as GRID
from areaviz.interactive.ribbon import TAKEAWAY as RIBBON
from areaviz.trace.arrays import NO_OUTPUT
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.components.grid import grid
from areaviz.ui.components.hearing import hearing
from areaviz.ui.components.ribbon import Selection, ribbon
from areaviz.ui.components.watching import watched
from areaviz.ui.look.chart import (
    chart,
    data_table,
    output_text,
    question,
    titled,
    view_picker,
    warning,
)
from areaviz.ui.look.downloads import Shown, downloads
from areaviz.ui.look.focus import current_focus, fitted, focus_picker, side_field
from areaviz.ui.look.opened import turn
from areaviz.ui.look.steps import steps
from areaviz.ui.look.tabs import Tab, draw_tabs, tab_row
from areaviz.ui.look.why import TITLE as WHY_TITLE
from areaviz.ui.look.why import has_terms, why
from areaviz.ui.models.head_tables import WHAT_NAMES_MEAN, draw_heads
from areaviz.ui.shell.engine import engine
from areaviz.ui.shell.errors import show_errors
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.page import AnyPage, told_apart
from areaviz.ui.shell.state import COMPARE, NOTHING, TABLE, VIEW, WHY
from areaviz.views import VIEWS
from areaviz.views.difference import difference, difference_figure, difference_table, fits

TOGETHER = "together"
"""The name by which several ribbons on a page are linked."""
OVERVIEW = "overview"
"""The view of all heads."""
HOW = ("unit", "areas", "reading", "mass", "against")
"""The fields of a selection that say how its map is displayed."""
CERTAINTY, BLIND = VIEWS["probabilities"], Focus("")
"""The view and selection for a trace without attention: the probabilities of its output."""
Traces = Sequence[Trace]
Titles = Sequence[str]
Say = Callable[[Trace], str]
"""Returns the sentence about a trace that is drawn above its picture, as Markdown."""


@st.fragment
def explore(
    page: AnyPage,
    traces: Traces,
    titles: Titles,
    request: Request | None = None,
    further: Mapping[str, str] = NOTHING,
    tabs: Sequence[Tab] = (),
    say: Say | None = None,
    check: Callable[[], object] | None = None,
) -> None:
    """Show traces side by side with one selection, and the tabs below them.

    Args:
        page: its state has the selection.
        traces: the traces; the selection refers to the first.
        titles: one for each trace.
        request: the request that a link restores; None if there is no link.
        further: URL parameters that are not in the page's state.
        tabs: tabs of the page, besides the views, the numbers and the terms of a weight.
        say: the sentence above a picture; None draws the output where the picture lacks it.
        check: called first, also if only this part of the page reruns; its errors replace the
            traces.
    """
    with show_errors("drawing the attention"), turn(traces):
        if check is not None:
            check()
        further = {**_compared(traces), **further}
        first, focus, parts = traces[0], BLIND, {}
        traces, titles = _attending(traces, titles, say)
        if traces:
            with st.container(border=True, key="card"):
                seen = _card(page, traces, titles, request, say)
            first, focus = traces[0], seen[0]
            tabs = [*tabs, *_tabs(page, traces, titles, seen)]
            parts = _parts(traces, titles, seen)
        tabs = [tab for tab in tabs if tab.fits(first, focus)]
        end = tab_row(page, tabs)
        draw_tabs(page, tabs, first, focus)
        with end:
            if parts:
                downloads("Download", parts, "card")
            if request:
                view = page.state.view if VIEW in page.state.tabs else ""
                link = page.state.to_link(request, focus if traces else None, view)
                page.offer(link | further, request)


def _compared(traces: Traces) -> dict[str, str]:
    """Return the URL parameter of the model that the first is compared with, if there is one."""
    first = traces[0].request.model
    for trace in traces:
        if trace.request.model != first:
            return {COMPARE: trace.request.model}
    return {}


def _attending(traces: Traces, titles: Titles, say: Say | None) -> tuple[Traces, Titles]:
    """Return the traces with attention; for the rest, draw only the output and its confidence."""
    attending, names = [], []
    for index, (trace, title) in enumerate(zip(traces, titles, strict=True)):
        if sites(trace):
            attending.append(trace)
            names.append(title)
            continue
        with st.container(border=True):
            _heading(trace, title, f"blind_{index}", BLIND, say)
            noun = next((name for name in ("picture", "clip") if name in trace.fields), "sentence")
            st.caption(
                f"This model has no attention to show. It encodes the whole {noun} once, before it"
                " generates text."
            )
            if CERTAINTY.fits(trace, BLIND):
                chart(CERTAINTY, trace, BLIND, f"blind_{index}")
    return attending, names


def _card(
    page: AnyPage, traces: Traces, titles: Titles, request: Request | None, say: Say | None
) -> list[Focus]:
    """Draw the pictures and the choice of site and layer; return the selection in each trace."""
    focus = current_focus(page, traces[0])
    # The form above already names a single model.
    headings = titles if len(traces) > 1 or request is None else [""]
    seen = _ribbons(page, traces, headings, focus, say)
    draw, _ = _pointed(traces[0], focus)
    focus_picker(page, traces[0], focus.site, has_heads=draw not in (ribbon, grid))
    return seen


def _ribbons(
    page: AnyPage, traces: Traces, titles: Titles, focus: Focus, say: Say | None
) -> list[Focus]:
    """Draw a ribbon per trace; return the selection in each, first the page's selection."""
    link = TOGETHER if len(traces) > 1 else None
    seen = []
    for index, (trace, place) in enumerate(zip(traces, _places(traces, "ribbons"), strict=True)):
        asked = chosen = shared(traces[0], trace, focus)
        draw, view = _pointed(trace, asked)
        with place:
            _heading(trace, titles[index], f"{index}", asked, say)
            if asked.site in trace.maps:
                matches = _matches(traces, trace, asked)
                name = f"{draw.__name__}_{index}"
                selection = draw(trace, asked, key=name, link=link, matches=matches)
                chosen = clicked(selection, asked)
                if draw in (watched, steps):
                    # These let users choose what the chart shows; other displays are the picture.
                    assert isinstance(view, View)
                    room = WIDE if len(traces) == 1 else SCREEN_WIDTH
                    chart(view, trace, chosen, f"card_{index}", room, has_files=False)
        after = focus if chosen == asked else followed(traces[0], trace, focus, asked, chosen)
        if after != focus:
            focus = after
            page.hold(page.state.locking(focus))
            # The ribbons drawn so far do not show the new selection yet.
            if index:
                st.rerun()
        seen.append(chosen)
    return seen


def _heading(trace: Trace, title: str, key: str, focus: Focus, say: Say | None = None) -> None:
    """Draw the title of a trace, the sentence about it, and reasons to doubt it.

    Without a sentence, draw the output, unless it is a text of the picture below.
    """
    attention = trace.maps.get(focus.site)
    is_drawn = attention and trace.output.field in (attention.query, attention.memory)
    with st.container(key=f"translation_{key}", gap="small"):
        if title:
            st.caption(escaped(title))
        if say:
            st.markdown(say(trace))
        elif trace.output.field != NO_OUTPUT.field and not is_drawn:
            output_text(trace)
        warning(trace)


def _matches(traces: Traces, trace: Trace, focus: Focus) -> dict[str, list[tuple[int, int, int]]]:
    """Return where this output's words occur in the other traces' outputs, by their texts."""
    found = {}
    own = trace.fields[trace.maps[focus.site].query]
    for other in traces:
        if other is trace or focus.site not in other.maps:
            continue
        field = other.fields[other.maps[focus.site].query]
        if field.kind == own.kind == "text" and field.raw != own.raw:
            found[field.raw] = matched_characters(field, own)
    return found


def _pointed(trace: Trace, focus: Focus) -> tuple[Callable[..., Selection], Takeaway]:
    """Return the interactive component and its files; a sound's is a view, not drawn twice."""
    attention = trace.maps.get(focus.site)
    if attention and trace.fields[attention.memory].kind == "picture":
        return grid, GRID
    if attention and trace.fields[attention.memory].kind == "points":
        return steps, VIEWS["points"]
    if attention and trace.fields[attention.memory].kind == "sound":
        return hearing, VIEWS["listening"]
    if attention and trace.fields[attention.memory].kind == "clip":
        return watched, VIEWS["watching"]
    return ribbon, RIBBON


def _places(traces: Traces, key: str) -> Sequence[DeltaGenerator]:
    with st.container(key=f"pair_{key}"):
        return st.columns(len(traces), gap="medium")


def shared(main: Trace, other: Trace, focus: Focus) -> Focus:
    """Return the selection for `other`: in another text, the characters of the common words."""
    if focus.site not in sites(other):
        return Focus(sites(other)[0])
    items = focus.items if same_items(main, other, focus) else same_words(main, other, focus)
    return fitted(other, replace(focus, items=items))


def same_words(main: Trace, other: Trace, focus: Focus) -> tuple[int, ...]:
    """Return the items of `other` in the words that are selected in `main` and occur in both."""
    one, two = side_field(main, focus), side_field(other, focus)
    return counterparts(one, two, focus.items) if one.kind == two.kind == "text" else ()


def followed(main: Trace, other: Trace, focus: Focus, asked: Focus, chosen: Focus) -> Focus:
    """Return the page's selection after a click in `other` changed `asked` to `chosen`.

    Locked items are also locked in `main` if `main` has them. Otherwise its own items stay locked.
    """
    if chosen.site != focus.site:
        return focus
    if same_items(main, other, chosen):
        return chosen
    if chosen.items != asked.items:
        items = same_words(other, main, chosen)
        if items or not chosen.items:
            focus = replace(focus, side=chosen.side, items=items)
    if chosen.head != asked.head:
        focus = replace(focus, head=chosen.head)
    for name in HOW:
        if getattr(chosen, name) != getattr(asked, name):
            focus = replace(focus, **{name: getattr(chosen, name)})
    return focus


def alike(traces: Traces, seen: Sequence[Focus]) -> bool:
    """Return whether the selected items of all traces are equal, or no trace has any."""
    first = seen[0]
    for trace, focus in zip(traces[1:], seen[1:], strict=True):
        meant = shared(traces[0], trace, first).items
        if focus.items != meant or bool(meant) != bool(first.items):
            return False
    return True


def same_items(main: Trace, other: Trace, focus: Focus) -> bool:
    """Return whether both traces have the selected tokens of one text, or cells of one picture."""
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
    """Return the selection after a click; site and layer stay."""
    return replace(focus, **asdict(selection))


def _tabs(page: AnyPage, traces: Traces, titles: Titles, seen: Sequence[Focus]) -> list[Tab]:
    """Return the tabs that every page has: the terms of a weight, the views and the numbers."""

    def draw_views(trace: Trace, focus: Focus) -> None:
        _views(page, traces, titles, seen)
        _difference(page, traces, titles, seen)

    draw, _ = _pointed(traces[0], seen[0])
    views = "All words at once" if draw in (ribbon, grid) else "More views"
    return [
        Tab(WHY, WHY_TITLE, lambda trace, focus: why(page, trace, focus), has_terms),
        Tab(VIEW, views, draw_views),
        Tab(TABLE, "As a table", lambda trace, focus: _tables(traces, titles, seen)),
    ]


def _parts(traces: Traces, titles: Titles, seen: Sequence[Focus]) -> dict[str, Shown]:
    """Return what the card shows, by the titles of the traces."""
    parts = {}
    for title, trace, focus in zip(told_apart(titles), traces, seen, strict=True):
        parts[title] = Shown(_pointed(trace, focus)[1], trace, focus)
    return parts


def _tables(traces: Traces, titles: Titles, seen: Sequence[Focus]) -> None:
    """Draw the numbers of the card, and the run they belong to."""
    for shown in _parts(traces, titles, seen).values():
        st.caption(escaped(caption(shown.trace, shown.focus)))
        data_table(shown.view.table(shown.trace, shown.focus))


def _views(page: AnyPage, traces: Traces, titles: Titles, seen: Sequence[Focus]) -> None:
    """Draw one view of every trace with its files."""
    _, above = _pointed(traces[0], seen[0])
    view = view_picker(page, traces[0], seen[0], above)
    if view is None:
        st.caption("No view is available for this selection.")
        return
    question(view)
    if not alike(traces, seen):
        st.caption(
            "The words you selected do not occur in every output, so the maps show attention for"
            " the whole output."
        )
        seen = [replace(focus, side="query", items=()) for focus in seen]
    fitting = [view.fits(trace, focus) for trace, focus in zip(traces, seen, strict=True)]
    top = _common_top(view, traces, seen) if all(fitting) else None
    room = WIDE if len(traces) == 1 else SCREEN_WIDTH
    for index, place in enumerate(_places(traces, "views")):
        with place:
            if len(traces) > 1:
                st.caption(escaped(titles[index]))
            if fitting[index]:
                chart(view, traces[index], seen[index], str(index), room, top)
                if view.name == OVERVIEW:
                    _heads(traces[index], seen[index], index)
            else:
                st.caption("This view has no data for this model.")


def _heads(trace: Trace, focus: Focus, index: int) -> None:
    """Draw what the heads of the site do over a dataset, if the model's card says so."""
    card = engine().models().get(trace.request.model)
    if card is not None and focus.site in card.heads:
        with st.expander("Head statistics over many examples", key=f"heads_over_{index}"):
            draw_heads(card, focus.site, f"overview_{index}")
            st.caption(WHAT_NAMES_MEAN)


def _common_top(view: View, traces: Traces, seen: Sequence[Focus]) -> float | None:
    """Return the upper end of the traces' common colour scale, None if they have their own."""
    if len(traces) == 1 or view.played:
        return None
    figures = [view.figure(trace, focus) for trace, focus in zip(traces, seen, strict=True)]
    return common_top(figures)


def _difference(page: AnyPage, traces: Traces, titles: Titles, seen: Sequence[Focus]) -> None:
    """Draw the difference between two maps if the user has asked for it."""
    if len(traces) != 2 or not fits(traces[0], traces[1], seen[0], seen[1]):
        return
    if page.widget(st.toggle, "Show the difference between the two maps", "differs"):
        found = difference(traces[0], traces[1], seen[0], seen[1])
        figure = refitted(difference_figure(found, (titles[0], titles[1])), WIDE)
        titled(figure, "apart_map", figure.layout.meta["title"])
        with st.expander("Data of the difference", type="compact", key="apart_numbers"):
            data_table(difference_table(found))
