"""Requests are for this server only if their Host and Origin name it."""

from __future__ import annotations

import pytest

from areaviz.gateway.protocols import Head, name_and_port

NAMES = frozenset({"127.0.0.1", "::1", "localhost", "areaviz.example"})


def head(*headers: tuple[str, str], kind: str = "http") -> Head:
    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    scope = {
        "type": kind,
        "path": "/",
        "query_string": b"",
        "headers": raw,
        "client": ("10.0.0.7", 1),
    }
    return Head.of(
        scope | ({"method": "GET", "scheme": "http"} if kind == "http" else {"scheme": "ws"})
    )


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("localhost:8501", ("localhost", "8501")),
        ("LOCALHOST.", ("localhost", "")),
        ("[::1]:8501", ("::1", "8501")),
        ("127.0.0.1", ("127.0.0.1", "")),
        ("a@localhost", ("", "")),
        ("localhost:8501:1", ("", "")),
        ("localhost/x", ("", "")),
        ("localhost ", ("", "")),
        ("[::1", ("", "")),
        ("", ("", "")),
    ],
)
def test_name_and_port_splits_host_headers(host: str, expected: tuple[str, str]) -> None:
    assert name_and_port(host) == expected


@pytest.mark.parametrize(
    "host", ["localhost:8501", "areaviz.example", "Areaviz.Example:443", "[::1]:8501"]
)
def test_head_accepts_allowed_hosts(host: str) -> None:
    assert head(("host", host)).is_for(NAMES)
    assert head(("host", host), ("origin", f"http://{host}")).is_for(NAMES)


@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("host", "evil.example"),),
        (("host", "localhost.evil.example"),),
        (("host", "localhost"), ("host", "localhost")),
        (("host", "localhost"), ("origin", "http://evil.example")),
        (("host", "localhost"), ("origin", "http://127.0.0.1")),
        (("host", "localhost:8501"), ("origin", "http://localhost:8502")),
        (("host", "localhost"), ("origin", "null")),
        (("host", "localhost"), ("origin", "")),
        (("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")),
        (("host", "localhost"), ("origin", "http://localhost@evil.example")),
        (("host", "localhost"), ("origin", "chrome-extension://localhost")),
    ],
)
def test_head_refuses_other_hosts(headers: tuple[tuple[str, str], ...]) -> None:
    assert not head(*headers).is_for(NAMES)
    assert not head(*headers, kind="websocket").is_for(NAMES)


def test_invalid_host_matches_no_name() -> None:
    assert not head(("host", "a b")).is_for(frozenset({""}))


def test_default_ports_may_be_left_out() -> None:
    assert head(("host", "areaviz.example"), ("origin", "https://areaviz.example:443")).is_for(
        NAMES
    )
    assert head(("host", "areaviz.example:443"), ("origin", "https://areaviz.example")).is_for(
        NAMES
    )
    assert not head(("host", "areaviz.example:443"), ("origin", "http://areaviz.example")).is_for(
        NAMES
    )


def test_last_cookie_of_a_name_counts() -> None:
    given = head(("cookie", "a=1; b = 2;c=3=4"), ("cookie", "a=5; aa=6"))
    assert [given.cookie(name) for name in ("a", "b", "c", "aa", "d")] == ["5", "2", "3=4", "6", ""]
