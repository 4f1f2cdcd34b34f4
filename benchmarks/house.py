"""Measure the size and structure of the code: lengths, density, imports, files used by a click.

    python -m benchmarks.house [--rooms] [--click] [FOLDER]

A "room" is a subpackage of `areaviz`. FOLDER is a checkout, by default this one. To compare two
states, run the command twice.
The figures are those of `docs/architecture.md`. Nothing is imported, except with `--click`: the
page Translate is run, its button is clicked, and every file of ours whose functions ran is counted.
"""

from __future__ import annotations

import ast
import io
import sys
import threading
import tokenize
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from types import FrameType

COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
DOCUMENTED = (ast.Module, ast.ClassDef, *FUNCTIONS)
LONGEST_LINE = 100


@dataclass(frozen=True)
class Source:
    """One Python file of the package.

    Args:
        name: Dotted name, such as "areaviz.trace.areas".
        text: Content of the file.
    """

    name: str
    text: str

    @property
    def room(self) -> str:
        """Dotted name of the file's folder below `areaviz`, or "areaviz" for files in it."""
        return ".".join(self.name.split(".")[1:-1]) or "areaviz"

    @property
    def lines(self) -> list[str]:
        """The lines of the file."""
        return self.text.splitlines()

    @property
    def tree(self) -> ast.Module:
        """The syntax tree of the file."""
        return ast.parse(self.text)


def sources(folder: Path) -> list[Source]:
    """Return all Python files of the package `areaviz` in `folder`."""
    found = []
    for path in sorted((folder / "areaviz").rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found.append(Source(".".join(parts), path.read_text("utf-8")))
    return found


def comment_count(source: Source) -> int:
    """Return the number of lines with a comment. Directives to tools are not counted."""
    tokens = tokenize.generate_tokens(io.StringIO(source.text).readline)
    comments = [token.string for token in tokens if token.type == tokenize.COMMENT]
    return sum(not text.startswith(("# type:", "# noqa", "#!")) for text in comments)


def docstring_lines(tree: ast.Module) -> set[int]:
    """Return the line numbers of all docstrings, those of constants included."""
    numbers: set[int] = set()
    for node in ast.walk(tree):
        constant = node.value if isinstance(node, ast.Expr) else None
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
            numbers.update(range(constant.lineno, (constant.end_lineno or constant.lineno) + 1))
    return numbers


def code_line_count(source: Source) -> int:
    """Return the number of lines without blank lines, comments and docstrings."""
    documented = docstring_lines(source.tree)
    count = 0
    for number, line in enumerate(source.lines, start=1):
        stripped = line.strip()
        count += bool(stripped) and not stripped.startswith("#") and number not in documented
    return count


def function_lengths(tree: ast.Module) -> Iterator[int]:
    """Yield the number of lines of every function, without its docstring."""
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS):
            body = node.body
            if ast.get_docstring(node, clean=False) is not None and len(body) > 1:
                yield (node.end_lineno or 0) - body[1].lineno + 1 + (body[0].lineno - node.lineno)
            else:
                yield (node.end_lineno or 0) - node.lineno + 1


def imported(tree: ast.Module) -> Iterator[str]:
    """Yield the dotted names of everything that a file imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def room_arrows(files: list[Source]) -> Counter[tuple[str, str]]:
    """Return how many files of one room import another room, for every pair of rooms."""
    rooms = {file.name: file.room for file in files}
    arrows: Counter[tuple[str, str]] = Counter()
    for file in files:
        targets = set()
        for name in imported(file.tree):
            room = rooms.get(name) or rooms.get(name.rpartition(".")[0])
            if room and room != file.room:
                targets.add(room)
        arrows.update((file.room, room) for room in targets)
    return arrows


def session_keys(files: list[Source]) -> set[str]:
    """Return the names and texts by which the code accesses Streamlit's session state."""
    keys = set()
    for file in files:
        for node in ast.walk(file.tree):
            if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith(
                "session_state"
            ):
                keys.add(f"{file.name}: {ast.unparse(node.slice)}")
            elif isinstance(node, ast.keyword) and node.arg == "key":
                keys.add(f"{file.name}: {ast.unparse(node.value)}")
    return keys


def percentile(values: list[int], share: float) -> int:
    """Return the value below which `share` of all values are."""
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def report(folder: Path) -> Iterator[str]:
    """Yield the figures, one per line."""
    files = sources(folder)
    modules = [len(file.lines) for file in files if file.lines]
    functions = [length for file in files for length in function_lengths(file.tree)]
    nodes = [node for file in files for node in ast.walk(file.tree)]
    code = sum(code_line_count(file) for file in files)
    lines = [line for file in files for line in file.lines]
    arrows = room_arrows(files)
    yield f"files                      {len(files)}"
    yield f"lines                      {len(lines)}"
    yield f"module lines, median, p90  {median(modules):.0f}, {percentile(modules, 0.9)}"
    yield f"modules under 60 lines     {sum(n < 60 for n in modules) / len(modules):.0%}"
    yield f"function lines, median, p90  {median(functions):.0f}, {percentile(functions, 0.9)}"
    yield f"syntax nodes               {len(nodes)}"
    yield f"syntax nodes a code line   {len(nodes) / code:.2f}"
    comments = sum(comment_count(file) for file in files)
    yield f"comments in 100 code lines {100 * comments / code:.1f}"
    yield f"lines over {LONGEST_LINE} columns     {sum(len(line) > LONGEST_LINE for line in lines)}"
    loops = sum(isinstance(node, COMPREHENSIONS) for node in nodes)
    yield f"comprehensions in 1,000 lines  {1000 * loops / len(lines):.0f}"
    yield f"rooms                      {len({file.room for file in files})}"
    yield f"imports between rooms      {len(arrows)} pairs, {sum(arrows.values())} imports"
    yield f"session keys               {len(session_keys(files))}"


def by_room(folder: Path) -> Iterator[str]:
    """Yield a line per room: its files, lines, syntax nodes, nodes per line, and comments."""
    rooms: dict[str, list[Source]] = {}
    for file in sources(folder):
        rooms.setdefault(file.room, []).append(file)
    yield f"{'room':16} {'files':>5} {'lines':>6} {'nodes':>7} {'nodes a line':>12} {'comments':>8}"
    for room, files in rooms.items():
        nodes = sum(1 for file in files for _ in ast.walk(file.tree))
        code = sum(code_line_count(file) for file in files) or 1
        lines = sum(len(file.lines) for file in files)
        comments = 100 * sum(comment_count(file) for file in files) / code
        density = nodes / code
        yield f"{room:16} {len(files):5} {lines:6} {nodes:7} {density:12.2f} {comments:8.1f}"


def files_of_a_click(folder: Path) -> set[str]:
    """Return our files whose functions run from a click on Translate until the page is drawn.

    Imports and models are not counted: only `app.py`, `pages` and `areaviz/ui`.
    """
    from streamlit.testing.v1 import AppTest

    ours = (str(folder / "areaviz" / "ui"), str(folder / "pages"), str(folder / "app.py"))
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
    parser.add_argument("--rooms", action="store_true", help="also print a line per room")
    options = parser.parse_args()
    for line in report(options.folder.resolve()):
        print(line)
    if options.rooms:
        print("\n".join(by_room(options.folder.resolve())))
    if options.click:
        passed = files_of_a_click(options.folder.resolve())
        print(f"files that a click passes  {len(passed)}")
        for name in sorted(passed):
            print(f"  {name}")


if __name__ == "__main__":
    main()
