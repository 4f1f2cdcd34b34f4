"""The `transformers` library, imported where it is needed and not before."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any


def library() -> Any:
    """The module `transformers`.

    Beside a torch that it was not built for, torchvision is there but cannot be imported; the
    library would then fail with it, for texts as well. A torchvision that fails is as good as none,
    and is given out as none: the library has its own ways to read pictures.
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
