"""A language model that reads or continues a text and records its attention in a Trace.

A translator has an input and an output. A language model has one text: the request's text, followed
by the given target or by what the model writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from areaviz.data.batches import pad_rows, shift_targets
from areaviz.data.tokenizer import END, Token
from areaviz.decoding.stepper import Hypothesis, Stepper
from areaviz.models.base import OnStep
from areaviz.models.decoder import search_outputs
from areaviz.models.generation import GenerationModel
from areaviz.models.inputs import TextInput
from areaviz.models.network import Pass
from areaviz.models.output_notes import list_output_warnings
from areaviz.models.recording import (
    check_size,
    list_changeable_places,
    make_teacher_forced_output,
    make_written_fields,
)
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field
from areaviz.trace.request import Request


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
