"""The output of a model, and a view of its trace: chart, question, numbers and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import streamlit as st

from areaviz.draw.theme import WIDE, relabel_for_width, with_colour_limit, without_title
from areaviz.draw.view import Download, ScreenFigure, Table, View
from areaviz.show.views import VIEWS
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.engine import find_card
from areaviz.ui.app.markdown import escape_markdown, shorten_line, visible
from areaviz.ui.app.page import AnyPage
from areaviz.ui.components.player import draw_player
from areaviz.ui.results.downloads import ShownView, draw_downloads
from areaviz.ui.results.output_warnings import list_output_warnings

_CONFIG = {"displayModeBar": False, "displaylogo": False}


def draw_output(trace: Trace) -> None:
    """Draw the output, or say that there is none."""
    st.text(visible(trace.answer) or "The model produced no output.")


def draw_warnings(trace: Trace) -> None:
    """Show what the user has to know about this run, and reasons to doubt it, if there are any."""
    if "warning" in trace.details:
        st.caption(f"Note: {escape_markdown(trace.details['warning'])}")
    for site in trace.maps:
        if said := trace.details.get(f"{site} places"):
            st.caption(f"Note on {escape_markdown(site)}: {escape_markdown(said)}.")
    found = list_output_warnings(find_card(trace.request.model), trace)
    if found:
        st.warning(escape_markdown(" ".join(found)))


def choose_view(
    page: AnyPage, trace: Trace, focus: Focus, above: Download | None = None
) -> View | None:
    """Let the user choose one of the views that apply. Return None if none does.

    Args:
        page: its state has the name of the chosen view.
        trace: the trace.
        focus: the selection.
        above: the view that the page already shows. It is not offered if another one applies.
    """
    every = {name: view for name, view in VIEWS.items() if view.fits(trace, focus)}
    fitting = {name: view for name, view in every.items() if view is not above} or every
    if not fitting:
        return None
    before, first = page.state.view, find_first_view(fitting.values(), trace, focus)
    if before and before not in VIEWS:
        name = escape_markdown(shorten_line(before))
        st.caption(f"View “{name}” does not exist. Showing “{first.title}” instead.")
    if before not in fitting:
        page.set(view=first.name)
    titles = {name: view.title for name, view in fitting.items()}
    return fitting[page.choose_segment("View", "view", titles, label_visibility="collapsed")]


def find_first_view(fitting: Iterable[View], trace: Trace, focus: Focus) -> View:
    """Return the view with which a page opens: the first that fits and may lead."""
    views = list(fitting)
    return next((view for view in views if view.leads(trace, focus)), views[0])


def draw_view_chart(
    view: View,
    trace: Trace,
    focus: Focus,
    key: str,
    room: float = WIDE,
    top: float | None = None,
    has_files: bool = True,
) -> None:
    """Draw the chart of a view, animated if it is an animation, with caption, numbers and files.

    Args:
        view: a view that applies to the selection.
        trace: the trace to draw.
        focus: the selection in it.
        key: a widget key that is unique on the page.
        room: the width available for a chart in px.
        top: the upper end of the colour scale if several charts share it.
        has_files: whether to draw the numbers and the files.
    """
    label = f"{view.title}: {view.question}"
    if view.played:
        played = view.played(trace, focus)
        draw_player(played, label, key=f"played_{key}")
        st.caption(escape_markdown(played.caption))
    else:
        figure = with_colour_limit(relabel_for_width(view.figure(trace, focus), room), top)
        draw_titled_figure(figure, f"chart_{key}", label)
    if has_files:
        draw_figure_extras(view, trace, focus, key)


def draw_titled_figure(figure: ScreenFigure, key: str, alt: str) -> None:
    """Draw a figure with its title, note and caption, which wrap at any width."""
    meta = figure.layout.meta
    note = meta["note"][:1].upper() + meta["note"][1:]
    with st.container(key=f"heading_{key}", gap="xxsmall"):
        st.text(meta["title"])
        if note:
            st.caption(escape_markdown(note))
    st.plotly_chart(without_title(figure), key=key, config=_CONFIG, alt=alt)
    if meta["caption"]:
        st.caption(escape_markdown(meta["caption"]))


def draw_question(view: View) -> None:
    """Draw the question that a view answers. Its help text explains the marks."""
    st.caption(view.question, help=view.how_to_read or None)


def draw_figure_extras(view: Download, trace: Trace, focus: Focus, key: str) -> None:
    """Draw the numbers of a chart as a table, computed when it is opened, and its files."""
    expander = st.expander(
        "Show data", key=f"table_{view.name}_{key}", type="compact", on_change="rerun"
    )
    if expander.open:
        with expander:
            draw_data_table(view.table(trace, focus))
    draw_downloads(
        "Download this figure", {"": ShownView(view, trace, focus)}, f"{view.name}_{key}"
    )


def draw_data_table(table: Table) -> None:
    """Draw a table."""
    st.dataframe(build_columns(table), hide_index=True)


def build_columns(table: Table) -> Mapping[str, list[str | int | float]]:
    """Return a table as columns, with invisible characters in its texts made visible."""
    columns: dict[str, list[str | int | float]] = {}
    for index, name in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        columns[name] = [visible(cell) if isinstance(cell, str) else cell for cell in cells]
    return columns
