"""Text of users as text: nothing in it is read as markup, and what cannot be seen is named."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_HIDDEN = re.compile("[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def escaped(text: str) -> str:
    """`text` for a place that reads Markdown (labels, captions, errors): on one line, and nothing in it is markup.

    It reads as it is but for pairs such as "->", "--" and ">=", which Streamlit draws as the sign they stand for.
    """
    return _PUNCTUATION.sub(r"\\\1", " ".join(visible(text).split()))


def visible(text: str) -> str:
    """`text` with direction marks, zero-width and control characters replaced by their code, such as ⟨U+200B⟩.

    The zero-width joiner stays where it joins: emoji and several scripts are written with it.
    """
    return _HIDDEN.sub(_named, text)


def shortened(text: str, limit: int = 60) -> str:
    """`text` on one line, at most `limit` characters, cut at the end with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _named(found: re.Match[str]) -> str:
    character = found.group()
    joins = character == "\u200d" and found.start() > 0 and ord(found.string[found.start() - 1]) > 127
    return character if joins else f"⟨U+{ord(character):04X}⟩"
