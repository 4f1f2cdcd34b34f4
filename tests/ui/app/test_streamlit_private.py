"""Each private part of Streamlit that the app uses works as the app expects."""

from __future__ import annotations

from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.pages_manager import PagesManager
from streamlit.runtime.uploaded_file_manager import DeletedFile
from streamlit.testing.v1 import AppTest

from areaviz.app import run


def script() -> None:
    """Run a page again as if its text had just been typed."""
    import streamlit as st
    from streamlit.proto.WidgetStates_pb2 import WidgetState
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from areaviz.app import run as streamlit_private

    state = st.session_state
    state.setdefault("heard", [])
    typed = st.text_input("Text", key="text", on_change=lambda: state.heard.append(state.text))
    st.text(f"typed {typed}, heard {state.heard}")
    context = get_script_run_ctx()
    assert context is not None and streamlit_private.get_session_id() == context.session_id
    assert streamlit_private.is_drawing_page()
    drawn = context.session_state._state._get_widget_id("text")
    widget = WidgetState(id=drawn, string_value="a dog")
    assert streamlit_private.is_drawn(widget)
    assert not streamlit_private.is_drawn(WidgetState(id=f"{drawn}_more"))
    assert streamlit_private.get_widget_key(widget) == "text"
    if state.pop("again", True):
        state.again = False
        streamlit_private.rerun_with([widget])


def test_rerun_with_value_acts_like_typing() -> None:
    app = AppTest.from_function(script).run()
    assert not app.exception and app.text[0].value == "typed a dog, heard ['a dog']"


def brought() -> None:
    """Return a session with a value of a widget that was never drawn."""
    import streamlit as st
    from streamlit.proto.WidgetStates_pb2 import WidgetState
    from streamlit.runtime.scriptrunner import get_script_run_ctx

    from areaviz.app import run as streamlit_private

    context = get_script_run_ctx()
    assert context is not None
    st.session_state["held"] = 1
    assert streamlit_private.take_unread_widgets() == [] and "held" in st.session_state
    widget = WidgetState(id="$$ID-0-note", string_value="a note")
    context.session_state._state._new_widget_state.set_widget_from_proto(widget)
    assert streamlit_private.take_unread_widgets() == [widget]
    assert "held" not in st.session_state and streamlit_private.take_unread_widgets() == []


def test_unread_widget_values_are_taken_once() -> None:
    assert not AppTest.from_function(brought).run().exception


def test_functions_return_nothing_outside_a_session() -> None:
    assert run.get_session_id() is None
    assert not run.is_drawing_page()
    assert run.take_unread_widgets() == []
    assert not run.is_drawn(WidgetState(id="one"))


def test_pages_folder_is_left_once() -> None:
    before = PagesManager.uses_pages_directory
    try:
        PagesManager.uses_pages_directory = True
        assert run.leave_pages_folder() and not run.leave_pages_folder()
    finally:
        PagesManager.uses_pages_directory = before


def test_files_of_an_ended_app_are_recognised() -> None:
    widget = WidgetState(id="one")
    assert not run.has_files(widget)
    widget.file_uploader_state_value.uploaded_file_info.add(file_id="1", name="a.png")
    assert run.has_files(widget)
    assert run.is_file_gone(DeletedFile("1")) and not run.is_file_gone(None)


def changed() -> None:
    """Show whether the run began with a change of a widget."""
    import streamlit as st

    from areaviz.app import run as streamlit_private

    st.text(str(streamlit_private.has_widget_change()))
    st.checkbox("Own")
    st.button("Go")


def test_change_of_a_widget_is_told_from_a_link() -> None:
    app = AppTest.from_function(changed).run()
    assert not app.exception and app.text[0].value == "False"
    assert app.checkbox[0].check().run().text[0].value == "True"
    assert app.run().text[0].value == "False"
    assert app.button[0].click().run().text[0].value == "True"
    assert app.run().text[0].value == "False"
