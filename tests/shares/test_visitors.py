"""Networks of addresses, and the shares that a visitor uses."""

from __future__ import annotations

import pytest

from areaviz.shares import UPLOADS_AT_ONCE, OverLimit, Scope, Visitor, find_network
from areaviz.trace.errors import BackendBusy


@pytest.mark.parametrize(
    ("client", "network"),
    [
        ("203.0.113.7", "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", "203.0.113.7"),
        ("127.0.0.1", ""),
        ("::1", ""),
        ("::ffff:127.0.0.1", ""),
        ("10.0.0.9", ""),
        ("", ""),
        ("unix", ""),
    ],
)
def test_network_of_is_empty_for_shared_addresses(client: str, network: str) -> None:
    assert find_network(client, proxies=("10.0.0.9",)) == network


def test_visitor_without_cookie_uses_the_anonymous_share() -> None:
    assert Visitor("", "203.0.113.7").accounts() == (
        (Scope.ANONYMOUS, ""),
        (Scope.ADDRESS, "203.0.113.7"),
    )
    assert Visitor("a" * 32, "").accounts() == ((Scope.READER, "a" * 32),)


@pytest.mark.parametrize(
    ("scope", "sentence"),
    [
        (
            Scope.READER,
            "A reader may upload 6 files at the same time. Wait until one of your files has"
            " arrived, then choose the next one.",
        ),
        (
            Scope.ADDRESS,
            "A reader may upload 6 files at the same time. All readers at one network address"
            " together may use 4 times the share of one reader. Wait until one of your files has"
            " arrived, then choose the next one.",
        ),
    ],
)
def test_over_limit_names_user_or_address(scope: Scope, sentence: str) -> None:
    error = OverLimit(UPLOADS_AT_ONCE, scope)
    assert str(error) == sentence
    assert isinstance(error, BackendBusy)
