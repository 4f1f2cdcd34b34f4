"""A translator that may also look at a picture: a sentence, a picture or both in, a sentence and a
Trace out.

Shapes: B examples, P cells, C channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import torch
from torch import Tensor

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.cards.card import Card
from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.base import OnStep
from areaviz.models.canvas import cell_field, squeezed
from areaviz.models.checkpoint import load_tokenizer, load_weights
from areaviz.models.doubly_attentive import DoublyAttentive, DoublyConfig
from areaviz.models.eval_mode import ready, untrained
from areaviz.models.recording import SITES as TEXT_SITES
from areaviz.models.recording import (
    attention_maps,
    check_maps,
    given,
    log_probability,
    output,
    target_fields,
    text_field,
)
from areaviz.models.stepper import written
from areaviz.models.transformer import Pass
from areaviz.models.translation import LengthLimit, notes
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import KINDS, Places
from areaviz.trace.picture import Picture
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

BATCH = 32
MOST_TOKENS = 200
LONGEST_CAPTION = 40
SITES = {**TEXT_SITES, "encoder-decoder picture": ("target", "picture")}


@dataclass(frozen=True, slots=True)
class PictureTranslator:
    """Translates with a picture, without one, or describes a picture without a sentence."""

    takes: ClassVar[frozenset[str]] = frozenset({*KINDS, "target"})

    card: Card
    tokenizer: Tokenizer
    network: DoublyAttentive
    limit: LengthLimit

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Read a checkpoint; `area_size` is the largest area of text and picture, 1 as trained.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
        network = DoublyAttentive(DoublyConfig(**card.config).resized(area_size))
        load_weights(network, folder, card.files)
        limit = LengthLimit(**card.recipe["length_limit"])
        return cls(card, load_tokenizer(folder, card.files), ready(network, device), limit)

    @torch.inference_mode()
    def look(self, pictures: Sequence[Picture]) -> Tensor:
        """What the encoder of pictures makes of them: [B, P, C]."""
        pixels = torch.stack(
            [squeezed(picture, self.network.encoder_config.side) for picture in pictures]
        )
        return self.network.look(pixels.to(self._device))

    @torch.inference_mode()
    def decode(
        self,
        texts: Sequence[str] | None,
        features_BPC: Tensor | None,
        method: str = "greedy",
        beam: int = 4,
        on_step: OnStep | None = None,
        changed: Changed = UNCHANGED,
    ) -> list[Hypothesis]:
        """The best output for every text, picture, or pair of both."""
        ids = None if texts is None else [self.tokenizer.ids(text) for text in texts]
        count = (
            len(ids) if ids is not None else len(features_BPC) if features_BPC is not None else 0
        )
        limits = [LONGEST_CAPTION] * count if ids is None else [self.limit(len(row)) for row in ids]
        source = None if ids is None else pad(ids).to(self._device)
        return written(
            self.network.write(source, features_BPC, changed), limits, method, beam, on_step
        )

    @torch.inference_mode()
    def read(self, texts: Sequence[str], features_BPC: Tensor, targets: Sequence[str]) -> Pass:
        """One pass over given pairs: item t of a target is what query t wrote; behind the end
        nothing has a meaning.
        """
        source = pad([self.tokenizer.ids(text) for text in texts]).to(self._device)
        ids = pad([self.tokenizer.ids(text) for text in targets]).to(self._device)
        return self.network.attend(source, features_BPC, shifted(ids))

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Translate one after the other, then record one pass each; read given outputs.

        Raises:
            InputError: there is neither text nor picture, a text or the largest area is too large,
                or a change is of what is not there.
        """
        for request in requests:
            self._check(request)
        return [self._trace(request, on_step) for request in requests]

    def translate(
        self, texts: Sequence[str], pictures: Sequence[Picture] | None, beam: int = 4
    ) -> list[str]:
        """The translation of every text, each with its picture, or of all without one."""
        written: list[str] = []
        for first in range(0, len(texts), BATCH):
            part = slice(first, first + BATCH)
            seen = None if pictures is None else self.look(pictures[part])
            found = self.decode(texts[part], seen, "greedy" if beam == 1 else "beam", beam)
            written += [self.tokenizer.decode(one.ids)[0] for one in found]
        return written

    def untrained(self) -> PictureTranslator:
        """The same network before it learned anything: a baseline."""
        return replace(self, network=untrained(DoublyAttentive, self.network.config, self._device))

    def _trace(self, request: Request, on_step: OnStep | None) -> Trace:
        texts = [request.text] if request.text.strip() else None
        features = self.look([request.picture]) if request.picture is not None else None
        if request.target is not None:
            return self.record(request, features, given(self.tokenizer, request.target))
        changed = self._changed(request)
        found = self.decode(texts, features, request.method, request.beam, on_step, changed)
        return self.record(request, features, found[0])

    @torch.inference_mode()
    def record(self, request: Request, features_1PC: Tensor | None, found: Hypothesis) -> Trace:
        """The trace of a given output: weights, probabilities and alternatives of one and the same
        pass.
        """
        config, ids = self.network.config, list(found.ids)
        has_text = bool(request.text.strip())
        source = pad([self.tokenizer.ids(request.text)]).to(self._device) if has_text else None
        fed = shifted(pad([ids]).to(self._device))
        run = self.network.attend(source, features_1PC, fed, changed=self._changed(request))
        fields = target_fields(ids, self.tokenizer)
        if has_text:
            tokens = self.tokenizer.tokens(request.text)
            fields = {"source": text_field("source", request.text, tokens, end=True), **fields}
        if request.picture is not None:
            fields["picture"] = cell_field(request.picture, config.grid, config.grid)
        grids = self._grids({name: len(item) for name, item in fields.items()})
        result = output(run.logits[0], ids, self.tokenizer)
        details = {"device": self._device.type, "log-probability": log_probability(found, result)}
        told = notes(self.card, self.tokenizer, request.text, found)
        details |= {"warning": " ".join(told)} if told else {}
        return Trace(request, fields, result, attention_maps(run, SITES, grids), details)

    @property
    def _device(self) -> torch.device:
        return self.network.place.device

    def _changed(self, request: Request) -> Changed:
        return Changed.of(request.changes, SITES, self.network.config.transformer.heads)

    def _grids(self, lengths: Mapping[str, int]) -> dict[str, AreaGrid]:
        """The areas of fields with so many items."""
        config = self.network.config
        size = config.transformer.areas(0).extent
        texts = {
            name: AreaGrid.clamped((1, count), size)
            for name, count in lengths.items()
            if name != "picture"
        }
        return texts | (
            {"picture": config.areas(0).grid(config.grid**2)} if "picture" in lengths else {}
        )

    def _check(self, request: Request) -> None:
        tokens = len(self.tokenizer.tokens(request.text))
        if request.picture is None and not request.text.strip():
            raise InputError("There is neither a sentence nor a picture; give one of them or both.")
        if tokens > MOST_TOKENS:
            raise InputError(
                f"The text has {tokens} {self.card.level}s, at most {MOST_TOKENS} are read;"
                " shorten it."
            )
        target = 0 if request.target is None else len(self.tokenizer.ids(request.target))
        if target > MOST_TOKENS:
            raise InputError(
                f"The given output has {target} {self.card.level}s, at most {MOST_TOKENS} are read;"
                " shorten it."
            )
        self._places(request, tokens, target).check(request.changes)
        longest = self.limit(tokens + 1) if request.text.strip() else LONGEST_CAPTION
        check_maps(self._places(request, tokens, target or longest))

    def _places(self, request: Request, tokens: int, target: int) -> Places:
        """Where it can be changed, with a source of so many tokens and a given output of so many, 0
        for none.
        """
        sizes = self.network.config.transformer
        lengths = {"source": tokens + 1} if request.text.strip() else {}
        lengths |= {} if request.picture is None else {"picture": self.network.config.grid**2}
        lengths |= {"target": target, "history": target} if target else {}
        sites = {
            site: fields
            for site, fields in SITES.items()
            if {*fields} <= {*lengths, "target", "history"}
        }
        return Places(sites, sizes.layers, sizes.heads, lengths, self._grids(lengths))
