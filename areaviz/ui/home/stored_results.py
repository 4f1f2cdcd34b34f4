"""The stored traces with which pages open, found by opening every page and example once.

The traces to store follow from the requests of the pages, so no second list is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from streamlit.testing.v1 import AppTest

from areaviz.samples.paths import APP, CHECKPOINTS_SETTING
from areaviz.show.message import choose_first_focus
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, to_params
from areaviz.trace.safe_files import write_whole
from areaviz.ui.forms.example_links import build_example_link
from areaviz.ui.forms.samples import EXAMPLES, Example

PAGES = (
    "translate",
    "read",
    "caption",
    "translate_picture",
    "four_ways",
    "listen",
    "watch",
    "reason",
)
"""Pages that run models when they are opened."""
SELECTION_PARAMS = ("site", "layer", "items", "areas")
"""URL parameters of the selection."""
HERO = EXAMPLES[0]
"""The example that Home shows."""
PAGE_TIMEOUT_SECONDS = 600
MAX_TRACE_BYTES = 512 * 2**10
"""Largest stored file in bytes. Larger traces, such as those of photographs, are computed."""


@dataclass(frozen=True, slots=True)
class StoredResult:
    """The first result of a page.

    Args:
        page: the name of the page.
        example: the example that opened it, None for the page itself.
        traces: the traces that it shows.
    """

    page: str
    example: Example | None
    traces: tuple[Trace, ...]

    @property
    def focus(self) -> Focus:
        """The selection: that of the example, or else the top span."""
        if self.example is not None and self.example.focus.items:
            return self.example.focus
        return choose_first_focus(self.traces[0])


def store_openings(folder: Path, looks: Path, checkpoints: Path) -> list[StoredResult]:
    """Run the requests with which pages and examples open, and store the traces in `folder`.

    Returns:
        The first results, pages first. Other traces in the folder are deleted.

    Raises:
        BackendError: a page shows a problem in place of a result.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("*.npz"):
        path.unlink()
    os.environ["AREAVIZ_BACKEND"] = f"record:{folder}"
    os.environ[CHECKPOINTS_SETTING] = str(checkpoints)
    opened = list(_open_pages())
    for path in folder.glob("*.npz"):
        if path.stat().st_size > MAX_TRACE_BYTES:
            path.unlink()
    found = {
        opening.example.slug: _describe_stored(opening) for opening in opened if opening.example
    }
    write_whole(looks, f"{json.dumps(found, indent=2)}\n".encode())
    return opened


def build_hero_trace(opened: Iterable[StoredResult]) -> Trace:
    """Return the trace that Home shows."""
    return next(opening.traces[0] for opening in opened if opening.example == HERO)


def _describe_stored(opening: StoredResult) -> dict[str, object]:
    """Return the stored data of an example: its models, and the selection if it names no items."""
    models = dict.fromkeys(trace.request.model for trace in opening.traces)
    stored: dict[str, object] = {"models": list(models)}
    if opening.example is not None and not opening.example.focus.items:
        params = to_params(opening.traces[0].request, opening.focus)
        stored["look"] = {name: params[name] for name in SELECTION_PARAMS if name in params}
    return stored


def _open_pages() -> Iterator[StoredResult]:
    """Open every page that runs models and every example once, and yield their results."""
    for page in PAGES:
        yield StoredResult(page, None, _get_shown_traces(page, {}))
    for example in EXAMPLES:
        page = Path(example.page).stem
        params = build_example_link(example)
        if not example.focus.items:
            # Leave out the selection, because this run has to find it.
            params = {name: params[name] for name in params if name not in SELECTION_PARAMS}
        yield StoredResult(page, example, _get_shown_traces(page, params))


def _get_shown_traces(page: str, params: Mapping[str, str]) -> tuple[Trace, ...]:
    """Return the traces that a page shows at a URL."""
    app = AppTest.from_file(str(APP), default_timeout=PAGE_TIMEOUT_SECONDS)
    app.query_params.update(params)
    app.switch_page(f"pages/{page}.py").run()
    if app.exception or app.error:
        said = [element.value for element in (*app.exception, *app.error)]
        raise BackendError(f"The page {page} opens with a problem: {' '.join(said)}")
    traces: tuple[Trace, ...] = app.session_state["result"].traces
    return traces
