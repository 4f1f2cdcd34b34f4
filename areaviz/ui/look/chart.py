"""What a model wrote, and one view of its trace: the picture, its question, its numbers."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import streamlit as st

from areaviz.drawing.base import Table, Takeaway, View
from areaviz.trace.arrays import NO_OUTPUT
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.player import player
from areaviz.ui.look.downloads import downloads
from areaviz.ui.shell.markdown import escaped, shortened, visible
from areaviz.ui.shell.page import AnyPage
from areaviz.views import VIEWS

_CONFIG = {"displayModeBar": False, "displaylogo": False}


def written(trace: Trace, title: str, key: str) -> None:
    """The output as text, if there is one, with how sure the model was of it."""
    with st.container(key=f"translation_{key}", gap="small"):
        st.caption(escaped(title))
        if trace.output.field != NO_OUTPUT.field:
            output_text(trace)
            st.caption(confidence(trace))
        warning(trace)


def output_text(trace: Trace) -> None:
    """The output, or that there is none."""
    output = trace.fields[trace.output.field]
    st.text(visible(output.raw) or "The model wrote nothing.")


def warning(trace: Trace) -> None:
    """What the reader has to know about this run, if there is something."""
    if "warning" in trace.details:
        st.caption(f"Note: {escaped(trace.details['warning'])}")


def confidence(trace: Trace) -> str:
    """In words: the geometric mean of the output's probabilities, and its least sure item."""
    likely = trace.output.probabilities
    if not len(likely):
        return "no confidence, as nothing was written"
    least = int(np.argmin(likely))
    label = escaped(trace.fields[trace.output.field].labels[least])
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    return f"Mean probability {mean:.2f}, least sure of “{label}” ({likely[least]:.2f})"


def view_picker(page: AnyPage, trace: Trace, focus: Focus) -> View | None:
    """Choose one of the views that fit; None where none does."""
    fitting = {name: view for name, view in VIEWS.items() if view.fits(trace, focus)}
    if not fitting:
        return None
    before, first = page.state.view, next(iter(fitting.values()))
    if before and before not in VIEWS:
        name = escaped(shortened(before))
        st.caption(f"There is no view “{name}”; showing “{first.title}”.")
    titles = {name: view.title for name, view in fitting.items()}
    return fitting[page.segments("View", "view", titles)]


def chart(view: View, trace: Trace, focus: Focus, key: str) -> None:
    """The picture of a view, played if it is one that is, with its caption, numbers and files."""
    label = f"{view.title}: {view.question}"
    if view.played:
        played = view.played(trace, focus)
        player(played, label, key=f"played_{key}")
        caption = played.caption
    else:
        figure = view.figure(trace, focus)
        st.plotly_chart(figure, key=f"chart_{key}", config=_CONFIG, alt=label)
        caption = str(figure.layout.meta["caption"])
    st.caption(escaped(caption))
    takeaways(view, trace, focus, key)


def takeaways(view: Takeaway, trace: Trace, focus: Focus, key: str) -> None:
    """The numbers of a picture as a table, worked out when it is opened, and its files."""
    expander = st.expander(
        "Show as table", key=f"table_{view.name}_{key}", type="compact", on_change="rerun"
    )
    if expander.open:
        with expander:
            data_table(view.table(trace, focus))
    downloads(view, trace, focus, key)


def data_table(table: Table) -> None:
    """Draw a table."""
    st.dataframe(as_columns(table), hide_index=True)


def as_columns(table: Table) -> Mapping[str, list[str | int | float]]:
    """A table as columns, with what cannot be seen in its texts made visible."""
    columns: dict[str, list[str | int | float]] = {}
    for index, name in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        columns[name] = [visible(cell) if isinstance(cell, str) else cell for cell in cells]
    return columns
