"""Inputs of vision-language models: a picture, a question and an answer.

The answer is given or written by the model. The processor determines how question and picture are
written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from PIL import Image

from areaviz.adapters.loading import Loaded
from areaviz.adapters.model_run import Options, inference_mode
from areaviz.adapters.templates import write_chat
from areaviz.adapters.transformers_generation import generate_tokens
from areaviz.trace.errors import InputError
from areaviz.trace.request import Picture

QUESTION = "Describe the picture."
# Maximum number of tokens written about a picture, and of characters of a question in its template.
STEPS, MAX_PROMPT = 48, 100_000


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
