"""The cookies of readers and of admission."""

from __future__ import annotations

from areaviz.backend import cookies

KEY, OTHER = (
    cookies.admission_key("a-token-that-only-friends-have"),
    cookies.admission_key("another-one-of-them"),
)
DAY = 24 * 60 * 60


def test_an_admission_is_its_key_s_for_thirty_days() -> None:
    value = cookies.admission(KEY, 1000.0)
    assert cookies.is_admission(value, KEY, 1000.0) and cookies.is_admission(
        value, KEY, 1000.0 + 29 * DAY
    )
    assert not cookies.is_admission(value, OTHER, 1000.0)
    assert not cookies.is_admission(value, KEY, 1000.0 + 31 * DAY)


def test_what_was_changed_is_none() -> None:
    second, _, signature = cookies.admission(KEY, 1000.0).partition(".")
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
    assert [value for value in changed if cookies.is_admission(value, KEY, 1000.0)] == []


def test_the_token_is_not_in_it() -> None:
    assert "friends" not in KEY and KEY not in cookies.admission(KEY)


def test_readers_are_told_apart() -> None:
    readers = {cookies.new_reader() for _ in range(100)}
    assert len(readers) == 100 and all(map(cookies.is_reader, readers))
    assert not any(map(cookies.is_reader, ("", "A" * 32, "a" * 31, "a" * 33, "a" * 32 + "\n")))


def test_what_browsers_are_told() -> None:
    plain = cookies.set_cookie("a", "b", 1, secure=False, framed=False)
    assert plain == "a=b; Path=/; Max-Age=86400; HttpOnly; SameSite=Lax"
    assert cookies.set_cookie("a", "b", 1, secure=True, framed=False).endswith(
        "HttpOnly; SameSite=Lax; Secure"
    )
    assert cookies.set_cookie("a", "b", 1, secure=False, framed=True).endswith(
        "HttpOnly; SameSite=None; Secure"
    )


def test_ports_have_their_own() -> None:
    assert cookies.reader_cookie(1) != cookies.reader_cookie(2)
    assert cookies.admission_cookie(1) != cookies.admission_cookie(2)
