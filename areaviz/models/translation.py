"""A translator: text in, text and a Trace out. One tokenizer, one Transformer, one card."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import torch

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.cards.card import Card
from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import UNKNOWN, Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.base import OnStep
from areaviz.models.checkpoint import load_tokenizer, load_weights
from areaviz.models.eval_mode import ready
from areaviz.models.recording import MAX_TRACE_BYTES, SITES, given, record, trace_bytes
from areaviz.models.stepper import written
from areaviz.models.transformer import Transformer, TransformerConfig
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import KINDS, Places
from areaviz.trace.record import Trace
from areaviz.trace.request import Request


@dataclass(frozen=True, slots=True)
class LengthLimit:
    """The longest output, in items, for a source of n items: ratio * n + extra.

    Character models repeat themselves without end on a few sentences; the limit is chosen so that
    no validation reference exceeds it.
    """

    ratio: float
    extra: int

    def __call__(self, items: int) -> int:
        return math.ceil(self.ratio * items) + self.extra


@dataclass(frozen=True, slots=True)
class Translator:
    """Translates and records what it attended to."""

    takes: ClassVar[frozenset[str]] = frozenset({*KINDS, "target"})

    card: Card
    tokenizer: Tokenizer
    network: Transformer
    limit: LengthLimit

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Read a checkpoint; `area_size` replaces the trained one where areas have no parameters.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
        network = Transformer(TransformerConfig(**card.config).resized(area_size))
        load_weights(network, folder, card.files)
        limit = LengthLimit(**card.recipe["length_limit"])
        return cls(card, load_tokenizer(folder, card.files), ready(network, device), limit)

    @torch.inference_mode()
    def decode(
        self,
        texts: Sequence[str],
        method: str = "greedy",
        beam: int = 4,
        on_step: OnStep | None = None,
        changed: Changed = UNCHANGED,
    ) -> list[Hypothesis]:
        """The best output of every text; texts of like length cost least together."""
        ids = [self.tokenizer.ids(text) for text in texts]
        limits = [self.limit(len(row)) for row in ids]
        return written(
            self.network.write(pad(ids).to(self._device), changed), limits, method, beam, on_step
        )

    def translate(self, texts: Sequence[str], method: str = "greedy", beam: int = 4) -> list[str]:
        """The translation of every text."""
        return [self.tokenizer.decode(found.ids)[0] for found in self.decode(texts, method, beam)]

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Translate requests that differ in their text in one batch, then record one pass each;
        read given outputs.

        Raises:
            InputError: a text without a readable character, one whose trace would be too large, or
                a change of what is not there.
        """
        for request in requests:
            self._check(request)
        first, texts = requests[0], [request.text for request in requests]
        if first.target is None:
            found = self.decode(texts, first.method, first.beam, on_step, self._changed(first))
        else:
            found = [given(self.tokenizer, request.target or "") for request in requests]
        return [
            self.record(request, hypothesis)
            for request, hypothesis in zip(requests, found, strict=True)
        ]

    @torch.inference_mode()
    def record(self, request: Request, found: Hypothesis) -> Trace:
        """The trace of a given output: weights, probabilities and alternatives of one and the same
        pass.
        """
        target_ids = list(found.ids)
        source, target = (
            pad([ids]).to(self._device) for ids in (self.tokenizer.ids(request.text), target_ids)
        )
        run = self.network.attend(source, shifted(target), changed=self._changed(request))
        details = {"device": self._device.type}
        told = notes(self.card, self.tokenizer, request.text, found)
        details |= {"warning": " ".join(told)} if told else {}
        return record(request, self.tokenizer, self.network.config, run, found, details)

    @property
    def _device(self) -> torch.device:
        return self.network.embedding.weight.device

    def _changed(self, request: Request) -> Changed:
        return Changed.of(request.changes, SITES, self.network.config.heads)

    def _check(self, request: Request) -> None:
        tokens = self.tokenizer.tokens(request.text)
        if not any(token.text.strip() for token in tokens):
            raise InputError(
                "The text has no visible character; type a sentence, for example: A dog runs."
            )
        largest = _largest_input(self.network.config, self.limit)
        if len(tokens) + 1 > largest:
            raise InputError(
                f"The text has {len(tokens)} {self.card.level}s, but the attention of this model"
                f" fits in memory for at most {largest - 1}; shorten the text or choose a smaller"
                " area size."
            )
        target = 0 if request.target is None else len(self.tokenizer.ids(request.target))
        if target and trace_bytes(self.network.config, len(tokens) + 1, target) > MAX_TRACE_BYTES:
            raise InputError(
                "The given output is too long for its attention to fit in memory; shorten it."
            )
        self._places(len(tokens) + 1, target).check(request.changes)

    def _places(self, source: int, target: int) -> Places:
        """Where a text of so many items can be changed, and an output of so many, 0 where none is
        given.
        """
        config = self.network.config
        lengths = {"source": source, **({"target": target, "history": target} if target else {})}
        size = config.areas(0).extent
        grids = {name: AreaGrid.clamped((1, count), size) for name, count in lengths.items()}
        return Places(SITES, config.layers, config.heads, lengths, grids)


def notes(card: Card, tokenizer: Tokenizer, text: str, found: Hypothesis) -> list[str]:
    """What the reader should know about a translation of `text`, one sentence each."""
    tokens, unit = tokenizer.tokens(text), f"{card.level}s"
    unknown = sorted({token.text for token in tokens if token.id == UNKNOWN})
    told = []
    if unknown:
        told.append(
            f"This model has never seen {', '.join(unknown[:8])}: all of it reads as one unknown"
            " symbol."
        )
    if len(tokens) > card.trained_length:
        told.append(
            f"Longer than anything this model was trained on ({card.trained_length} {unit})."
        )
    if not found.finished:
        told.append(
            f"The model did not come to an end and was stopped after {len(found.ids)} {unit}."
        )
    return told


def _largest_input(config: TransformerConfig, limit: LengthLimit) -> int:
    """The longest source, in items, whose trace stays below the limit."""
    low, high = 1, 1 << 16
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (
            (middle, high)
            if trace_bytes(config, middle, limit(middle)) <= MAX_TRACE_BYTES
            else (low, middle - 1)
        )
    return low
