"""A captioner: a picture in, a sentence and a Trace out.

Shapes: L layers, H heads, Q queries, A areas.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.interventions import UNCHANGED, Changed
from areaviz.cards.card import Card
from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import START, Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.base import OnStep
from areaviz.models.canvas import cell_field, squeezed
from areaviz.models.caption_network import CaptionNetwork
from areaviz.models.captioner import CaptionerConfig, CaptionTransformer
from areaviz.models.checkpoint import load_tokenizer, load_weights
from areaviz.models.eval_mode import ready, untrained
from areaviz.models.recording import (
    attention_maps,
    check_maps,
    given,
    log_probability,
    output,
    target_fields,
)
from areaviz.models.show_attend_tell import ShowAttendTell, TellerConfig
from areaviz.models.stepper import written
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import KINDS, Places
from areaviz.trace.picture import Picture
from areaviz.trace.record import FloatArray, Trace
from areaviz.trace.request import Request

NETWORKS: Mapping[str, tuple[Any, Callable[[Any], CaptionNetwork]]] = {
    "captioner": (CaptionerConfig, CaptionTransformer),
    "teller": (TellerConfig, ShowAttendTell),
}
"""Every network that describes pictures, by its family: its config and its class."""

LONGEST, MOST_GIVEN = 30, 200
"""Words that are written at most, and that a given sentence may have."""

SITES = {
    "encoder-decoder": ("target", "picture"),
    "encoder self": ("picture", "picture"),
    "decoder self": ("target", "history"),
}


@dataclass(frozen=True, slots=True)
class CaptionModel:
    """Describes pictures and records what it attended to."""

    takes: ClassVar[frozenset[str]] = frozenset({*KINDS, "target"})

    card: Card
    tokenizer: Tokenizer
    network: CaptionNetwork

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Read a checkpoint; `area_size` replaces the trained one, in rows and columns, where areas
        have no parameters.

        Raises:
            InputError: when this model's areas cannot be resized.
            BackendError: when a file is missing or damaged.
        """
        options, build = NETWORKS[card.family]
        network = build(options(**card.config).resized(area_size))
        load_weights(network, folder, card.files)
        return cls(card, load_tokenizer(folder, card.files), ready(network, device))

    @torch.inference_mode()
    def look(self, pictures: Sequence[Picture]) -> Tensor:
        """What the encoder of pictures makes of them: [B, M, C]."""
        pixels = torch.stack(
            [squeezed(picture, self.network.encoder_config.side) for picture in pictures]
        )
        return self.network.look(pixels.to(self._device))

    @torch.inference_mode()
    def decode(
        self,
        features_BMC: Tensor,
        method: str = "greedy",
        beam: int = 4,
        on_step: OnStep | None = None,
        changed: Changed = UNCHANGED,
    ) -> list[Hypothesis]:
        """The best sentence for every picture's features."""
        return written(
            self.network.write(features_BMC, changed),
            [LONGEST] * len(features_BMC),
            method,
            beam,
            on_step,
        )

    def untrained(self) -> CaptionModel:
        """The same network before it learned anything: a baseline."""
        build = NETWORKS[self.card.family][1]
        return replace(self, network=untrained(build, self.network.config, self._device))

    @torch.inference_mode()
    def pointing(self, features_BMC: Tensor, texts: Sequence[str]) -> list[FloatArray]:
        """From given sentences to the pictures: area weights float32 [B, H, Q, A], one array a
        layer.

        Query q is the q-th token, see `Tokenizer.of_words`; what stands behind the end of a short
        sentence means nothing.
        """
        ids = pad([self.tokenizer.ids(text) for text in texts]).to(self._device)
        run = self.network.attend(features_BMC, F.pad(ids, (1, 0), value=START)[:, :-1])
        return [weights.float().cpu().numpy() for weights in run.weights["encoder-decoder"]]

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Describe pictures that share method and beam together, then record one pass each; read
        given sentences.

        Raises:
            InputError: a request has no picture, a given sentence or the largest area is too large,
                or a change is of what is not there.
        """
        pictures = [request.picture for request in requests if request.picture is not None]
        if len(pictures) < len(requests):
            raise InputError("This model describes pictures; choose or upload one.")
        for request in requests:
            self._check(request)
        features, first = self.look(pictures), requests[0]
        if first.target is None:
            found = self.decode(features, first.method, first.beam, on_step, self._changed(first))
        else:
            found = [given(self.tokenizer, request.target or "") for request in requests]
        rows = zip(requests, features.unsqueeze(1), found, strict=True)
        return [self.record(request, one, hypothesis) for request, one, hypothesis in rows]

    @torch.inference_mode()
    def record(self, request: Request, features_1MC: Tensor, found: Hypothesis) -> Trace:
        """The trace of a given sentence: weights, probabilities and alternatives of one and the
        same pass.
        """
        assert request.picture is not None
        config, ids = self.network.config, list(found.ids)
        run = self.network.attend(
            features_1MC, shifted(pad([ids]).to(self._device)), self._changed(request)
        )
        fields = {
            "picture": cell_field(request.picture, config.grid, config.grid),
            **target_fields(ids, self.tokenizer),
        }
        grids = {
            "picture": config.areas(0).grid(config.grid**2),
            "history": AreaGrid(1, len(ids), 1, 1),
        }
        maps = attention_maps(run, SITES, grids)
        told = output(run.logits[0], ids, self.tokenizer)
        details = {"device": self._device.type, "log-probability": log_probability(found, told)}
        if not found.finished:
            details["warning"] = (
                f"The model did not come to an end and was stopped after {len(ids)} words."
            )
        return Trace(request, fields, told, maps, details)

    def _changed(self, request: Request) -> Changed:
        return Changed.of(request.changes, SITES, self.network.config.heads)

    def _check(self, request: Request) -> None:
        target = 0 if request.target is None else len(self.tokenizer.ids(request.target))
        if target > MOST_GIVEN:
            raise InputError(
                f"The given sentence has {target} words, at most {MOST_GIVEN} are read; shorten it."
            )
        self._places(target).check(request.changes)
        check_maps(self._places(target or LONGEST))

    def _places(self, target: int) -> Places:
        """Where it can be changed, with a sentence of so many words, 0 where none is given."""
        config = self.network.config
        lengths = {
            "picture": config.grid**2,
            **({"target": target, "history": target} if target else {}),
        }
        grids = {"picture": config.areas(0).grid(config.grid**2)}
        grids |= {"history": AreaGrid(1, target, 1, 1)} if target else {}
        sites = {site: fields for site, fields in SITES.items() if site in self.network.sites}
        return Places(sites, config.layers, config.heads, lengths, grids)

    @property
    def _device(self) -> torch.device:
        return next(self.network.parameters()).device
