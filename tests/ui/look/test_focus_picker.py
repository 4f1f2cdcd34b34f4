"""Options stand side by side while they are few, and are a list when they are many."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest


def page() -> None:
    from dataclasses import replace

    import numpy as np
    import streamlit as st

    from areaviz.ui.look.focus import current_focus, focus_picker
    from areaviz.ui.shell.page import Page, State
    from tests import fakes

    trace = fakes.trace("ab", "c", 1, 1, 1)
    one = trace.maps["encoder-decoder"]
    weights = np.broadcast_to(one.weights, (*st.session_state["sides"], *one.weights.shape[2:]))
    trace = replace(trace, maps={one.site: replace(one, weights=weights)})
    page = Page("translate", "", State())
    focus = current_focus(page, trace)
    focus_picker(page, trace, focus.site)
    st.text(f"layer {focus.layer}, head {focus.head}")


@pytest.mark.parametrize(
    ("layers", "heads", "lists"), [(2, 4, 0), (32, 31, 0), (33, 31, 1), (500, 500, 2)]
)
def test_many_layers_and_heads_are_lists(layers: int, heads: int, lists: int) -> None:
    app = AppTest.from_function(page)
    app.session_state["sides"] = (layers, heads)
    app = app.run()
    assert not app.exception and len(app.selectbox) == lists
    if lists == 2:
        app = (
            app.selectbox(key="translate_layer")
            .set_value(400)
            .run()
            .selectbox(key="translate_head")
            .set_value(7)
            .run()
        )
        assert not app.exception and app.text[0].value == "layer 400, head 7"
