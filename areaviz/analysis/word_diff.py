"""Word differences between two texts: which words are the same, added or missing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

SAME, ADDED, MISSING = "same", "added", "missing"
# Letters of Chinese and Japanese, whose words have no blanks between them, stand alone.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
# The time grows with the square of the length; longer texts are not compared.
MAX_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, with the white space that follows it.

    Attributes:
        text: as it stands in the text, or in the base where it is missing.
        kind: SAME, ADDED or MISSING.
    """

    text: str
    kind: str


def compare_words(base: str, text: str) -> list[Piece]:
    """Return a text in pieces: words of both texts, words that were added, words that are missing.

    The pieces that are not missing are the text, the pieces that were not added are the base,
    apart from white space. A text of more than `MAX_TOKENS` words is returned in one piece.

    Args:
        base: what the text is compared with.
        text: what is marked.
    """
    base_tokens, text_tokens = _tokens(base), _tokens(text)
    if max(len(base_tokens), len(text_tokens)) > MAX_TOKENS:
        return [Piece(text, SAME)]
    pieces = []
    for kind, start, end, from_, to in _matcher(base_tokens, text_tokens).get_opcodes():
        if kind in ("delete", "replace"):
            pieces.append(Piece("".join(base_tokens[start:end]), MISSING))
        if kind != "delete":
            found = "".join(text_tokens[from_:to])
            pieces.append(Piece(found, SAME if kind == "equal" else ADDED))
    return pieces


def closest_text(texts: Sequence[str], text: str) -> int:
    """Return the place of the text that shares most words with another one, the first of equals.

    Args:
        texts: to choose from, at least one.
        text: what they are compared with.
    """
    words = _tokens(text)
    likeness = []
    for one in texts:
        tokens = _tokens(one)
        is_long = max(len(tokens), len(words)) > MAX_TOKENS
        likeness.append(0.0 if is_long else _matcher(tokens, words).ratio())
    return likeness.index(max(likeness))


def _tokens(text: str) -> list[str]:
    """Return words and punctuation marks, each with the white space behind it."""
    starts = [found.start() for found in _TOKEN.finditer(text)]
    ends = [*starts, len(text)][1:]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _matcher(base: Sequence[str], text: Sequence[str]) -> SequenceMatcher[str]:
    """Return what compares tokens, whatever white space follows them."""
    first, second = ([one.strip() for one in tokens] for tokens in (base, text))
    return SequenceMatcher(None, first, second, autojunk=False)
