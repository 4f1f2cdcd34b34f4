"""A language model: it reads a text, or goes on with one, and leaves a Trace of both.

What a translator is given and what it writes are one text here: the request's, and behind it what
is given as target, or what the model writes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from areaviz.data.batches import pad, shifted
from areaviz.data.tokenizer import END, Token
from areaviz.decoding.stepper import Hypothesis, Stepper
from areaviz.models.base import OnStep
from areaviz.models.decoder import search
from areaviz.models.inputs import TextInput
from areaviz.models.network import Pass
from areaviz.models.output_notes import notes
from areaviz.models.recording import check_size, given, written_fields
from areaviz.models.writing import WritingModel
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field
from areaviz.trace.request import Request


@dataclass(frozen=True, slots=True)
class LanguageModel(WritingModel):
    """Reads, goes on, and records what it attended to of all that stands before.

    A request's target stands behind its text: "" lets the model read the text and write nothing.
    """

    @torch.inference_mode()
    def attend(self, requests: Sequence[Request]) -> Pass:
        """One pass over the texts of requests, read to their ends."""
        ids = pad([self.tokenizer.ids(_given_text(request)) for request in requests])
        return self.network.attend(shifted(ids.to(self.device)))

    def _found(
        self,
        requests: Sequence[Request],
        parts: Sequence[Mapping[str, Tensor]],
        on_step: OnStep | None = None,
    ) -> list[Hypothesis]:
        """The whole texts: what was given, else that and what the model writes behind it."""
        if requests[0].target is None:
            return [self._continued(request, on_step) for request in requests]
        return [given(self.tokenizer, _given_text(request)) for request in requests]

    @torch.inference_mode()
    def _continued(self, request: Request, on_step: OnStep | None) -> Hypothesis:
        """A text and what is written behind it."""
        begin = self.tokenizer.ids(request.text)[:-1]
        stepper = Begun(self.network.write(changed=self._changed(request)), begin)
        limits, penalties = [self.network.longest], (self.length_penalty,)
        [[found]] = search(stepper, limits, request.method, request.beam, on_step, penalties)
        # How probable it all is, and not the written part alone, the pass over it says.
        return replace(found, ids=(*begin, *found.ids), log_probability=math.nan)

    def _written_fields(self, request: Request, ids: Sequence[int]) -> dict[str, Field]:
        """Of the whole text, whose beginning stays as it was typed."""
        text = _given_text(request)
        tokens = self.tokenizer.tokens(text)
        whole, placed = self.tokenizer.decode(ids)
        before, _ = self.tokenizer.decode(ids[: len(tokens)])
        shift = len(text) - len(before)
        for token in placed[len(tokens) :]:
            tokens.append(Token(token.id, token.text, token.start + shift, token.end + shift))
        return written_fields(text + whole[len(before) :], tokens, ids[-1] == END)

    def _notes(
        self, request: Request, part: Mapping[str, Tensor], found: Hypothesis
    ) -> Sequence[str]:
        """Of the text that was given, and of what was written behind it."""
        text = _given_text(request)
        written = found.ids[len(self.tokenizer.tokens(text)) :]
        return notes(self.card, self.tokenizer, text, replace(found, ids=written))

    def _check(self, request: Request) -> None:
        """See `WritingModel`; what is yet to be written is taken to be as long as it can be."""
        tokens = self.tokenizer.tokens(_given_text(request))
        if not any(token.text.strip() for token in tokens):
            raise InputError(TextInput.missing)
        if len(tokens) > self.network.most_items:
            raise InputError(
                f"The text has {len(tokens):,} {self.card.level}s, at most"
                f" {self.network.most_items:,} are read; shorten it."
            )
        is_given = request.target is not None
        most = len(tokens) + (1 if is_given else self.network.longest)
        self._places({"history": most}, most if is_given else 0).check(request.changes)
        check_size(self._places({}, most))


def _given_text(request: Request) -> str:
    """The text that is given: the request's, and behind it the target."""
    return request.text + (request.target or "")


class Begun:
    """A stepper whose rows have all read a text before they write."""

    def __init__(self, inner: Stepper, begin: Sequence[int]) -> None:
        self._inner, self._begin = inner, list(begin)

    def step(self, tokens: Tensor) -> Tensor:
        """As the inner one's; the first step reads the start symbol and the whole text."""
        found = self._inner.step(tokens)
        for token in self._begin:
            found = self._inner.step(torch.full_like(tokens, token))
        self._begin = []
        return found

    def select(self, rows: Tensor) -> None:
        """As the inner one's."""
        self._inner.select(rows)
