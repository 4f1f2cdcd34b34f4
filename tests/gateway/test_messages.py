"""Sockets behind the gateway of a served page: their messages, uploads and files."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed

from areaviz.gateway.serving import send_command
from areaviz.shares import FIRST_MESSAGE_SECONDS, MESSAGE_KILOBYTES, MESSAGE_WIDGETS, Limit
from benchmarks.fairness import huge_message
from tests.faults.client import Session
from tests.faults.served import Served
from tests.gateway.client import (
    cookie_of,
    limited,
    move_clock,
    port_of,
    put,
    request,
    status,
    visiting,
    wait_until,
)
from tests.gateway.idle import SOON_SECONDS
from tests.gateway.small_server import PATIENT_SECONDS

MEGABYTE = 2**20


def reader_of(app: Served) -> str:
    """Return the cookie of a new reader."""
    return cookie_of(request(app, "GET", "/"))


@pytest.mark.parametrize("kind", ["load_git_info", "set_run_on_save", "debug_shutdown_runtime"])
def test_socket_drops_unused_messages(open_app: Served, kind: str) -> None:
    with visiting(open_app, "models") as (visitor, _, _):
        message = BackMsg()
        setattr(message, kind, True)
        visitor.socket.send(message.SerializeToString())
        assert len(visitor.visit("models").messages) > 5


@pytest.mark.parametrize(("said", "code"), [(b"\xff" * 40, 1002), ("a text", 1003)])
def test_malformed_message_closes_the_socket(
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
                    visitor.socket.recv()
            assert closed.value.rcvd is not None and closed.value.rcvd.code == code
    assert open_app.log.stat().st_size == before, "nobody fills the log with it"


def test_socket_without_message_has_no_session(open_app: Served) -> None:
    before = status(open_app)
    with Session.open(open_app.url), Session.open(open_app.url):
        wait_until(lambda: status(open_app)["connections"] >= before["connections"] + 2)
        assert status(open_app)["sessions"] == before["sessions"]


@pytest.mark.long
def test_returning_page_may_stay_silent(open_app: Served) -> None:
    with visiting(open_app, "models") as (_, session, _):
        pass
    with (
        limited(open_app, FIRST_MESSAGE_SECONDS, SOON_SECONDS),
        Session.open(open_app.url, session=session) as visitor,
    ):
        # A new page that comes later and stays silent, too, shows when the limit is over.
        with Session.open(open_app.url) as other, pytest.raises(ConnectionClosed):
            other.socket.recv()
        assert visitor.visit("models").messages


def test_upload_without_session_is_refused(open_app: Served) -> None:
    assert put(open_app, "00000000-0000-0000-0000-000000000000", 1000) == 403
    with visiting(open_app, "models") as (_, session, _):
        assert put(open_app, session, 1000) == 204
        assert (
            put(open_app, session, 1000, **{"Content-Length": "", "Transfer-Encoding": "chunked"})
            == 411
        )
        assert put(open_app, session, 1000, **{"X-Xsrftoken": "x"}) == 403
        assert put(open_app, session, 1000, Origin="http://evil.example") == 403


def many_widgets(count: int) -> bytes:
    """Return a message with this many tiny widget states."""
    message = BackMsg()
    for number in range(count):
        message.rerun_script.widget_states.widgets.add(id=f"{number:x}").trigger_value = True
    return bytes(message.SerializeToString())


def refusals(visitor: Session) -> list[str]:
    """Return the page's sentences about refused messages, up to its next run."""
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
def test_page_shows_refusal_of_large_message(
    open_app: Served, content: bytes, limit: Limit
) -> None:
    with visiting(open_app, "models") as (visitor, _, _):
        visitor.socket.send(content)
        assert refusals(visitor) == [f"Your last change was not accepted. {limit.refusal()}"]


def test_large_messages_cost_little_memory_and_time(open_app: Served) -> None:
    """Check the costs of three readers who each send 22 MB of tiny widget states.

    One message of this kind once took 57 s and 1.6 GB.
    """
    content = huge_message()
    with ExitStack() as stack:
        visitors = [
            stack.enter_context(visiting(open_app, "models", cookie=reader_of(open_app)))[0]
            for _ in range(3)
        ]
        before, spent = open_app.memory(), open_app.processor_seconds()
        open_app.forget_peak()
        for visitor in visitors:
            visitor.socket.send(content)
        assert [len(refusals(visitor)) for visitor in visitors] == [1, 1, 1]
        assert open_app.peak() - before < 15
        assert open_app.processor_seconds() - spent < 1


def addresses(messages: list[ForwardMsg]) -> list[str]:
    """Return the addresses of a page's pictures."""
    found: list[str] = []
    for message in messages:
        if message.HasField("delta") and message.delta.new_element.HasField("imgs"):
            found += [
                one.url
                for one in message.delta.new_element.imgs.imgs
                if one.url.startswith("/media/")
            ]
    return found


def test_picture_is_served_to_its_reader_only(open_app: Served) -> None:
    owner, other = reader_of(open_app), reader_of(open_app)
    with (
        visiting(open_app, "models", cookie=owner) as (_, _, messages),
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


def test_sockets_without_cookie_share_no_files(open_app: Served) -> None:
    with visiting(open_app, "models") as (_, _, messages):
        assert request(open_app, "GET", addresses(messages)[0]).status == 404


def is_at_most(app: Served, name: str, most: float) -> bool:
    """Return whether a figure of the app has come down to another one."""
    return float(status(app)[name]) <= most


def test_files_are_freed_with_their_session(open_app: Served) -> None:
    """Check that files are freed early; Streamlit alone keeps them until another reader leaves."""
    owner = reader_of(open_app)
    # Sessions of other tests may have files, too.
    before = status(open_app)
    send_command(port_of(open_app), "keep", str(SOON_SECONDS))
    with visiting(open_app, "models", cookie=owner) as (_, session, messages):
        assert put(open_app, session, MEGABYTE) == 204
        assert request(open_app, "GET", addresses(messages)[0], Cookie=owner).status == 200
        assert status(open_app)["uploaded_megabytes"] > before["uploaded_megabytes"]
    for name in ("uploaded_megabytes", "sessions_kept_for_return"):
        wait_until(partial(is_at_most, open_app, name, before[name]))
    send_command(port_of(open_app), "keep", str(PATIENT_SECONDS))
    move_clock(open_app, PATIENT_SECONDS + 1)
    assert request(open_app, "GET", addresses(messages)[0], Cookie=owner).status == 404
