"""See which areas of a memory every attention head of a trained model attends to.

`attend` runs a model of others and records a `Trace`, `from_arrays` makes one of weights; `show`
and `export` make it seen, as `PageOptions` say.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

# An editor reads these imports; a run imports what `EXPORTS` names, once it is used.
if TYPE_CHECKING:
    from areaviz.adapters.attend import attend
    from areaviz.publish.export import export
    from areaviz.publish.options import PageOptions
    from areaviz.publish.show import show
    from areaviz.trace.arrays import from_arrays
    from areaviz.trace.record import Trace

__all__ = ["PageOptions", "Trace", "attend", "export", "from_arrays", "show"]
__version__ = "0.1.0"

EXPORTS: Mapping[str, str] = {
    "PageOptions": "areaviz.publish.options",
    "Trace": "areaviz.trace.record",
    "attend": "areaviz.adapters.attend",
    "export": "areaviz.publish.export",
    "from_arrays": "areaviz.trace.arrays",
    "show": "areaviz.publish.show",
}
"""Where the names of `__all__` lie: imported when first used, as they may bring torch along."""


if not TYPE_CHECKING:  # else every misspelt name would pass as Any

    def __getattr__(name: str) -> Any:
        if name not in EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(EXPORTS[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *EXPORTS])
