"""The model around a generating network, which turns a text, picture, sound or clip into a Trace.

It works for every subclass of `GenerationNetwork` in `GENERATION_NETWORKS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import torch
from torch import Tensor

from areaviz.attention.interventions import LogitRecorder, NetworkInterventions
from areaviz.cards.card import Card
from areaviz.data.batches import pad_rows, shift_targets
from areaviz.data.tokenizer import Tokenizer
from areaviz.decoding.stepper import Hypothesis
from areaviz.models.attribution import AttributedRun, add_attribution
from areaviz.models.base import OnStep
from areaviz.models.checkpoint import load_tokenizer, load_weights
from areaviz.models.decoder import LENGTH_PENALTY, search_outputs
from areaviz.models.device import build_untrained, prepare_for_inference
from areaviz.models.generation_registry import GENERATION_NETWORKS
from areaviz.models.grammar_constraints import constrain_to_grammar
from areaviz.models.inputs import INPUTS, Input
from areaviz.models.network import GenerationNetwork, Pass
from areaviz.models.output_notes import list_output_warnings
from areaviz.models.recording import (
    check_request_size,
    compute_weights_bytes,
    format_log_probability,
    list_changeable_places,
    make_attention_maps,
    make_output,
    make_target_fields,
    make_teacher_forced_output,
)
from areaviz.trace.derived import Logits
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Output, Trace
from areaviz.trace.request import Request

# Maximum number of requests that run together.
BATCH = 32
# Largest memory for the weights of outputs that are processed in one pass.
MAX_PASS_BYTES = 128 * 2**20
Parts = Sequence[Mapping[str, Tensor]]
"""The inputs that a network reads, by field, for each request."""


@dataclass(frozen=True, slots=True)
class GenerationModel:
    """A model that generates a sequence and records its attention."""

    card: Card
    tokenizer: Tokenizer
    network: GenerationNetwork

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Load a checkpoint. `area_size` replaces the trained size if no parameters depend on it.

        Raises:
            InputError: if the areas of this model cannot be resized.
            BackendError: if a file is missing or damaged.
        """
        options, build = GENERATION_NETWORKS[card.family]
        network = build(options(**card.config).with_area_size(area_size))
        load_weights(network, folder, card.files)
        return cls(card, load_tokenizer(folder, card.files), prepare_for_inference(network, device))

    def make_untrained(self) -> Self:
        """Return this network with initial weights, as a baseline."""
        build = GENERATION_NETWORKS[self.card.family][1]
        return replace(self, network=build_untrained(build, self.network.config, self.device))

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.network.parameters()).device

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Generate outputs for requests with equal options, then record one pass for each.

        Raises:
            InputError: if an input is missing or too long, the trace is too large, or a change
                refers to something that does not exist.
        """
        for request in requests:
            self._check_request(request)
        if len({tuple(self._get_given_inputs(request)) for request in requests}) > 1:
            # Requests with different kinds of input, such as a text with and without a picture,
            # cannot form a batch.
            return [self.trace([request], on_step)[0] for request in requests]
        parts = self.read_inputs(requests)
        found = self._find_outputs(requests, parts, on_step)
        return self.record_traces(requests, parts, found, on_step)

    @torch.inference_mode()
    def logits(
        self, request: Request, site: str, layer: int, on_step: OnStep | None = None
    ) -> Logits:
        """Return the terms of a layer's logits, see `ExplainingModel`."""
        self._check_request(request)
        (found,) = self._find_outputs([request], parts := self.read_inputs([request]), on_step)
        noted: list[Logits] = []
        changed = replace(
            self._make_interventions(request), noting=LogitRecorder(site, layer, noted.append)
        )
        target = shift_targets(pad_rows([list(found.ids)]).to(self.device))
        self.network.attend(*self._make_batch(parts), target, changed=changed)
        if not noted:
            raise InputError(
                f'The weights of "{site}", layer {layer + 1}, cannot be explained: this model does'
                " not compare queries with keys of single items there. Choose another place."
            )
        return noted[0]

    def generate_outputs(self, requests: Sequence[Request]) -> list[str]:
        """Return the outputs for many requests with equal options."""
        return self.generate_outputs_by_penalty(requests, (self.length_penalty,))[0]

    def generate_outputs_by_penalty(
        self, requests: Sequence[Request], penalties: Sequence[float]
    ) -> list[list[str]]:
        """Return the outputs under each of several length penalties of beam search."""
        # Texts of similar length need the least padding.
        order = sorted(range(len(requests)), key=lambda index: len(requests[index].text))
        written = [[""] * len(requests) for _ in penalties]
        for first in range(0, len(order), BATCH):
            chosen = order[first : first + BATCH]
            part = [requests[index] for index in chosen]
            found = self._search(part, self.read_inputs(part), penalties)
            for texts, hypotheses in zip(written, found, strict=True):
                for index, one in zip(chosen, hypotheses, strict=True):
                    texts[index] = self.tokenizer.decode(one.ids)[0]
        return written

    @property
    def length_penalty(self) -> float:
        """The length penalty of beam search: the card's, or the default."""
        return LENGTH_PENALTY if self.card.length_penalty is None else self.card.length_penalty

    @torch.inference_mode()
    def read_inputs(self, requests: Sequence[Request]) -> list[dict[str, Tensor]]:
        """Return the inputs of each request, by field. All requests must have the same fields."""
        found: list[dict[str, Tensor]] = [{} for _ in requests]
        for name, one in self._get_given_inputs(requests[0]).items():
            for parts, tensor in zip(found, one.read_parts(requests), strict=True):
                parts[name] = tensor
        return found

    def _find_outputs(
        self, requests: Sequence[Request], parts: Parts, on_step: OnStep | None = None
    ) -> list[Hypothesis]:
        """Return the outputs of requests: the given ones, or else those that the model writes."""
        if requests[0].target is None:
            return self.generate(requests, parts, on_step)
        return [
            make_teacher_forced_output(self.tokenizer, request.target or "") for request in requests
        ]

    def generate(
        self, requests: Sequence[Request], parts: Parts, on_step: OnStep | None = None
    ) -> list[Hypothesis]:
        """Generate the best output for each request, by the options that the requests share."""
        return self._search(requests, parts, (self.length_penalty,), on_step)[0]

    @torch.inference_mode()
    def _search(
        self,
        requests: Sequence[Request],
        parts: Parts,
        penalties: Sequence[float],
        on_step: OnStep | None = None,
    ) -> list[list[Hypothesis]]:
        """Generate the best outputs under each length penalty, by the shared options."""
        request = requests[0]
        stepper = self.network.write(
            *self._make_batch(parts), changed=self._make_interventions(request)
        )
        limits = [self._get_length_limit(len(one.get("source", ()))) for one in parts]
        holding, most = constrain_to_grammar(stepper, limits, self.card, self.tokenizer, requests)
        return search_outputs(holding, most, request.method, request.beam, on_step, penalties)

    @torch.inference_mode()
    def attend(self, requests: Sequence[Request]) -> Pass:
        """Run one pass over the given outputs of requests.

        Results after the end of an output have no meaning.
        """
        ids = pad_rows([self.tokenizer.ids(request.target or "") for request in requests])
        batch = self._make_batch(self.read_inputs(requests))
        return self.network.attend(*batch, shift_targets(ids.to(self.device)))

    def record_traces(
        self,
        requests: Sequence[Request],
        parts: Parts,
        found: Sequence[Hypothesis],
        on_step: OnStep | None = None,
    ) -> list[Trace]:
        """Return the traces of outputs from a pass over them, see `add_attribution`."""
        lengths = [self._count_items(request) for request in requests]
        traces: list[Trace] = []
        first = 0
        while first < len(requests):
            last = first + 1
            while last < len(requests) and not requests[0].attribution:
                with_next = slice(first, last + 1)
                if not self._fit_in_one_pass(
                    parts[with_next], lengths[with_next], found[with_next]
                ):
                    break
                last += 1
            own = slice(first, last)
            traces += self._record_together(requests[own], parts[own], found[own], on_step)
            first = last
        return traces

    def _fit_in_one_pass(
        self,
        parts: Parts,
        lengths: Sequence[Mapping[str, int]],
        found: Sequence[Hypothesis],
    ) -> bool:
        """Return whether outputs fit into one pass.

        Texts are padded to equal lengths, which takes memory. Inputs that are not texts must have
        equal shapes.
        """
        shapes = set()
        for part in parts:
            shapes.add(tuple(item.shape for name, item in part.items() if name != "source"))
        most = {name: max(items[name] for items in lengths) for name in lengths[0]}
        places = list_changeable_places(self.network, most, max(len(one.ids) for one in found))
        return len(shapes) == 1 and len(parts) * compute_weights_bytes(places) <= MAX_PASS_BYTES

    @torch.inference_mode()
    def _record_together(
        self,
        requests: Sequence[Request],
        parts: Parts,
        found: Sequence[Hypothesis],
        on_step: OnStep | None,
    ) -> list[Trace]:
        """Return the traces of outputs that are processed in one pass."""
        target_BT = shift_targets(pad_rows([list(one.ids) for one in found]).to(self.device))
        changed = self._make_interventions(requests[0])
        batch = self._make_batch(parts)
        run = self.network.attend(*batch, target_BT, changed=changed)
        fields = []
        for request, part, one in zip(requests, parts, found, strict=True):
            own = {name: self._inputs[name].make_field(request) for name in part}
            fields.append(own | self._make_output_fields(request, one.ids))
        maps = make_attention_maps(run, self.network, fields)
        results = make_output(run.logits, [one.ids for one in found], self.tokenizer)
        traces = []
        for place, request in enumerate(requests):
            details = self._make_details(request, parts[place], found[place], results[place])
            own, result, seen = fields[place], results[place], maps[place]
            traces.append(Trace(request, own, result, seen, details))
        if requests[0].attribution:
            # Requests with attribution are recorded one at a time, see `record_traces`.
            inputs = dict(zip(self._inputs, batch, strict=True))
            attributed = AttributedRun(self.network, inputs, target_BT, found[0].ids, changed)
            return [add_attribution(traces[0], attributed, on_step)]
        return traces

    def _make_details(
        self, request: Request, part: Mapping[str, Tensor], found: Hypothesis, result: Output
    ) -> dict[str, str]:
        """Return the details of a trace."""
        details = {
            "device": self.device.type,
            "log-probability": format_log_probability(found, result),
        }
        if warnings := self._list_warnings(request, part, found):
            details["warning"] = " ".join(warnings)
        return details

    def _list_warnings(
        self, request: Request, part: Mapping[str, Tensor], found: Hypothesis
    ) -> Sequence[str]:
        """Return warnings for users about an output."""
        # A captioner reads no text, so the text of its request does not affect the output.
        text = request.text if "source" in part else ""
        return list_output_warnings(self.card, self.tokenizer, text, found)

    def _make_output_fields(self, request: Request, ids: Sequence[int]) -> dict[str, Field]:
        """Return the fields "target" and "history" of an output."""
        return make_target_fields(ids, self.tokenizer)

    @property
    def _inputs(self) -> dict[str, Input]:
        """The inputs of the network, in its order."""
        return {name: INPUTS[name](self.network, self.tokenizer) for name in self.network.inputs}

    def _get_given_inputs(self, request: Request) -> dict[str, Input]:
        """Return the inputs of the network that a request contains."""
        return {name: one for name, one in self._inputs.items() if one.count_items(request)}

    def _count_items(self, request: Request) -> dict[str, int]:
        """Return the number of items of each input that a request contains."""
        found = {name: one.count_items(request) for name, one in self._inputs.items()}
        return {name: count for name, count in found.items() if count}

    def _make_batch(self, parts: Parts) -> list[Tensor | None]:
        """Combine the inputs of requests into batches, with None for a missing input."""
        batch: list[Tensor | None] = []
        for name, one in self._inputs.items():
            batch.append(
                one.make_batch([part[name] for part in parts]) if name in parts[0] else None
            )
        return batch

    def _get_length_limit(self, source: int) -> int:
        """Return the largest number of output items for a text of `source` items, 0 for no text."""
        limit = self.card.length_limit
        return limit(source) if limit and source else self.network.longest

    def _make_interventions(self, request: Request) -> NetworkInterventions:
        return NetworkInterventions.from_changes(
            request.changes, self.network.sites, self.network.config.heads
        )

    def _check_request(self, request: Request) -> None:
        """Check a request before the model runs. Raise InputError if it cannot be handled."""
        lengths = self._count_items(request)
        if not lengths:
            kinds = list(self._inputs.values())
            if len(kinds) == 1:
                raise InputError(kinds[0].missing)
            nouns = " nor a ".join(kind.noun for kind in kinds)
            raise InputError(f"There is neither a {nouns}. Give one of them or both.")
        target = 0 if request.target is None else len(self.tokenizer.ids(request.target))
        for name, count in (("text", lengths.get("source", 1) - 1), ("given output", target)):
            if count > self.network.most_items:
                raise InputError(
                    f"The {name} has {count} {self.card.level}s, but the limit is"
                    f" {self.network.most_items}. Shorten it."
                )
        list_changeable_places(self.network, lengths, target).check(request.changes)
        check_request_size(
            self.network, lengths, target, self._get_length_limit, f"{self.card.level}s"
        )
