"""Write a chat as one text with the template in a model's folder, in a separate process.

The template is an untrusted program: it may loop forever or produce a text of any length.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from areaviz.adapters import template_trial
from areaviz.trace.errors import InputError

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
