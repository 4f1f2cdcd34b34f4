"""A fixture for tests that show one trace many times."""

from __future__ import annotations

import pickle
from collections.abc import Iterator

import pytest

from areaviz.draw.view import View
from areaviz.page import content
from areaviz.page.content import Still
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


@pytest.fixture(scope="module")
def _equal_figures_are_drawn_once() -> Iterator[None]:
    """Draw a view of equal traces once, because drawing takes most of a page's time."""
    patch, draw = pytest.MonkeyPatch(), content.draw_still
    drawn: dict[tuple[str, Focus, bytes], Still] = {}

    def still(view: View, trace: Trace, focus: Focus) -> Still:
        key = view.name, focus, pickle.dumps(trace)
        if key not in drawn:
            drawn[key] = draw(view, trace, focus)
        return drawn[key]

    patch.setattr(content, "draw_still", still)
    yield
    patch.undo()
