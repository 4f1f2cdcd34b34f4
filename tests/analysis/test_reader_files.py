"""Readers find their own sets and analyses again, and only these."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

import pytest

from areaviz.sets import user_files
from areaviz.sets.dataset import read_set
from areaviz.sets.user_files import Entry, ReaderFiles, remove_old_files, set_id
from areaviz.shares import ALL_KEPT_MEGABYTES, ANALYSES_LISTED, KEPT_MEGABYTES
from areaviz.trace.errors import BackendError, InputError

ADA, BOB = "a" * 64, "b" * 64
FILES = {"../my.en": "größer\n=1\n".encode(), "my.de": b"a\nb\n"}
ROLES = {"../my.en": "source", "my.de": "reference"}
SET = read_set(FILES, ROLES).dataset
ENTRY = Entry({"set": set_id(SET), "model": "m"}, "my.en", 2, ("Model",), SET.digest)


def test_dataset_is_stored_and_reopened_unchanged(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    for _ in range(2):
        own.keep_set(SET, FILES, ROLES)
    files, roles = ReaderFiles(tmp_path, ADA).open_set(set_id(SET))
    assert roles == ROLES and read_set(files, roles).dataset.digest == SET.digest
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600} and len(kept) == 3
    assert {path.name for path in kept} == {"0", "1", "roles.json"}, "no name of a reader's"


def test_files_of_a_different_user_stay_closed(tmp_path: Path) -> None:
    ReaderFiles(tmp_path, ADA).keep_set(SET, FILES, ROLES)
    ReaderFiles(tmp_path, ADA).note(ENTRY)
    bob = ReaderFiles(tmp_path, BOB)
    assert bob.entries() == []
    with pytest.raises(InputError, match="not kept here for you"):
        bob.open_set(set_id(SET))
    for name in (f"../{ADA}/{set_id(SET)}", "..", "", "x" * 24):
        with pytest.raises(InputError, match="not kept here for you"):
            bob.open_set(name)
    with pytest.raises(ValueError, match="64 hexadecimal"):
        ReaderFiles(tmp_path, "../" + ADA[3:])


def pass_time(folder: Path) -> None:
    """Make all files in a folder a minute older, because some file systems keep only seconds."""
    for path in folder.rglob("*"):
        about = path.stat()
        os.utime(path, (about.st_atime - 60, about.st_mtime - 60))


def test_list_has_newest_analysis_first_without_duplicates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = ReaderFiles(tmp_path, ADA)
    times = iter(("2024-05-01", "2024-05-02", "2024-05-03"))
    monkeypatch.setattr(user_files, "format_current_time", lambda: next(times))
    for name in ("one", "two", "one"):
        own.note(Entry({"set": name}, name, 3, (), name))
        pass_time(tmp_path)
    assert [entry.dataset for entry in own.entries()] == ["one", "two"]
    assert own.entries()[0].opened > own.entries()[1].opened


def test_list_of_analyses_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ANALYSES_LISTED.setting, "2")
    own = ReaderFiles(tmp_path, ADA)
    for number in range(4):
        own.note(Entry({"n": str(number)}, str(number), 3, (), "d"))
        pass_time(tmp_path)
    assert [entry.dataset for entry in own.entries()] == ["3", "2"]


def test_damaged_files_are_left_out_or_reported(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    own.note(ENTRY)
    folder = tmp_path / "readers" / ADA
    for number, text in enumerate(("{", "[]", '{"params": 1}', json.dumps({"params": {}}))):
        (folder / f"{number}.json").write_text(text)
    assert [entry.id for entry in own.entries()] == [ENTRY.id]
    own.keep_set(SET, FILES, ROLES)
    (folder / set_id(SET) / "roles.json").write_text('{"files": {"../x": "y"}}')
    with pytest.raises(InputError, match="damaged. Choose its files again"):
        own.open_set(set_id(SET))


def test_deleting_a_set_deletes_its_analyses(tmp_path: Path) -> None:
    own, bob = ReaderFiles(tmp_path, ADA), ReaderFiles(tmp_path, BOB)
    for one in (own, bob):
        one.keep_set(SET, FILES, ROLES)
        one.note(ENTRY)
    own.note(Entry({}, "other", 1, (), "other"))
    own.remove(SET.digest)
    assert [entry.dataset for entry in own.entries()] == ["other"]
    with pytest.raises(InputError):
        own.open_set(set_id(SET))
    assert bob.entries() and bob.open_set(set_id(SET))


def test_removed_analysis_leaves_its_set(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    own.keep_set(SET, FILES, ROLES)
    own.note(ENTRY)
    own.remove_entry("../" + ENTRY.id)
    assert own.entries()
    own.remove_entry(ENTRY.id)
    own.remove_entry(ENTRY.id)
    assert not own.entries() and own.open_set(set_id(SET))


def keep(own: ReaderFiles, name: str, kilobytes: float) -> str:
    """Store a set of this size a minute ago, and return its id."""
    files = {name: f"{name}\n".encode() * int(kilobytes * 1000 / (len(name) + 1))}
    made = read_set(files).dataset
    own.keep_set(made, files, {})
    pass_time(own._all)
    return set_id(made)


def is_kept(own: ReaderFiles, name: str) -> bool:
    with suppress(InputError):
        return bool(own.open_set(name))
    return False


@pytest.fixture
def small_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit a reader to 4 kB of sets, and all readers to 20 kB."""
    monkeypatch.setenv(KEPT_MEGABYTES.setting, "0.004")
    monkeypatch.setenv(ALL_KEPT_MEGABYTES.setting, "0.02")


def test_user_above_quota_loses_own_sets_with_notice(tmp_path: Path, small_room: None) -> None:
    ada, bob = ReaderFiles(tmp_path, ADA), ReaderFiles(tmp_path, BOB)
    theirs = keep(bob, "theirs.txt", 1)
    sets = [keep(ada, f"{number}.txt", 1.5) for number in range(2)]
    ada.open_set(sets[0])
    sets.append(keep(ada, "2.txt", 1.5))
    assert [is_kept(ada, one) for one in sets] == [True, False, True]
    assert is_kept(bob, theirs) and bob.list_evicted_sets() == []
    assert ada.list_evicted_sets() == ["1.txt"]
    ada.forget_evicted()
    assert ada.list_evicted_sets() == []
    with pytest.raises(InputError, match="have 0.0 MB, so they cannot be kept.*keeps 0.004 MB"):
        keep(ada, "large.txt", 5)


@pytest.mark.parametrize("address", ["", "203.0.113.1"])
def test_eviction_removes_from_largest_user(tmp_path: Path, small_room: None, address: str) -> None:
    """Check that new cookies at one address count as one reader, who keeps the most."""
    bob = ReaderFiles(tmp_path, BOB, "203.0.113.9")
    theirs = [keep(bob, f"theirs{number}.txt", 1.5) for number in range(2)]
    flood = [ReaderFiles(tmp_path, f"{number:064x}", address) for number in range(14)]
    # Without an address every cookie is a reader, and the largest reader keeps the most.
    for one in flood:
        keep(one, "flood.txt", 3.5 if not address else 1.5)
    assert [is_kept(bob, one) for one in theirs] == [True, True] and bob.list_evicted_sets() == []
    assert sum(bool(one.list_evicted_sets()) for one in flood) > 3
    kept = [path.read_text() for path in tmp_path.rglob("network")]
    assert len(set(kept)) == (2 if address else 1) and not any("203" in one[:3] for one in kept)


def test_unopened_files_expire_after_retention_period(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    own.keep_set(SET, FILES, ROLES)
    own.note(ENTRY)
    half = tmp_path / "readers" / ADA / ("c" * 24)
    half.mkdir()
    assert remove_old_files(tmp_path, 2) == 0
    for path in (*(tmp_path / "readers" / ADA).iterdir(), *tmp_path.rglob("roles.json")):
        os.utime(path, (1, 1))
    assert remove_old_files(tmp_path, 2) == 3
    assert not list((tmp_path / "readers" / ADA).iterdir())


def test_unwritable_disk_is_reported(tmp_path: Path) -> None:
    (tmp_path / "readers").write_text("a file")
    with pytest.raises(BackendError, match="while noting the analysis"):
        ReaderFiles(tmp_path, ADA).note(ENTRY)


def test_keep_set_keeps_the_later_files_of_one_set(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    one, other = (
        {"a.csv": f"text,reference,output_x,domain\nA b,C d,{output},y\n".encode()}
        for output in ("E", "F")
    )
    dataset = read_set(one).dataset
    own.keep_set(dataset, one, {})
    own.keep_set(read_set(other).dataset, other, {"domain": "ignore"})
    files, chosen = own.open_set(set_id(dataset))
    assert read_set(files, chosen).outputs == {"x": ("F",)}
    assert chosen == {"domain": "ignore"}


def test_open_set_reads_the_roles_of_older_versions(tmp_path: Path) -> None:
    own = ReaderFiles(tmp_path, ADA)
    files = {**FILES, "my.align": b"1-1\n\n", "b.hyp": b"c\nd\n", "s.txt": b"1\n2\n"}
    own.keep_set(SET, files, ROLES)
    (place,) = tmp_path.rglob("roles.json")
    about = json.loads(place.read_text())
    roles = {"table": "", "source": "../my.en", "references": ["my.de"], "links": "my.align"}
    about["roles"] = {**roles, "outputs": ["b.hyp"], "scores": ["s.txt"], "corpus": ""}
    place.write_text(json.dumps(about))
    _, chosen = own.open_set(set_id(SET))
    assert chosen == {
        "../my.en": "source",
        "my.align": "links-from-0",
        "my.de": "reference",
        "b.hyp": "output",
        "s.txt": "score",
    }
    about["roles"] = {**roles, "table": "my.de", "outputs": []}
    place.write_text(json.dumps(about))
    assert own.open_set(set_id(SET))[1] == dict.fromkeys(sorted({*files} - {"my.de"}), "ignore")
