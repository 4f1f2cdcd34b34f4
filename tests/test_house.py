"""The code follows CONTRIBUTING: no import cycles, described packages, short files."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from benchmarks.house import Source, report, sources

ROOT = Path(__file__).parents[1]
FILES = sources(ROOT)
LONGEST_FILE, LONGEST_PAGE = 600, 45
"""Code lines of a Python file of the package, and lines of a page."""


def imports_at_start(file: Source, names: frozenset[str]) -> Iterator[str]:
    """Yield our modules that are imported with `file`, except in functions and for types."""
    pending: list[ast.stmt] = list(file.tree.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole in names else node.module
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            pending += [
                child for child in ast.iter_child_nodes(node) if isinstance(child, ast.stmt)
            ]


def circle(arrows: Mapping[str, set[str]]) -> list[str]:
    """Return the names of an import cycle in order, or [] if there is none."""
    finished: set[str] = set()
    path: list[str] = []

    def walk(name: str) -> list[str]:
        if name in path:
            return path[path.index(name) :]
        if name in finished:
            return []
        path.append(name)
        for target in sorted(arrows.get(name, ())):
            if found := walk(target):
                return found
        finished.add(path.pop())
        return []

    for name in sorted(arrows):
        if found := walk(name):
            return found
    return []


def test_no_module_imports_itself_indirectly() -> None:
    names = {file.name.removesuffix(".__init__"): file for file in FILES if file.is_python}
    known = frozenset(names)
    assert circle({name: set(imports_at_start(file, known)) for name, file in names.items()}) == []


def test_import_cycle_is_found() -> None:
    assert circle({"a": {"b"}, "b": {"c", "d"}, "c": set(), "d": {"b"}}) == ["b", "d"]
    assert circle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


@pytest.mark.parametrize(
    "file", [file for file in FILES if file.path.name == "__init__.py"], ids=lambda file: file.name
)
def test_every_package_has_a_docstring(file: Source) -> None:
    assert ast.get_docstring(file.tree), f"{file.name} has no docstring"


def test_files_are_short_enough_to_read() -> None:
    lengths = {file.name: file.code_lines for file in FILES if file.is_python}
    assert {name: count for name, count in lengths.items() if count > LONGEST_FILE} == {}


def test_pages_hold_no_logic() -> None:
    pages = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]
    lengths = {page.name: len(page.read_text("utf-8").splitlines()) for page in pages}
    assert {name: count for name, count in lengths.items() if count > LONGEST_PAGE} == {}


SMALL = '''"""A sign.

Two lines more.
"""

import os

# A comment on a line of its own.
def double(x: int) -> int:
    """Twice `x`."""
    return 2 * x  # and one behind


TEXT = """
Part of a text
"""
'''


def test_measure_counts_known_source() -> None:
    file = Source(Path("room/small.py"), SMALL)
    assert (file.name, file.room) == ("areaviz.room.small", "room")
    assert (file.code_lines, file.import_lines) == (6, 1)
    script = Source(Path("room/small.js"), "// A comment.\n\nlet x = 1;\n/* And\n * more. */\n")
    assert (script.code_lines, script.import_lines) == (1, 0)


def test_report_covers_the_given_folder(tmp_path: Path) -> None:
    room = tmp_path / "areaviz" / "room"
    room.mkdir(parents=True)
    (room / "small.py").write_text(SMALL, encoding="utf-8")
    (room / "points.js").write_text("let x = 1;\n", encoding="utf-8")
    rows = [line.split() for line in report(tmp_path)]
    assert ["room", "7", "2", "16.7%"] in rows
    assert ["all", "7", "2", "16.7%"] in rows
    assert ["points", "1", "1"] in rows
    assert ["digits", "0", "0"] in rows
