"""The Python half of the image grid; tests of the ribbon cover competing selections."""

from __future__ import annotations

from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.components import Selection, build_mounted
from areaviz.trace.request import Focus
from tests import fakes

FOCUS = Focus("encoder-decoder")


def page() -> None:
    import streamlit as st

    from areaviz.app.components import draw_grid
    from areaviz.trace.request import Focus
    from tests import fakes

    trace = st.session_state.setdefault("trace", fakes.caption_trace())
    chosen = draw_grid(
        trace,
        Focus("encoder-decoder", items=st.session_state.get("items", ())),
        key="one",
        link="pair",
    )
    st.session_state["chosen"] = chosen


def test_page_mounts_the_grid_and_gets_its_selection() -> None:
    run = AppTest.from_function(page, default_timeout=60).run()
    assert not run.exception
    assert run.session_state["chosen"] == Selection()
    run.session_state["items"] = (3,)
    run.run()
    assert run.session_state["chosen"] == Selection(items=(3,))


def test_site_without_a_picture_is_refused() -> None:
    with pytest.raises(ValueError, match="does not attend to cells"):
        build_mounted("grid", None, fakes.caption_trace(), Focus("decoder self"))


def test_sessions_share_data_and_new_data_resets_selection() -> None:
    trace = fakes.caption_trace()
    one, other = (build_mounted("grid", None, trace, FOCUS) for _ in range(2))
    assert one.payload is other.payload
    before = replace(one, current=Selection(items=(1,)))
    assert build_mounted("grid", before, trace, FOCUS) is before
    assert build_mounted("grid", before, fakes.caption_trace(), FOCUS).current == Selection(
        items=(1,)
    )
    assert build_mounted("grid", before, trace, Focus("encoder self")).current == Selection()
