"""Chats as lists of messages, which a model's chat template turns into text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from areaviz.adapters.failures import describe_reason
from areaviz.adapters.templates import Refusal, escape_as_template, write_chat
from areaviz.trace.errors import InputError, InputErrorWithAdvice


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
