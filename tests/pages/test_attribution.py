"""The switch "Compare with attribution": its requests, its texts, and its link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from areaviz.backend.backend import OWN_WORK, Backend, Caller
from areaviz.trace.derived import make_gradient_map, make_rollout_maps
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder
from tests.pages.conftest import Open, shown, with_tab

LINK = {"model": "char-area", "text": folder.TEXT, "site": "encoder-decoder"}


class Attributing(fakes.FakeBackend):
    """A backend that returns rollouts and gradients on request."""

    def __init__(self) -> None:
        super().__init__({"char-area": folder.card("char-area", "area")})

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        made = replace(fakes.trace(request.text, "Ein Hund"), request=request)
        if not request.attribution:
            return made
        base = made.maps["encoder-decoder"]
        ones = np.ones((base.weights.shape[2], base.grid.items), np.float32)
        found = [*make_rollout_maps(made.maps), make_gradient_map(base, ones)]
        return replace(made, maps={**made.maps, **{one.site: one for one in found}})


def test_switch_adds_attribution_and_its_agreement(
    use_backend: Callable[[Backend], None], open_page: Open
) -> None:
    use_backend(Attributing())
    app = with_tab(open_page("translate", **LINK), "attribution")
    (switch,) = [one for one in app.toggle if one.label == "Compare with attribution"]
    assert not switch.value and "rank correlation" not in shown(app)
    switch.set_value(True).run()
    assert not app.exception
    assert "rollout: rank correlation" in shown(app)
    assert app.query_params["attribution"] in ("1", ["1"])


def test_link_to_attribution_says_it_is_not_attention(
    use_backend: Callable[[Backend], None], open_page: Open
) -> None:
    use_backend(Attributing())
    app = open_page("translate", **{**LINK, "site": "encoder-decoder rollout", "attribution": "1"})
    assert not app.exception
    assert "This is an attribution map, not attention" in shown(app)


class Glancing(fakes.FakeBackend):
    """A translator with pictures that records its requests."""

    def __init__(self) -> None:
        card = folder.card("scene-translation", "text and picture")
        card = replace(card, task="picture translation", family="doubly", figures={})
        super().__init__({card.name: card})
        self.asked: list[Request] = []

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked.append(request)
        made = replace(fakes.doubly_trace(request.text or "x", "ein Stern"), request=request)
        found = make_rollout_maps(made.maps) if request.attribution else []
        return replace(made, maps={**made.maps, **{one.site: one for one in found}})


def test_attribution_covers_all_pictures_and_link_restores_it(
    use_backend: Callable[[Backend], None], open_page: Open
) -> None:
    use_backend(backend := Glancing())
    app = with_tab(open_page("translate_picture"), "attribution")
    assert not any(one.attribution for one in backend.asked)
    (switch,) = [one for one in app.toggle if one.label == "Compare with attribution"]
    before = len(backend.asked)
    switch.set_value(True).run()
    assert not app.exception and not app.error
    assert len(backend.asked) == 2 * before
    assert all(one.attribution for one in backend.asked[before:])
    given = dict(app.query_params)
    assert given["attribution"] in ("1", ["1"])
    restored = open_page("translate_picture", attribution="1")
    (switch,) = [one for one in restored.toggle if one.label == "Compare with attribution"]
    assert switch.value
