"""The family `transformers`: a model from a folder with the interface of our own models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import torch

from areaviz.adapters import transformers_models
from areaviz.adapters.folder_card import CAPTION, READING, sees_and_reads
from areaviz.adapters.folder_vision import STEPS as DESCRIBED
from areaviz.adapters.folder_vision import make_vision_inputs
from areaviz.adapters.loading import Loaded, load_model
from areaviz.adapters.model_run import Options
from areaviz.adapters.transformers_models import continue_text
from areaviz.adapters.weights import check_room, count_weights
from areaviz.cards.card import Card
from areaviz.trace.arrays import AREA_SIZE
from areaviz.trace.errors import InputError, InputErrorWithAdvice, Way
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

# Maximum number of tokens written for a text.
STEPS = 256
# Maximum number of tokens that a decoder adds to a text.
CONTINUED = 24
# Advice for users of requests, which cannot select layers, heads or areas.
_OF_A_TEXT: Mapping[Way, str] = {"input": "shorten the text", "target": "change the text"}
_OF_A_PICTURE: Mapping[Way, str] = {"target": "choose another picture"}


@dataclass(frozen=True, slots=True)
class FolderModel:
    """An external model with its tokenizer and processor."""

    card: Card
    loaded: Loaded

    @classmethod
    def load(
        cls, folder: Path, card: Card, device: torch.device, area_size: int | None = None
    ) -> Self:
        """Load the model of a folder.

        `area_size` has no effect on it, because its areas are derived.

        Raises:
            InputError: Memory is too small for the model, it cannot be opened, or its tokenizer is
                missing or belongs to another model.
        """
        check_room(card.title, count_weights(folder), device)
        loaded = load_model(folder, must_read=card.task != CAPTION or "target" in card.can)
        loaded.model.to(device).eval().requires_grad_(False)
        return cls(card, loaded)

    def trace(
        self, requests: Sequence[Request], on_step: Callable[[int, int], None] | None = None
    ) -> list[Trace]:
        """Run requests one by one and record each.

        Raises:
            InputError: An input does not fit the model.
        """
        with adapt_advice(self.card):
            return [self._trace(request, on_step) for request in requests]

    def _trace(self, request: Request, on_step: Callable[[int, int], None] | None) -> Trace:
        options = Options(
            target=request.target,
            steps=STEPS,
            tokenizer=self.loaded.tokenizer,
            area_size=request.area_size or AREA_SIZE,
            name=self.card.name,
            processor=self.loaded.processor,
            beams=request.beam if request.method == "beam" else 1,
            on_step=on_step,
            changes=request.changes,
            attribution=request.attribution,
        )
        check_given(self.card, request)
        given: Any = request.picture if self.card.task == CAPTION else request.text
        if self.card.task == READING:
            given, options = self._read(request.text, options)
        elif request.picture is not None and sees_and_reads(self.loaded.model.config):
            few = replace(options, steps=DESCRIBED)
            given = make_vision_inputs(self.loaded, request.picture, request.text, few)
            options = replace(options, target=None)
        found = transformers_models.attend(self.loaded.model, given, options)
        details = {"device": self.loaded.model.device.type, **found.details}
        if "target" in self.card.can and request.target is None:
            # A decoder reads its own text from the previous call as a given text.
            details.pop("decoding", None)
        if request.target is None and self._is_unfinished(found):
            written = f"It was stopped after {len(found.output.probabilities)} tokens."
            said = details.get("warning", "")
            details["warning"] = f"{said} The model did not stop by itself. {written}".strip()
        return replace(found, request=_show_seen_picture(request, found), details=details)

    def _is_unfinished(self, found: Trace) -> bool:
        """Return whether an output lacks the end symbol that it should have."""
        writes = self.card.task != READING and "target" in self.card.can
        writes = writes and not sees_and_reads(self.loaded.model.config)
        return writes and found.fields["target"].labels[-1] != self.loaded.tokenizer.eos_token

    def _read(self, text: str, options: Options) -> tuple[str, Options]:
        """Return the input of a model with one stack, which is the text and its continuation.

        The continuation is given or written by the model. For a decoder, the given output "" means
        that it reads only the text.
        """
        if "target" not in self.card.can:
            return text, options
        follows = options.target
        if follows is None:
            few = replace(options, steps=CONTINUED)
            follows = continue_text(self.loaded.model, text, few)
        return text + str(follows), replace(options, target=None)


@contextmanager
def adapt_advice(card: Card) -> Iterator[None]:
    """Adapt advice to what users can do in a request, on a page or on the command line.

    Raises:
        InputError: Raised in place of an error whose advice is written for Python.
    """
    words = _OF_A_PICTURE if card.task == CAPTION else _OF_A_TEXT
    try:
        yield
    except InputErrorWithAdvice as error:
        raise InputError(error.said(words, "choose another model")) from error


def check_given(card: Card, request: Request) -> None:
    """Check before loading that a request has the input that the model reads.

    Raises:
        InputError: The request lacks the picture that the model reads, or has one for a model of
            texts.
    """
    if card.task != CAPTION and request.picture is not None:
        raise InputError(f"“{card.title}” reads only texts. Leave the picture out.")
    if card.task == CAPTION and request.picture is None:
        raise InputError(f"“{card.title}” describes pictures. Give it one.")


def _show_seen_picture(request: Request, found: Trace) -> Request:
    """Return the request, with the cut picture if the model saw only a part of the picture."""
    asked, seen = request.picture, found.request.picture
    if asked is None or seen is None or (asked.width, asked.height) == (seen.width, seen.height):
        return request
    return replace(request, picture=replace(seen, name=asked.name))
