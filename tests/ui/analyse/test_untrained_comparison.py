"""What the models of an analysis reach before training, from their cards."""

from __future__ import annotations

from dataclasses import replace

from areaviz.sets.app.result import describe_untrained_models
from tests.pages import folder

CARD = folder.card("a", "area")


def test_alignment_is_compared_with_untrained_network() -> None:
    attention = {
        "word links": {"aer": 0.3, "aer_untrained": 0.9},
        "best alignment": {"best_position": 0.66},
    }
    cards = [replace(CARD, attention=attention), CARD]
    assert list(describe_untrained_models(cards, {"alignment_error": 1})) == [
        "On the test captions of its card, a has an alignment error of 30.0% in its best head,"
        " 90.0% before training, and by the position alone 66.0%."
    ]
    assert not list(describe_untrained_models(cards, {"bleu": 1}))


def test_pointing_is_compared_with_untrained_network() -> None:
    looks = {"pointing": 0.5, "pointing_untrained": 0.2, "pointing_position": 0.4}
    cards = [replace(CARD, attention={"encoder-decoder, test": looks})]
    assert list(describe_untrained_models(cards, {"pointing"})) == [
        "On the test pictures of its card, a points right in 50.0% in its best head, 20.0% before"
        " training, and by the position alone 40.0%."
    ]
