"""Find the texts of the catalogue in the code: in Python, in scripts and in markup."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from areaviz.views.parts import COMPONENTS, SHOWN, TEXTS, read_text
from tests.architecture import Module, modules

_MARKS = (
    "areaviz.texts.catalogue.message",
    "areaviz.texts.catalogue.translate",
    "areaviz.app.texts.sentence",
)
_IN_SCRIPT = re.compile(r"\bsentence\(\s*(?:'([^'\\]*)'|\"([^\"\\]*)\"|`([^`\\$]*)`)")


def messages() -> set[str]:
    """Return every text that the code looks up in the catalogue."""
    found = {text for module in modules() for text in in_module(module)}
    for paths in COMPONENTS.values():
        if TEXTS in paths:
            for path in paths:
                found.update(in_component(path))
    return found


def in_module(module: Module) -> Iterator[str]:
    """Yield the literal texts of a Python file."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call) and node.args and module.dotted(node.func) in _MARKS:
            first = node.args[0]
            if isinstance(first, ast.Constant) and first.value:
                yield str(first.value)


def in_component(path: str) -> Iterator[str]:
    """Yield the texts of a script, or of markup."""
    source = read_text(path)
    if path.endswith(".js"):
        for found in _IN_SCRIPT.finditer(source):
            yield next(filter(None, found.groups()))
    if path.endswith(".html"):
        for found in SHOWN.finditer(source):
            yield found[2]
