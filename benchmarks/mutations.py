"""Change one operator of the package at a time, and count the changes that the tests notice.

    python -m benchmarks.mutations --count 60 --seed 1

A mutation replaces a comparison or an arithmetic operator by another one, exchanges `and` and `or`,
or adds one to a whole number. It is made in a copy of the repository, where the tests that import
the changed module run. If no test file imports the module, the tests of its package run. A mutation
that no test notices is printed with its line, so that a person can decide whether it matters.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE, TESTS = "areaviz", "tests"
# Packages whose tests start servers or browsers. To run these for every change would take hours.
LEFT_OUT = ("cli", "components", "gateway", "server", "ui", "lessons")
MOST_FILES, MOST_SECONDS = 6, 240

SWAPS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a module: the line, what it was and what it becomes."""

    # Path of the module from the root of the repository.
    module: Path
    line: int
    before: str
    after: str
    # The whole text of the changed module.
    text: str


def mutations_of(module: Path) -> Iterator[Mutation]:
    """Yield every mutation of a module, one at a time."""
    source = (ROOT / module).read_text("utf-8")
    count = sum(1 for _ in _places(ast.parse(source)))
    for number in range(count):
        tree = ast.parse(source)
        for place, node in enumerate(_places(tree)):
            if place == number:
                before = ast.unparse(node)
                _change(node)
                after = ast.unparse(node)
                yield Mutation(module, node.lineno, before, after, ast.unparse(tree))


def _places(tree: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions that can be changed, in the order of the tree."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in SWAPS:
            yield node
        elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in SWAPS:
            if not _joins_texts(node):
                yield node
        elif isinstance(node, ast.Subscript) and _whole_number(node.slice):
            yield node


def _joins_texts(node: ast.BinOp | ast.BoolOp) -> bool:
    # A changed operator between texts raises TypeError, which every test notices.
    parts = [node.left, node.right] if isinstance(node, ast.BinOp) else []
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, str))
        for part in parts
    )


def _whole_number(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is int


def _change(node: ast.expr) -> None:
    """Replace the operator of an expression, or add one to its index."""
    match node:
        case ast.Compare():
            swapped = SWAPS[type(node.ops[0])]()
            assert isinstance(swapped, ast.cmpop)
            node.ops[0] = swapped
        case ast.BinOp():
            swapped = SWAPS[type(node.op)]()
            assert isinstance(swapped, ast.operator)
            node.op = swapped
        case ast.BoolOp():
            swapped = SWAPS[type(node.op)]()
            assert isinstance(swapped, ast.boolop)
            node.op = swapped
        case ast.Subscript(slice=ast.Constant(value=int() as index)):
            node.slice = ast.Constant(index + 1)


def tests_of(module: Path) -> list[Path]:
    """Return the test files that import a module, or those of its package if there are none.

    Files of the mirrored package come first, because they most often test it.
    """
    name = ".".join(module.with_suffix("").parts)
    package = module.parts[1]
    mirrored = sorted((ROOT / TESTS / package).glob("test_*.py"))
    every = sorted((ROOT / TESTS).rglob("test_*.py"))
    found = []
    for path in mirrored + [one for one in every if one not in mirrored]:
        is_slow = "browser" in path.parts or "faults" in path.parts
        if not is_slow and _imports(path.read_text("utf-8"), name):
            found.append(path)
    same_name = ROOT / TESTS / package / f"test_{module.stem}.py"
    if same_name.exists() and same_name not in found:
        found.insert(0, same_name)
    return (found or mirrored)[:MOST_FILES]


def _imports(text: str, name: str) -> bool:
    package, _, last = name.rpartition(".")
    return (
        f"{name} import" in text or f"import {name}" in text or f"{package} import {last}" in text
    )


def copy_of_repository(folder: Path) -> Path:
    """Copy the repository into a folder, without its environment and caches."""
    left_out = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build")
    return Path(shutil.copytree(ROOT, folder / "copy", ignore=left_out))


def is_noticed(mutation: Mutation, copy: Path, tests: Sequence[Path]) -> bool:
    """Return whether a test fails or exceeds its time, with the mutation made in `copy`."""
    path = copy / mutation.module
    original = path.read_text("utf-8")
    path.write_text(mutation.text, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-m", "not long"]
    command += ["-p", "no:cacheprovider"]
    command += [str(one.relative_to(ROOT)) for one in tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "OMP_NUM_THREADS": "1"}
    try:
        run = subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, timeout=MOST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(original, "utf-8")
    return run.returncode != 0


def choose(count: int, seed: int) -> list[Mutation]:
    """Choose mutations at random, at most one per module, from all packages with fast tests."""
    draw = random.Random(seed)
    modules = []
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        module = path.relative_to(ROOT)
        if len(module.parts) > 2 and module.parts[1] not in LEFT_OUT and tests_of(module):
            modules.append(module)
    draw.shuffle(modules)
    chosen = []
    for module in modules:
        found = list(mutations_of(module))
        if found:
            chosen.append(draw.choice(found))
        if len(chosen) == count:
            break
    return chosen


def main(arguments: Sequence[str] | None = None) -> None:
    """Try the mutations, and print those that no test notices and their number."""
    parser = argparse.ArgumentParser(description="Count the mutations that the tests notice.")
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    survived, tried = 0, 0
    with tempfile.TemporaryDirectory() as folder:
        copy = copy_of_repository(Path(folder))
        for one in choose(options.count, options.seed):
            tried += 1
            noticed = is_noticed(one, copy, tests_of(one.module))
            survived += not noticed
            word = "noticed" if noticed else "SURVIVED"
            print(f"{word}  {one.module}:{one.line}  {one.before}  ->  {one.after}", flush=True)
    print(f"{tried - survived} of {tried} mutations were noticed")


if __name__ == "__main__":
    main()
