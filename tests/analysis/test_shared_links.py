"""A shared link opens an analysis until its owner withdraws it; no file contains its token."""

from __future__ import annotations

import os
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from areaviz.sets import user_files
from areaviz.sets.user_files import Mode, SharedAnalysis, SharedLinks, remove_old_links
from areaviz.shares import SHARED_LINKS, SHARED_LINKS_ALL, VISITORS_LISTED
from areaviz.trace.errors import BackendError, InputError

ADA, BOB, CLEO = "a" * 64, "b" * 64, "c" * 64
ANALYSIS = SharedAnalysis(
    "d" * 64, "my set", "d" * 24, ("A “b”",), ({"model": "m", "beam": "8"},), Mode.NOTE, True, True
)


def test_link_opens_the_shared_analysis(tmp_path: Path) -> None:
    links = SharedLinks(tmp_path)
    token = links.make(ADA, ANALYSIS)
    link = SharedLinks(tmp_path).open(token)
    assert (link.owner, link.analysis, link.visits) == (ADA, ANALYSIS, ())
    assert links.make(ADA, ANALYSIS) != token and len(links.list_for(ADA)) == 2
    assert links.list_for(BOB) == []


def test_token_is_in_no_file(tmp_path: Path) -> None:
    links = SharedLinks(tmp_path)
    token = links.make(ADA, ANALYSIS)
    links.note_visit(links.open(token), BOB)
    paths = list(tmp_path.rglob("*"))
    files = [path for path in paths if path.is_file()]
    assert len(files) == 2 and {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert not any(token in str(path) for path in paths)
    assert not any(token.encode() in path.read_bytes() for path in files)


@pytest.mark.parametrize("token", ["", "x", "a" * 32, "../" + "a" * 29, "ä" * 32, "*" * 32])
def test_wrong_tokens_open_nothing(tmp_path: Path, token: str) -> None:
    links = SharedLinks(tmp_path)
    links.make(ADA, ANALYSIS)
    with pytest.raises(InputError, match="opens no analysis"):
        links.open(token)


def test_withdrawn_link_stays_closed_despite_visits(tmp_path: Path) -> None:
    links = SharedLinks(tmp_path)
    tokens = [links.make(ADA, ANALYSIS) for _ in range(2)]
    link = links.open(tokens[0])
    with pytest.raises(InputError, match="Another user"):
        links.withdraw(link, BOB)
    links.withdraw(link, ADA)
    with pytest.raises(InputError, match="opens no analysis"):
        links.open(tokens[0])
    with pytest.raises(BackendError):
        links.note_visit(link, BOB)
    with pytest.raises(InputError, match="opens no analysis"):
        links.open(tokens[0])
    assert [one.id for one in links.list_for(ADA)] == [links.open(tokens[1]).id]


def test_owner_sees_how_many_readers_opened_and_when(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Two visits within one millisecond have no order, so every visit gets its own second.
    seconds = count(10)
    monkeypatch.setattr(
        user_files, "format_current_time", lambda: f"2026-11-26T09:00:{next(seconds)}.000+00:00"
    )
    links = SharedLinks(tmp_path)
    link = links.open(links.make(ADA, ANALYSIS))
    for reader in (BOB, ADA, CLEO, BOB):
        links.note_visit(link, reader)
    (listed,) = links.list_for(ADA)
    assert len(listed.visits) == 2, "the owner's own visits do not count"
    bob, cleo = listed.visits
    assert bob.first <= cleo.first == cleo.last <= bob.last and listed.made <= bob.first


def test_links_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SHARED_LINKS.setting, "2")
    monkeypatch.setenv(SHARED_LINKS_ALL.setting, "3")
    links = SharedLinks(tmp_path)
    for _ in range(2):
        links.make(ADA, ANALYSIS)
    with pytest.raises(InputError, match="A reader may share 2 analyses"):
        links.make(ADA, ANALYSIS)
    links.make(BOB, ANALYSIS)
    with pytest.raises(InputError, match="All readers together may share 3"):
        links.make(BOB, ANALYSIS)
    links.withdraw(links.list_for(ADA)[0], ADA)
    links.make(ADA, ANALYSIS)


def test_visits_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VISITORS_LISTED.setting, "1")
    links = SharedLinks(tmp_path)
    link = links.open(links.make(ADA, ANALYSIS))
    for reader in (BOB, CLEO, BOB):
        links.note_visit(link, reader)
    assert len(links.list_for(ADA)[0].visits) == 1


def test_links_of_a_set_are_withdrawn_together(tmp_path: Path) -> None:
    links = SharedLinks(tmp_path)
    for owner in (ADA, ADA, BOB):
        links.make(owner, ANALYSIS)
    other = links.make(ADA, replace(ANALYSIS, digest="e" * 64))
    assert links.withdraw_of_set(ADA, ANALYSIS.digest) == 2
    assert [one.id for one in links.list_for(ADA)] == [links.open(other).id]
    assert len(links.list_for(BOB)) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"made": "x", "analysis": {"mode": 1}}'])
def test_damaged_link_opens_nothing(tmp_path: Path, content: bytes) -> None:
    links = SharedLinks(tmp_path)
    token = links.make(ADA, ANALYSIS)
    (path,) = tmp_path.rglob("share.json")
    path.write_bytes(content)
    with pytest.raises(InputError, match="opens no analysis"):
        links.open(token)
    assert links.list_for(ADA) == []


def test_old_links_are_removed_unless_visited(tmp_path: Path) -> None:
    links = SharedLinks(tmp_path)
    tokens = [links.make(ADA, ANALYSIS) for _ in range(2)]
    for path in tmp_path.rglob("share.json"):
        os.utime(path, (1000, 1000))
    links.note_visit(links.open(tokens[0]), BOB)
    assert remove_old_links(tmp_path, 2000) == 1
    assert [one.id for one in links.list_for(ADA)] == [links.open(tokens[0]).id]
