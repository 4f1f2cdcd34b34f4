"""Tokens have correct positions, texts survive a round trip, and words are found among tokens.

Words are found even if adjacent unknown words merge.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.models.tokenizer import END, UNKNOWN, Tokenizer

LINES = ["a small dog runs", "a big dog sleeps", "two dogs run and a cat sleeps"] * 4
LEVELS = ("character", "token", "word")


@pytest.fixture(scope="module", params=LEVELS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return Tokenizer.train(LINES, request.param, 40)


def test_text_survives_round_trip_as_ids(tokenizer: Tokenizer) -> None:
    ids = tokenizer.ids("a small dog sleeps")
    assert ids[-1] == END and tokenizer.decode(ids)[0] == "a small dog sleeps"


@given(
    text=st.lists(
        st.sampled_from(["a", "small", "dog", "runs", "xyzzy", "foo", "ü"]), min_size=1, max_size=9
    ).map(" ".join)
)
def test_tokens_are_ordered_and_cover_every_word(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.tokens(text)
    assert [token.id for token in tokens] == tokenizer.ids(text)[:-1]
    assert all(
        one.end <= other.start + 1 and one.start <= other.start for one, other in pairwise(tokens)
    )
    words, offset = text.split(" "), 0
    for word, place in zip(words, tokenizer.find_word_starts(text), strict=True):
        assert tokens[place].start <= offset < tokens[place].end
        offset += len(word) + 1


def test_consecutive_unknown_words_are_one_token() -> None:
    words = Tokenizer.train(LINES, "word", 40)
    text = "a xyzzy foobar dog runs"
    assert words.ids(text).count(UNKNOWN) == 1
    assert words.find_word_starts(text) == [0, 1, 1, 2, 3]
    assert words.find_word_starts("a dog runs") == [0, 1, 2]


@pytest.mark.parametrize("level", LEVELS)
def test_tokenizer_without_normalisation_is_small_and_equivalent(
    level: str,
) -> None:
    full, plain = (Tokenizer.train(LINES, level, 40, normalised=given) for given in (True, False))
    assert full.ids(LINES[0]) == plain.ids(LINES[0])
    # Only NFKC normalisation turns the fullwidth letter into an "a".
    assert full.ids("\uff41 dog") == full.ids("a dog") != plain.ids("\uff41 dog")
    assert len(plain._model) < 2_000 < 200_000 < len(full._model)
