"""See which areas of a memory every attention head of a trained model attends to.

`attend` runs a model of others and records a `Trace`, `from_arrays` makes one of weights, `load`
reads one from a file; `show` and `export` make it seen at a `Focus`, as `PageOptions` say, and
figures on `Paper` of a size.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

# An editor reads these imports; a run imports what `EXPORTS` names, once it is used.
if TYPE_CHECKING:
    from areaviz.adapters.attend import attend
    from areaviz.drawing.export import Paper
    from areaviz.publish.export import export
    from areaviz.publish.options import PageOptions
    from areaviz.publish.show import show
    from areaviz.trace.arrays import from_arrays
    from areaviz.trace.codec import load
    from areaviz.trace.record import Trace
    from areaviz.trace.request import Focus

__all__ = [
    "Focus",
    "PageOptions",
    "Paper",
    "Trace",
    "attend",
    "export",
    "from_arrays",
    "load",
    "show",
]
__version__ = "0.1.0"

EXPORTS: Mapping[str, str] = {
    "Focus": "areaviz.trace.request",
    "PageOptions": "areaviz.publish.options",
    "Paper": "areaviz.drawing.export",
    "Trace": "areaviz.trace.record",
    "attend": "areaviz.adapters.attend",
    "export": "areaviz.publish.export",
    "from_arrays": "areaviz.trace.arrays",
    "load": "areaviz.trace.codec",
    "show": "areaviz.publish.show",
}
"""Where the names of `__all__` lie: imported when first used, as they may bring torch along."""


if not TYPE_CHECKING:  # else every misspelt name would pass as Any

    def __getattr__(name: str) -> Any:
        if name not in EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(EXPORTS[name]), name)
        except ModuleNotFoundError as error:
            if error.name != "torch":
                raise
            raise ImportError(
                f"areaviz.{name} runs models and needs PyTorch; install it with: pip install"
                " 'areaviz[torch]'"
            ) from error


def __dir__() -> list[str]:
    return sorted([*globals(), *EXPORTS])
