"""Entries that other packages add by entry points: docs/extensions.md says how.

A table such as `VIEWS` is `Joined`: it has its own entries, then those of installed packages. These
are imported when the table is first read through, so a package may import any of our modules. An
entry that cannot be used is left out, with a warning that says why.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

log = logging.getLogger(__name__)
T = TypeVar("T")
# Seconds after which the log names an entry that is still being imported.
SLOW_SECONDS = 10.0


def is_right(thing: object) -> str:
    """No problem with any thing."""
    return ""


class Joined(Mapping[str, T]):
    """Entries of our own, then those of other packages.

    Args:
        group: the entry points are those of the group "areaviz.GROUP".
        ours: by name; no other package takes their place.
        problem: what is wrong with a thing that a package brings, as in "it ..."; "" for nothing.
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
        """Return the thing of an entry point, and what is wrong with it."""
        try:
            with _slow_warning(point):
                thing: T = point.load()
            problem = self._problem(thing)
        except (Exception, SystemExit) as error:
            # Whatever another package raises, the app starts without it.
            return None, f"it cannot be imported ({type(error).__name__}: {error})"
        return thing, f"it {problem}" if problem else ""

    def __getitem__(self, name: str) -> T:
        # Ours are there also while others are imported.
        return self._ours[name] if name in self._ours else self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)


@contextmanager
def _slow_warning(point: EntryPoint) -> Iterator[None]:
    """Name an entry whose import takes long: nothing can end an import that hangs."""
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
    """The name of the package that brings an entry point."""
    return point.dist.name if point.dist is not None else point.value.split(".")[0]


def _points(group: str) -> list[EntryPoint]:
    """Each once, though a package be found twice, in an order that does not depend on places."""
    points = {(one.name, one.value): one for one in entry_points(group=f"areaviz.{group}")}
    return [points[key] for key in sorted(points)]
