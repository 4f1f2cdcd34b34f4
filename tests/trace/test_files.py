"""Readable JSON files: lists of numbers are on one line, and values do not change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from areaviz.trace.safe_files import write_json


def test_lists_are_on_one_line_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    value = {
        "about": "[ 1,  2]\n[\n 3]",
        "rows": [[0.5, None], [1, -2e-9]],
        "texts": ["a,  b", "c [d]", "e\u2028f"],
        "empty": [],
        "nested": [{"steps": [1, 2]}],
    }
    write_json(path, value)
    text = path.read_text(encoding="utf-8")
    assert json.loads(text) == value
    assert "[0.5, null],\n" in text and '"steps": [1, 2]\n' in text


def test_unserialisable_value_leaves_the_file_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    write_json(path, [1])
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, [float("nan")])
    with pytest.raises(TypeError, match="not JSON serializable"):
        write_json(path, [path])
    assert path.read_text(encoding="utf-8") == "[1]\n"
