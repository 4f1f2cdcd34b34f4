"""Glimpses and spatial transformers of shipped models depend on the picture.

If they do not, the model's card says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import Card, read_card
from areaviz.samples.digits import compose_scenes, draw_digits
from areaviz.trace.record import Trace
from areaviz.trace.request import Picture, Request
from areaviz.views.looks.looks import CONTEXT, GLIMPSES, TRANSFORMER, compute_centres

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
CARDS = [read_card(path) for path in sorted(CHECKPOINTS.glob("*/card.json"))]
GLIMPSING = {card.name: card for card in CARDS if card.family in ("ram", "dram")}
TRANSFORMING = {
    card.name: card for card in CARDS if card.family in ("stn", "rnn-stn") and card.attention
}
PICTURES = 8
NOWHERE = 0.5
"""Pixels by which glimpses at one place may differ, due to arithmetic alone."""


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu")


def read(backend: LocalBackend, card: Card) -> Iterator[Trace]:
    """Yield a model's traces of pictures like those it was trained on."""
    rng = np.random.default_rng(0)
    # Every picture gets two digits, because it may show a pair.
    labels = np.arange(2 * PICTURES) % 10
    scenes = compose_scenes(card.config["kind"], draw_digits(labels, rng), labels, rng)
    for number in range(PICTURES):
        pixels = np.repeat(scenes.pictures[number][..., None], 3, -1)
        yield backend.trace(Request(card.name, "", picture=Picture.of("drawn", pixels)))


@pytest.mark.parametrize("name", GLIMPSING)
def test_glimpses_depend_on_the_picture(backend: LocalBackend, name: str) -> None:
    card = GLIMPSING[name]
    traces = list(read(backend, card))
    has_context = CONTEXT in traces[0].gazes
    places = [compute_centres(trace.gazes[GLIMPSES]) for trace in traces]
    spread_G = np.std(places, 0).max(-1)
    assert (spread_G[1:] > 1).all()
    # Without a coarse look, the first glimpse cannot depend on the picture.
    chosen = spread_G[0] > NOWHERE
    says_so = any("first glimpse is at the same point" in note for note in card.notes)
    assert chosen == (has_context and not says_so)


@pytest.mark.parametrize("name", TRANSFORMING)
def test_transformer_cut_depends_on_the_picture(backend: LocalBackend, name: str) -> None:
    traces = read(backend, TRANSFORMING[name])
    spread_T = np.std([compute_centres(trace.gazes[TRANSFORMER]) for trace in traces], 0).max(-1)
    assert (spread_T > 1).all()
