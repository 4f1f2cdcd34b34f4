"""External attention: arrays or a stored trace from a file, shown like every other trace."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.runtime.uploaded_file_manager import UploadedFile

from areaviz.app.files import (
    is_served_file_trace,
    open_example_trace,
    open_served_file,
    open_served_trace,
    open_upload,
)
from areaviz.app.input import draw_input_row
from areaviz.app.options import MAX_MEGABYTES
from areaviz.app.page import Page, State
from areaviz.app.result import draw_results
from areaviz.app.texts import show_errors
from areaviz.trace.arrays import holds_trace, make_example_file
from areaviz.trace.record import Trace

MAX_AREA_SIZE = 6
SCHEMA_TABLE = """
| Array | Type and shape | Meaning |
| --- | --- | --- |
| `weights` | float, layers × heads × queries × items | after the softmax: each row sums to 1 |
| `memory` | text, items | what the items attended to are called, numbers if left out |
| `queries` | text, queries | what attends, the items themselves if left out |
| `shape` | two whole numbers | rows and columns, where the items are cells of a picture, \
row by row |
| `picture` | uint8, height × width × 3 | that picture, with sides of up to 640 pixels |
"""
EXAMPLE_CODE = """import numpy as np

np.savez("attention.npz", weights=weights, memory=np.array(tokens))
"""


@dataclass(frozen=True)
class TensorsState(State):
    """The state of the page Your own attention."""

    # Whether the example was requested in place of the app's trace, and the size of the largest
    # area to sum over.
    is_example: bool = False
    size: int = 3


TensorsPage = Page[TensorsState]


def draw_your_tensors(page: TensorsPage) -> None:
    """Draw the page: a file, the size of areas, and its content. It opens with the example."""
    with show_errors("reading your file"):
        trace, title = _find_trace(page)
        draw_results(page, (trace,), (title,))


def _find_trace(page: TensorsPage) -> tuple[Trace, str]:
    """Return the trace to show with its title: from a file, the app's trace, or the example."""
    path = open_served_file()
    row = draw_input_row(page)
    with row:
        file = _choose_file(page, has_served=path is not None)
        _draw_schema()
    if file is not None:
        stored = holds_trace(file)
        trace = open_upload(file, 1 if stored else _choose_area_size(page, row))
        return trace, _get_title(trace, stored)
    if path is None or page.state.is_example:
        trace = open_example_trace(_choose_area_size(page, row))
        return trace, f"Example: {_get_title(trace, False)}"
    stored = is_served_file_trace(path)
    trace = open_served_trace(path, 1 if stored else _choose_area_size(page, row))
    return trace, f"{path.name}: {_get_title(trace, stored)}"


def _choose_file(page: TensorsPage, has_served: bool) -> UploadedFile | None:
    """Return the user's file; also draw the buttons for the example."""
    file = st.file_uploader(
        "A file of attention weights",
        key=page.key("file"),
        max_upload_size=MAX_MEGABYTES,
        on_change=_reset_selection,
        args=(page,),
        help="An .npz file of NumPy arrays, or a trace saved by this app. No code in it is run.",
    )
    if has_served:
        disabled = file is not None
        ask = _request_example
        st.button("Show an example", disabled=disabled, on_click=ask, args=(page,))
    st.download_button(
        "Download the example",
        make_example_file,
        "attention.npz",
        "application/octet-stream",
        on_click="ignore",
    )
    return file


def _reset_selection(page: TensorsPage) -> None:
    """Reset the selection for a new trace."""
    page.set_state(page.state.with_focus(None))


def _request_example(page: TensorsPage) -> None:
    _reset_selection(page)
    page.set(is_example=True)


def _draw_schema() -> None:
    with st.popover("What the file holds"):
        st.markdown(SCHEMA_TABLE)
        st.code(EXAMPLE_CODE, language="python")
        st.caption(
            "Weights of heads that attend to single items are also shown as sums over areas of"
            " neighbouring items. For the area distribution of queries and keys, run a model by"
            " areaviz.attend and open its trace here."
        )


def _choose_area_size(page: TensorsPage, row: DeltaGenerator) -> int:
    """Let the user choose the size of the largest area to sum over, in the row of the input."""
    with row:
        return page.choose(
            st.select_slider,
            "Largest area",
            "size",
            {size: str(size) for size in range(1, MAX_AREA_SIZE + 1)},
            width=180,
            help="The most items of a span, or rows and columns of a rectangle, to sum over.",
        )


def _get_title(trace: Trace, stored: bool) -> str:
    if stored:
        return f"Stored trace of {trace.request.model}"
    first = next(iter(trace.maps.values()))
    layers, heads = f"{first.layers:,} layers", f"{first.heads:,} heads"
    return f"{layers}, {heads}, {first.weights.shape[2]:,} queries, {first.grid.items:,} items"
