"""Your own attention: arrays and stored traces from files, an example, and errors."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from areaviz.trace import file as codec
from areaviz.trace.areas import AreaGrid
from areaviz.trace.arrays import make_example_file
from areaviz.trace.derived import make_sums_map
from areaviz.trace.record import AttentionMap, Trace
from tests import fakes
from tests.pages.conftest import Open, shown, with_tab
from tests.pages.test_translate import control
from tests.trace.test_arrays import weights

FILE, SIZE = "your_tensors_file", "your_tensors_size"


def saved(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def upload(app: AppTest, content: bytes) -> AppTest:
    return app.file_uploader(key=FILE).upload("mine.npz", content).run()


def test_page_opens_with_the_example(open_page: Open) -> None:
    app = open_page("your_tensors")
    assert app.download_button[0].label == "Download the example"
    assert not app.exception and not app.error
    assert "Example: " in shown(app)
    assert "Show an example" not in [button.label for button in app.button]
    assert "2 layers, 4 heads, 9 queries, 10 items" in shown(app)
    assert control(app, "Attention type").options == ["Weights", "Weights, area sums"]
    assert len(with_tab(app, "view").get("plotly_chart")) == 1
    assert "The model produced no output" not in shown(app)


@pytest.mark.long
def test_every_view_shows_a_file_of_arrays(open_page: Open) -> None:
    app = with_tab(upload(open_page("your_tensors"), make_example_file()), "view")
    for site in ("attention", "attention sums"):
        app = app.segmented_control(key="your_tensors_site").set_value(site).run()
        for name in control(app, "View").options:
            app = control(app, "View").set_value(name).run()
            assert not app.exception and not app.error
            assert len(app.get("plotly_chart")) == 1


def test_areas_can_be_larger_or_left_out(open_page: Open) -> None:
    app = upload(open_page("your_tensors"), make_example_file())
    app = app.select_slider(key=SIZE).set_value(1).run()
    assert (
        not app.exception
        and [one.label for one in app.segmented_control if one.label == "Attention type"] == []
    )


@pytest.mark.parametrize("size", [2, 5])
def test_cells_of_a_picture_are_shown(open_page: Open, size: int) -> None:
    content = saved(
        weights=weights(1, 2, 3, 12), shape=np.array([3, 4]), queries=np.array(["a", "b", "c"])
    )
    app = upload(open_page("your_tensors"), content).select_slider(key=SIZE).set_value(size).run()
    assert not app.exception and not app.error


def test_stored_trace_has_no_choice_of_area_size(open_page: Open) -> None:
    app = upload(open_page("your_tensors"), codec.trace_to_bytes(fakes.trace()))
    assert not app.exception and not app.error and not app.select_slider
    assert "Stored trace of char-tiny-area" in shown(app)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"hello", "not an .npz archive"),
        (saved(weights=weights(1, 2, 2)), "layers x heads x queries x memory"),
        (saved(weights=weights(1, 1, 2, 2) * 2), "must sum to 1"),
        (saved(weights=np.array([None])), "Python objects"),
        (
            saved(**{"**a** <b>x</b>": weights(1, 1, 2, 2), "b": weights(1, 1, 2, 2)}),
            "**a** <b>x</b>",
        ),
    ],
)
def test_unreadable_file_gives_one_error(open_page: Open, content: bytes, said: str) -> None:
    app = upload(open_page("your_tensors"), content)
    assert not app.exception and len(app.error) == 1 and said in shown(app)
    assert "<b>" not in app.error[0].value


def test_labels_are_shown_as_text(open_page: Open) -> None:
    labels = np.array(["<b>x</b>", "**bold**", "$a$", "שלום"])
    app = upload(open_page("your_tensors"), saved(weights=weights(1, 1, 4, 4), memory=labels))
    app = with_tab(app, "view")
    assert not app.exception and not app.error and len(app.get("plotly_chart")) == 1


def test_many_sites_are_a_list_with_derived_ones_labelled(open_page: Open) -> None:
    trace = fakes.trace()
    sums = [
        make_sums_map(replace(one, grid=AreaGrid(1, one.grid.items, 1, 1)), (1, 2))
        for one in items(trace)
    ]
    content = codec.trace_to_bytes(
        replace(trace, maps={one.site: one for one in [*trace.maps.values(), *sums]})
    )
    app = upload(open_page("your_tensors"), content)
    assert app.selectbox(key="your_tensors_site").options == [
        *(
            "Translation to source",
            "Translation to source, area sums",
            "Within the source",
            "Within the source, area sums",
        ),
        *("Within the translation", "Within the translation, area sums"),
    ]
    app = app.selectbox(key="your_tensors_site").set_value("encoder self sums").run()
    app = with_tab(app, "table")
    assert (
        not app.exception
        and not app.error
        and "derived from the weights of regular heads" in shown(app)
    )
    app = upload(app, make_example_file())
    assert not app.error and "does not exist here" not in shown(app), "another file begins anew"


def items(trace: Trace) -> list[AttentionMap]:
    """Return the maps of a trace over its single items."""
    found = []
    for one in trace.maps.values():
        single = one.weights[..., : one.grid.items]
        found.append(replace(one, weights=single / single.sum(-1, keepdims=True)))
    return found
