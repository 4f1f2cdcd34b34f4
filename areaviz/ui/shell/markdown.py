"""Text of users as text: nothing in it is read as markup, and what cannot be seen is named."""

from __future__ import annotations

import re

from areaviz.drawing.labels import readable as visible

__all__ = ["counted", "escaped", "shortened", "visible"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def escaped(text: str) -> str:
    """`text` on one line for labels, captions and errors, which read Markdown: it is no markup.

    It reads as it is but for pairs such as "->", "--" and ">=", which Streamlit draws as the sign
    they stand for.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(text).split()))


def shortened(text: str, limit: int = 60) -> str:
    """`text` on one line, at most `limit` characters, cut at the end with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def counted(count: int, what: str) -> str:
    """How many there are of something: "1 note", "2,000 notes"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
