"""State of a page: links set it, widgets show it, and it outlives the widgets."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.app.four_ways import MechanismsState
from areaviz.app.page import ALL_HEADS, TITLES, Link, Page, State
from areaviz.app.tasks import CaptionState, TranslateState
from areaviz.app.translate_picture import PictureTranslationState
from areaviz.cards.card import FORMER_MODELS
from areaviz.trace.request import Focus, Request
from tests.pages import folder
from tests.pages.conftest import APP

CARDS = {"char-area": folder.card("char-area", "area")}


def script() -> None:
    import streamlit as st

    from areaviz.app.page import Page
    from areaviz.app.tasks import TranslateState

    page = Page("translate", "", TranslateState())
    if not st.checkbox("Hide"):
        page.draw_widget(
            st.text_input, "Text", "text", after_change=lambda: page.set(is_asked=True)
        )
        page.choose(st.selectbox, "Model", "model", {"a": "First", "b": "Second"})
    st.button("Empty", on_click=page.set, kwargs={"text": ""})
    st.json({"text": page.state.text, "model": page.state.model, "asked": page.state.is_asked})


def test_field_outlives_its_widget() -> None:
    app = AppTest.from_function(script).run()
    assert app.selectbox[0].value == "a" and app.selectbox[0].options == ["First", "Second"]
    app.text_input[0].set_value("A dog.").run()
    app.selectbox[0].set_value("b").run()
    app.checkbox[0].check().run()
    assert not app.text_input
    app.checkbox[0].uncheck().run()
    assert (app.text_input[0].value, app.selectbox[0].value) == ("A dog.", "b")
    assert '"asked": true' in app.json[0].value
    app.button[0].click().run()
    assert app.text_input[0].value == ""


def test_every_page_has_a_title_and_its_keys_begin_with_its_name() -> None:
    assert set(TITLES) == {path.stem for path in (APP.parent / "pages").glob("*.py")}
    page = Page("caption", "", State())
    assert (page.title, page.key("beam")) == ("Caption", "caption_beam")


@pytest.mark.parametrize(
    "first", [TranslateState(), CaptionState(), PictureTranslationState(), MechanismsState()]
)
def test_link_survives_round_trip(first: State) -> None:
    request = Request("char-area", "", method="beam", beam=3, area_size=2)
    focus = Focus("encoder self", 1, 2, "memory", (1, 3), "word")
    params = first.to_link(request, focus, "film")
    link = Link.read(params, CARDS)
    assert (link.request, link.focus, link.problem) == (request, focus, "")
    state = first.from_link(link).with_focus(link.focus, params["view"])
    assert state.to_link(request, focus, state.view) == params
    assert (state.site, state.layer, state.head, state.locked) == ("encoder self", 1, 2, focus)


def test_broken_link_still_gives_its_text() -> None:
    for wrong in ({"model": "nobody"}, {"beam": "99"}):
        link = Link.read({"text": "A dog.", **wrong}, CARDS)
        state = TranslateState().from_link(link)
        assert link.problem and state.text == "A dog." and not state.is_asked


def test_link_to_a_former_model_opens_its_successor() -> None:
    name, former = next(iter(FORMER_MODELS.items()))
    cards = {former.successor: folder.card(former.successor, "area")}
    link = Link.read({"text": "A dog.", "model": name}, cards)
    assert (link.request.model, link.problem) == (former.successor, "")
    assert link.replaced == (name, former.successor)


def test_link_without_focus_opens_the_default() -> None:
    state = State().with_focus(Focus("encoder self", 1, 2, items=(4,)), "film")
    assert state.without_lock().locked.items == () and state.without_lock().site == "encoder self"
    first = state.with_focus(None)
    assert (first.site, first.layer, first.head, first.view) == ("", None, ALL_HEADS, "")


def addressed() -> None:
    import streamlit as st

    from areaviz.app.page import Page
    from areaviz.app.tasks import TranslateState
    from tests.pages import folder

    page = Page("translate", "", TranslateState())
    page.follow_url({"a": folder.card("a", "area")})
    page.draw_widget(st.text_input, "Text", "text")
    page.set_url_params({"model": "a", "text": page.state.text, "view": "pyramid"})


def test_link_stays_unchanged_until_a_change() -> None:
    app = AppTest.from_function(addressed)
    app.query_params["text"] = "A dog."
    app.run()
    assert not app.exception and dict(app.query_params) == {"text": "A dog."}
    app.run()
    assert dict(app.query_params) == {"text": "A dog."}
    app.text_input[0].set_value("A cat.").run()
    whole = {"model": "a", "text": "A cat.", "view": "pyramid"}
    assert dict(app.query_params) == whole
    # This also holds if the request that the link showed is repeated.
    app.text_input[0].set_value("A dog.").run()
    assert dict(app.query_params) == whole | {"text": "A dog."}


def replace_an_address() -> AppTest:
    """Return a page that replaced the address of a link, and a browser that still has it."""
    app = AppTest.from_function(addressed)
    app.query_params["text"] = "A dog."
    app.run()
    app.text_input[0].set_value("A cat.").run()
    app.query_params.clear()
    app.query_params["text"] = "A dog."
    return app


def test_click_that_carries_a_replaced_address_changes_nothing_else() -> None:
    """The browser sent the second change before it received the address of the first one."""
    app = replace_an_address()
    app.text_input[0].set_value("A cat sleeps.").run()
    assert not app.exception and app.text_input[0].value == "A cat sleeps."
    assert dict(app.query_params)["text"] == "A cat sleeps."


def test_back_button_restores_a_replaced_address() -> None:
    app = replace_an_address()
    app.run()
    assert not app.exception and app.text_input[0].value == "A dog."
    assert dict(app.query_params) == {"text": "A dog."}


def test_tour_step_stays_in_the_address() -> None:
    app = AppTest.from_function(addressed)
    app.query_params.update({"text": "A dog.", "tour": "3"})
    app.run()
    assert dict(app.query_params) == {"text": "A dog.", "tour": "3"}
    app.text_input[0].set_value("A cat.").run()
    whole = {"model": "a", "text": "A cat.", "view": "pyramid", "tour": "3"}
    assert dict(app.query_params) == whole


def test_empty_address_is_completed_at_once() -> None:
    app = AppTest.from_function(addressed).run()
    assert not app.exception and set(app.query_params) == {"model", "text", "view"}
