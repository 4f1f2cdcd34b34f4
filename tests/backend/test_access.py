"""Tokens are random, private and compared by digest; cookies of readers and of admission."""

from __future__ import annotations

import hmac
import stat
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.backend import access
from areaviz.backend.access import compute_digest, is_loopback, is_token, read_token, write_token
from areaviz.trace.errors import BackendError, InputError

KEY = access.make_admission_key("a-token-that-only-friends-have")
OTHER = access.make_admission_key("another-one-of-them")
DAY = 24 * 60 * 60


def test_write_token_makes_private_random_tokens(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for path in (first, second):
        write_token(path)
    assert len(read_token(first)) == 43 and read_token(first) != read_token(second)
    assert stat.S_IMODE(first.stat().st_mode) == 0o600


def test_write_token_changes_no_existing_file(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        write_token(path)
    assert path.read_text() == "precious"
    with pytest.raises(BackendError, match="another folder"):
        write_token(tmp_path / "absent" / "token")


@pytest.mark.parametrize(
    "content",
    [b"", b"short", b"a" * 513, b"with a blank in the middle", b"\xff" * 20, b"a" * 16 + b"\nb"],
)
def test_read_token_refuses_other_content(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(InputError, match="16 to 512"):
        read_token(tmp_path / "token")


@pytest.mark.parametrize("content", [b"a" * 16, b"abab" * 20, b"1234567" * 9])
def test_read_token_refuses_few_characters(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(InputError, match="at least 8 different characters"):
        read_token(tmp_path / "token")


def test_read_token_ignores_the_line_break(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"a-token-of-16-or-more\r\n")
    assert read_token(tmp_path / "token") == "a-token-of-16-or-more"


@given(st.text(max_size=30), st.text(max_size=30))
def test_is_token_accepts_only_the_token(one: str, other: str) -> None:
    assert is_token(one, compute_digest(one))
    assert is_token(other, compute_digest(one)) == (one == other)


def test_is_token_compares_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[str, str]] = []

    def compare(one: str, other: str) -> bool:
        compared.append((one, other))
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(access, "hmac", SimpleNamespace(compare_digest=compare))
    assert not is_token("given", compute_digest("kept"))
    assert compared == [(compute_digest("given"), compute_digest("kept"))]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_is_loopback_accepts_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host", [None, "", "0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example"]
)
def test_is_loopback_refuses_other_addresses(host: str | None) -> None:
    assert not is_loopback(host)


def test_admission_holds_for_thirty_days() -> None:
    value = access.make_admission(KEY, 1000.0)
    assert access.is_admission(value, KEY, 1000.0) and access.is_admission(
        value, KEY, 1000.0 + 29 * DAY
    )
    assert not access.is_admission(value, OTHER, 1000.0)
    assert not access.is_admission(value, KEY, 1000.0 + 31 * DAY)


def test_changed_admission_is_refused() -> None:
    second, _, signature = access.make_admission(KEY, 1000.0).partition(".")
    changed = [
        "",
        ".",
        second,
        f".{signature}",
        f"1001.{signature}",
        f"{second}.{signature}0",
        f"²{second}.{signature}",
    ]
    changed += [
        f"-{second}.{signature}",
        f"{second}.{signature.upper()}",
        f"{'9' * 5000}.{signature}",
        f"{second}.ü",
    ]
    assert [value for value in changed if access.is_admission(value, KEY, 1000.0)] == []


def test_admission_does_not_hold_the_token() -> None:
    assert "friends" not in KEY and KEY not in access.make_admission(KEY)


def test_new_reader_makes_different_ids() -> None:
    readers = {access.make_reader_id() for _ in range(100)}
    assert len(readers) == 100 and all(map(access.is_reader, readers))
    assert not any(map(access.is_reader, ("", "A" * 32, "a" * 31, "a" * 33, "a" * 32 + "\n")))


def test_set_cookie_protects_the_cookie() -> None:
    plain = access.set_cookie("a", "b", 1, secure=False, framed=False)
    assert plain == "a=b; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax"
    assert access.set_cookie("a", "b", 1, secure=True, framed=False).endswith(
        "HttpOnly; SameSite=Lax; Secure"
    )
    assert access.set_cookie("a", "b", 1, secure=False, framed=True).endswith(
        "HttpOnly; SameSite=None; Secure"
    )


def test_cookie_names_differ_by_port() -> None:
    assert access.name_reader_cookie(1) != access.name_reader_cookie(2)
    assert access.name_admission_cookie(1) != access.name_admission_cookie(2)
