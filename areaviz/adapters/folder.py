"""A folder of `transformers` as a model of the app: its inputs, its card and its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import torch
from PIL import Image

from areaviz.adapters.loading import (
    Loaded,
    check_folder,
    check_room,
    count_weights,
    fetch_folder,
    find_model_class,
    format_bytes,
    import_transformers,
    load_model,
)
from areaviz.adapters.run import Options, inference_mode
from areaviz.adapters.texts import write_chat
from areaviz.adapters.transformers_models import attend_transformers, continue_text, generate_tokens
from areaviz.cards.card import Card
from areaviz.trace.arrays import AREA_SIZE
from areaviz.trace.errors import InputError, InputErrorWithAdvice, Way
from areaviz.trace.record import Trace
from areaviz.trace.request import Picture, Request

# Inputs of vision-language models: a picture, a question and an answer.
#
# The answer is given or written by the model. The processor determines how question and picture are
# written.


QUESTION = "Describe the picture."
# Maximum number of tokens written about a picture, and of characters of a question in its template.
ANSWER_STEPS, MAX_PROMPT = 48, 100_000


def make_vision_inputs(
    loaded: Loaded, picture: Picture, question: str, options: Options
) -> Mapping[str, Any]:
    """Return the processor's inputs for a picture and a question, followed by the answer.

    Args:
        loaded: Model with its processor.
        picture: Picture to read.
        question: Question about it, "" for a description.
        options: Options with a given answer as `target`, or None to let the model write one.

    Raises:
        InputError: There is no processor, or it fails on these inputs.
    """
    if not hasattr(loaded.processor, "image_processor"):
        raise InputError(
            f"The folder {loaded.name} has no processor that reads pictures. Save it next to"
            " the model with processor.save_pretrained(FOLDER)."
        )
    image = Image.fromarray(picture.pixels)
    try:
        prompt = _make_prompt(loaded.processor, question)
        given = dict(loaded.processor(text=prompt, images=image, return_tensors="pt"))
    except InputError:
        raise
    except Exception as error:
        # External templates and processors fail in different ways.
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise InputError(
            f"The processor of {loaded.name} cannot take the picture and the question"
            f" ({reason}). Choose another model, or use areaviz.attend with what it returns"
            " (docs/your_models.md)."
        ) from error
    ids_1N = given["input_ids"]
    if options.target is None:
        with inference_mode(loaded.model):
            whole = torch.tensor([list(generate_tokens(loaded.model, given, options))])
    else:
        tokenizer = loaded.processor.tokenizer
        added = tokenizer(str(options.target), add_special_tokens=False, return_tensors="pt")
        whole = torch.cat([ids_1N, added["input_ids"].to(ids_1N)], 1)
    return _append_tokens(given, whole)


def _make_prompt(processor: Any, question: str) -> str:
    """Return the question in the format of the model, with the placeholder of the picture.

    Raises:
        InputError: The template of the folder takes too long or writes too much.
    """
    if getattr(processor, "chat_template", None):
        content = [{"type": "image"}, {"type": "text", "text": question or QUESTION}]
        talk = [{"role": "user", "content": content}]
        prompt = write_chat(processor, talk, has_prompt=True)
        if len(prompt) > MAX_PROMPT:
            raise InputError(
                f"The question has {len(prompt):,} characters after the chat template, but the"
                f" limit is {MAX_PROMPT:,}. Choose another model."
            )
        return prompt
    mark = getattr(processor, "image_token", "") or ""
    # Without a placeholder for the picture, the text is the start of the answer, not a question.
    return f"{mark}{question or QUESTION}" if mark else question


def _append_tokens(given: Mapping[str, Any], whole_1M: torch.Tensor) -> Mapping[str, Any]:
    """Return the inputs with more tokens. All inputs with one value per token are extended."""
    before = given["input_ids"].shape
    more = whole_1M.shape[1] - before[1]
    found = {**given, "input_ids": whole_1M}
    for name, value in given.items():
        if name != "input_ids" and isinstance(value, torch.Tensor) and value.shape == before:
            last = value[:, -1:] if name == "attention_mask" else torch.zeros_like(value[:, -1:])
            found[name] = torch.cat([value, last.expand(-1, more)], 1)
    return found


# A folder of `transformers` as a model of the app, with its identity and card before it is loaded.
#
# Reading the card counts the weights without reading their values.


FAMILY = "transformers"
READING, CAPTION, UNKNOWN = "reading", "caption", "unknown"
# Requests cannot set the maximum area of these models, because their areas are derived.
_NEVER = ("areas",)
# Changes that are possible if layers look up their attention function.
_CHANGES = ("weigh", "gate", "hide")
_LIMITS = (
    "An external model: its training and its quality are not known here. See its own"
    " documentation. A run needs {sizes}. Its weights, {stored} of {kind}, are used as"
    " stored. The memory for them is checked at the first run."
)
_KINDS = (
    "encoders, decoders and encoder-decoders of texts, and models that name or describe pictures"
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with a model."""

    path: Path
    card: Card


def read_folder(place: str, taken: Collection[str] = ()) -> Folder:
    """Return the model of a folder or, if the network allows, of the hub, with a card.

    Args:
        place: Path of a folder, or a name on the hub.
        taken: Names of the models that exist already.

    Raises:
        InputError: The folder has no model of a supported kind, or its weights are missing, damaged
            or a pickle.
    """
    path = fetch_folder(place)
    check_folder(path)
    kind = find_model_class(path)
    config = import_transformers().AutoConfig.from_pretrained(path, local_files_only=True)
    # The folder of a model from the hub is named after a checksum.
    called = path.resolve().name if Path(place).is_dir() else place
    task = _find_task(kind, config, called)
    name = _find_free_name(called, taken)
    return Folder(path, _make_card(path, name, called, task, kind, config))


def _find_task(kind: Any, config: Any, called: str) -> str:
    """Return the task of a model class, as in `Card.task`."""
    reads, pair = kind.main_input_name, getattr(config, "is_encoder_decoder", False)
    if sees_and_reads(config) and kind.can_generate():
        return CAPTION
    if reads == "input_ids" and not sees_and_reads(config):
        return "translation" if pair else READING
    # A class is treated as a caption of one word.
    describes = kind.can_generate() or kind.__name__.endswith("ForImageClassification")
    if reads == "pixel_values" and describes:
        return CAPTION
    raise InputError(
        f"{called} is a {kind.__name__}, which no page shows: pages have {_KINDS}. Use"
        " areaviz.attend for it (docs/your_models.md)."
    )


def sees_and_reads(config: Any) -> bool:
    """Return whether a configuration is that of a vision-language model."""
    return hasattr(config, "vision_config")


def _make_card(path: Path, name: str, called: str, task: str, kind: Any, config: Any) -> Card:
    weights = count_weights(path)
    lacks = list(_NEVER)
    # In these models, words and cells are items of one stack of layers, without separate sites.
    if sees_and_reads(config) or not kind._can_set_attn_implementation():
        lacks += _CHANGES
    if not kind.can_generate():
        lacks.append("target")
    written = datetime.fromtimestamp(weights.written, UTC).isoformat(timespec="seconds")
    stored, recipe = format_bytes(weights.nbytes), {"source": _find_language(path)}
    if sees_and_reads(config):
        recipe["question"] = QUESTION
    return Card(
        name=name,
        family=FAMILY,
        title=f"{called} ({kind.__name__})",
        task=task,
        level="token",
        mechanism="regular",
        size="",
        pair=name,
        parameters=weights.parameters,
        trained_length=0,
        config={**_keep_plain_entries(config.to_dict()), "weights": f"{stored}, of {written}"},
        recipe=recipe,
        data={},
        figures={},
        attention={},
        history=(),
        code_version="",
        trained_on="",
        limits=_LIMITS.format(stored=stored, kind=weights.kind, sizes=weights.sizes),
        licence="see what came with the folder",
        lacks=tuple(lacks),
    )


def _find_language(path: Path) -> str:
    """Return the source language of a translator's tokenizer, such as "en"."""
    try:
        entries = json.loads((path / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return UNKNOWN
    said = entries.get("source_lang") if isinstance(entries, dict) else None
    return {"eng": "en", "en_XX": "en"}.get(str(said), str(said)) if said else UNKNOWN


def _keep_plain_entries(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a configuration that are numbers, strings or booleans."""
    kept = {}
    for name, value in entries.items():
        if isinstance(value, str | int | float) and not name.startswith("_"):
            kept[name] = value
    return kept


def _find_free_name(called: str, taken: Collection[str]) -> str:
    """Return a name that is valid in a request and differs from the names of all other models."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", called).strip("-._")[:90] or "model"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found


# The family `transformers`: a model from a folder with the interface of our own models.


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
            few = replace(options, steps=ANSWER_STEPS)
            given = make_vision_inputs(self.loaded, request.picture, request.text, few)
            options = replace(options, target=None)
        found = attend_transformers(self.loaded.model, given, options)
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
