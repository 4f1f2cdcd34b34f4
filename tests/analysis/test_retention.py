"""Stored texts of readers are private on the machine, even if an older app wrote them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from areaviz.sets.retention import NOTES_SETTING, get_notes_address, make_private, own_analyses
from areaviz.sets.run import SETTING, Header, RowFile

HEADER = Header("set", "d" * 64, "model", "c" * 64)


def test_analyses_of_older_apps_become_private(tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "other.txt"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o644)
    make_private(tmp_path)
    make_private(tmp_path / "none")
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert modes == {"a.jsonl": 0o600, "b.jsonl": 0o600, "other.txt": 0o644}


def test_own_analyses_are_found_despite_damaged_files(tmp_path: Path) -> None:
    for name, reader in (("a", "me"), ("b", "her"), ("c", ""), ("d", "me")):
        RowFile.open(tmp_path / f"{name}.jsonl", replace(HEADER, model=name, reader=reader)).close()
    (tmp_path / "e.jsonl").write_bytes(b"\0" * 100)
    (tmp_path / "f.jsonl").write_bytes(b"")
    found = {path.name: header.model for path, header in own_analyses(tmp_path, "me")}
    assert found == {"a.jsonl": "a", "d.jsonl": "d"}
    assert not list(own_analyses(tmp_path, "")) and not list(own_analyses(tmp_path / "none", "me"))


def test_notes_path_follows_analyses_or_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SETTING, str(tmp_path))
    monkeypatch.delenv(NOTES_SETTING, raising=False)
    assert get_notes_address() == f"sqlite:///{tmp_path / 'notes.sqlite'}"
    monkeypatch.setenv(NOTES_SETTING, "postgresql+psycopg://user@host/name")
    assert get_notes_address() == "postgresql+psycopg://user@host/name"
