"""The attention of each shipped reasoning model depends on its input, not only on positions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card
from areaviz.samples.reasoning import POINTS, STORIES
from areaviz.trace.request import Request

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
CARDS = [read_card(path) for path in sorted(CHECKPOINTS.glob("*/card.json"))]
REASONING = {card.name: card.task for card in CARDS if card.task in ("points", "questions")}
ANSWERING = [card.name for card in CARDS if card.task == "questions"]


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu")


@pytest.mark.parametrize("name", ANSWERING)
def test_different_question_reads_different_facts(backend: LocalBackend, name: str) -> None:
    facts = "Mary went to the kitchen. John went to the garden. Sandra went to the office."
    found = {}
    for person in ("Mary", "John", "Sandra"):
        trace = backend.trace(Request(name, f"{facts} Where is {person}?"))
        found[person] = trace.fields["target"].raw
        weights_M = trace.maps["hops"].weights[:, 0, 0].max(0)
        assert person in trace.fields["facts"].labels[int(weights_M.argmax())]
    assert found == {"Mary": "kitchen", "John": "garden", "Sandra": "office"}


@pytest.mark.parametrize("name", ANSWERING)
def test_samples_are_answered_right(backend: LocalBackend, name: str) -> None:
    answers = []
    for story in STORIES:
        trace = backend.trace(Request(name, story.text))
        answers.append(trace.fields["target"].raw)
        assert "warning" not in trace.details
    assert answers == ["kitchen", "garden", "yes", "bathroom"]


PAIRS = {
    "questions": (STORIES[0].text, STORIES[0].text.replace("the apple?", "the milk?")),
    "points": (POINTS, POINTS.replace("640,300", "640,990")),
}
"""Two inputs per task with equal numbers of items. They differ in one word or one point."""


@pytest.mark.parametrize("name", REASONING)
def test_different_input_changes_the_weights(backend: LocalBackend, name: str) -> None:
    one, two = PAIRS[REASONING[name]]
    (first,) = backend.trace(Request(name, one)).maps.values()
    (second,) = backend.trace(Request(name, two)).maps.values()
    # Only the common steps are compared, because one answer may be longer.
    steps = min(first.weights.shape[2], second.weights.shape[2])
    apart = np.abs(first.weights[:, :, :steps] - second.weights[:, :, :steps])
    assert apart.max() > 0.2
