"""Escaping of users' texts, so that Streamlit does not read them as Markdown."""

from __future__ import annotations

import re

from areaviz.draw.labels import escape_controls as visible

__all__ = ["pluralise", "escape_markdown", "shorten_line", "visible"]

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")


def escape_markdown(text: str) -> str:
    """Return `text` on one line, escaped for labels, captions and errors, which read Markdown.

    It is displayed unchanged, except for sequences such as "->", "--" and ">=", which Streamlit
    draws as the symbols that they represent.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(text).split()))


def shorten_line(text: str, limit: int = 60) -> str:
    """Return `text` on one line of at most `limit` characters, cut with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def pluralise(count: int, what: str) -> str:
    """Return a count with its noun: "1 note", "2,000 notes"."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"
