"""Sign-in counts attempts by address, and takes tokens out of links."""

from __future__ import annotations

import time

import pytest

from areaviz.gateway import sign_in
from areaviz.gateway.sign_in import ADDRESSES, ATTEMPTS, WITHIN_SECONDS, Attempts, without_token
from tests.gateway.test_http import head


def test_address_waits_after_too_many_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    attempts = Attempts()
    for _ in range(ATTEMPTS):
        assert not attempts.has_too_many("203.0.113.7")
        attempts.add("203.0.113.7")
    assert attempts.has_too_many("203.0.113.7") and not attempts.has_too_many("203.0.113.8")
    now += WITHIN_SECONDS + 1
    assert not attempts.has_too_many("203.0.113.7")


def test_old_attempts_end_although_newer_ones_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    attempts = Attempts()
    for _ in range(ATTEMPTS - 1):
        attempts.add("203.0.113.7")
    now += WITHIN_SECONDS / 2
    attempts.add("203.0.113.7")
    assert attempts.has_too_many("203.0.113.7")
    now += WITHIN_SECONDS / 2 + 1
    assert not attempts.has_too_many("203.0.113.7"), "one of them is from the last minute"


def test_addresses_of_an_ipv6_network_count_together() -> None:
    attempts = Attempts()
    for number in range(ATTEMPTS):
        attempts.add(f"2001:db8:0:1::{number + 1:x}")
    assert attempts.has_too_many("2001:db8:0:1:ffff::1") and not attempts.has_too_many(
        "2001:db8:0:2::1"
    )


def test_attempts_remember_a_bounded_number_of_addresses() -> None:
    attempts = Attempts()
    for number in range(3 * ADDRESSES):
        attempts.add(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert len(attempts._times) == ADDRESSES


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        ("/translate", "text=a%20dog", ("", "/translate?text=a%20dog")),
        ("/translate", "text=a&token=t&b=", ("t", "/translate?text=a&b=")),
        ("/", "token=t", ("t", "/")),
        ("/a b\n", "token=t&x=%0d", ("t", "/a%20b%0A?x=%0D")),
        ("/sign-in", "token=t", ("t", "/")),
        ("/", "token=first&token=second", ("first", "/")),
    ],
)
def test_without_token_removes_the_token(path: str, query: str, expected: tuple[str, str]) -> None:
    asked = sign_in.Head("GET", path, query, head().headers, "", False)
    assert without_token(asked) == expected
