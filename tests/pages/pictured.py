"""A backend of made-up captioners and digit readers, for tests of pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from areaviz.backend.backend import OWN_WORK, Caller
from areaviz.cards.card import Card
from areaviz.trace.areas import AreaGrid
from areaviz.trace.record import AttentionMap, Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages import folder

WORDS = {
    "scene-area": "a small red circle",
    "scene-regular": "a large blue ring",
    "scene-none": "a plain sentence",
}
WAYS = ("item-wise soft", "item-wise hard", "location-wise hard", "location-wise soft")


def captioner(name: str, mechanism: str) -> Card:
    """Return a card of a made-up captioner."""
    figures = {"test": {"bleu_4": 31.2, "cider_d": 1.5, "true": 91.0, "captions": 100, "beam": 4}}
    quality = {
        "encoder-decoder, test": {"pointing": 0.4, "pointing_uniform": 0.1, "mass": 0.2, "words": 9}
    }
    made = replace(
        folder.card(name, mechanism), family="captioner", task="caption", level="word", size=""
    )
    return replace(
        made, title=f"Captions, {mechanism}", pair="scene", figures=figures, attention=quality
    )


def reader(mechanism: str) -> Card:
    """Return a card of a made-up digit reader."""
    name = mechanism.replace(" ", "-")
    made = replace(
        folder.card(name, mechanism),
        family="items",
        task="digits",
        level="digit",
        size="",
        attention={},
    )
    figures = {"test": {"error": 0.0456, "pictures": 10000}}
    return replace(
        made, title=f"Digits, {mechanism}", pair=name, figures=figures, config={"kind": "cluttered"}
    )


class Pictured(fakes.FakeBackend):
    """A backend that makes traces of the requested picture, and records its requests."""

    def __init__(self) -> None:
        self.asked: list[Request] = []
        captioners = [captioner("scene-area", "area"), captioner("scene-regular", "regular")]
        captioners.append(captioner("scene-none", "none"))
        super().__init__({card.name: card for card in [*captioners, *map(reader, WAYS)]})

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.asked.append(request)
        assert request.picture is not None
        if request.model in WORDS:
            made = fakes.caption_trace(
                WORDS[request.model], area_size=2 if "area" in request.model else 1
            )
            if self.cards[request.model].mechanism == "none":
                made = replace(made, maps={})
        else:
            made = _read(self.cards[request.model].mechanism)
        # The made-up anchors are those of a small picture. Every requested picture is larger.
        return replace(made, request=request)


def _read(mechanism: str) -> Trace:
    if mechanism.startswith("location"):
        hard = mechanism.endswith("hard")
        return fakes.gaze_trace(
            "glimpses" if hard else "transformer", 3 if hard else 1, 2 if hard else 1
        )
    made = fakes.gaze_trace()
    seen = made.request.picture
    assert seen is not None
    weights = np.full((1, 1, 3, 9), 1 / 9, np.float32)
    chosen = np.zeros((1, 1, 3), np.int64) if mechanism.endswith("hard") else None
    attention = AttentionMap(
        "encoder-decoder", "target", "picture", AreaGrid(3, 3, 1, 1), weights, chosen=chosen
    )
    fields = {**made.fields, "picture": fakes.picture_field(seen, 3, 3)}
    return replace(made, fields=fields, maps={"encoder-decoder": attention}, gazes={})
