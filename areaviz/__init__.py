"""See which areas of a memory every attention head of a trained model attends to.

`attend` runs a model and records a `Trace`. `from_arrays`, `from_cache` and `from_generate` make a
trace from attention weights. `load` reads a trace from a file, and `save` writes it. `show` and
`export` display it for a `Focus`, with `PageOptions`. `Paper` is the size of a printed figure.
`top_areas`, `densest_areas`, `top_queries`, `coverage`, `item_shares`, `entropy`,
`area_size_shares` and `head_summary` answer questions about one of its maps. `best_alignment`
chooses the heads that together align best with known links. `load_analysis` reads the analysis of a
set as a frame of pandas. Problems raise `InputError` or `BackendError`, with a
message that says what to do.

Five files show how areaviz works. Read `trace/record.py`, `attention/area.py`,
`views/ribbon/ribbon.py`, `lab/tasks/translation.py` and `app/translate_picture.py` in this order.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from areaviz.old_names import keep_promised_paths

# These imports are for editors and type checkers. At run time, each name of `EXPORTS` is imported
# when it is first used.
if TYPE_CHECKING:
    from areaviz.adapters.attend import attend
    from areaviz.draw.view import Paper
    from areaviz.measures.alignment import best_alignment
    from areaviz.page.content import PageOptions
    from areaviz.page.notebook import show
    from areaviz.page.page import export
    from areaviz.sets.load_analysis import load_analysis
    from areaviz.trace.areas import Area, AreaGrid
    from areaviz.trace.arrays import from_arrays
    from areaviz.trace.errors import BackendError, InputError
    from areaviz.trace.file import load, save
    from areaviz.trace.libraries import from_cache, from_generate
    from areaviz.trace.query import (
        Attended,
        Attending,
        HeadSummary,
        area_size_shares,
        coverage,
        densest_areas,
        entropy,
        head_summary,
        item_shares,
        top_areas,
        top_queries,
    )
    from areaviz.trace.record import AttentionMap, Field, Output, Trace
    from areaviz.trace.request import Focus, Request

__all__ = [
    "Area",
    "AreaGrid",
    "Attended",
    "Attending",
    "AttentionMap",
    "BackendError",
    "Field",
    "Focus",
    "HeadSummary",
    "InputError",
    "Output",
    "PageOptions",
    "Paper",
    "Request",
    "Trace",
    "area_size_shares",
    "attend",
    "best_alignment",
    "coverage",
    "densest_areas",
    "entropy",
    "export",
    "from_arrays",
    "from_cache",
    "from_generate",
    "head_summary",
    "item_shares",
    "load",
    "load_analysis",
    "save",
    "show",
    "top_areas",
    "top_queries",
]
__version__ = "0.2.0"
keep_promised_paths()

EXPORTS: Mapping[str, str] = {
    "Area": "areaviz.trace.areas",
    "AreaGrid": "areaviz.trace.areas",
    "Attended": "areaviz.trace.query",
    "Attending": "areaviz.trace.query",
    "AttentionMap": "areaviz.trace.record",
    "BackendError": "areaviz.trace.errors",
    "Field": "areaviz.trace.record",
    "Focus": "areaviz.trace.request",
    "HeadSummary": "areaviz.trace.query",
    "InputError": "areaviz.trace.errors",
    "Output": "areaviz.trace.record",
    "PageOptions": "areaviz.page.content",
    "Paper": "areaviz.draw.view",
    "Request": "areaviz.trace.request",
    "Trace": "areaviz.trace.record",
    "area_size_shares": "areaviz.trace.query",
    "attend": "areaviz.adapters.attend",
    "best_alignment": "areaviz.measures.alignment",
    "coverage": "areaviz.trace.query",
    "densest_areas": "areaviz.trace.query",
    "entropy": "areaviz.trace.query",
    "export": "areaviz.page.page",
    "from_arrays": "areaviz.trace.arrays",
    "from_cache": "areaviz.trace.libraries",
    "from_generate": "areaviz.trace.libraries",
    "head_summary": "areaviz.trace.query",
    "item_shares": "areaviz.trace.query",
    "load": "areaviz.trace.file",
    "load_analysis": "areaviz.sets.load_analysis",
    "save": "areaviz.trace.file",
    "show": "areaviz.page.notebook",
    "top_areas": "areaviz.trace.query",
    "top_queries": "areaviz.trace.query",
}
"""The module of each name in `__all__`. Modules are imported on first use, because some import
torch.
"""


if not TYPE_CHECKING:  # otherwise every misspelt name would pass as Any

    def __getattr__(name: str) -> Any:
        if name not in EXPORTS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            return getattr(import_module(EXPORTS[name]), name)
        except ModuleNotFoundError as error:
            if name == "load_analysis":
                raise ImportError(
                    f"areaviz.{name} needs the package {error.name}. Install the app with: pip"
                    " install 'areaviz[app]'"
                ) from error
            if error.name != "torch":
                raise
            raise ImportError(
                f"areaviz.{name} runs models and needs PyTorch. Install it with: pip install"
                " 'areaviz[torch]'"
            ) from error


def __dir__() -> list[str]:
    return sorted([*globals(), *EXPORTS])
