"""Why this weight: the panel follows the locked item, and costs nothing while it is closed.

It is offered only where it works.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from streamlit.testing.v1 import AppTest

from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.trace.derived import Logits
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Progress, Request
from areaviz.views.why import list_candidates
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, shown
from tests.views.test_weight_explanation import SITE, explained

Use = Callable[[Backend], None]
LINK = {"model": "char-area", "text": "A dog ran.", "site": SITE, "layer": "2", "items": "4"}
TITLE = "Why this weight"


class Explained(fakes.FakeBackend):
    """A translator that also returns the parts of its logits, unless it is broken."""

    def __init__(self, is_broken: bool = False) -> None:
        super().__init__({"char-area": folder.card("char-area", "area")})
        self.made, self.found = explained(fakes.trace("A dog ran.", "Ein Hund."))
        self.asked: list[tuple[str, int]] = []
        self.is_broken = is_broken

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        return replace(self.made, request=request)

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        self.asked.append((site, layer))
        if self.is_broken:
            raise BackendError("The model was stopped while it ran; try again.")
        return self.found


def opened(open_page: Open, **params: str) -> AppTest:
    app = open_page("translate", **{**LINK, "why": "", **params})
    assert not app.exception
    return app


def tabs(app: AppTest) -> list[str]:
    return [title for one in app.segmented_control for title in one.options]


@pytest.mark.long
def test_why_follows_the_lock(open_page: Open, use_backend: Use) -> None:
    use_backend(backend := Explained())
    app = open_page("translate", **LINK)
    assert TITLE in tabs(app) and backend.asked == []
    app = opened(open_page)
    assert backend.asked == [(SITE, 1)]
    said = shown(app)
    assert "of the attention" in said
    assert "of head" in said and "puts most weight on one area here" in said
    area, beside = (app.selectbox(key=f"translate_why_{name}") for name in ("area", "beside"))
    assert area.value != beside.value and area.value not in beside.options


def test_link_opens_why_at_its_areas(open_page: Open, use_backend: Use) -> None:
    use_backend(backend := Explained())
    weights = backend.made.maps[SITE].weights[1, :, 3]
    head = int(weights.max(-1).argmax())
    names = list(list_candidates(backend.made, Focus(SITE, 1), head, 3))
    link = ".".join(f"1-{area.left + 1}-1-{area.width}" for area in (names[3], names[0]))
    app = opened(open_page, why=link)
    assert app.session_state["translate"].why_area == names[3]
    assert app.session_state["translate"].why_beside == names[0]
    assert app.query_params["why"] in (link, [link])
    for broken in ("1-2-3", "0-1-1-1", "x", "1-999-1-1.1-1-1-1", "9" * 50):
        assert "of the attention" in shown(opened(open_page, why=broken))


def test_why_without_lock_gives_advice(open_page: Open, use_backend: Use) -> None:
    use_backend(backend := Explained())
    for params in ({"items": ""}, {"side": "memory"}):
        assert "First select the word or cell that attends" in shown(opened(open_page, **params))
    assert backend.asked == []


def test_failure_gives_a_sentence_and_keeps_the_page(open_page: Open, use_backend: Use) -> None:
    use_backend(Explained(is_broken=True))
    said = shown(opened(open_page))
    assert "The model was stopped while it ran" in said


def test_why_is_not_offered_without_models(open_page: Open) -> None:
    app = open_page("translate", model="char-area", text=folder.TEXT)
    assert TITLE not in tabs(app)
