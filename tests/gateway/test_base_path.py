"""Tests of the app below a path: addresses inside and behind the gateway, and redirects."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from areaviz.gateway.gateway import AppPlace, Gateway
from areaviz.gateway.protocols import BasePath, check_base_path
from areaviz.trace.errors import InputError
from tests.gateway.asgi import Behind, ask

TOKEN = "a-token-that-only-friends-have"


def below(base: str, token: str = "") -> tuple[BasePath, Behind]:
    """Return an app below a path, and the app behind its gateway."""
    behind = Behind()
    return BasePath(
        Gateway(behind, AppPlace("localhost", 8501, token=token, base=base), 0), base
    ), behind


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("/areaviz/translate?a=1", "/translate"),
        ("/translate?a=1", "/translate"),
        ("/areaviz/", "/"),
        ("/", "/"),
        ("/areaviz/areaviz/a", "/areaviz/a"),
        ("/areavizes", "/areavizes"),
        ("/areaviz/_stcore/health", "/_stcore/health"),
    ],
)
def test_app_gets_urls_without_base_path(address: str, reached: str) -> None:
    app, behind = below("/areaviz")
    assert ask(app, "GET", address).status == 200
    assert [(one.path, one.raw_path) for one in behind.asked] == [(reached, reached)]


@pytest.mark.parametrize("path", ["/_stcore/metrics", "/auth/login", "/_stcore/agent/mcp"])
def test_closed_routes_stay_closed_below_base_path(path: str) -> None:
    app, behind = below("/areaviz")
    assert [ask(app, "GET", prefix + path).status for prefix in ("", "/areaviz")] == [404, 404]
    assert behind.asked == []


def test_path_without_slash_redirects_to_slash() -> None:
    app, _ = below("/areaviz")
    answer = ask(app, "GET", "/areaviz?page=1")
    assert (answer.status, answer.headers["location"]) == (303, "/areaviz/?page=1")


@pytest.mark.parametrize("prefix", ["", "/areaviz"])
def test_sign_in_stays_below_the_path(prefix: str) -> None:
    app, _ = below("/areaviz", TOKEN)
    form = ask(app, "GET", f"{prefix}/translate")
    assert 'action="/areaviz/sign-in"' in form.text
    assert 'value="/translate"' in form.text
    body = urlencode({"token": TOKEN, "next": "/translate"})
    answer = ask(app, "POST", f"{prefix}/sign-in", body)
    assert (answer.status, answer.headers["location"]) == (303, "/areaviz/translate")
    assert "; Path=/areaviz; " in answer.headers["set-cookie"]
    link = ask(app, "GET", f"{prefix}/models?token={TOKEN}")
    assert (link.status, link.headers["location"]) == (303, "/areaviz/models")


def test_app_without_base_path_is_unchanged() -> None:
    app, behind = below("")
    assert ask(app, "GET", "/areaviz/a").status == 200
    assert behind.asked[0].path == "/areaviz/a"


@pytest.mark.parametrize(
    ("given", "base"), [("", ""), ("/", ""), ("/areaviz", "/areaviz"), ("/a/b-1/", "/a/b-1")]
)
def test_base_path_drops_trailing_slash(given: str, base: str) -> None:
    assert check_base_path(given) == base


@pytest.mark.parametrize(
    "given", ["areaviz", "//evil.example", "/a//b", "/..", "/a b", "/a?b", "/a\n"]
)
def test_base_path_that_proxies_would_change_is_refused(given: str) -> None:
    with pytest.raises(InputError, match="cannot be used. Write it as /NAME"):
        check_base_path(given)
