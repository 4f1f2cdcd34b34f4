"""Old names and import paths for extensions, which docs/releases.md promises.

An old name works for one release and gives a warning.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from importlib.abc import Loader


def old_names(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a module whose names have changed.

    Args:
        module: name of the module, its `__name__`.
        names: the new name of each old name.

    Returns:
        A function that returns the object of an old name and gives a `DeprecationWarning`.
    """

    def find(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        message = f"{module}.{name} is now called {names[name]}. Use the new name."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(sys.modules[module], names[name])

    return find


PROMISED_PATHS: Mapping[str, str] = {
    "areaviz.analysis.measure": "areaviz.sets.measures",
    "areaviz.data.examples": "areaviz.samples.dataset",
    "areaviz.drawing.base": "areaviz.draw.view",
    "areaviz.drawing.theme": "areaviz.draw.theme",
    "areaviz.trace.check": "areaviz.trace.document",
}
"""Import paths of version 0.2 that extensions may rely on, and the modules that replace them."""


class PromisedPaths:
    """Finds a module by its promised path, where no module has this path any more.

    It has the methods of a finder and a loader, but not their base classes, whose import takes as
    long as the rest of `import areaviz`.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return how to import a promised path, or a package that only promised paths need."""
        if not any(old == name or old.startswith(f"{name}.") for old in PROMISED_PATHS):
            return None
        loader = cast("Loader", self)
        return ModuleSpec(name, loader, is_package=name not in PROMISED_PATHS)

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python create the module."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the new module in the place of the promised one."""
        if module.__name__ in PROMISED_PATHS:
            sys.modules[module.__name__] = import_module(PROMISED_PATHS[module.__name__])


def keep_promised_paths() -> None:
    """Make the promised paths importable. Python asks other finders first."""
    if not any(isinstance(finder, PromisedPaths) for finder in sys.meta_path):
        sys.meta_path.append(PromisedPaths())
