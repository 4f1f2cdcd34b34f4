"""The models that a live page can run, and the data that its engine needs.

The engine is the JavaScript in areaviz/live that runs a model in the browser. It reads
the bytes of the checkpoint's weights file, so a page contains the file whose digest is on the card.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from areaviz.cards.card import Card
from areaviz.trace.errors import InputError

READERS = ("items", "ram", "stn")
"""Families of models that read digits, keys of `READERS` in live/digit_reader.js."""
WITHOUT_TOKENS = ("pointer", "memory", *READERS)
"""Families of models that read no tokens, keys of `MODELS` in live/models.js."""
FAMILIES = (
    *("transformer", "text decoder", "recurrent text decoder", "lstm", "birnn", "captioner"),
    *WITHOUT_TOKENS,
)
"""All families that a page can run.

Those with tokens are keys of `FAMILIES` in live/families.js.
"""
NEEDED: Mapping[str, tuple[Any, ...]] = {
    "key_mode": ("mean", "boundary"),
    "value_mode": ("sum",),
    "convolution": (1,),
    "size_bias": (False,),
    "attends": (True,),
}
"""Options of attention, each with the values that the engine supports."""


@dataclass(frozen=True, slots=True)
class LiveModel:
    """The data with which a page runs a model.

    Args:
        card: the card of the model.
        weights: the bytes of model.safetensors.
        pieces: the tokenizer as plain values, or None for a model without a tokenizer.
        facts: for a digit reader, the side of its input in pixels ("side") and the number of
            multiply-adds per picture ("multiplyAdds"). Empty for other models.
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
        # These imports load torch, which a page without a live model does not need.
        from areaviz.models.base import TOKENIZER, WEIGHTS, find_file
        from areaviz.models.digit_reader import DigitReader
        from areaviz.models.tokenizer import Tokenizer

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
        """The entries of the card that the engine needs, for JSON."""
        from areaviz.models.network import LENGTH_PENALTY

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
        InputError: the engine does not support the model.
    """
    if card.family not in families:
        raise InputError(
            f"{card.name} cannot run in a page, because the engine has no networks of the family"
            f' "{card.family}". Choose a model that docs/live.md lists.'
        )
    if card.grammar:
        raise InputError(
            f"{card.name} cannot run in a page, because its output follows a grammar that the"
            " engine does not support. Choose a model that docs/live.md lists."
        )
    if card.pictures == "photos":
        raise InputError(
            f"{card.name} cannot run in a page, because the file would be too large. Choose a model"
            " that describes scenes."
        )
    for option, known in NEEDED.items():
        if card.config.get(option, known[0]) not in known:
            raise InputError(
                f'{card.name} cannot run in a page, because the engine does not support "{option}"'
                f" with the value {card.config[option]}. Choose another model."
            )
