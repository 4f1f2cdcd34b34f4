"""The models around generating networks: from a request to its output and its trace.

The registry of networks comes first, then gradient times input. `GenerationModel` has an input
and an output, and `LanguageModel` has one text.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor

from areaviz.attention.gradients import (
    collect_embeddings,
    compute_gradient_times_input,
    describe_too_many,
)
from areaviz.attention.interventions import LogitRecorder, NetworkInterventions
from areaviz.cards.card import Card
from areaviz.models.base import (
    OnStep,
    build_untrained,
    load_tokenizer,
    load_weights,
    prepare_for_inference,
)
from areaviz.models.captions import (
    CaptionerConfig,
    CaptionTransformer,
    ShowAttendTell,
    TellerConfig,
)
from areaviz.models.clips import VideoCaptioner, WatcherConfig
from areaviz.models.decoding import Hypothesis, Stepper, constrain_to_grammar
from areaviz.models.language import (
    RecurrentTextDecoder,
    RecurrentTextDecoderConfig,
    TextDecoder,
    TextDecoderConfig,
)
from areaviz.models.network import (
    LENGTH_PENALTY,
    GenerationNetwork,
    Pass,
    compute_token_log_probabilities,
    search_outputs,
)
from areaviz.models.picture_translation import DoublyAttentiveTransformer, TwoMemoriesConfig
from areaviz.models.recording import (
    INPUTS,
    Input,
    TextInput,
    check_request_size,
    check_size,
    compute_weights_bytes,
    format_log_probability,
    list_changeable_places,
    list_output_warnings,
    make_attention_maps,
    make_output,
    make_target_fields,
    make_teacher_forced_output,
    make_written_fields,
)
from areaviz.models.speech import ListenerConfig, SpeechRecognizer
from areaviz.models.tokenizer import END, Token, Tokenizer, pad_rows, shift_targets
from areaviz.models.translation import (
    Birnn,
    BirnnConfig,
    LstmConfig,
    LstmTranslator,
    Transformer,
    TransformerConfig,
)
from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import GRADIENT, WAYS, Logits, make_gradient_maps, make_rollout_maps
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Output, Trace
from areaviz.trace.request import Request

# The registry of networks that generate a sequence, by the family of their card.


GENERATION_NETWORKS: Mapping[str, tuple[Any, Callable[[Any], GenerationNetwork]]] = {
    "transformer": (TransformerConfig, Transformer),
    "captioner": (CaptionerConfig, CaptionTransformer),
    "teller": (TellerConfig, ShowAttendTell),
    "birnn": (BirnnConfig, Birnn),
    "lstm": (LstmConfig, LstmTranslator),
    "listener": (ListenerConfig, SpeechRecognizer),
    "watcher": (WatcherConfig, VideoCaptioner),
    "doubly": (TwoMemoriesConfig, DoublyAttentiveTransformer),
    "text decoder": (TextDecoderConfig, TextDecoder),
    "recurrent text decoder": (RecurrentTextDecoderConfig, RecurrentTextDecoder),
}
"""Options and class of every generating network, by family."""


# Gradient times input, which shows how the probability of an output changes with an input item.
#
# It complements attention, which shows what a model read. `areaviz/trace/derived.py` turns it
# into maps.
#
# Shapes: B examples, always one here, T outputs, N items, W width of an embedding.


@dataclass(frozen=True, slots=True)
class AttributedRun:
    """One run of a generating network, whose outputs are attributed to its inputs.

    Args:
        network: the network that ran.
        inputs: a batch of one example per field, in the network's order. None if it is missing.
        target_1T: the output, as it was fed to the decoder.
        ids: the output, as ids of the tokenizer.
        changed: the changes of the run.
    """

    network: GenerationNetwork
    inputs: Mapping[str, Tensor | None]
    target_1T: Tensor
    ids: Sequence[int]
    changed: NetworkInterventions


def add_attribution(trace: Trace, run: AttributedRun, on_step: OnStep | None = None) -> Trace:
    """Return a trace with rollout and gradient times input in addition to its attention.

    Args:
        trace: the trace of the run.
        run: the run.
        on_step: called for each output.

    Raises:
        InputError: if the maps would take too much memory.
    """
    found, details = make_rollout_maps(trace.maps), dict(trace.details)
    if why := describe_too_many(len(run.ids)):
        details[WAYS[GRADIENT]] = why
    else:
        rows = compute_attribution(run, on_step)
        found += make_gradient_maps(trace.maps, trace.output.field, rows)
    maps = {**trace.maps, **{one.site: one for one in found}}
    return replace(trace, maps=maps, details=details)


def compute_attribution(run: AttributedRun, on_step: OnStep | None = None) -> dict[str, FloatArray]:
    """Return gradient times input of the log-probability of each output item.

    The items of a text are its embeddings without positions. The items of a picture are the
    features of its cells, and the items of a clip are the pixels of its frames.

    Args:
        run: the run.
        on_step: called for each output.

    Returns:
        One float32 array [T, N] per field. "history" is the decoder's own input.
    """
    # Callers may be in `inference_mode`, whose tensors keep no graph. The inputs are therefore
    # copied.
    with torch.inference_mode(False), torch.enable_grad():
        scores_T, leaves = _compute_scores_and_leaves(run)
        # The hooks on the embeddings are removed before the backward passes, because other requests
        # may run between these passes.
        rows = compute_gradient_times_input(scores_T, list(leaves.values()), on_step)
    return dict(zip(leaves, rows, strict=True))


def _compute_scores_and_leaves(run: AttributedRun) -> tuple[Tensor, dict[str, Tensor]]:
    """Return the log-probabilities [T] of the output, and the leaves they depend on, by field."""
    leaves, texts, batch = dict[str, Tensor](), list[str](), list[Tensor | None]()
    for name, one in run.inputs.items():
        copied = None if one is None else _copy_as_leaf(one)
        batch.append(copied)
        if copied is not None and copied.is_floating_point():
            leaves[name] = copied.requires_grad_()
        elif copied is not None:
            texts.append(name)
    with collect_embeddings([run.network.get_submodule("embedding")]) as seen:
        result = run.network.attend(*batch, run.target_1T.clone(), changed=run.changed)
    for name, (_, embeddings) in zip([*texts, "history"], seen, strict=True):
        leaves[name] = embeddings
    likely_TV = compute_token_log_probabilities(result.logits[0])
    return likely_TV[torch.arange(len(run.ids)), torch.tensor(run.ids)], leaves


def _copy_as_leaf(values: Tensor) -> Tensor:
    """Return a copy from which a graph can start. Bytes of pixels become floats."""
    return values.float() if values.dtype == torch.uint8 else values.clone()


# The model around a generating network, which turns a text, picture, sound or clip into a Trace.
#
# It works for every subclass of `GenerationNetwork` in `GENERATION_NETWORKS`.


# Maximum number of requests that run together.
GENERATION_BATCH = 32
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
        for first in range(0, len(order), GENERATION_BATCH):
            chosen = order[first : first + GENERATION_BATCH]
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
        self, parts: Parts, lengths: Sequence[Mapping[str, int]], found: Sequence[Hypothesis]
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


# A language model that reads or continues a text and records its attention in a Trace.
#
# A translator has an input and an output. A language model has one text: the request's text,
# followed by the given target or by what the model writes.


@dataclass(frozen=True, slots=True)
class LanguageModel(GenerationModel):
    """A model that reads or continues a text and records its attention to all preceding tokens.

    A request's target follows its text: with "" the model reads the text and writes nothing.
    """

    @torch.inference_mode()
    def attend(self, requests: Sequence[Request]) -> Pass:
        """Run one pass over the complete texts of requests."""
        ids = pad_rows([self.tokenizer.ids(_get_given_text(request)) for request in requests])
        return self.network.attend(shift_targets(ids.to(self.device)))

    def _find_outputs(
        self,
        requests: Sequence[Request],
        parts: Sequence[Mapping[str, Tensor]],
        on_step: OnStep | None = None,
    ) -> list[Hypothesis]:
        """Return the whole texts: as given, or the request's text with the model's continuation."""
        if requests[0].target is None:
            return [self._continue_text(request, on_step) for request in requests]
        return [
            make_teacher_forced_output(self.tokenizer, _get_given_text(request))
            for request in requests
        ]

    @torch.inference_mode()
    def _continue_text(self, request: Request, on_step: OnStep | None) -> Hypothesis:
        """Return a text with the model's continuation."""
        begin = self.tokenizer.ids(request.text)[:-1]
        stepper = PrefixStepper(
            self.network.write(changed=self._make_interventions(request)), begin
        )
        limits, penalties = [self.network.longest], (self.length_penalty,)
        [[found]] = search_outputs(
            stepper, limits, request.method, request.beam, on_step, penalties
        )
        # The search knows only the probability of the continuation. The probability of the whole
        # text is taken from the pass over it.
        return replace(found, ids=(*begin, *found.ids), log_probability=math.nan)

    def _make_output_fields(self, request: Request, ids: Sequence[int]) -> dict[str, Field]:
        """Return the fields of the whole text. It begins exactly as the user typed it."""
        text = _get_given_text(request)
        tokens = self.tokenizer.tokens(text)
        whole, placed = self.tokenizer.decode(ids)
        before, _ = self.tokenizer.decode(ids[: len(tokens)])
        shift = len(text) - len(before)
        for token in placed[len(tokens) :]:
            tokens.append(Token(token.id, token.text, token.start + shift, token.end + shift))
        return make_written_fields(text + whole[len(before) :], tokens, ids[-1] == END)

    def _list_warnings(
        self, request: Request, part: Mapping[str, Tensor], found: Hypothesis
    ) -> Sequence[str]:
        """Return notes on the given text and on the continuation."""
        text = _get_given_text(request)
        written = found.ids[len(self.tokenizer.tokens(text)) :]
        return list_output_warnings(self.card, self.tokenizer, text, replace(found, ids=written))

    def _check_request(self, request: Request) -> None:
        """Check a request, see `GenerationModel`. A continuation counts with its largest length."""
        tokens = self.tokenizer.tokens(_get_given_text(request))
        if not any(token.text.strip() for token in tokens):
            raise InputError(TextInput.missing)
        if len(tokens) > self.network.most_items:
            raise InputError(
                f"The text has {len(tokens):,} {self.card.level}s, but the limit is"
                f" {self.network.most_items:,}. Shorten it."
            )
        is_given = request.target is not None
        most = len(tokens) + (1 if is_given else self.network.longest)
        list_changeable_places(self.network, {"history": most}, most if is_given else 0).check(
            request.changes
        )
        check_size(list_changeable_places(self.network, {}, most))


def _get_given_text(request: Request) -> str:
    """Return the given text: the request's text followed by the target."""
    return request.text + (request.target or "")


class PrefixStepper:
    """A stepper whose rows all read a given text before they write."""

    def __init__(self, inner: Stepper, begin: Sequence[int]) -> None:
        self._inner, self._begin = inner, list(begin)

    def step(self, tokens: Tensor) -> Tensor:
        """Run the inner stepper. The first step reads the start symbol and the whole text."""
        found = self._inner.step(tokens)
        for token in self._begin:
            found = self._inner.step(torch.full_like(tokens, token))
        self._begin = []
        return found

    def select(self, rows: Tensor) -> None:
        """Keep and reorder rows of the inner stepper."""
        self._inner.select(rows)
