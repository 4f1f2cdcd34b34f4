"""What sockets may say and upload, and which files they see, behind the gateway of the real app."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed

from areaviz.shares.limits import MESSAGE_KILOBYTES, MESSAGE_WIDGETS, Limit
from tests.faults.client import Session
from tests.faults.served import Served
from tests.gateway.client import cookie_of, put, request, status
from tests.gateway.conftest import FIRST_MESSAGE_SECONDS, SESSION_SECONDS

MEGABYTE = 2**20


def reader_of(app: Served) -> str:
    """The cookie of a new reader."""
    return cookie_of(request(app, "GET", "/"))


@contextmanager
def visiting(
    app: Served, page: str, query: str = "", cookie: str = ""
) -> Iterator[tuple[Session, str, list[ForwardMsg]]]:
    """An open tab, the id of its session, and what it was sent."""
    with Session.open(app.url, cookie) as visitor:
        messages = list(visitor.visit(page, query).messages)
        ids = [
            one.new_session.initialize.session_id for one in messages if one.HasField("new_session")
        ]
        yield visitor, ids[0], messages


def test_clear_cache_does_nothing(open_app: Served) -> None:
    query = "model=char-tiny-area&text=A+dog"
    with visiting(open_app, "translate", query) as (visitor, _, _):
        first = status(open_app)["threads"]
        for _ in range(4):
            message = BackMsg()
            message.clear_cache = True
            visitor.socket.send(message.SerializeToString())
            padded = BackMsg()
            padded.rerun_script.page_name = "translate"
            visitor.socket.send(padded.SerializeToString() + message.SerializeToString())
            assert not visitor.visit("translate", query).errors
        assert status(open_app)["threads"] <= first + 1, "no other worker was begun"


@pytest.mark.parametrize("kind", ["load_git_info", "set_run_on_save", "debug_shutdown_runtime"])
def test_what_the_app_does_not_need_is_dropped(open_app: Served, kind: str) -> None:
    with visiting(open_app, "models") as (visitor, _, _):
        message = BackMsg()
        setattr(message, kind, True)
        visitor.socket.send(message.SerializeToString())
        assert len(visitor.visit("models").messages) > 5


@pytest.mark.parametrize(("said", "code"), [(b"\xff" * 40, 1002), ("a text", 1003)])
def test_what_is_no_message_closes_the_socket(
    open_app: Served, said: str | bytes, code: int
) -> None:
    before = open_app.log.stat().st_size
    for begun in (False, True):
        with Session.open(open_app.url) as visitor:
            if begun:
                visitor.visit("models")
            visitor.socket.send(said)
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    visitor.socket.recv(20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == code
    assert open_app.log.stat().st_size == before, "nobody fills the log with it"


def test_a_socket_without_a_message_has_no_session(open_app: Served) -> None:
    before = status(open_app)
    with Session.open(open_app.url), Session.open(open_app.url):
        time.sleep(0.5)
        now = status(open_app)
    assert now["sessions"] == before["sessions"] and now["connections"] >= before["connections"] + 2


def test_page_that_comes_back_may_be_silent(open_app: Served) -> None:
    with visiting(open_app, "models") as (_, session, _):
        pass
    began = time.monotonic()
    with Session.open(open_app.url, session=session) as visitor:
        with pytest.raises(TimeoutError):
            while True:
                visitor.socket.recv(FIRST_MESSAGE_SECONDS + 1 - (time.monotonic() - began))
        assert visitor.visit("models").messages


def test_an_upload_of_no_session_is_refused(open_app: Served) -> None:
    assert put(open_app, "00000000-0000-0000-0000-000000000000", 1000) == 403
    with visiting(open_app, "caption") as (_, session, _):
        assert put(open_app, session, 1000) == 204
        assert (
            put(open_app, session, 1000, **{"Content-Length": "", "Transfer-Encoding": "chunked"})
            == 411
        )
        assert put(open_app, session, 1000, **{"X-Xsrftoken": "x"}) == 403
        assert put(open_app, session, 1000, Origin="http://evil.example") == 403


def many_widgets(count: int) -> bytes:
    """A message with this many tiny widget states."""
    message = BackMsg()
    for number in range(count):
        message.rerun_script.widget_states.widgets.add(id=f"{number:x}").trigger_value = True
    return bytes(message.SerializeToString())


def refusals(visitor: Session) -> list[str]:
    """What the page was told of refused messages, up to the next run of the page."""
    shown = visitor.visit("models")
    assert len(shown.messages) > 5
    elements = [one.delta.new_element for one in shown.messages if one.HasField("delta")]
    return [one.toast.body for one in elements if one.HasField("toast")]


@pytest.mark.parametrize(
    ("content", "limit"),
    [
        (b"a" * 22_000_000, MESSAGE_KILOBYTES),
        (many_widgets(3000), MESSAGE_WIDGETS),
    ],
)
def test_message_that_is_too_much_is_refused_on_the_page(
    open_app: Served, content: bytes, limit: Limit
) -> None:
    with visiting(open_app, "models") as (visitor, _, _):
        visitor.socket.send(content)
        assert refusals(visitor) == [f"Your last change was not accepted. {limit.refusal()}"]


def test_large_messages_cost_neither_memory_nor_time(open_app: Served) -> None:
    """22 MB of tiny widget states, which once took 57 s and 1.6 GB."""
    content = many_widgets(2_000_000)
    with visiting(open_app, "models") as (visitor, _, _):
        before = open_app.memory()
        open_app.forget_peak()
        spent = open_app.processor_seconds()
        for _ in range(3):
            visitor.socket.send(content)
        spent = open_app.processor_seconds() - spent
        assert open_app.peak() - before < 15
        assert spent < 1
        assert len(refusals(visitor)) == 3


def addresses(messages: list[ForwardMsg]) -> list[str]:
    """The media addresses that a page was sent."""
    found: list[str] = []
    for message in messages:
        if message.HasField("delta") and message.delta.new_element.HasField("imgs"):
            found += [
                one.url
                for one in message.delta.new_element.imgs.imgs
                if one.url.startswith("/media/")
            ]
    return found


def test_a_picture_is_seen_by_who_was_shown_it_alone(open_app: Served) -> None:
    owner, other = reader_of(open_app), reader_of(open_app)
    with (
        visiting(open_app, "four_ways", cookie=owner) as (_, _, messages),
        visiting(open_app, "models", cookie=other),
    ):
        files = addresses(messages)
        assert files, "the page shows pictures"
        for path in files:
            assert request(open_app, "GET", path, Cookie=owner).status == 200
            assert request(open_app, "GET", path, Cookie=other).status == 404
            assert request(open_app, "GET", path).status == 404
    assert request(open_app, "GET", files[0]).status == 404
    assert request(open_app, "GET", files[0], Cookie=other).status == 404
    assert request(open_app, "GET", files[0], Cookie=owner).status == 200, (
        "a page that lost its connection may come back"
    )


def test_sockets_that_name_no_reader_have_no_files_in_common(open_app: Served) -> None:
    with visiting(open_app, "four_ways") as (_, _, messages):
        assert request(open_app, "GET", addresses(messages)[0]).status == 404


def test_files_end_with_their_session(open_app: Served) -> None:
    """Streamlit alone would keep them until another reader leaves."""
    owner = reader_of(open_app)
    with visiting(open_app, "four_ways", cookie=owner) as (_, session, messages):
        assert put(open_app, session, MEGABYTE) == 204
        assert request(open_app, "GET", addresses(messages)[0], Cookie=owner).status == 200
    late = time.monotonic() + SESSION_SECONDS + 20
    while status(open_app)["uploaded_megabytes"] and time.monotonic() < late:
        time.sleep(0.5)
    found = status(open_app)
    assert found["uploaded_megabytes"] == 0
    assert found["sessions_kept_for_return"] == 0
    assert request(open_app, "GET", addresses(messages)[0], Cookie=owner).status == 404
