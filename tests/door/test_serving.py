"""The door in front of the real app: `python -m areaviz serve` in a process of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol

from areaviz.backend import access
from tests.faults.client import Session
from tests.faults.served import Served, served

ROOT = Path(__file__).parents[2]
TOKEN, OTHER = "a-token-that-only-friends-have", "another-token-since-then"
PAGES = tuple(path.stem for path in sorted((ROOT / "pages").glob("*.py")))
SECRET = "wm07x011"
"""Stands for what a reader wrote."""


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(TOKEN)
    return path


@pytest.fixture(scope="module")
def open_app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, Path]]:
    """The app without a token, and its log."""
    log = tmp_path_factory.mktemp("open") / "log"
    with served(log, {"OMP_NUM_THREADS": "1"}) as app:
        yield app, log


@pytest.fixture(scope="module")
def locked_app(
    tmp_path_factory: pytest.TempPathFactory, token_file: Path
) -> Iterator[tuple[Served, Path]]:
    """The app that wants a token, and its log."""
    log = tmp_path_factory.mktemp("locked") / "log"
    with served(log, {"OMP_NUM_THREADS": "1"}, options=["--token-file", str(token_file)]) as app:
        yield app, log


def port_of(app: Served) -> int:
    return int(app.url.rpartition(":")[2])


def asked(app: Served, method: str, path: str, body: str = "", **headers: str) -> HTTPResponse:
    """One answer, read to its end; header names are written with underscores."""
    connection = HTTPConnection("127.0.0.1", port_of(app), timeout=30)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body or None, named)
    answer = connection.getresponse()
    answer.text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer


def signed_in(app: Served, token: str = TOKEN) -> str:
    """The cookies of a reader who gave the token."""
    answer = asked(app, "POST", "/sign-in", urlencode({"token": token, "next": "/"}))
    return str(answer.headers["set-cookie"] or "").partition(";")[0]


def handshake(app: Served, origin: str | None = None, host: str = "", cookie: str = "") -> int:
    """The status of a handshake for the app's socket."""
    headers = {name: value for name, value in (("Host", host), ("Cookie", cookie)) if value}
    try:
        with connect(
            app.url.replace("http", "ws", 1) + "/_stcore/stream",
            origin=Origin(origin) if origin else None,
            subprotocols=[Subprotocol("streamlit")],
            additional_headers=headers,
        ):
            return 101
    except InvalidStatus as refused:
        return int(refused.response.status_code)


def drawn(url: str, page: str, start: threading.Barrier) -> int:
    """How many elements a socket without the cookie gets of a page; 0 where it is refused."""
    message = BackMsg()
    message.rerun_script.page_name = page
    start.wait(60)
    try:
        with Session.open(url) as session:
            return sum(one.HasField("delta") for one in session.visit(page).messages)
    except InvalidStatus:
        return 0


@pytest.mark.slow
def test_a_fresh_start_shows_nothing_to_many_at_once(tmp_path: Path, token_file: Path) -> None:
    for number in range(10):
        start = threading.Barrier(8)
        options = ["--token-file", str(token_file)]
        with (
            served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}, options=options) as app,
            ThreadPoolExecutor(8) as pool,
        ):
            pages = [PAGES[(number + at) % len(PAGES)] for at in range(8)]
            got = list(pool.map(drawn, [app.url] * 8, pages, [start] * 8))
            assert got == [0] * 8


CLOSED = (
    *(
        "/",
        "/translate",
        "/_stcore/metrics",
        "/_stcore/host-config",
        "/_stcore/agent/openapi.json",
        "/static/x.js",
    ),
    *("/media/a.png", "/favicon.png", "/component/x/y", "/_stcore/script-health-check"),
)


@pytest.mark.parametrize("path", CLOSED)
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
def test_before_the_token_there_is_the_form_alone(
    locked_app: tuple[Served, Path], method: str, path: str
) -> None:
    answer = asked(locked_app[0], method, path)
    assert answer.status == 401
    said = (
        "Access token" if method == "GET" else "wants its access token" if method != "HEAD" else ""
    )
    assert said in answer.text and "streamlit" not in answer.text.lower()
    assert "set-cookie" not in answer.headers


def test_health_says_ok_and_no_more(locked_app: tuple[Served, Path]) -> None:
    answer = asked(locked_app[0], "GET", "/_stcore/health")
    assert (answer.status, answer.text) == (200, "ok") and "set-cookie" not in answer.headers


def test_sockets_without_the_cookie_are_refused(locked_app: tuple[Served, Path]) -> None:
    app, _ = locked_app
    genuine = signed_in(app)
    name, _, value = genuine.partition("=")
    forged = [
        "",
        f"{name}=1.{'0' * 64}",
        f"{name}x={value}",
        f"{name}={value[:-1]}",
        f"{name}=9{value}",
    ]
    assert [handshake(app, app.url, cookie=cookie) for cookie in forged] == [403] * 5
    assert handshake(app, app.url, cookie=genuine) == 101


def test_the_token_opens_every_page(locked_app: tuple[Served, Path]) -> None:
    app, _ = locked_app
    cookie = signed_in(app)
    assert asked(app, "GET", "/translate", Cookie=cookie).status == 200
    with Session.open(app.url, cookie) as session:
        for page in PAGES:
            assert len(session.visit(page).messages) > 5


def test_the_cookie_says_what_browsers_need(locked_app: tuple[Served, Path]) -> None:
    app, _ = locked_app
    answer = asked(
        app, "POST", "/sign-in", urlencode({"token": f" {TOKEN} ", "next": "/translate?text=a+dog"})
    )
    assert (answer.status, answer.headers["location"]) == (303, "/translate?text=a+dog")
    said = answer.headers["set-cookie"]
    assert (
        said.startswith(f"areaviz_admission_{port_of(app)}=") and "HttpOnly; SameSite=Lax" in said
    )
    assert TOKEN not in said


@pytest.mark.parametrize(
    "where", ["//evil.example", "/\\evil.example", "https://evil.example", "/a\r\nx: y", ""]
)
def test_the_form_leads_nowhere_else(locked_app: tuple[Served, Path], where: str) -> None:
    answer = asked(locked_app[0], "POST", "/sign-in", urlencode({"token": TOKEN, "next": where}))
    assert (answer.status, answer.headers["location"]) == (303, "/")


def test_a_token_in_an_address_is_taken_out_of_it(locked_app: tuple[Served, Path]) -> None:
    app, log = locked_app
    answer = asked(app, "GET", f"/translate?text=a%20dog&token={TOKEN}&beam=2")
    assert (answer.status, answer.headers["location"]) == (303, "/translate?text=a+dog&beam=2")
    cookie = answer.headers["set-cookie"].partition(";")[0]
    again = asked(app, "GET", f"/translate?token={TOKEN}", Cookie=cookie)
    assert (again.status, again.headers["location"]) == (303, "/translate")
    wrong = asked(app, "GET", "/translate?token=xxxxxxxxxxxxxxxx&text=a")
    assert (
        wrong.status == 401
        and 'value="/translate?text=a"' in wrong.text
        and "xxxx" not in wrong.text
    )
    assert TOKEN not in log.read_text()


def test_a_restart_keeps_readers_in_and_a_new_token_puts_them_out(
    locked_app: tuple[Served, Path], token_file: Path, tmp_path: Path
) -> None:
    _, _, value = signed_in(locked_app[0]).partition("=")
    other = tmp_path / "other"
    other.write_text(OTHER)
    for file, admitted in ((token_file, 101), (other, 403)):
        with served(
            tmp_path / "log", {"OMP_NUM_THREADS": "1"}, options=["--token-file", str(file)]
        ) as app:
            cookie = f"{access.admission_cookie(port_of(app))}={value}"
            assert handshake(app, app.url, cookie=cookie) == admitted


def test_attempts_are_limited_and_logged(tmp_path: Path, token_file: Path) -> None:
    log = tmp_path / "log"
    with served(log, {"OMP_NUM_THREADS": "1"}, options=["--token-file", str(token_file)]) as app:
        wrong = [
            asked(app, "POST", "/sign-in", urlencode({"token": f"guess-number-{n}"})).status
            for n in range(7)
        ]
        right = asked(app, "POST", "/sign-in", urlencode({"token": TOKEN}))
    assert wrong == [401] * 5 + [429] * 2
    assert (
        right.status == 429
        and int(right.headers["retry-after"]) == 60
        and "try again in a minute" in right.text
    )
    said = log.read_text()
    assert (
        "wrong access token was given from 127.0.0.1" in said
        and "guess-number" not in said
        and TOKEN not in said
    )


@pytest.mark.parametrize(
    ("options", "statuses"), [([], [401] * 5 + [429]), (["--proxy", "127.0.0.1"], [401] * 6)]
)
def test_the_word_of_a_proxy_counts_where_it_is_named(
    options: list[str], statuses: list[int], tmp_path: Path, token_file: Path
) -> None:
    wrong = urlencode({"token": "a-token-that-nobody-has"})
    options = ["--token-file", str(token_file), *options]
    with served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}, options=options) as app:
        readers = [f"203.0.113.{number}" for number in range(6)]
        got = [
            asked(app, "POST", "/sign-in", wrong, X_Forwarded_For=reader).status
            for reader in readers
        ]
    assert got == statuses


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
def test_every_route_checks_host_and_origin(open_app: tuple[Served, Path], path: str) -> None:
    app, _ = open_app
    for host in FOREIGN_HOSTS:
        assert asked(app, "GET", path, Host=host).status in (400, 403), host
    for origin in FOREIGN_ORIGINS:
        assert asked(app, "GET", path, Origin=origin).status == 403, origin
    assert asked(app, "GET", path, Origin=app.url).status != 403


def test_sockets_check_host_and_origin_without_asking_anybody(
    open_app: tuple[Served, Path], tmp_path: Path
) -> None:
    app, _ = open_app
    assert [handshake(app, origin) for origin in FOREIGN_ORIGINS] == [403] * len(FOREIGN_ORIGINS)
    assert [handshake(app, app.url, host) for host in FOREIGN_HOSTS[:3]] == [403] * 3
    assert handshake(app, app.url) == 101


def test_what_readers_write_is_not_logged(open_app: tuple[Served, Path]) -> None:
    app, log = open_app
    text = quote(f"A dog {SECRET}")
    asked(app, "GET", f"/translate?text={text}")
    asked(app, "GET", f"/{SECRET}?text={text}")
    handshake(app, f"http://{SECRET}.example")
    with Session.open(app.url) as session:
        session.visit("translate", f"text={text}")
    assert SECRET not in log.read_text()


def test_nobody_frames_it_and_scripts_read_no_cookie(open_app: tuple[Served, Path]) -> None:
    answer = asked(open_app[0], "GET", "/")
    assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
    assert answer.headers["x-frame-options"] == "DENY"
    given = answer.headers["set-cookie"]
    assert given.startswith("areaviz_reader_") and "HttpOnly; SameSite=Lax" in given
    name = given.partition(";")[0]
    assert "set-cookie" not in asked(open_app[0], "GET", "/", Cookie=name).headers
    assert "set-cookie" in asked(open_app[0], "GET", "/", Cookie=name[:-1]).headers


def test_a_page_that_is_named_may_hold_it(tmp_path: Path, token_file: Path) -> None:
    options = ["--token-file", str(token_file), "--allow-frame", "https://holder.example"]
    with served(tmp_path / "log", {"OMP_NUM_THREADS": "1"}, options=options) as app:
        form = asked(app, "POST", "/sign-in", urlencode({"token": TOKEN}))
        page = asked(app, "GET", "/", Cookie=form.headers["set-cookie"].partition(";")[0])
    for cookie in (form.headers["set-cookie"], page.headers["set-cookie"]):
        assert cookie.endswith("HttpOnly; SameSite=None; Secure")
    assert page.headers["content-security-policy"] == "frame-ancestors https://holder.example"
    assert "x-frame-options" not in page.headers


def test_metrics_and_the_agents_routes_are_closed(open_app: tuple[Served, Path]) -> None:
    for path in (
        "/_stcore/metrics",
        "/_stcore/agent/openapi.json",
        "/_stcore/agent/mcp",
        "/auth/login",
        "/sign-in/x",
    ):
        answer = asked(open_app[0], "GET", path)
        assert answer.status == 404 or path == "/sign-in/x", path
    assert asked(open_app[0], "POST", "/_stcore/agent/interact", "{}").status == 404
