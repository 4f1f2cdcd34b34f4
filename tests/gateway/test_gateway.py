"""Requests to the gateway, with a plain app behind it in place of Streamlit."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from areaviz.backend import access
from areaviz.gateway import sign_in
from areaviz.gateway.gateway import AppPlace, Gateway
from areaviz.gateway.protocols import Connections
from areaviz.gateway.serving import make_server_options
from areaviz.gateway.sign_in import ATTEMPTS, LINKS_WAITING
from tests.gateway.asgi import Answer, Behind, ask, run_alone

TOKEN = "a-token-that-only-friends-have"
WRONG = "a-token-that-nobody-has"
VICTIM = "203.0.113.7"


@pytest.fixture
def gateway() -> Gateway:
    """Return a gateway that asks for the token."""
    return Gateway(Behind(), AppPlace("localhost", 8501, token=TOKEN), 120.0)


def typed(gateway: Gateway, token: str, client: str = VICTIM, scheme: str = "http") -> Answer:
    """Return the answer to a token that is entered in the form."""
    body = urlencode({"token": token, "next": "/models"})
    return ask(gateway, "POST", "/sign-in", body, client=client, scheme=scheme)


@pytest.mark.parametrize("prefix", ["//evil.example", "/%2f%2fevil.example", "/%5cevil.example"])
@pytest.mark.parametrize("token", [TOKEN, WRONG])
def test_redirect_stays_on_this_server(gateway: Gateway, prefix: str, token: str) -> None:
    cookie = typed(gateway, TOKEN).headers["set-cookie"].partition(";")[0]
    for headers in ({}, {"cookie": cookie}):
        answer = ask(gateway, "GET", f"{prefix}/a?token={token}", **headers)
        assert answer.status == 303 or (token == WRONG and answer.status == 401)
        location = answer.headers.get("location", "/")
        assert location == "/" or not location.startswith(("//", "/\\"))
        assert "evil.example" not in location or location.startswith("/%5C")


def test_right_link_opens_after_wrong_links(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that wrong links do not lock a reader out.

    A malicious page can make a reader's browser request any link.
    """
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(sign_in.asyncio, "sleep", note)
    monkeypatch.setattr(sign_in.time, "monotonic", lambda: 1000.0)
    links = [ask(gateway, "GET", f"/?token={WRONG}{number}").status for number in range(8)]
    assert links == [401] * ATTEMPTS + [429] * 3
    assert ask(gateway, "GET", f"/?token={TOKEN}").status == 303
    assert waits[: ATTEMPTS + 1] == [0.0] * (ATTEMPTS + 1)
    assert waits[ATTEMPTS + 1 :] == [1.0, 2.0, 3.0]


def test_flood_of_links_leaves_the_form_open(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pass_at_once(seconds: float) -> None:
        pass

    compared: list[bytes | str] = []

    def compare(given: str, key: str) -> bool:
        compared.append(given)
        return given == key

    now = 1000.0
    monkeypatch.setattr(sign_in.time, "monotonic", lambda: now)
    monkeypatch.setattr(sign_in.asyncio, "sleep", pass_at_once)
    monkeypatch.setattr(sign_in.hmac, "compare_digest", compare)
    links = [ask(gateway, "GET", f"/?token={WRONG}{number}").status for number in range(100)]
    assert links == [401] * ATTEMPTS + [429] * 95
    assert len(compared) == ATTEMPTS + LINKS_WAITING
    refused = ask(gateway, "GET", f"/?token={TOKEN}")
    assert refused.status == 429
    assert "Enter the token here" in refused.text
    assert typed(gateway, TOKEN).status == 303
    now += 1.0
    assert ask(gateway, "GET", f"/?token={TOKEN}").status == 303


def test_address_waits_after_wrong_form_tokens(
    gateway: Gateway, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sign_in.time, "monotonic", lambda: 1000.0)
    assert [typed(gateway, WRONG).status for _ in range(7)] == [401] * 5 + [429] * 2
    assert caplog.text.count(f"wrong access token was given from {VICTIM}") == 5
    assert WRONG not in caplog.text
    assert typed(gateway, TOKEN).status == 429
    assert typed(gateway, TOKEN, client="203.0.113.8").status == 303
    assert ask(gateway, "GET", f"/?token={TOKEN}").status == 303


def test_admission_survives_restart_but_no_new_token(gateway: Gateway) -> None:
    cookie = typed(gateway, TOKEN).headers["set-cookie"].partition(";")[0]
    for token, status in ((TOKEN, 200), ("another-token-since-then", 401)):
        restarted = Gateway(Behind(), AppPlace("localhost", 8501, token=token), 120.0)
        assert ask(restarted, "GET", "/translate", cookie=cookie).status == status


@pytest.mark.parametrize(("scheme", "end"), [("http", "=Lax"), ("https", "=Lax; Secure")])
def test_cookie_set_over_tls_is_secure(gateway: Gateway, scheme: str, end: str) -> None:
    cookie = typed(gateway, TOKEN, scheme=scheme).headers["set-cookie"]
    assert cookie.endswith(f"HttpOnly; SameSite{end}")


def test_socket_without_the_cookie_is_refused(gateway: Gateway) -> None:
    headers = [(b"host", b"localhost:8501"), (b"origin", b"http://localhost:8501")]
    scope = {"type": "websocket", "path": "/_stcore/stream", "headers": headers}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    run_alone(gateway(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


def test_named_website_may_frame_the_app() -> None:
    framing = ("https://holder.example",)
    gateway = Gateway(Behind(), AppPlace("localhost", 8501, token=TOKEN, framing=framing), 120.0)
    form = typed(gateway, TOKEN)
    page = ask(gateway, "GET", "/", cookie=form.headers["set-cookie"].partition(";")[0])
    for cookie in (form.headers["set-cookie"], page.headers["set-cookie"]):
        assert cookie.endswith("HttpOnly; SameSite=None; Secure")
    assert page.headers["content-security-policy"] == "frame-ancestors https://holder.example"
    assert "x-frame-options" not in page.headers


@pytest.mark.parametrize(
    ("proxies", "statuses"), [((), [401] * 5 + [429]), (("127.0.0.1",), [401] * 6)]
)
def test_only_named_proxy_reports_the_address(
    proxies: tuple[str, ...], statuses: list[int]
) -> None:
    place = AppPlace("localhost", 8501, token=TOKEN, proxies=proxies)
    options = make_server_options(
        Gateway(Behind(), place, 120.0), place, Connections(None, proxies)
    )
    options.load()
    body = urlencode({"token": WRONG, "next": "/"})
    found = []
    for number in range(6):
        reader = f"203.0.113.{number}"
        answer = ask(
            options.loaded_app,
            "POST",
            "/sign-in",
            body,
            client="127.0.0.1",
            x_forwarded_for=reader,
        )
        found.append(answer.status)
    assert found == statuses


def test_admission_ends_after_its_days(gateway: Gateway) -> None:
    old = access.make_admission(access.make_admission_key(TOKEN), now=0)
    assert ask(gateway, "GET", "/", cookie=f"areaviz_admission_8501={old}").status == 401


def test_health_of_admitted_readers_comes_from_the_app(gateway: Gateway) -> None:
    """Check that Streamlit answers readers, because its answer sets the cookie of uploads."""
    cookie = typed(gateway, TOKEN).headers["set-cookie"].partition(";")[0]
    path = "/_stcore/health"
    assert ask(gateway, "GET", path).text == "ok"
    assert ask(gateway, "GET", path, cookie=cookie).text == "behind"
