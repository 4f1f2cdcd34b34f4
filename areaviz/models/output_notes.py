"""What the reader of an output should know: signs that a model has never seen, and lengths."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.cards.card import Card
from areaviz.data.tokenizer import UNKNOWN, Tokenizer
from areaviz.decoding.stepper import Hypothesis

MOST_NAMED = 8
"""Unknown symbols that are named."""


def notes(card: Card, tokenizer: Tokenizer, text: str, found: Hypothesis) -> list[str]:
    """What the reader should know about the output for `text`, one sentence each."""
    tokens, unit = tokenizer.tokens(text), f"{card.level}s"
    unknown = sorted({token.text for token in tokens if token.id == UNKNOWN})
    sentences = []
    if unknown:
        sentences.append(_unknown(unknown))
    if len(tokens) > card.trained_length:
        sentences.append(
            f"Longer than anything this model was trained on ({card.trained_length} {unit})."
        )
    if not found.finished:
        sentences.append(f"The model kept writing; it was stopped after {len(found.ids)} {unit}.")
    return sentences


def _unknown(symbols: Sequence[str]) -> str:
    """What happens to symbols that the model has never seen."""
    named = [f"“{symbol}”" for symbol in symbols[:MOST_NAMED]]
    if len(symbols) == 1:
        return f"The model does not know {named[0]} and reads it as an unknown sign."
    if len(symbols) > MOST_NAMED:
        listed = f"{', '.join(named)} and {len(symbols) - MOST_NAMED} more"
    else:
        listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"The model does not know {listed}; it reads all of them as the same unknown sign."
