"""Measure the size of the package: code lines, files and imports by room, and its subjects.

    python -m benchmarks.house [--click] [FOLDER]

A "room" is a folder or file directly under `areaviz`. FOLDER is a checkout, by default this one. To
compare two states, run the command for two checkouts. Code lines are lines of Python without
docstrings and comments, and lines of JavaScript and CSS without comments. The size depends on the
formatter, so its settings in pyproject.toml stay as they are. Nothing is imported, except with
`--click`: the page Translate is run, its button is clicked, and every file of ours whose functions
ran is counted.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import threading
import tokenize
from argparse import ArgumentParser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import FrameType

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BLANK = (
    *(tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT),
    *(tokenize.COMMENT, tokenize.ENDMARKER),
)
COUNTED = (".py", ".js", ".css", ".html", ".toml", ".c", ".h")
SUBJECTS: Mapping[str, str] = {
    "digits": "digit|glimpse|mnist|looks",
    "speech": "speech|spoken|sound|listen|hearing",
    "clips": "clip|video|film|strip|watch",
    "stories": "stor(y|ies)|fact|hops|babi|memory_network",
    "points": "(^|_)points?(er|ing_model)?(_|$)",
    "trees": "(^|_)trees?(_|$)|pars(er|ing)|treebank",
}
"""What the names of a subject's files and folders contain, as regular expressions."""


@dataclass(frozen=True)
class Source:
    """One file of the package.

    Args:
        path: Path of the file below `areaviz`.
        text: Content of the file.
    """

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Dotted name, such as "areaviz.trace.areas"."""
        return ".".join(("areaviz", *self.path.with_suffix("").parts))

    @property
    def room(self) -> str:
        """Name of the folder or file directly under `areaviz` to which the file belongs."""
        return self.path.parts[0]

    @property
    def is_python(self) -> bool:
        """Whether the file is a Python module."""
        return self.path.suffix == ".py"

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree of a Python module."""
        return ast.parse(self.text)

    @cached_property
    def code_lines(self) -> int:
        """Number of lines that are code."""
        if self.path.suffix in (".js", ".css"):
            lines = (line.strip() for line in self.text.split("\n"))
            return sum(bool(line) and not line.startswith(("//", "*", "/*")) for line in lines)
        if not self.is_python:
            return 0
        code: set[int] = set()
        for token in tokenize.generate_tokens(io.StringIO(self.text).readline):
            if token.type not in BLANK:
                code.update(range(token.start[0], token.end[0] + 1))
        return len(code - _docstring_lines(self.tree))

    @cached_property
    def import_lines(self) -> int:
        """Number of lines with imports of Python."""
        if not self.is_python:
            return 0
        imports = (ast.Import, ast.ImportFrom)
        found = (node for node in ast.walk(self.tree) if isinstance(node, imports))
        return sum((node.end_lineno or node.lineno) - node.lineno + 1 for node in found)

    def is_about(self, words: str) -> bool:
        """Return whether the names of the file or of its folder contain a subject's words."""
        names = (self.path.stem, self.path.parent.name)
        is_code = self.path.suffix in (".py", ".js")
        return is_code and any(re.search(words, name) for name in names)


def _docstring_lines(tree: ast.Module) -> set[int]:
    """Return the numbers of all lines with docstrings of modules, classes and functions."""
    numbers: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            first = node.body[0]
            numbers.update(range(first.lineno, (first.end_lineno or first.lineno) + 1))
    return numbers


def sources(folder: Path) -> list[Source]:
    """Return all counted files of the package `areaviz` in `folder`."""
    package = folder / "areaviz"
    paths = (path for path in sorted(package.rglob("*")) if path.suffix in COUNTED)
    return [
        Source(path.relative_to(package), path.read_text("utf-8"))
        for path in paths
        if "bundle" not in path.parts
    ]


def report(folder: Path) -> Iterator[str]:
    """Yield the figures of the package, of each room, largest first, and of each subject."""
    files = sources(folder)
    rooms: dict[str, list[Source]] = {}
    for file in files:
        rooms.setdefault(file.room, []).append(file)
    yield f"{'room':16} {'code lines':>10} {'files':>6} {'imports':>8}"
    largest = sorted(rooms.items(), key=lambda room: -sum(file.code_lines for file in room[1]))
    for room, inside in (*largest, ("all", files)):
        yield f"{room:16} {_figures(inside)}"
    yield ""
    yield f"{'subject':16} {'files':>6} {'folders':>8}"
    for subject, words in SUBJECTS.items():
        own = [file for file in files if file.is_about(words)]
        yield f"{subject:16} {len(own):6} {len({file.path.parent for file in own}):8}"


def _figures(files: list[Source]) -> str:
    """Return code lines, files, and the share of imports in the Python code as columns."""
    code = sum(file.code_lines for file in files)
    python = sum(file.code_lines for file in files if file.is_python)
    imports = sum(file.import_lines for file in files)
    return f"{code:10,} {len(files):6} {imports / max(python, 1):8.1%}"


def files_of_a_click(folder: Path) -> set[str]:
    """Return our files whose functions run from a click on Translate until the page is drawn.

    Imports and models are not counted: only `app.py`, `pages` and `areaviz/app`.
    """
    from streamlit.testing.v1 import AppTest

    ours = tuple(str(folder / name) for name in ("areaviz/app/", "pages/", "app.py"))
    seen: set[str] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(ours) and frame.f_code.co_name != "<module>":
            seen.add(name)

    # A page has links to other pages, so it runs only inside the app, which declares them all.
    page = AppTest.from_file(str(folder / "app.py"), default_timeout=120).run()
    page.switch_page("pages/translate.py").run()
    button = next(button for button in page.button if button.label == "Translate")
    threading.setprofile(note)
    sys.setprofile(note)
    try:
        button.click().run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return {str(Path(name).relative_to(folder)) for name in seen}


def main() -> None:
    """Print the figures of a checkout."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parents[1])
    parser.add_argument(
        "--click", action="store_true", help="also count the files that a click uses"
    )
    options = parser.parse_args()
    for line in report(options.folder.resolve()):
        print(line)
    if options.click:
        passed = files_of_a_click(options.folder.resolve())
        print(f"\nfiles that a click passes  {len(passed)}")
        for name in sorted(passed):
            print(f"  {name}")


if __name__ == "__main__":
    main()
