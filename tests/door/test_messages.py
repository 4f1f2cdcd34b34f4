"""What sockets may say and upload, and which files they see, behind the door of the real app."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.exceptions import ConnectionClosed

from areaviz.shares.limits import MESSAGE_KILOBYTES, MESSAGE_WIDGETS, Limit
from tests.door.test_limits import status
from tests.door.test_serving import asked, port_of
from tests.faults.client import Session
from tests.faults.served import Served, served

MEGABYTE = 2**20


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("app") / "log", {"OMP_NUM_THREADS": "1"}) as app:
        with Session.open(app.url) as visitor:
            visitor.visit("models")
        yield app


def reader_of(app: Served) -> str:
    """The cookie of a new reader."""
    return str(asked(app, "GET", "/").headers["set-cookie"]).partition(";")[0]


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


def test_clear_cache_does_nothing(app: Served) -> None:
    query = "model=char-tiny-area&text=A+dog"
    with visiting(app, "translate", query) as (visitor, _, _):
        first = status(app)["threads"]
        for _ in range(4):
            message = BackMsg()
            message.clear_cache = True
            visitor.socket.send(message.SerializeToString())
            padded = BackMsg()
            padded.rerun_script.page_name = "translate"
            visitor.socket.send(padded.SerializeToString() + message.SerializeToString())
            assert not visitor.visit("translate", query).errors
        assert status(app)["threads"] <= first + 1, "no other worker was begun"


@pytest.mark.parametrize("kind", ["load_git_info", "set_run_on_save", "debug_shutdown_runtime"])
def test_what_the_app_does_not_need_is_dropped(app: Served, kind: str) -> None:
    with visiting(app, "models") as (visitor, _, _):
        message = BackMsg()
        setattr(message, kind, True)
        visitor.socket.send(message.SerializeToString())
        assert len(visitor.visit("models").messages) > 5


@pytest.mark.parametrize(("said", "code"), [(b"\xff" * 40, 1002), ("a text", 1003)])
def test_what_is_no_message_closes_the_socket(app: Served, said: str | bytes, code: int) -> None:
    before = app.log.stat().st_size
    for begun in (False, True):
        with Session.open(app.url) as visitor:
            if begun:
                visitor.visit("models")
            visitor.socket.send(said)
            with pytest.raises(ConnectionClosed) as closed:
                while True:
                    visitor.socket.recv(20)
            assert closed.value.rcvd is not None and closed.value.rcvd.code == code
    assert app.log.stat().st_size == before, "nobody fills the log with it"


def test_a_socket_without_a_message_has_no_session(app: Served) -> None:
    before = status(app)
    with Session.open(app.url), Session.open(app.url):
        time.sleep(0.5)
        now = status(app)
    assert now["sessions"] == before["sessions"] and now["connections"] >= before["connections"] + 2


def test_a_page_that_comes_back_may_be_silent(app: Served) -> None:
    with visiting(app, "models") as (_, session, _):
        pass
    with Session.open(app.url, session=session):
        time.sleep(33)
        with visiting(app, "models"):
            assert status(app)["sessions"] == 2


def begun(
    app: Served, session: str, size: int, file: str, **headers: str
) -> tuple[HTTPConnection, bytes]:
    """An upload of so many bytes whose head was sent, and its body."""
    token = asked(app, "GET", "/_stcore/health").headers["set-cookie"].partition(";")[0]
    head = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a"\r\n\r\n'
    body = head + b"\0" * (size - len(head) - 9) + b"\r\n--b--\r\n"
    line = HTTPConnection("127.0.0.1", port_of(app), timeout=60)
    line.putrequest("PUT", f"/_stcore/upload_file/{session}/{file}")
    given = {
        "Content-Type": "multipart/form-data; boundary=b",
        "Content-Length": str(len(body)),
        "Cookie": token,
    }
    for name, value in {**given, "X-Xsrftoken": token.partition("=")[2], **headers}.items():
        if value:
            line.putheader(name, value)
    line.endheaders()
    return line, body


def put(app: Served, session: str, size: int, file: str = "a", **headers: str) -> int:
    """Upload so many bytes; the answer's status. Of a body in chunks none is sent."""
    line, body = begun(app, session, size, file, **headers)
    if "Transfer-Encoding" not in headers:
        line.send(body)
    status = line.getresponse().status
    line.close()
    return status


def test_an_upload_of_no_session_is_refused(app: Served) -> None:
    assert put(app, "00000000-0000-0000-0000-000000000000", 1000) == 403
    with visiting(app, "caption") as (_, session, _):
        assert put(app, session, 1000) == 204
        assert (
            put(app, session, 1000, **{"Content-Length": "", "Transfer-Encoding": "chunked"}) == 411
        )
        assert put(app, session, 1000, **{"X-Xsrftoken": "x"}) == 403
        assert put(app, session, 1000, Origin="http://evil.example") == 403


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
    app: Served, content: bytes, limit: Limit
) -> None:
    with visiting(app, "models") as (visitor, _, _):
        visitor.socket.send(content)
        assert refusals(visitor) == [f"Your last change was not accepted. {limit.refusal()}"]


def test_large_messages_cost_neither_memory_nor_time(app: Served) -> None:
    """22 MB of tiny widget states, which once took 57 s and 1.6 GB."""
    content = many_widgets(2_000_000)
    with visiting(app, "models") as (visitor, _, _):
        before = app.memory()
        app.forget_peak()
        spent = app.processor_seconds()
        for _ in range(3):
            visitor.socket.send(content)
        spent = app.processor_seconds() - spent
        assert app.peak() - before < 15
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


def test_a_picture_is_seen_by_who_was_shown_it_alone(app: Served) -> None:
    owner, other = reader_of(app), reader_of(app)
    with (
        visiting(app, "four_ways", cookie=owner) as (_, _, messages),
        visiting(app, "models", cookie=other),
    ):
        files = addresses(messages)
        assert files, "the page shows pictures"
        for path in files:
            assert asked(app, "GET", path, Cookie=owner).status == 200
            assert asked(app, "GET", path, Cookie=other).status == 404
            assert asked(app, "GET", path).status == 404
    assert asked(app, "GET", files[0]).status == 404
    assert asked(app, "GET", files[0], Cookie=other).status == 404
    assert asked(app, "GET", files[0], Cookie=owner).status == 200, (
        "a page that lost its connection may come back"
    )


def test_sockets_that_name_no_reader_have_no_files_in_common(app: Served) -> None:
    with visiting(app, "four_ways") as (_, _, messages):
        assert asked(app, "GET", addresses(messages)[0]).status == 404


def test_files_end_with_their_session_though_nobody_else_comes(tmp_path: Path) -> None:
    (tmp_path / ".streamlit").mkdir()
    (tmp_path / ".streamlit" / "config.toml").write_text("[server]\ndisconnectedSessionTTL = 3\n")
    with served(tmp_path / "log", {"OMP_NUM_THREADS": "1", "HOME": str(tmp_path)}) as app:
        owner = reader_of(app)
        with visiting(app, "four_ways", cookie=owner) as (_, session, messages):
            assert put(app, session, MEGABYTE) == 204
            assert asked(app, "GET", addresses(messages)[0], Cookie=owner).status == 200
        late = time.monotonic() + 20
        while status(app)["uploaded_megabytes"] and time.monotonic() < late:
            time.sleep(1)
        assert (
            status(app)["uploaded_megabytes"] == 0 and status(app)["sessions_kept_for_return"] == 0
        )
        assert asked(app, "GET", addresses(messages)[0], Cookie=owner).status == 404
