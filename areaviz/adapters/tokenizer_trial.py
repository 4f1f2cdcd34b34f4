"""Load an untrusted tokenizer and use it in a separate process with limits.

`areaviz/adapters/loading.py` runs this file with the path of a tokenizer.json and a number of
seconds. The exit status is 0 if the tokenizer works.
"""

from __future__ import annotations

import resource
import string
import sys

# Memory limit of the process in bytes. No real tokenizer needs more.
MAX_BYTES = 4 << 30


def main() -> None:
    """Read the arguments, set the limits, and try the tokenizer."""
    path, seconds = sys.argv[1], int(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_BYTES, MAX_BYTES))
    from tokenizers import Tokenizer

    with open(path, encoding="utf-8") as file:
        content = file.read()
    # Replacements match characters of the tokenizer's file, so the text is made of such characters.
    text = f"{string.printable} {content[:200]} {content[-2000:]}"
    Tokenizer.from_str(content).encode(text)


if __name__ == "__main__":
    main()
