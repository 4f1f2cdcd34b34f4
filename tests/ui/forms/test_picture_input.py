"""The picture widget without a browser: its choices, errors, state and links."""

from __future__ import annotations

import io
from typing import Any

import pytest
import streamlit as st
from PIL import Image
from streamlit.testing.v1 import AppTest

from areaviz.app import components as component
from areaviz.app import input
from areaviz.app.components import Thumbnail
from areaviz.app.input import CAMERA_SOURCE, SAMPLE_SOURCE, UPLOAD_SOURCE, PictureState
from areaviz.app.page import Link, Page
from areaviz.media.pictures import Decoded
from areaviz.samples.own_media import get_picture_sample, list_picture_names
from areaviz.trace.request import Request

PAGE = Page("it", "", PictureState())


def page() -> None:
    import streamlit as st

    from areaviz.app.input import PictureState, draw_picture_input
    from areaviz.app.page import Page

    state = st.session_state
    if state.get("shown", True):
        chosen = draw_picture_input(
            Page("it", "", PictureState()),
            state.get("kinds", ("scene", "photo")),
            state.get("default", "scene-1"),
        )
        state["chosen"] = chosen and chosen.name


def opened(**state: Any) -> AppTest:
    run = AppTest.from_function(page, default_timeout=60)
    for name, value in state.items():
        run.session_state[name] = value
    return checked(run.run())


def checked(run: AppTest) -> AppTest:
    assert not run.exception
    return run


def png(width: int = 3, height: int = 2, colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(file, "PNG")
    return file.getvalue()


def uploaded(run: AppTest, content: bytes, name: str = "a.png") -> AppTest:
    run.session_state["it_source"] = UPLOAD_SOURCE
    run.run()
    return checked(run.file_uploader[0].set_value((name, content, "image/png")).run())


def captions(run: AppTest) -> str:
    return " ".join(one.value for one in run.caption).replace("\\", "")


def test_default_is_chosen_first() -> None:
    run = opened()
    assert run.session_state["chosen"] == "scene-1"
    assert run.session_state["it_source"] == SAMPLE_SOURCE
    assert not run.error and not run.file_uploader


def test_first_choice_can_be_empty() -> None:
    assert opened(default="").session_state["chosen"] is None


def test_chosen_file_reports_its_changes() -> None:
    run = uploaded(opened(), png(1280, 640))
    assert run.session_state["chosen"].startswith("upload-")
    assert (
        "Your picture is chosen. Made smaller, from 1,280 x 640 to 640 x 320 pixels."
        in captions(run)
    )
    assert not run.error


def test_equal_pixels_have_equal_names() -> None:
    one, other = uploaded(opened(), png(), "a.png"), uploaded(opened(), png(), "b.png")
    assert one.session_state["chosen"] == other.session_state["chosen"]
    assert (
        uploaded(opened(), png(colour="blue")).session_state["chosen"]
        != one.session_state["chosen"]
    )


def test_invalid_file_shows_error_and_changes_nothing() -> None:
    run = uploaded(opened(), png())
    before = run.session_state["chosen"]
    run = uploaded(run, b"just text")
    assert len(run.error) == 1 and "The file is not a JPEG" in run.error[0].value
    assert run.session_state["chosen"] == before
    assert len(checked(run.run()).error) == 1, "the file is still there, so the sentence is, too"
    assert not uploaded(run, png(5, 5)).error


def test_refusal_disappears_with_its_source() -> None:
    run = uploaded(opened(), b"just text")
    assert run.error
    run = checked(run.segmented_control[0].set_value(SAMPLE_SOURCE).run())
    assert not run.error and run.session_state["chosen"] == "scene-1"


def test_removing_the_file_keeps_the_picture() -> None:
    run = uploaded(opened(), png())
    before = run.session_state["chosen"]
    assert checked(run.file_uploader[0].set_value(None).run()).session_state["chosen"] == before


def test_picture_survives_page_change_without_camera() -> None:
    run = uploaded(opened(), png())
    before = run.session_state["chosen"]
    run.session_state["it_source"] = CAMERA_SOURCE
    checked(run.run())
    run.session_state["shown"] = False
    checked(run.run())
    run.session_state["shown"] = True
    checked(run.run())
    assert run.session_state["chosen"] == before
    assert run.session_state["it_source"] == UPLOAD_SOURCE


def test_only_samples_are_replaced_by_a_new_kind() -> None:
    run = opened()
    run.session_state["kinds"], run.session_state["default"] = ("digit",), "digit-3"
    assert checked(run.run()).session_state["chosen"] == "digit-3"
    run = uploaded(run, png())
    run.session_state["kinds"], run.session_state["default"] = ("pair",), "pair-27"
    assert checked(run.run()).session_state["chosen"].startswith("upload-")


def test_uploaded_picture_is_shown_next_to_samples() -> None:
    run = checked(uploaded(opened(), png()).segmented_control[0].set_value(SAMPLE_SOURCE).run())
    assert "Your picture is chosen." in captions(run)


@pytest.mark.parametrize(("width", "height"), [(1, 640), (640, 1), (1, 1)])
def test_flat_pictures_are_shown(width: int, height: int) -> None:
    assert "Your picture is chosen." in captions(uploaded(opened(), png(width, height)))


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Replace the session's state between two runs of a page."""
    session: dict[str, Any] = {}
    monkeypatch.setattr(st, "session_state", session)
    return session


def test_click_chooses_a_sample(state: dict[str, Any]) -> None:
    state["it_samples"] = {"picked": "scene-9"}
    PAGE.set(refusal="Something was wrong.")
    input._take_sample(PAGE)
    assert PAGE.state == PictureState(chosen=Decoded(get_picture_sample("scene-9"), ()))


@pytest.mark.parametrize("told", [None, {}, {"picked": None}, {"picked": "no such"}])
def test_click_on_unknown_sample_is_ignored(state: dict[str, Any], told: Any) -> None:
    state["it_samples"] = told
    input._take_sample(PAGE)
    assert PAGE.state.chosen is None


def after_link(name: str, before: PictureState = PAGE.first) -> PictureState:
    return before.from_link(Link({"picture": name}, Request("one", ""), None))


def test_link_chooses_a_sample() -> None:
    state = after_link("pair-41")
    assert state.chosen is not None and state.chosen.picture is get_picture_sample("pair-41")
    assert state.source == SAMPLE_SOURCE and not state.problem


def test_link_to_unknown_upload_asks_for_the_picture() -> None:
    state = after_link("upload-123456789abc")
    assert "uploaded by its author and is not stored. Upload it again" in state.problem
    assert state.chosen is None and state.source == UPLOAD_SOURCE


def test_link_to_own_picture_keeps_it() -> None:
    own = PictureState(chosen=input.decode_picture(png()))
    assert own.chosen is not None and after_link(own.chosen.picture.name, own) == own


def test_link_to_unknown_picture_is_reported() -> None:
    state = after_link("no-such-picture")
    assert state.problem.startswith('The link names a picture "no-such-picture", which does not')
    assert state == PictureState(problem=state.problem)


def test_impossible_name_is_reported() -> None:
    assert "which cannot exist" in after_link("<b>x</b>").problem


def test_row_contains_samples_with_titles(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: dict[str, Any] = {}
    monkeypatch.setattr(
        component,
        "get_component",
        lambda name, *files: lambda **given: sent.update(given, component=name),
    )
    input._draw_sample_row(PAGE, ("digit", "photo"), "digit-4")
    data = sent["data"]
    assert [one["name"] for one in data["pictures"]] == list(list_picture_names("digit", "photo"))
    assert data["chosen"] == "digit-4" and sent["component"] == "thumbnails"
    assert data["pictures"][0]["title"] == "The digit 2 among clutter"
    sources = {one["name"]: one["source"].partition(",")[0] for one in data["pictures"]}
    photos = list_picture_names("photo")
    assert {sources[name] for name in photos} == {"data:image/jpeg;base64"}
    assert {sources[name] for name in sources if name not in photos} == {"data:image/png;base64"}


def test_image_url_contains_its_bytes() -> None:
    assert Thumbnail("a", "A", b"\x89PNG").source == "data:image/png;base64,iVBORw=="
