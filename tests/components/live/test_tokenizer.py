"""The browser's tokenizer cuts texts as SentencePiece does."""

from __future__ import annotations

import random

import pytest

from areaviz.cards.card import read_card
from areaviz.models.base import load_tokenizer
from areaviz.models.tokenizer import Tokenizer
from areaviz.samples.paths import CHECKPOINTS
from tests.components.live.node import run_node

# Characters of many scripts, marks, blanks of all kinds, emoji, and parts of Hangul syllables.
ALPHABET = (
    "aBcdé ñ ß ﬁ½²Ⅷ①ｶﾞＡ～ \t\n\r\u0085\u00a0\u1680\u2003\u200b\u200c\u200d\u200e\u2028\u3000\ufeff"
    "\ufffd\x01\x1c\x1f\x7f\u0300\u0301\u0308\u0323\u0327\u064b\u0651\u1100\u1161\u11a8각한"
    "狗犬かが\u3099🐕🦺👩\U0001f3fd\ufe0f"
)


def load_shipped(name: str) -> Tokenizer:
    """Return the tokenizer of a model in `checkpoints`."""
    folder = CHECKPOINTS / name
    return load_tokenizer(folder, read_card(folder / "card.json").files)


@pytest.mark.parametrize("name", ["token-boundary", "char-boundary"])
def test_tokens_equal_those_of_sentencepiece(name: str) -> None:
    tokenizer = load_shipped(name)
    draw = random.Random(1)
    texts = ["".join(draw.choices(ALPHABET, k=draw.randint(1, 12))) for _ in range(400)]
    found = run_node("tokenize.mjs", {"pieces": tokenizer.plain(), "texts": texts})
    for text, tokens in zip(texts, found, strict=True):
        expected = [[token.id, token.start, token.end] for token in tokenizer.tokens(text)]
        assert tokens == expected, ascii(text)


def test_every_character_is_normalised_as_sentencepiece_does() -> None:
    tokenizer = load_shipped("token-boundary")
    codes = [code for code in range(1, 0x10000) if not 0xD800 <= code < 0xE000]
    texts = [f"x{chr(code)}x" for code in codes]
    found = run_node("tokenize.mjs", {"pieces": tokenizer.plain(), "texts": texts})
    different = []
    for text, tokens in zip(texts, found, strict=True):
        expected = [[token.id, token.start, token.end] for token in tokenizer.tokens(text)]
        if tokens != expected:
            different.append(text[1])
    assert not different, ascii(different)
