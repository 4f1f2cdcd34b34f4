"""The Python half of the ribbon: data, reports, and the winner of two selections."""

from __future__ import annotations

import weakref
from dataclasses import asdict, replace
from typing import Any

from streamlit.testing.v1 import AppTest

from areaviz.app import components as component
from areaviz.app.components import MountedComponent, Selection
from areaviz.app.focus import apply_click
from areaviz.trace.request import Focus
from areaviz.views.ribbon.ribbon import make_ribbon_payload
from tests import fakes

FOCUS = Focus("encoder-decoder")
NOTHING, FIRST, SECOND = Selection(), Selection(items=(1,)), Selection(items=(2,), head=3)


def mounted(first: Selection = NOTHING) -> MountedComponent:
    trace = fakes.trace()
    return MountedComponent(
        (weakref.ref(trace), FOCUS.site, FOCUS.layer),
        make_ribbon_payload(trace, FOCUS),
        first,
        first,
        first,
    )


def report(of: MountedComponent, selection: Selection, click: int = 1) -> dict[str, Any]:
    plain = {**asdict(selection), "items": list(selection.items)}
    return {"id": of.payload["header"]["id"], "click": click, **plain}


def test_report_contains_lock_and_is_not_sent_back() -> None:
    start = mounted()
    after = start.merge_report(report(start, FIRST), NOTHING)
    assert after.current == FIRST
    assert (after.sent, after.serial) == (NOTHING, 0)


def test_head_chosen_without_lock_is_reported_and_stays() -> None:
    start, chosen_head = mounted(), Selection(head=2, unit="word", areas="several")
    chosen = start.merge_report(report(start, chosen_head), NOTHING)
    assert (chosen.current, chosen.serial) == (chosen_head, 0)
    again = chosen.merge_report(report(start, chosen_head), chosen_head)
    assert (again.current, again.serial) == (chosen_head, 0)


def test_selection_echoed_by_the_page_is_not_new() -> None:
    start = mounted()
    clicked = start.merge_report(report(start, FIRST), NOTHING)
    assert clicked.merge_report(report(start, FIRST), FIRST).serial == 0


def test_second_click_overrides_echo_of_the_first() -> None:
    start = mounted()
    clicked = start.merge_report(report(start, FIRST), NOTHING)
    again = clicked.merge_report(report(start, SECOND, 2), FIRST)
    assert again.current == SECOND and again.serial == 0


def test_new_selection_of_the_page_is_sent_once() -> None:
    start = mounted()
    clicked = start.merge_report(report(start, FIRST), NOTHING)
    moved = clicked.merge_report(report(start, FIRST), SECOND)
    assert (moved.current, moved.sent, moved.serial) == (SECOND, SECOND, 1)
    assert moved.merge_report(report(start, FIRST), SECOND).serial == 1


def test_repeated_click_after_a_move_counts_again() -> None:
    start = mounted()
    moved = start.merge_report(report(start, FIRST), NOTHING).merge_report(
        report(start, FIRST), SECOND
    )
    assert moved.merge_report(report(start, FIRST, 2), SECOND).current == FIRST


def test_remounted_ribbon_gets_its_selection_again() -> None:
    start = mounted()
    back = start.merge_report(report(start, FIRST), NOTHING).merge_report(None, NOTHING)
    assert (back.current, back.sent, back.serial) == (FIRST, FIRST, 1)
    assert back.merge_report(None, NOTHING).serial == 1


def test_report_about_former_data_is_ignored() -> None:
    start = mounted()
    stale = {**report(start, FIRST), "id": "another"}
    assert start.merge_report(stale, NOTHING).current == NOTHING


def test_new_data_resets_selection_and_equal_trace_keeps_it() -> None:
    before = replace(mounted(), current=FIRST)
    trace = fakes.trace()
    again = component.build_mounted("ribbon", before, trace, FOCUS)
    assert component.build_mounted("ribbon", again, trace, FOCUS) is again
    equal = component.build_mounted("ribbon", before, fakes.trace(), FOCUS)
    assert equal.current == FIRST
    other = component.build_mounted("ribbon", before, fakes.trace(source="Another text."), FOCUS)
    assert other.current == NOTHING


def test_sessions_share_the_data_of_a_trace() -> None:
    trace = fakes.trace()
    one, other = (component.build_mounted("ribbon", None, trace, FOCUS) for _ in range(2))
    assert one.payload is other.payload
    assert component.build_mounted("ribbon", None, fakes.trace(), FOCUS).payload is one.payload, (
        "what is equal is made once"
    )
    assert (
        component.build_mounted("ribbon", None, fakes.trace(source="Other."), FOCUS).payload
        is not one.payload
    )


def page() -> None:
    import streamlit as st

    from areaviz.app.components import draw_ribbon
    from areaviz.trace.request import Focus
    from tests import fakes

    trace = st.session_state.setdefault("trace", fakes.trace())
    chosen = draw_ribbon(
        trace,
        Focus("encoder-decoder", items=st.session_state.get("items", ())),
        key="one",
        link="pair",
    )
    st.session_state["chosen"] = chosen


def test_page_mounts_the_ribbon_and_gets_its_selection() -> None:
    run = AppTest.from_function(page, default_timeout=60).run()
    assert not run.exception
    assert run.session_state["chosen"] == Selection()
    run.session_state["items"] = (3,)
    run.run()
    assert run.session_state["chosen"] == Selection(items=(3,))


def test_page_keeps_a_head_chosen_without_lock() -> None:
    focus = replace(FOCUS, head=1)
    taken_up = apply_click(Selection(head=2, unit="word"), focus)
    assert taken_up == replace(FOCUS, head=2, unit="word")
    deeper = component.build_mounted(
        "ribbon", mounted(Selection.from_focus(taken_up)), fakes.trace(), replace(taken_up, layer=1)
    )
    assert deeper.sent == Selection(head=2, unit="word")


def test_key_mode_reads_only_the_card() -> None:
    assert component.read_key_mode("token-boundary") == "boundary"
    assert component.read_key_mode("") == component.read_key_mode("../token-boundary/none") == ""
