"""The `transformers` library, imported only when it is needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def import_transformers() -> Any:
    """Return the module `transformers`.

    If torchvision does not match the build of torch, it is installed but cannot be imported, and
    the library would fail with it, even for texts. This function then hides torchvision, because
    the library can read pictures without it.
    """
    if "transformers" not in sys.modules:
        try:
            import_module("torchvision")
        except ImportError:
            pass
        except RuntimeError:
            for name in list(sys.modules):
                if name.partition(".")[0] == "torchvision":
                    del sys.modules[name]
            sys.modules["torchvision"] = None  # type: ignore[assignment]
    return import_module("transformers")
