"""Readers see only files that were sent to their own pages."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from areaviz.gateway.gateway import MAX_NAMES, Media, find_media_names


def images(*addresses: str) -> bytes:
    """Return the message that shows images with these addresses."""
    message = ForwardMsg()
    for address in addresses:
        message.delta.new_element.imgs.imgs.add(url=address)
    return bytes(message.SerializeToString())


def test_reader_sees_files_that_a_page_was_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    media = Media(120.0)
    media.enter("a")
    media.enter("a")
    media.enter("b")
    media.note("a", images("/media/0f.png", "/media/1f.csv"))
    assert media.may_see("a", "/media/0f.png") and media.may_see("a", "/media/1f.csv")
    assert not media.may_see("b", "/media/0f.png") and not media.may_see("a", "/media/0f")
    media.leave("a")
    now += 1000
    assert media.may_see("a", "/media/0f.png"), "another tab is open"
    media.leave("a")
    now += 100
    assert media.may_see("a", "/media/0f.png")
    now += 100
    assert not media.may_see("a", "/media/0f.png")


def test_socket_without_cookie_has_no_files() -> None:
    media = Media(120.0)
    media.enter("")
    media.note("", images("/media/0f.png"))
    assert not media.may_see("", "/media/0f.png")
    media.leave("")


def test_oldest_names_are_forgotten() -> None:
    media = Media(120.0)
    media.enter("a")
    for number in range(MAX_NAMES + 1):
        media.note("a", images(f"/media/{number}.png"))
    assert not media.may_see("a", "/media/0.png")
    assert media.may_see("a", "/media/1.png")


ADDRESS = "/media/0123456789abcdef.png"


def echoes() -> list[ForwardMsg]:
    """Return messages that repeat a reader's text."""
    messages = [ForwardMsg() for _ in range(6)]
    messages[0].delta.new_element.text.body = ADDRESS
    messages[1].delta.new_element.text_input.value = ADDRESS
    messages[2].delta.new_element.markdown.body = f"![]({ADDRESS})"
    messages[3].delta.new_element.imgs.imgs.add(url="/media/1.png", caption=ADDRESS)
    messages[4].page_info_changed.query_string = ADDRESS
    messages[5].delta.new_element.imgs.imgs.add(url=f"https://example.org{ADDRESS}")
    return messages


@pytest.mark.parametrize("message", echoes(), ids=lambda one: str(one)[:40])
def test_address_in_a_text_opens_no_file(message: ForwardMsg) -> None:
    assert Path(ADDRESS).name not in find_media_names(message.SerializeToString())


def shown() -> list[ForwardMsg]:
    """Return messages that make a browser load a file."""
    messages = [ForwardMsg() for _ in range(8)]
    messages[0].delta.new_element.imgs.imgs.add(url=ADDRESS)
    messages[1].delta.new_element.audio.url = ADDRESS
    messages[2].delta.new_element.video.url = ADDRESS
    messages[3].delta.new_element.video.subtitles.add(url=ADDRESS)
    messages[4].delta.new_element.download_button.url = ADDRESS
    messages[5].page_config_changed.favicon = ADDRESS
    messages[6].logo.icon_image = ADDRESS
    messages[7].backend_operation_response.deferred_file.url = ADDRESS
    return messages


@pytest.mark.parametrize("message", shown(), ids=lambda one: str(one)[:40])
def test_address_of_a_shown_file_is_found(message: ForwardMsg) -> None:
    assert find_media_names(message.SerializeToString()) == {Path(ADDRESS).name}


def test_invalid_message_names_no_file() -> None:
    assert find_media_names(b"\xff/media/0f.png") == set()
