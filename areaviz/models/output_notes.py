"""Warnings for users about an output with unknown characters or an unusual length."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.cards.card import Card
from areaviz.data.tokenizer import UNKNOWN, Tokenizer
from areaviz.decoding.stepper import Hypothesis

MAX_NAMED_SYMBOLS = 8
"""Maximum number of unknown symbols that a warning names."""


def list_output_warnings(
    card: Card, tokenizer: Tokenizer, text: str, found: Hypothesis
) -> list[str]:
    """Return warnings about the output for `text`, one sentence each."""
    tokens, unit = tokenizer.tokens(text), f"{card.level}s"
    unknown = sorted({token.text for token in tokens if token.id == UNKNOWN})
    sentences = []
    if unknown:
        sentences.append(_describe_unknown(unknown))
    if len(tokens) > card.trained_length:
        sentences.append(
            f"Longer than anything this model was trained on ({card.trained_length} {unit})."
        )
    if not found.finished:
        sentences.append(
            f"The model did not stop by itself. It was stopped after {len(found.ids)} {unit}."
        )
    return sentences


def _describe_unknown(symbols: Sequence[str]) -> str:
    """Return the warning about symbols that the model does not know."""
    named = [f"“{symbol}”" for symbol in symbols[:MAX_NAMED_SYMBOLS]]
    if len(symbols) == 1:
        return f"The model does not know {named[0]} and reads it as the unknown token."
    if len(symbols) > MAX_NAMED_SYMBOLS:
        listed = f"{', '.join(named)} and {len(symbols) - MAX_NAMED_SYMBOLS} more"
    else:
        listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return f"The model does not know {listed}. It reads all of them as one unknown token."
