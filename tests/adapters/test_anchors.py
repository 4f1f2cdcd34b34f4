"""Anchors of tokens are in order, inside the text, and cover every visible character."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from areaviz.adapters.anchors import WILDCARD, Piece, anchor_pieces, edit_path
from areaviz.adapters.texts import Texts
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field
from tests.adapters.tokenizers_of_each_kind import KINDS
from tests.trace.strategies import SOME

USUAL = st.sampled_from(
    [
        "dog",
        "a",
        "½",
        "1",
        "ﬁ",
        "naïve",
        "e\u0301",
        "犬",
        "👩\u200d👧",
        " ",
        "  ",
        "\n",
        "ß",
        "№",
        "…",
        "한",
        "▁",
        "Ġ",
    ]
)
TEXTS = st.lists(USUAL | st.characters(codec="utf-8"), min_size=1, max_size=25).map("".join)


def pieces(*texts: str) -> list[Piece]:
    return [Piece(text, text == "</s>", text == "<unk>") for text in texts]


def read(name: str, text: str) -> Field | None:
    """Return the field of a text, or None if the tokenizer makes no token of it."""
    try:
        return Texts(KINDS[name].make()).read(text).field
    except InputError:
        return None


def whole(text: Sequence[object]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return the flags of a text whose characters have no parts."""
    return np.zeros(len(text), np.bool_)


def places(text: str, *tokens: str) -> list[str]:
    return [text[start:end] for start, end in anchor_pieces(text, pieces(*tokens))]


def uncovered(name: str, field: Field) -> list[str]:
    """Return the visible characters that the model saw and that no token covers."""
    covered = {
        place for start, end in field.anchors.tolist() for place in range(int(start), int(end))
    }
    left = []
    for place, character in enumerate(field.raw):
        hidden = character.isspace() or unicodedata.category(character)[0] == "C"
        if not hidden and place not in covered and not KINDS[name].loses(character):
            left.append(character)
    return left


@pytest.mark.parametrize("name", KINDS)
@SOME
@given(text=TEXTS)
@example(text="½ cup of 1 milk in 2 cups")
@example(text="a   dog\n\n  👩\u200d👧 犬")
def test_anchors_cover_all_text_the_model_read(name: str, text: str) -> None:
    field = read(name, text)
    if field is None:
        return
    starts, ends = field.anchors.T
    assert np.all(starts <= ends) and np.all(ends <= len(text)) and np.all(starts >= 0)
    placed = field.anchors[starts < ends]
    assert np.all(np.diff(placed[:, 0]) >= 0), "out of order"
    assert uncovered(name, field) == []


@pytest.mark.parametrize(
    ("text", "tokens", "found"),
    [
        (
            "ein kleiner Hund",
            ("▁ein", "▁klein", "er", "▁Hund", "</s>"),
            ["ein", "klein", "er", "Hund", ""],
        ),
        ("½ of 1", ("▁1", "⁄", "2", "▁of", "▁", "1"), ["½", "½", "½", "of", " ", "1"]),
        ("½1", ("1",), ["1"]),
        ("1½", ("1",), ["1"]),
        ("naïve dog", ("naive", "do", "##g"), ["naïve", "do", "g"]),
        ("a dog", ("a</w>", "d", "og</w>"), ["a", "d", "og"]),
        ("doge a", ("dog@@", "e", "a"), ["dog", "e", "a"]),
        ("”No“ …", ('"', "No", '"', "..."), ["”", "No", "“", "…"]),
        ("犬猫 a banana b", ("<unk>", "▁a", "<unk>", "▁b"), ["犬猫", "a", "banana", "b"]),
        ("a  b 犬", ("a", "Ġ", "Ġb", "Ġç", "Ĭ", "¬"), ["a", " ", "b", "犬", "犬", "犬"]),
        ("ï犬", ("Ã", "¯", "ç", "\x8a", "¬"), ["ï", "ï", "犬", "犬", "犬"]),
        ("x犬", ("x", "<0xE7>", "<0x8A>", "<0xAC>"), ["x", "犬", "犬", "犬"]),
        ("dogs", ("dog", "s", "</s>"), ["dog", "s", ""]),
        ("dog </s>", ("▁dog", "</s>"), ["dog", "</s>"]),
        ("", ("</s>",), [""]),
    ],
)
def test_tokens_are_anchored_at_their_spelling(
    text: str, tokens: tuple[str, ...], found: Sequence[str]
) -> None:
    assert places(text, *tokens) == found


def test_repeated_number_gets_its_own_position() -> None:
    """A greedy search assigned the second "1" to the "½"."""
    field = read("Marian", "½ cup of 1 cup")
    assert field is not None
    one = field.labels.index("1", 3)
    assert field.anchors[one].tolist() == [9, 10]


def slow_cost(symbols: Sequence[int], text: Sequence[int]) -> int:
    """Return the least cost of edits, computed cell by cell."""
    costs = {(0, 0): 0}
    for row in range(len(symbols) + 1):
        wide = row > 0 and symbols[row - 1] == -1
        for column in range(len(text) + 1):
            ways = [costs[row, column]] if (row, column) == (0, 0) else []
            if row:
                ways.append(costs[row - 1, column] + (2 if symbols[row - 1] == 32 else 20))
            if column:
                dropped = 2 if text[column - 1] == 32 else 5 if wide else 20
                ways.append(costs[row, column - 1] + dropped)
            if row and column:
                symbol, character = symbols[row - 1], text[column - 1]
                is_equal = symbol == character or (symbol == -1 and character != 32)
                mixed = (symbol == 32) != (character == 32)
                unequal = 1000 if mixed else 20
                ways.append(costs[row - 1, column - 1] + (0 if is_equal else unequal))
            costs[row, column] = min(ways)
    return costs[len(symbols), len(text)]


CODES = st.lists(st.sampled_from([32, 97, 98, 99]), max_size=8)


@given(st.lists(st.sampled_from([-1, 32, 97, 98]), max_size=8), CODES)
def test_edit_path_costs_match_slow_table(symbols: list[int], text: list[int]) -> None:
    cost, path = edit_path(np.array(symbols, np.int64), np.array(text, np.int64), whole(text))
    assert cost == slow_cost(symbols, text)
    placed = [index for index in path if index >= 0]
    assert len(path) == len(symbols) and placed == sorted(set(placed))


def test_window_keeps_only_symbols_with_all_characters() -> None:
    """Check wildcards of three characters each, so that 2,048 symbols need 4,096 characters."""
    letters = [0x4E00 + number for number in range(1200)]
    symbols = [code for letter in letters for code in (WILDCARD, letter)]
    text = [code for letter in letters for code in (*b"abc", letter)]
    _, path = edit_path(np.array(symbols, np.int64), np.array(text, np.int64), whole(text))
    assert path[1::2] == [4 * number + 3 for number in range(1200)]


def test_long_texts_are_aligned_in_windows() -> None:
    text = "".join(f"{number} dogs, ½ cat. " for number in range(240))[:4096]
    symbols = np.array([ord(one) for one in text.replace("½", "1⁄2")], np.int64)
    cost, path = edit_path(symbols, np.array([ord(one) for one in text], np.int64), whole(text))
    assert cost > 0
    for symbol, index in zip(symbols.tolist(), path, strict=True):
        assert chr(symbol) in "1⁄2" or text[index] == chr(symbol)
