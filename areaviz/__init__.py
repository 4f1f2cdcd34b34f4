"""See which areas of a memory every attention head of a trained model attends to."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

EXPORTS: Mapping[str, str] = {
    "PageOptions": "areaviz.publish.options",
    "Trace": "areaviz.trace.record",
    "attend": "areaviz.adapters.attend",
    "export": "areaviz.publish.share",
    "from_arrays": "areaviz.trace.arrays",
    "show": "areaviz.publish.share",
}
"""What `areaviz` offers by itself, and where it lies: imported when first asked for, as it may
bring torch along.
"""


def __getattr__(name: str) -> Any:
    if name not in EXPORTS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *EXPORTS])
