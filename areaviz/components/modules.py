"""Joining of ES modules into one classic script.

Chromium refuses to load modules, or any other files, in a page that was opened from a disk. Such a
page therefore contains its modules as a single script. Node and the type checker read the separate
modules.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname, join, normpath

from areaviz.components.parts import read_text

_IMPORT = re.compile(r"^import \{[^}]*\} from '(?P<path>\.\.?/[^']+)';\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(async function|function|class|const)\b)", re.MULTILINE)
_COMMENT = re.compile(r"^ *(//[^\n]*|/\*\*(?:(?!\*/).)*\*/)\n", re.MULTILINE | re.DOTALL)
"""Comments that fill whole lines. Browsers do not need them, and they are half of the bytes."""
_NAME = re.compile(r"^(?:async function|function|class|const|let) ([\w$]+)", re.MULTILINE)
_MORE_NAMES = re.compile(r"^const .*", re.MULTILINE)


def join_modules(paths: Iterable[str]) -> str:
    """Return one classic script with the given modules and all modules that they import.

    Each module occurs once. All modules share one scope, so top-level names must be unique.

    Args:
        paths: paths of modules in the folder `areaviz`.

    Raises:
        ValueError: two modules define the same name.
    """
    order: list[str] = []
    for path in paths:
        _collect(path, order)
    owners: dict[str, str] = {}
    scripts = []
    for path in order:
        script = without_comments(_EXPORT.sub("", _IMPORT.sub("", read_text(path))))
        for name in list_top_level_names(script):
            if name in owners:
                raise ValueError(f'{owners[name]} and {path} both define "{name}".')
            owners[name] = path
        scripts.append(script)
    return "\n".join(scripts)


def without_comments(script: str) -> str:
    """Return a script without the comments that fill whole lines."""
    return _COMMENT.sub("", script)


def list_top_level_names(script: str) -> list[str]:
    """Return the names that a script defines outside of functions and classes."""
    names = _NAME.findall(script)
    for line in _MORE_NAMES.findall(script):
        # One statement may define several constants, as in: const PAD = 0, END = 3;
        names += re.findall(r", ([A-Z][A-Z_]*) = ", line)
    return names


def _collect(path: str, order: list[str]) -> None:
    """Append a module to the list `order`, after the modules that it imports."""
    if path in order:
        return
    for found in _IMPORT.finditer(read_text(path)):
        _collect(normpath(join(dirname(path), found["path"])), order)
    order.append(path)
