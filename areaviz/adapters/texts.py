"""Texts and chats for external models, as token ids with the characters of each token."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as dataclass_field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters import template_trial
from areaviz.adapters.anchors import Piece, Span, anchor_pieces, complete_offsets
from areaviz.adapters.loading import describe_reason
from areaviz.trace.arrays import MAX_ITEMS, make_text_field
from areaviz.trace.errors import InputError, InputErrorWithAdvice, check_text
from areaviz.trace.record import Field

# Write a chat as one text with the template in a model's folder, in a separate process.
#
# The template is an untrusted program: it may loop forever or produce a text of any length.


# Limits of a template: seconds of processor time, bytes of memory, and characters of the result.
TEMPLATE_SECONDS, TEMPLATE_BYTES, TEMPLATE_CHARACTERS = 5, 320 << 20, 1_000_000
# Wall-clock seconds after which the process is stopped, including its start on a busy machine.
WALL_SECONDS = 120


class Refusal(Exception):
    """A template raised an error, for example because the roles of a chat do not alternate."""


def write_chat(processor: Any, chat: Sequence[Mapping[str, Any]], has_prompt: bool = False) -> str:
    """Return a chat as one text.

    Args:
        processor: A tokenizer, or a processor with a tokenizer, that has a template.
        chat: Messages with a role and a content. Pictures in a message become placeholders.
        has_prompt: Whether the text ends with the marker that starts an answer.

    Raises:
        InputError: The template exceeds a limit.
        Refusal: The template raises an error.
    """
    template = processor.chat_template
    if isinstance(template, Mapping):
        template = template.get("default") or next(iter(template.values()))
    tokenizer = getattr(processor, "tokenizer", processor)
    options = {
        **getattr(tokenizer, "special_tokens_map", {}),
        "chat_template": template,
        "add_generation_prompt": has_prompt,
    }
    messages = [{key: one for key, one in message.items() if one is not None} for message in chat]
    return _write(json.dumps({"chat": messages, "options": options}, default=_to_json_value))


def escape_as_template(text: str) -> str:
    """Return a template that always writes this text."""
    escaped = text.encode("unicode_escape").decode("ascii").replace('"', '\\"')
    return f'{{{{ "{escaped}" }}}}' if text else ""


def make_trial_command() -> list[str]:
    """Return the command that runs a template."""
    return [sys.executable, str(Path(template_trial.__file__))]


def _to_json_value(value: object) -> object:
    """Return a value that JSON can represent. Templates check for pictures but never read them."""
    return dict(value) if isinstance(value, Mapping) else f"<{type(value).__name__}>"


@lru_cache(maxsize=64)
def _write(question: str) -> str:
    """Run the template in a separate process. Starting it takes a second, so texts are cached."""
    limits = {
        "seconds": TEMPLATE_SECONDS,
        "bytes": TEMPLATE_BYTES,
        "characters": TEMPLATE_CHARACTERS,
    }
    given = json.dumps(json.loads(question) | limits).encode()
    try:
        done = subprocess.run(
            make_trial_command(),
            input=given,
            capture_output=True,
            timeout=WALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise _make_limit_error(f"takes longer than {WALL_SECONDS} seconds") from None
    if done.returncode < 0:
        raise _make_limit_error(f"takes more than {TEMPLATE_SECONDS} seconds of processor time")
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1][:200]
        raise Refusal(reason)
    found = json.loads(done.stdout)
    if "refused" in found:
        raise Refusal(found["refused"])
    if found.get("limit") == "memory":
        raise _make_limit_error(f"takes more than {TEMPLATE_BYTES >> 20} MiB of memory")
    if "limit" in found:
        raise _make_limit_error(f"writes more than {TEMPLATE_CHARACTERS:,} characters")
    return str(found["text"])


def _make_limit_error(what: str) -> InputError:
    return InputError(f"The chat template {what}. Choose another model.")


# Chats as lists of messages, which a model's chat template turns into text.


def is_chat(given: object) -> bool:
    """Return whether `given` is a list of messages, each with a role and a content."""
    if not isinstance(given, list | tuple) or not given:
        return False
    return all(isinstance(one, Mapping) and "role" in one and "content" in one for one in given)


def has_pictures(chat: Any) -> bool:
    """Return whether the content of a message has a picture."""
    for message in chat:
        if isinstance(message["content"], list | tuple):
            for part in message["content"]:
                if isinstance(part, Mapping) and part.get("type") == "image":
                    return True
    return False


def format_chat(chat: Any, tokenizer: Any) -> str:
    """Return a chat as one text with role markers, written by the tokenizer's chat template.

    Raises:
        InputError: There is no tokenizer or no template, or the template refuses the chat.
    """
    if tokenizer is None:
        raise InputErrorWithAdvice("A chat needs a tokenizer", "tokenizer")
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(
            "The tokenizer has no chat template, so the format of a chat is unknown. Give the"
            " text in the format that the model was trained on."
        )
    try:
        return write_chat(tokenizer, chat)
    except Refusal as error:
        raise _make_error(error) from error


def make_chat_inputs(chat: Any, processor: Any) -> Mapping[str, Any]:
    """Return the processor's inputs for a chat with pictures.

    Raises:
        InputError: There is no processor, a picture is given by its URL, or the template refuses
            the chat.
    """
    if processor is None or not hasattr(processor, "apply_chat_template"):
        raise InputError("A chat with pictures needs the model's processor. Give it (processor=).")
    for message in chat:
        for part in message["content"] if isinstance(message["content"], list | tuple) else ():
            if isinstance(part, Mapping) and isinstance(part.get("image", part.get("url")), str):
                raise InputError(
                    "The chat gives a picture by its URL. Open the picture and pass it:"
                    ' {"type": "image", "image": picture}.'
                )
    options = {"tokenize": True, "return_dict": True, "return_tensors": "pt"}
    try:
        # The template runs in a separate process, because it is untrusted. The processor gets its
        # text.
        template = escape_as_template(write_chat(processor, chat))
        found = processor.apply_chat_template(list(chat), chat_template=template, **options)
    except InputError:
        raise
    except Exception as error:
        raise _make_error(error) from error
    return dict(found)


def _make_error(error: Exception) -> InputError:
    return InputError(
        f"The chat template refuses these messages ({describe_reason(error)}). Give each message a"
        " role and a content, in the order that the model was trained on."
    )


# Texts for external models: token ids, and the characters of each token.


# Entries that tokenizers return in addition to a model's inputs, and labels for a loss.
_NO_INPUTS = {"input_ids", "offset_mapping", "special_tokens_mask", "length", "overflow_to_sample"}
_NO_INPUTS |= {"labels", "overflow_to_sample_mapping", "num_truncated_tokens"}
# Inputs with one number per token.
_FOR_EACH_TOKEN = {"attention_mask", "token_type_ids", "mm_token_type_ids", "position_ids"}
# Inputs from an earlier run, which replace tokens.
_OF_OTHER_RUNS = {"past_key_values", "encoder_outputs", "cache_params", "mems", "cache_position"}


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """A text as a model reads it."""

    ids: tuple[int, ...]
    # The tokens as a field of a trace. The caller gives the field its name.
    field: Field
    # Other inputs with one value per token, such as a mask or the segment of each token, [1, N].
    more: Mapping[str, Tensor] = dataclass_field(default_factory=dict)
    # Number of examples in the batch from which these tokens come.
    batch: int = 1

    def named(self, name: str) -> Field:
        """Return the field under another name."""
        return replace(self.field, name=name)

    @property
    def kept(self) -> Tensor:
        """The tokens that are not padding: bool [N]."""
        mask = self.more.get("attention_mask")
        if mask is None or mask.shape != (1, len(self.ids)):
            return torch.ones(len(self.ids), dtype=torch.bool)
        return mask[0] != 0

    def without_padding(self) -> Tokens:
        """Return the tokens that are not padding.

        Raises:
            InputError: All of them are padding.
        """
        kept = self.kept
        if bool(kept.all()):
            return self
        if not bool(kept.any()):
            raise InputError(
                "The attention_mask hides every token. Leave at least one of them visible."
            )
        return self.some(torch.nonzero(kept)[:, 0])

    def some(self, places: Tensor) -> Tokens:
        """Return some of the tokens, without the other inputs.

        Args:
            places: Indices of the tokens, int64.
        """
        chosen, field = places.tolist(), self.field
        labels = tuple(field.labels[index] for index in chosen)
        anchors = field.anchors[np.array(chosen, np.int64)]
        ids = tuple(self.ids[index] for index in chosen)
        return Tokens(ids, replace(field, labels=labels, anchors=anchors), batch=self.batch)


@dataclass(frozen=True, slots=True)
class Texts:
    """A converter from texts to token ids and back."""

    # Tokenizer of `transformers` or `tokenizers`, or None if ids and labels are given.
    tokenizer: Any = None
    # Index of the example in a batch, and whether the user chose it.
    example: int = 0
    is_chosen: bool = True

    def read(
        self, given: object, labels: Sequence[str] | None = None, what: str = "inputs"
    ) -> Tokens:
        """Return the tokens of a text, two texts, a chat or token ids.

        For a batch, these are the tokens of one example.

        Args:
            given: A text, a tuple of two, or a sequence, an array or a tensor of ids. A list of
                texts or a leading axis is a batch. A list of messages, each with a role and a
                content, is a chat. A mapping, as tokenizers return it, has masks and segments in
                addition to `input_ids`.
            labels: Label of each id. By default its text in the tokenizer, otherwise the id itself.
            what: Name of the input in error messages.

        Raises:
            InputError: There is no tokenizer for a text, the input is empty, too long or neither a
                text nor ids, or several texts are given and none is chosen.
        """
        if isinstance(given, list) and given and all(isinstance(one, str) for one in given):
            if len(given) > 1 and not self.is_chosen:
                raise InputError(
                    f"You passed a list of {len(given)} texts, but one text is shown at a"
                    " time. Pass one text, select one with example=, or pass a pair of texts"
                    " as a tuple."
                )
            return replace(self._text(self._one_of(given)), batch=len(given))
        if is_chat(given):
            return self._text(format_chat(given, self.tokenizer), is_written=True)
        if isinstance(given, str):
            return self._text(given)
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(x, str) for x in given):
            return self._text(*given)
        if isinstance(given, Mapping):
            return self._mapping(given, labels, what)
        ids, batch = self._ids(given, what)
        if labels is not None and len(labels) != len(ids):
            raise InputError(
                f"There are {len(labels):,} labels but {len(ids):,} token ids. Give one label"
                " for each."
            )
        texts = None if labels is None else [str(label) for label in labels]
        field = make_text_field("text", texts) if texts is not None else self._written(ids)
        return Tokens(ids, field, batch=batch)

    def _mapping(self, given: Mapping[str, Any], labels: Sequence[str] | None, what: str) -> Tokens:
        """Return the tokens of a tokenizer's mapping: ids and the inputs that belong to them."""
        if given.get("input_ids") is None:
            raise InputError(f"The {what} have no input_ids. Pass input_ids or a text.")
        tokens = self.read(given["input_ids"], labels, what)
        more = {}
        for name, value in given.items():
            # This package decides itself whether a cache is kept and attention is returned.
            if name in _NO_INPUTS or value is None or isinstance(value, bool | str):
                continue
            beside = _read_other_input(name, value)
            beside = beside[None] if beside.dim() == 1 else beside
            if beside.shape[:2] == (tokens.batch, len(tokens.ids)):
                beside = self._one_row(beside)
            elif name in _FOR_EACH_TOKEN:
                raise InputError(
                    f"The {name} has the shape {tuple(beside.shape)} but must have a number for"
                    f" each of the {len(tokens.ids):,} tokens."
                )
            more[name] = beside
        return replace(tokens, more=more)

    def _one_row(self, values: Tensor) -> Tensor:
        """Return the example to read as a batch of one."""
        example = self.example if len(values) > 1 else 0
        return values[example : example + 1]

    def target_ids(self, given: object) -> tuple[int, ...]:
        """Return the ids of a decoder's target, given as a text or token ids."""
        if not isinstance(given, str):
            return self._ids(given, "target")[0]
        check_text(given)
        read = _tokenize(self._needed(), (), {"text_target": given})
        return self._ids(read["input_ids"], "target")[0]

    def label(self, token: int) -> str:
        """Return the label of a token without its context."""
        if self.tokenizer is None:
            return str(token)
        text = self._decoded([token])
        return text if text.strip() else self._pieces([token])[0]

    def behind(self, tokens: Sequence[int], token: int) -> str:
        """Return the text that a token adds after `tokens`, including its leading space."""
        label = self.label(token)
        if self.tokenizer is None:
            return f" {label}"
        before, whole = self._decoded(tokens), self._decoded([*tokens, token])
        return whole[len(before) :] if whole.startswith(before) else label

    def _text(self, text: str, second: str = "", is_written: bool = False) -> Tokens:
        """Return the tokens of a text, or of two texts that are read as a pair.

        Args:
            text: The text.
            second: The second text, "" for none.
            is_written: Whether the text already has all special tokens, as a chat has.
        """
        whole = f"{text} {second}" if second else text
        if not whole:
            raise InputError("The text is empty. Give at least one character.")
        check_text(whole)
        # A chat already has all its special tokens.
        options = {"add_special_tokens": False} if is_written else {}
        read = _tokenize(self._needed(), (text, second) if second else (text,), options)
        ids, _ = self._ids(read["input_ids"], "text")
        pieces = self._spelled(ids)
        if "offset_mapping" in read:
            sides = read.sequence_ids() if second else [0] * len(ids)
            shifts = [len(text) + 1 if side == 1 else 0 for side in sides]
            offsets = zip(read["offset_mapping"], shifts, strict=True)
            moved = [(int(start) + by, int(end) + by) for (start, end), by in offsets]
            spans = complete_offsets(whole, pieces, moved)
        else:
            spans = anchor_pieces(whole, pieces)
        more = {}
        for name, value in read.items():
            if name not in _NO_INPUTS:
                more[name] = torch.as_tensor(value)[None]
        return Tokens(ids, _make_field(whole, pieces, spans), more)

    def _ids(self, given: object, what: str) -> tuple[tuple[int, ...], int]:
        """Return the token ids of one example, and the number of examples in the batch."""
        try:
            tensor = torch.as_tensor(given)
        except (TypeError, ValueError, RuntimeError, OverflowError) as error:
            raise InputError(
                f"The {what} must be a text or token ids. Give one of them."
            ) from error
        if not tensor.numel():
            raise InputError(f"There are no tokens in the {what}. Give at least one.")
        batch = len(tensor) if tensor.dim() == 2 else 1
        if tensor.dim() == 2 and batch:
            tensor = self._one_of(tensor)
        whole = not (tensor.is_floating_point() or tensor.dtype == torch.bool)
        if tensor.dim() != 1 or not len(tensor) or not whole:
            raise InputError(
                f"The {what} have the shape {tuple(tensor.shape)} but must be the token ids"
                " of one example. Give a sequence of whole numbers."
            )
        if len(tensor) > MAX_ITEMS:
            raise InputError(
                f"The {what} have {len(tensor):,} tokens, but the limit is {MAX_ITEMS:,}. Shorten"
                " them."
            )
        return tuple(tensor.tolist()), batch

    def _one_of(self, batch: Any) -> Any:
        """Return the example to read from a batch. A batch of one has only that example."""
        count = len(batch)
        if count > 1 and not 0 <= self.example < count:
            raise InputError(
                f"The batch has {count} examples, so there is no example {self.example}."
                " Count them from 0."
            )
        return batch[self.example if count > 1 else 0]

    def _needed(self) -> Any:
        if self.tokenizer is None:
            raise InputErrorWithAdvice("A text needs a tokenizer", "tokenizer")
        if type(self.tokenizer).__module__.startswith("tokenizers"):
            from transformers import PreTrainedTokenizerFast

            family: Any = PreTrainedTokenizerFast
            return family(tokenizer_object=self.tokenizer)
        return self.tokenizer

    def _decoded(self, ids: Sequence[int], **options: bool) -> str:
        """Return the text of token ids."""
        tokenizer = self._needed()
        return str(_ask_tokenizer(lambda: tokenizer.decode(list(ids), **options)))

    def _written(self, ids: Sequence[int]) -> Field:
        """Return the field of tokens that a model wrote."""
        if self.tokenizer is None:
            return make_text_field("text", [str(token) for token in ids])
        text = self._decoded(ids, skip_special_tokens=True)
        pieces = self._spelled(ids)
        return _make_field(text, pieces, anchor_pieces(text, pieces))

    def _spelled(self, ids: Sequence[int]) -> list[Piece]:
        """Return tokens in the tokenizer's spelling, marked as special or unknown."""
        tokenizer = self._needed()
        special = set(getattr(tokenizer, "all_special_ids", None) or ())
        unknown = getattr(tokenizer, "unk_token_id", None)
        pieces = []
        for token, text in zip(ids, self._pieces(ids), strict=True):
            pieces.append(Piece(text, token in special and token != unknown, token == unknown))
        return pieces

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        tokenizer = self._needed()
        pieces = _ask_tokenizer(lambda: tokenizer.convert_ids_to_tokens(list(ids)))
        # A model may have more embeddings than its tokenizer has tokens. The others get their
        # numbers.
        known = zip(ids, pieces, strict=True)
        return [f"⟨{token}⟩" if piece is None else str(piece) for token, piece in known]


def _tokenize(tokenizer: Any, texts: Sequence[str], options: Mapping[str, Any]) -> Any:
    """Return the tokenizer's result for a text or a pair, with offsets if it supports them.

    Raises:
        InputError: The tokenizer fails.
    """
    if texts and getattr(tokenizer, "is_fast", False):
        options = {**options, "return_offsets_mapping": True}
    try:
        return tokenizer(*texts, truncation=False, **options)
    except Exception as error:
        # Tokenizers raise many kinds of errors.
        raise InputError(
            f"The tokenizer cannot read the text ({describe_reason(error)}). Give token ids"
            " instead."
        ) from error


def _ask_tokenizer(ask: Callable[[], Any]) -> Any:
    """Call a tokenizer to get the text of token ids.

    Raises:
        InputError: The tokenizer fails.
    """
    try:
        return ask()
    except Exception as error:
        # Tokenizers raise many kinds of errors.
        raise InputError(
            f"The tokenizer cannot name these token ids ({describe_reason(error)}). Pass ids of"
            " this tokenizer, or labels= instead of a tokenizer."
        ) from error


def _read_other_input(name: str, value: Any) -> Tensor:
    """Return another input of the model as a tensor.

    Raises:
        InputError: The input is not an array of numbers, or it comes from an earlier run.
    """
    if name in _OF_OTHER_RUNS:
        raise InputError(
            f"The inputs have {name}, which stands for tokens that are not given. Give the"
            f" whole text without {name}."
        )
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise InputError(
            f'The input "{name}" is not an array of numbers. Leave it out, or pass a tensor.'
        ) from error


def _make_field(text: str, pieces: Sequence[Piece], spans: Sequence[Span]) -> Field:
    """Return the field of tokens at these places of a text."""
    labels = [
        text[start:end] or piece.text for piece, (start, end) in zip(pieces, spans, strict=True)
    ]
    return Field("text", "text", text, tuple(labels), np.array(spans, np.int64).reshape(-1, 2))
