"""Outputs that are held to a grammar while they are written, see `areaviz.decoding.masked`."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.cards.card import Card
from areaviz.data.tokenizer import END, Tokenizer
from areaviz.decoding.grammars import GRAMMARS
from areaviz.decoding.masked import MaskedStepper
from areaviz.decoding.stepper import Stepper
from areaviz.trace.request import Request


def held(
    stepper: Stepper,
    limits: Sequence[int],
    card: Card,
    tokenizer: Tokenizer,
    requests: Sequence[Request],
) -> tuple[Stepper, Sequence[int]]:
    """The stepper and the limits of outputs that follow the card's grammar, if it has one.

    Args:
        stepper: writes for the requests.
        limits: the most tokens of each output, raised where the grammar needs more.
        card: of the model.
        tokenizer: of the model.
        requests: what outputs are written for; a grammar counts their words.
    """
    if not card.grammar:
        return stepper, limits
    grammar = GRAMMARS[card.grammar](tokenizer.labels(), END)
    words = [len(request.text.split()) for request in requests]
    limits = [grammar.enough(*one) for one in zip(words, limits, strict=True)]
    states = [grammar.begin(*one) for one in zip(words, limits, strict=True)]
    return MaskedStepper(stepper, states), limits
