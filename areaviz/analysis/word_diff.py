"""Word differences between two texts: equal, added and missing words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

SAME, ADDED, MISSING = "same", "added", "missing"
# Chinese and Japanese characters count as words, because spaces do not separate their words.
_CJK = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|[^\w\s]")
# Maximum number of compared words, because the time grows with the square of the length.
MAX_TOKENS = 2_000


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a text, with the white space that follows it.

    Attributes:
        text: the part as written in the text, or in the base text if it is missing.
        kind: SAME, ADDED or MISSING, seen from the text.
    """

    text: str
    kind: str


def compare_words(base: str, text: str) -> list[Piece]:
    """Split a text into pieces: words of both texts, added words, and missing words.

    The pieces that are not missing form the text. The pieces that were not added form the base
    text, apart from white space. A text of more than `MAX_TOKENS` words is returned as one piece.

    Args:
        base: the text to compare with.
        text: the text to mark.
    """
    base_tokens, text_tokens = _split_tokens(base), _split_tokens(text)
    if max(len(base_tokens), len(text_tokens)) > MAX_TOKENS:
        return [Piece(text, SAME)]
    pieces = []
    for kind, start, end, from_, to in _make_matcher(base_tokens, text_tokens).get_opcodes():
        if kind in ("delete", "replace"):
            pieces.append(Piece("".join(base_tokens[start:end]), MISSING))
        if kind != "delete":
            found = "".join(text_tokens[from_:to])
            pieces.append(Piece(found, SAME if kind == "equal" else ADDED))
    return pieces


def find_closest_text(texts: Sequence[str], text: str) -> int:
    """Return the index of the candidate that shares most words with a text.

    Of equals, the first one.

    Args:
        texts: the candidates, at least one.
        text: the text to compare them with.
    """
    words = _split_tokens(text)
    likeness = []
    for one in texts:
        tokens = _split_tokens(one)
        is_long = max(len(tokens), len(words)) > MAX_TOKENS
        likeness.append(0.0 if is_long else _make_matcher(tokens, words).ratio())
    return likeness.index(max(likeness))


def _split_tokens(text: str) -> list[str]:
    """Return words and punctuation marks, each with the white space that follows it."""
    starts = [found.start() for found in _TOKEN.finditer(text)]
    ends = [*starts, len(text)][1:]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _make_matcher(base: Sequence[str], text: Sequence[str]) -> SequenceMatcher[str]:
    """Return a matcher that compares tokens without the white space that follows them."""
    first, second = ([one.strip() for one in tokens] for tokens in (base, text))
    return SequenceMatcher(None, first, second, autojunk=False)
