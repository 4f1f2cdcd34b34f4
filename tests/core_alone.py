"""Run areaviz without the rooms that it works without. `tests/test_rooms.py` starts this script.

    python -m tests.core_alone modules
    python -m tests.core_alone pages

It ends with an error if something needs one of the rooms.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from unittest.mock import patch

ROOT = Path(__file__).parents[1]
ROOMS = ("areaviz.lab", "areaviz.sets")
"""How the models were made, and the analysis of sets."""
NOT_IMPORTED = frozenset({"areaviz.__main__", "areaviz.gateway.app_script"})
"""Modules that start a program when they are imported."""
PAGES_OF_ROOMS = frozenset({"analyse"})
"""Pages that need one of the rooms."""


class Wall(MetaPathFinder):
    """Makes the rooms look as if they were not installed."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        """Refuse the modules of the rooms, and leave all others to the next finder."""
        if is_of_room(name):
            raise ModuleNotFoundError(f"{name} is behind the wall", name=name)


def is_of_room(name: str) -> bool:
    """Return whether a module belongs to one of the rooms."""
    return any(name == room or name.startswith(f"{room}.") for room in ROOMS)


def list_modules() -> Iterator[str]:
    """Yield the names of all modules outside the rooms."""
    for path in sorted((ROOT / "areaviz").rglob("*.py")):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if not is_of_room(name) and name not in NOT_IMPORTED:
            yield name


def import_modules() -> None:
    """Import every module outside the rooms."""
    for name in list_modules():
        import_module(name)


def open_pages() -> None:
    """Open every page outside the rooms. Pages open with stored results.

    Raises:
        AssertionError: a page shows an error.
    """
    from streamlit.runtime.context import ContextProxy
    from streamlit.testing.v1 import AppTest

    from areaviz.app.page import TITLES

    for name in TITLES:
        if name in PAGES_OF_ROOMS:
            continue
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
        # An `AppTest` has no socket with cookies.
        with patch.object(ContextProxy, "cookies", {}):
            app.switch_page(f"pages/{name}.py").run()
        told = [element.value for element in (*app.exception, *app.error)]
        assert not told, (name, told)
        assert app.title, name


if __name__ == "__main__":
    sys.meta_path.insert(0, Wall())
    {"modules": import_modules, "pages": open_pages}[sys.argv[1]]()
    assert not [name for name in sys.modules if is_of_room(name)]
