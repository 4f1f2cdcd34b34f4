"""Entries that other packages add through entry points, see docs/extensions.md.

A table such as `VIEWS` is an `ExtensibleRegistry`: it has its own entries, followed by those of
installed packages. The table imports the packages when it is first iterated, so a package may
import any module of areaviz. An entry that cannot be used is left out, and a warning says why.

Parts of areaviz itself that it runs without come in the same way. A clone reads their entries from
its own pyproject.toml, because its installation may be older.
"""

from __future__ import annotations

import logging
import threading
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
# Seconds after which the log names an entry that is still being imported.
SLOW_SECONDS = 10.0
_US = "areaviz"
_PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
"""What a clone declares. An installed package has no such file."""


def is_right(thing: object) -> str:
    """Accept any object: return "" as the description of its problem."""
    return ""


class ExtensibleRegistry(Mapping[str, T]):
    """Entries of this package, followed by those of other packages.

    Args:
        group: Name of the entry points' group, without the prefix "areaviz.".
        ours: Entries of this package, by name. Other packages cannot replace them.
        problem: Returns what is wrong with an external object, in words that follow "it". Returns
            "" if nothing is wrong.
    """

    def __init__(
        self, group: str, ours: Mapping[str, T], problem: Callable[[Any], str] = is_right
    ) -> None:
        self._group, self._ours, self._problem = group, ours, problem

    @cached_property
    def _all(self) -> Mapping[str, T]:
        found = dict(self._ours)
        for point in _points(self._group):
            problem = f'there is a "{point.name}" already' if point.name in found else ""
            thing = None
            if not problem:
                thing, problem = self._loaded(point)
            if problem:
                log.warning(
                    'The entry "%s" of %s, which the package "%s" brings, is left out: %s; update'
                    " or remove that package.",
                    point.name,
                    point.group,
                    package_of(point),
                    problem,
                )
            elif thing is not None:
                found[point.name] = thing
        return found

    def _loaded(self, point: EntryPoint) -> tuple[T | None, str]:
        """Return the object of an entry point, and what is wrong with it."""
        try:
            with _slow_warning(point):
                thing: T = point.load()
            problem = self._problem(thing)
        except (Exception, SystemExit) as error:
            # The app must start even if another package raises any kind of error.
            return None, f"it cannot be imported ({type(error).__name__}: {error})"
        return thing, f"it {problem}" if problem else ""

    def __getitem__(self, name: str) -> T:
        # Entries of this package are available even while other packages are being imported.
        return self._ours[name] if name in self._ours else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


@contextmanager
def _slow_warning(point: EntryPoint) -> Iterator[None]:
    """Log the name of an entry whose import takes long. An import that hangs cannot be ended."""
    said = (
        'The entry "%s" of %s, which the package "%s" brings, is still being imported after %g'
        " seconds. The app waits for it. Remove that package if this does not end."
    )
    about = point.name, point.group, package_of(point), SLOW_SECONDS
    timer = threading.Timer(SLOW_SECONDS, log.warning, (said, *about))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def package_of(point: EntryPoint) -> str:
    """Return the name of the package that provides an entry point."""
    return point.dist.name if point.dist is not None else point.value.split(".")[0]


def _points(group: str) -> list[EntryPoint]:
    """Return each entry point of a group once, in an order independent of the search path."""
    group = f"{_US}.{group}"
    found = entry_points(group=group)
    others = [one for one in found if package_of(one) != _US]
    ours = _read_clone(group)
    if ours is None:
        ours = [one for one in found if package_of(one) == _US]
    points = {(one.name, one.value): one for one in (*others, *filter(_is_here, ours))}
    return [points[key] for key in sorted(points)]


def _read_clone(group: str) -> list[EntryPoint] | None:
    """Return the entry points that the pyproject.toml of a clone declares, None without one."""
    project = tomllib.loads(_PROJECT.read_text("utf-8"))["project"] if _PROJECT.exists() else {}
    if project.get("name") != _US:
        return None
    declared = project.get("entry-points", {}).get(group, {})
    return [EntryPoint(name, value, group) for name, value in declared.items()]


def _is_here(point: EntryPoint) -> bool:
    """Return whether a part of areaviz is installed. An empty folder of it is not."""
    try:
        spec = find_spec(point.module)
    except ModuleNotFoundError:
        return False
    return spec is not None and spec.origin is not None
