"""docs/security.md is correct: each of its ten promises has tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
PROMISES = re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def functions(path: Path) -> set[str]:
    return {
        node.name
        for node in ast.parse(path.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }


def test_there_are_ten_promises() -> None:
    assert [int(promise.split(".")[0]) for promise in PROMISES] == list(range(1, 11))


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.splitlines()[0])
def test_tests_named_exist(promise: str) -> None:
    named = NAMED.findall(promise)
    assert named
    assert [
        test
        for path, test in named
        if not (ROOT / path).exists() or test not in functions(ROOT / path)
    ] == []


def test_durations_do_not_use_the_date() -> None:
    """A clock that is set back or forward must not lengthen or shorten a deadline.

    The date is used only for the day of an admission, which a cookie keeps over restarts.
    """
    users = []
    for path in sorted((ROOT / "areaviz").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            is_call = isinstance(node, ast.Attribute) and ast.unparse(node) == "time.time"
            names = []
            if isinstance(node, ast.ImportFrom) and node.module == "time":
                names = [one.name for one in node.names]
            if is_call or "time" in names:
                users.append(str(path.relative_to(ROOT)))
    assert set(users) == {"areaviz/backend/access.py"}
