"""Old names for extensions. They work for one release and give a warning.

docs/releases.md says which names extensions may rely on.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from typing import Any


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
