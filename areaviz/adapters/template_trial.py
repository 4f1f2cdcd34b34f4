"""Write a chat by an untrusted template in a separate process with limits.

A template is a program. `{{ "x" * 10**10 }}` would take 10 GB, and nothing within a process can
stop such a single step. `areaviz/adapters/texts.py` runs this file. It reads a JSON object with
the arguments of `render_jinja_template` and the limits from its input, and writes a JSON object
with one key: "text", or "refused" with the template's message, or "limit" for the exceeded limit.
"""

from __future__ import annotations

import json
import resource
import sys
from typing import Any


def main() -> None:
    """Read the chat, set the limits, and write it as one text."""
    from transformers.utils.chat_template_utils import render_jinja_template

    given = json.load(sys.stdin)
    # The limits are set after the import, which needs more memory and time than any template.
    most = given["bytes"]
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    seconds = int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])) + given["seconds"]
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        # The result is a list of texts and a list of marked spans, whatever its declared type says.
        rendered: Any = render_jinja_template([given["chat"]], **given["options"])
        text: str = rendered[0][0]
        found = {"text": text} if len(text) <= given["characters"] else {"limit": "characters"}
    except (MemoryError, OverflowError):
        found = {"limit": "memory"}
    except Exception as error:
        # A template may raise any error, such as "Roles must alternate".
        found = {"refused": " ".join(str(error).split())[:200] or type(error).__name__}
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
