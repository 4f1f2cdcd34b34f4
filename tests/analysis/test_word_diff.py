"""Word differences: known answers; both texts can be restored from the pieces."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as some

from areaviz.sets.app.examples import (
    ADDED,
    MAX_TOKENS,
    MISSING,
    SAME,
    Piece,
    compare_words,
    find_closest_text,
)

TEXTS = some.text(some.sampled_from("ab,. \n中é"), max_size=30)


def test_compare_words_marks_replaced_words() -> None:
    assert compare_words("Ein Hund schläft.", "Ein Vogel schläft!") == [
        Piece("Ein ", SAME),
        Piece("Hund ", MISSING),
        Piece("Vogel ", ADDED),
        Piece("schläft", SAME),
        Piece(".", MISSING),
        Piece("!", ADDED),
    ]


def test_compare_words_marks_letters_of_chinese() -> None:
    pieces = compare_words("我有狗", "我有猫")
    assert pieces == [Piece("我有", SAME), Piece("狗", MISSING), Piece("猫", ADDED)]


@given(TEXTS, TEXTS)
def test_compare_words_keeps_both_texts(base: str, text: str) -> None:
    pieces = compare_words(base, text)

    def without(kind: str) -> str:
        return "".join("".join(one.text for one in pieces if one.kind != kind).split())

    assert without(MISSING) == "".join(text.split())
    assert without(ADDED) == "".join(base.split())


def test_compare_words_leaves_long_texts_unmarked() -> None:
    long = "a " * (MAX_TOKENS + 1)
    assert compare_words("b", long) == [Piece(long, SAME)]


def test_closest_text_shares_most_words() -> None:
    assert (
        find_closest_text(["Eine Katze.", "Ein Hund rennt.", "Ein Hund."], "Der Hund rennt.") == 1
    )
    assert find_closest_text(["x", "y"], "z") == 0
