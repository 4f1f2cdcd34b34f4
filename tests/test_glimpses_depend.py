"""Where shipped models of glimpses look depends on the picture, or their card says otherwise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.data.digit_scenes import compose
from areaviz.data.strokes import draw_digits
from areaviz.drawing.gazes import CONTEXT, GLIMPSES, centres
from areaviz.trace.picture import Picture
from areaviz.trace.request import Request

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
CARDS = [read_card(path) for path in sorted(CHECKPOINTS.glob("*/card.json"))]
GLIMPSING = {card.name: card for card in CARDS if card.family in ("ram", "dram")}
PICTURES = 8
NOWHERE = 0.5
"""Pixels that glimpses at one place may be apart: arithmetic alone."""


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu")


@pytest.mark.parametrize("name", GLIMPSING)
def test_glimpses_depend_on_the_picture(backend: LocalBackend, name: str) -> None:
    card, rng = GLIMPSING[name], np.random.default_rng(0)
    # Two digits for each picture, should it hold a pair.
    labels = np.arange(2 * PICTURES) % 10
    scenes = compose(card.config["kind"], draw_digits(labels, rng), labels, rng)
    places, has_context = [], False
    for number in range(PICTURES):
        pixels = np.repeat(scenes.pictures[number][..., None], 3, -1)
        trace = backend.trace(Request(name, "", picture=Picture.of("drawn", pixels)))
        places.append(centres(trace.gazes[GLIMPSES]))
        has_context = CONTEXT in trace.gazes
    spread_G = np.std(places, 0).max(-1)
    assert (spread_G[1:] > 1).all()
    # Without a coarse look there is nothing that the first glimpse could be chosen from.
    chosen = spread_G[0] > NOWHERE
    says_so = any("first glimpse is at the same point" in note for note in card.notes)
    assert chosen == (has_context and not says_so)
