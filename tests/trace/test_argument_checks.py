"""Paths that users give: they are expanded, or rejected in one sentence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from areaviz.trace.errors import InputError
from areaviz.trace.record import MAX_NAME_BYTES, expand_path, find_file


def test_path_of_expands_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expand_path("~/a.npz") == tmp_path / "a.npz"
    assert expand_path(Path("a/~/b")) == Path("a/~/b")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (None, "A path is needed but this is None"),
        (b"a.npz", "A path is needed but this is of type bytes"),
        ("", "A path is needed but this is ''"),
        ("a\0b", "A path is needed"),
        ("~no_such_reader/a.npz", "There is no home folder for ~no_such_reader/a.npz"),
        ("é" * 128, "longer than a file system allows"),
        ("a/" * 2100, "longer than a file system allows"),
    ],
)
def test_path_of_refuses_impossible_paths(given: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        expand_path(given)


def test_path_of_accepts_the_longest_name(tmp_path: Path) -> None:
    path = tmp_path / ("a" * MAX_NAME_BYTES)
    path.touch()
    assert find_file(path) == path


def test_file_of_needs_a_readable_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is a folder. Give the files in it"):
        find_file(tmp_path)
    path = tmp_path / "a.npz"
    with pytest.raises(InputError, match='File .*a.npz" does not exist. Check the path'):
        find_file(path)
    path.touch()
    assert find_file(str(path)) == path
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(InputError, match="You may not read the file .*a.npz"):
        find_file(path)
