"""Comparison of a model's alignment and pointing with the same network before training.

An analysis runs only trained models. The values of the untrained network, and of guessing by the
position alone, were measured once on the test examples of the model's card.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from areaviz.cards.card import Card

ALIGNMENT, POINTING = "alignment_error", "pointing"
"""The metrics that need a comparison."""


def describe_untrained_models(cards: Sequence[Card], measured: Collection[str]) -> Iterator[str]:
    """Yield a sentence for every model whose card has the untrained network's values.

    Args:
        cards: The cards of the compared models.
        measured: The metrics of the analyses.
    """
    for card in cards:
        links = card.attention.get("word links", {})
        best = card.attention.get("best alignment", {})
        if ALIGNMENT in measured and "aer_untrained" in links:
            blind = (
                f", and by the position alone {_format_share(best, 'best_position')}"
                if best
                else ""
            )
            yield (
                f"On the test captions of its card, {card.name} has an alignment error of"
                f" {_format_share(links, 'aer')} in its best head,"
                f" {_format_share(links, 'aer_untrained')} before training{blind}."
            )
        looks = _find_test_attention(card)
        if POINTING in measured and "pointing_untrained" in looks:
            yield (
                f"On the test pictures of its card, {card.name} points right in"
                f" {_format_share(looks, 'pointing')} in its best head,"
                f" {_format_share(looks, 'pointing_untrained')} before training, and by the"
                f" position alone {_format_share(looks, 'pointing_position')}."
            )


def _find_test_attention(card: Card) -> Mapping[str, float]:
    """Return the card's measurements of where the model looks on test examples, {} for none."""
    for place, values in card.attention.items():
        if place.endswith(", test"):
            return values
    return {}


def _format_share(values: Mapping[str, float], key: str) -> str:
    return f"{values[key]:.1%}"
