"""Which reader may see which file."""

from __future__ import annotations

import time

import pytest

from areaviz.door.files import MAX_ADDRESSES, Media


def test_a_file_is_seen_by_who_was_told_of_it_while_they_are_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    media = Media(120.0)
    media.enter("a")
    media.enter("a")
    media.enter("b")
    media.note("a", b"\x0a\x10/media/0f.png\x12 and /media/1f.csv?x")
    assert media.may_see("a", "/media/0f.png") and media.may_see("a", "/media/1f.csv")
    assert not media.may_see("b", "/media/0f.png") and not media.may_see("a", "/media/0f")
    media.leave("a")
    now += 1000
    assert media.may_see("a", "/media/0f.png"), "another tab is open"
    media.leave("a")
    now += 100
    assert media.may_see("a", "/media/0f.png")
    now += 100
    assert not media.may_see("a", "/media/0f.png")


def test_who_has_no_cookie_has_no_files() -> None:
    media = Media(120.0)
    media.enter("")
    media.note("", b"/media/0f.png")
    assert not media.may_see("", "/media/0f.png")
    media.leave("")


def test_the_oldest_are_forgotten() -> None:
    media = Media(120.0)
    media.enter("a")
    for number in range(MAX_ADDRESSES + 1):
        media.note("a", b"/media/%d.png" % number)
    assert not media.may_see("a", "/media/0.png") and media.may_see("a", "/media/1.png")
