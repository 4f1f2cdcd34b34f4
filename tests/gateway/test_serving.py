"""The gateway protects the real app. `python -m areaviz serve` runs both in another process."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import InvalidStatus

from tests.faults.client import Session
from tests.faults.served import Served, served
from tests.gateway.client import (
    PAGES,
    TOKEN,
    cookie_of,
    handshake,
    port_of,
    request,
    sign_in,
    status,
    visiting,
)

# A text that a reader wrote.
SECRET = "wm07x011"
CLOSED = (
    "/",
    "/translate",
    "/_stcore/metrics",
    "/_stcore/host-config",
    "/_stcore/agent/openapi.json",
    "/static/x.js",
    "/media/a.png",
    "/favicon.png",
    "/component/x/y",
    "/_stcore/script-health-check",
)


@pytest.fixture(scope="module")
def fresh_sockets() -> list[int]:
    """Return a list. `locked_app` adds how many elements each of its first sockets gets."""
    return []


@pytest.fixture(scope="module")
def locked_app(
    tmp_path_factory: pytest.TempPathFactory, fresh_sockets: list[int]
) -> Iterator[Served]:
    """Serve the app with a token, behind a proxy that `--proxy` names."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "token").write_text(TOKEN)
    options = ["--token-file", str(folder / "token"), "--proxy", "127.0.0.1"]
    with served(folder / "log", {"OMP_NUM_THREADS": "1"}, options=options) as app:
        start = threading.Barrier(len(PAGES))
        with ThreadPoolExecutor(len(PAGES)) as pool:
            fresh_sockets += pool.map(lambda page: count_elements(app, page, start), PAGES)
        yield app


def count_elements(app: Served, page: str, start: threading.Barrier) -> int:
    """Return how many elements a socket without a cookie gets, 0 if it is refused."""
    start.wait()
    try:
        with Session.open(app.url) as session:
            return sum(one.HasField("delta") for one in session.visit(page).messages)
    except InvalidStatus:
        return 0


def test_fresh_server_refuses_many_sockets_at_once(
    locked_app: Served, fresh_sockets: list[int]
) -> None:
    """Check the first visitors. Streamlit runs the files of `pages` without `app.py` for them."""
    assert fresh_sockets == [0] * len(PAGES)


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_only_the_form_opens_without_the_token(locked_app: Served, method: str, path: str) -> None:
    answer = request(locked_app, method, path)
    assert answer.status == 401
    said = {"GET": "Access token", "HEAD": ""}.get(method, "needs its access token")
    assert said in answer.text
    assert "streamlit" not in answer.text.lower()
    assert "set-cookie" not in answer.headers


def test_health_answers_only_ok(locked_app: Served) -> None:
    answer = request(locked_app, "GET", "/_stcore/health")
    assert (answer.status, answer.text) == (200, "ok")
    assert "set-cookie" not in answer.headers


def test_sockets_without_the_cookie_are_refused(locked_app: Served) -> None:
    genuine = cookie_of(sign_in(locked_app))
    name, _, value = genuine.partition("=")
    forged = [
        "",
        f"{name}=1.{'0' * 64}",
        f"{name}x={value}",
        f"{name}={value[:-1]}",
        f"{name}=9{value}",
    ]
    statuses = [handshake(locked_app, locked_app.url, cookie=cookie) for cookie in forged]
    assert statuses == [403] * 5
    assert handshake(locked_app, locked_app.url, cookie=genuine) == 101


@pytest.mark.long
def test_token_opens_every_page(locked_app: Served) -> None:
    cookie = cookie_of(sign_in(locked_app))
    assert request(locked_app, "GET", "/translate", Cookie=cookie).status == 200
    with Session.open(locked_app.url, cookie) as session:
        for page in PAGES:
            assert len(session.visit(page).messages) > 5


def test_admission_cookie_has_the_attributes_that_browsers_need(locked_app: Served) -> None:
    body = urlencode({"token": f" {TOKEN} ", "next": "/translate?text=a+dog"})
    answer = request(locked_app, "POST", "/sign-in", body)
    assert (answer.status, answer.headers["location"]) == (303, "/translate?text=a+dog")
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"areaviz_admission_{port_of(locked_app)}=")
    assert "HttpOnly; SameSite=Lax" in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize(
    "where", ["//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nx: y", ""]
)
def test_form_redirects_only_within_the_app(locked_app: Served, where: str) -> None:
    body = urlencode({"token": TOKEN, "next": where})
    answer = request(locked_app, "POST", "/sign-in", body)
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_token_is_removed_from_the_address(locked_app: Served) -> None:
    answer = request(locked_app, "GET", f"/translate?text=a%20dog&token={TOKEN}&beam=2")
    assert (answer.status, answer.headers["location"]) == (303, "/translate?text=a+dog&beam=2")
    again = request(locked_app, "GET", f"/translate?token={TOKEN}", Cookie=cookie_of(answer))
    assert (again.status, again.headers["location"]) == (303, "/translate")
    wrong = request(locked_app, "GET", "/translate?token=xxxxxxxxxxxxxxxx&text=a")
    assert wrong.status == 401
    assert 'value="/translate?text=a"' in wrong.text
    assert "xxxx" not in wrong.text
    assert TOKEN not in locked_app.log.read_text()


def test_attempts_are_limited_and_logged(locked_app: Served) -> None:
    address = "203.0.113.50"
    wrong = [sign_in(locked_app, f"guess-number-{n}", address).status for n in range(7)]
    right = sign_in(locked_app, TOKEN, address)
    assert wrong == [401] * 5 + [429] * 2
    assert right.status == 429
    assert int(right.headers["retry-after"]) == 60
    assert "Try again in a minute" in right.text
    log = locked_app.log.read_text()
    # The app logs at most one wrong token per second, which may be that of another test.
    assert "A wrong access token was given from " in log
    assert "guess-number" not in log
    assert TOKEN not in log


def test_named_proxy_reports_the_client_address(locked_app: Served) -> None:
    readers = [f"198.51.100.{number}" for number in range(6)]
    statuses = [sign_in(locked_app, "a-token-that-nobody-has", reader).status for reader in readers]
    assert statuses == [401] * 6


FOREIGN_HOSTS = ("evil.example", "127.0.0.1.evil.example", "evil@127.0.0.1", "127.0.0.1/", "")
FOREIGN_ORIGINS = (
    "http://evil.example",
    "null",
    "http://127.0.0.1:1",
    "file://",
    "http://127.0.0.1@evil.example",
)
ROUTES = (
    "/",
    "/_stcore/health",
    "/_stcore/host-config",
    "/_stcore/metrics",
    "/media/a.png",
    "/static/x.js",
)


@pytest.mark.parametrize("path", ROUTES)
def test_every_route_checks_host_and_origin(open_app: Served, path: str) -> None:
    for host in FOREIGN_HOSTS:
        assert request(open_app, "GET", path, Host=host).status in (400, 403), host
    for origin in FOREIGN_ORIGINS:
        assert request(open_app, "GET", path, Origin=origin).status == 403, origin
    assert request(open_app, "GET", path, Origin=open_app.url).status != 403


def test_sockets_check_host_and_origin(open_app: Served) -> None:
    for origin in FOREIGN_ORIGINS:
        assert handshake(open_app, origin) == 403, origin
    for host in FOREIGN_HOSTS[:3]:
        assert handshake(open_app, open_app.url, host) == 403, host
    assert handshake(open_app, open_app.url) == 101


def test_answers_forbid_frames_and_hide_cookies(open_app: Served) -> None:
    answer = request(open_app, "GET", "/")
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert answer.headers["x-frame-options"] == "DENY"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("areaviz_reader_")
    assert "HttpOnly; SameSite=Lax" in cookie
    known = cookie_of(answer)
    assert "set-cookie" not in request(open_app, "GET", "/", Cookie=known).headers
    assert "set-cookie" in request(open_app, "GET", "/", Cookie=known[:-1]).headers


def test_unused_routes_are_closed(open_app: Served) -> None:
    for path in (
        "/_stcore/metrics",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent/mcp",
        "/auth/login",
    ):
        assert request(open_app, "GET", path).status == 404, path
    assert request(open_app, "POST", "/_stcore/agent/interact", "{}").status == 404


def test_texts_of_readers_are_not_logged(locked_app: Served) -> None:
    text, cookie = quote(f"A dog {SECRET}"), cookie_of(sign_in(locked_app))
    request(locked_app, "GET", f"/translate?text={text}", Cookie=cookie)
    request(locked_app, "GET", f"/{SECRET}?text={text}", Cookie=cookie)
    handshake(locked_app, f"http://{SECRET}.example")
    with visiting(locked_app, "translate", f"text={text}", cookie) as (_, _, messages):
        assert any(SECRET.encode() in one.SerializeToString() for one in messages)
    assert SECRET not in locked_app.log.read_text()


def test_clear_cache_message_is_ignored(locked_app: Served) -> None:
    query, cookie = "model=char-tiny-area&text=A+dog", cookie_of(sign_in(locked_app))
    with visiting(locked_app, "translate", query, cookie) as (visitor, _, _):
        first = status(locked_app)["threads"]
        for _ in range(4):
            message = BackMsg()
            message.clear_cache = True
            visitor.socket.send(message.SerializeToString())
            padded = BackMsg()
            padded.rerun_script.page_name = "translate"
            visitor.socket.send(padded.SerializeToString() + message.SerializeToString())
            assert not visitor.visit("translate", query).errors
        assert status(locked_app)["threads"] <= first + 1, "no other worker was started"


def test_server_stops_while_a_page_is_open(tmp_path: Path) -> None:
    """Check that the server ends; otherwise it waits for as long as the page is open."""
    with (
        served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}) as app,
        visiting(app, "your_tensors"),
    ):
        app.process.send_signal(signal.SIGTERM)
        app.process.wait()
