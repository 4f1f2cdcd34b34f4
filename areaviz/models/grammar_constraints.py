"""Generation of outputs that follow a grammar, see `areaviz.decoding.masked`."""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.cards.card import Card
from areaviz.data.tokenizer import END, Tokenizer
from areaviz.decoding.grammars import GRAMMARS
from areaviz.decoding.masked import MaskedStepper
from areaviz.decoding.stepper import Stepper
from areaviz.trace.request import Request


def constrain_to_grammar(
    stepper: Stepper,
    limits: Sequence[int],
    card: Card,
    tokenizer: Tokenizer,
    requests: Sequence[Request],
) -> tuple[Stepper, Sequence[int]]:
    """Constrain a stepper and the output lengths to the card's grammar, if it has one.

    Args:
        stepper: the decoder for the requests.
        limits: largest number of tokens of each output, which is raised if the grammar needs more.
        card: the model's card.
        tokenizer: the model's tokenizer.
        requests: the requests to answer. A grammar counts their words.

    Returns:
        The stepper and the limits, unchanged if there is no grammar.
    """
    if not card.grammar:
        return stepper, limits
    grammar = GRAMMARS[card.grammar](tokenizer.labels(), END)
    words = [len(request.text.split()) for request in requests]
    limits = [grammar.raise_limit(*one) for one in zip(words, limits, strict=True)]
    states = [grammar.make_first_state(*one) for one in zip(words, limits, strict=True)]
    return MaskedStepper(stepper, states), limits
