"""Import of the `transformers` library when it is needed."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def import_transformers() -> Any:
    """Return the module `transformers`.

    A torchvision that does not match the build of torch is installed but cannot be imported. The
    library would then fail, even for texts. This function hides such a torchvision, because the
    library can read pictures without it.
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
