"""A tokenizer's symbols: a tree's bracket is one token, and symbols do not affect sentences."""

from __future__ import annotations

import pytest
from hypothesis import given

from areaviz.models.tokenizer import UNKNOWN, Token, Tokenizer
from areaviz.trace.kinds import WORD
from tests.trace.test_tree import LABELS, Branch, tokens_of, trees

LINES = [
    "Ida feeds the old cat .",
    "The cat sleeps in a boat .",
    "Olaf and Ida sing to the cat .",
    "A boat with a red sail comes in .",
] * 3
SYMBOLS = sorted({f"({x}" for x in LABELS} | {f"){x}" for x in LABELS} | {WORD})
VOCABULARY = 60
LEVELS = ("token", "word")


@pytest.fixture(scope="module", params=LEVELS)
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tokenizer(level: str) -> Tokenizer:
    return Tokenizer.train(LINES, level, VOCABULARY + len(SYMBOLS), SYMBOLS)


def test_every_symbol_is_its_own_token(tokenizer: Tokenizer) -> None:
    ids = [tokenizer.ids(symbol) for symbol in SYMBOLS]
    assert {len(one) for one in ids} == {2} and len({one[0] for one in ids}) == len(SYMBOLS)
    assert [tokenizer.label(one[0]) for one in ids] == SYMBOLS
    assert UNKNOWN not in {one[0] for one in ids}


@given(trees())
def test_tree_has_one_token_per_bracket(tokenizer: Tokenizer, branch: Branch) -> None:
    """A longer label wins over one with which it begins."""
    expected = tokens_of(branch)
    text = " ".join(expected)
    read, (back, placed) = tokenizer.tokens(text), tokenizer.decode(tokenizer.ids(text))
    assert [token.text for token in read] == expected
    assert back == text and placed == read


def test_tokens_keep_their_positions_in_raw_text(tokenizer: Tokenizer) -> None:
    text = "  (S   (NP XX )NP  cat )S "
    for token in tokenizer.tokens(text):
        assert text[token.start : token.end].strip() == token.text.strip()
    symbols = [token for token in tokenizer.tokens(text) if token.text in SYMBOLS]
    assert [(token.text, token.start) for token in symbols] == [
        ("(S", 2),
        ("(NP", 7),
        ("XX", 11),
        (")NP", 14),
        (")S", 23),
    ]


@pytest.mark.parametrize("text", [*LINES[:4], "Olaf feeds a xylophone", "the dog ( so ) sleeps"])
def test_sentence_is_read_as_without_symbols(level: str, tokenizer: Tokenizer, text: str) -> None:
    plain = Tokenizer.train(LINES, level, VOCABULARY)

    def placed(tokens: list[Token]) -> list[tuple[str, int, int, bool]]:
        return [(one.text, one.start, one.end, one.id == UNKNOWN) for one in tokens]

    assert placed(tokenizer.tokens(text)) == placed(plain.tokens(text))


def test_symbol_within_a_word_is_ignored(tokenizer: Tokenizer) -> None:
    known = {tokenizer.ids(symbol)[0] for symbol in SYMBOLS}
    assert not known & set(tokenizer.ids("cat(S boat)S aXX"))
    assert len(known & set(tokenizer.ids("cat (S boat )S a XX"))) == 3


def test_characters_have_symbols_after_a_blank() -> None:
    tokenizer = Tokenizer.train(LINES, "character", VOCABULARY + len(SYMBOLS), SYMBOLS)
    texts = [token.text for token in tokenizer.tokens("cat (SBAR XX )SBAR")]
    assert texts == ["c", "a", "t", "(SBAR", "XX", ")SBAR"]
