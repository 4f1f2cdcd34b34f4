"""The runs of models that questions need. They are stored with the first views of the pages."""

from __future__ import annotations

from areaviz.backend.backend import Backend
from areaviz.cards.tasks import TASKS
from areaviz.lessons.ask import listeners, rectangle
from areaviz.trace.request import Request
from areaviz.ui.teach.debate_runs import DEBATED_TEXT, run_debate


def list_requests() -> list[Request]:
    """Return the requests that do not depend on another run."""
    translator = Request(TASKS["translation"].opens, DEBATED_TEXT)
    return [rectangle.make_request(), *listeners.list_requests(), translator]


def store_runs(backend: Backend) -> None:
    """Run all requests that the questions need.

    Args:
        backend: a backend that stores its runs.
    """
    for request in list_requests():
        backend.trace(request)
    run_debate(backend, TASKS["translation"].opens)
