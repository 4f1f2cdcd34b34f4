"""Models that a page can run by itself: which ones, and what its engine reads of them.

The engine is in areaviz/components/live. It runs a network from the bytes of the checkpoint, so a
page contains the file whose digest the card names.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from areaviz.cards.card import Card
from areaviz.data.tokenizer import Tokenizer
from areaviz.models.checkpoint import TOKENIZER, WEIGHTS, find_file
from areaviz.models.decoder import LENGTH_PENALTY
from areaviz.models.digit_reader import DigitReader
from areaviz.trace.errors import InputError

READERS = ("items", "ram", "stn")
"""Families of models that read digits, keys of `READERS` in live/digit_reader.js."""
WITHOUT_TOKENS = ("pointer", "memory", *READERS)
"""Families of models that read no tokens, keys of `MODELS` in live/models.js."""
FAMILIES = ("transformer", "text decoder", "lstm", "birnn", "captioner", *WITHOUT_TOKENS)
"""The families that a page offers; those with tokens are keys of `FAMILIES` in live/families.js."""
NEEDED: Mapping[str, tuple[Any, ...]] = {
    "key_mode": ("mean", "boundary"),
    "value_mode": ("sum",),
    "convolution": (1,),
    "size_bias": (False,),
    "attends": (True,),
}
"""Options of attention that the engine computes."""


@dataclass(frozen=True, slots=True)
class LiveModel:
    """What a page needs to run a model.

    Args:
        card: its card.
        weights: the bytes of model.safetensors.
        pieces: the tokenizer as plain values; None for a model without one.
        facts: what the engine needs to know of a digit reader: the side of its square in pixels,
            and the multiply-adds of one reading.
    """

    card: Card
    weights: bytes
    pieces: Mapping[str, Any] | None
    facts: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def load(cls, folder: Path, card: Card, families: Sequence[str] = FAMILIES) -> LiveModel:
        """Read a checkpoint.

        Args:
            folder: the folder of the checkpoint.
            card: its card.
            families: the families that are accepted.

        Raises:
            InputError: the engine cannot run this model.
            OSError: a file cannot be read.
        """
        check_live(card, families)
        pieces, facts = None, {}
        if card.family in READERS:
            reader = DigitReader.load(folder, card)
            facts = {"side": reader.side, "multiplyAdds": reader.multiply_adds}
        if card.family not in WITHOUT_TOKENS:
            pieces = Tokenizer.load(find_file(folder, TOKENIZER, card.files)).plain()
        return cls(card, (folder / WEIGHTS).read_bytes(), pieces, facts)

    @property
    def plain(self) -> dict[str, Any]:
        """What the engine reads of the card."""
        card, limit = self.card, self.card.length_limit
        penalty = LENGTH_PENALTY if card.length_penalty is None else card.length_penalty
        return {
            "name": card.name,
            "title": card.title,
            "family": card.family,
            "level": card.level,
            "trainedLength": card.trained_length,
            "config": dict(card.config),
            "lengthLimit": limit and {"ratio": limit.ratio, "extra": limit.extra},
            "lengthPenalty": penalty,
            **self.facts,
        }

    @property
    def encoded_weights(self) -> str:
        """The weights in base64."""
        return base64.b64encode(self.weights).decode()


def check_live(card: Card, families: Sequence[str] = FAMILIES) -> None:
    """Check that the engine can run a model.

    Raises:
        InputError: it cannot.
    """
    if card.family not in families:
        raise InputError(
            f"{card.name} cannot run in a page: the engine has no networks of the family"
            f' "{card.family}". Choose another model; docs/live.md lists them.'
        )
    if card.grammar:
        raise InputError(
            f"{card.name} cannot run in a page: its output follows a grammar, which the engine does"
            " not know. Choose another model; docs/live.md lists them."
        )
    if card.pictures == "photos":
        raise InputError(
            f"{card.name} cannot run in a page: its file would be too large. Choose a captioner of"
            " scenes."
        )
    for option, known in NEEDED.items():
        if card.config.get(option, known[0]) not in known:
            raise InputError(
                f'{card.name} cannot run in a page: the engine does not know its option "{option}"'
                f" with the value {card.config[option]}. Choose another model."
            )
