"""A made-up treebank, and sentences split into words as a treebank splits them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.lab.tasks.trees import MAX_WORDS, Parsed, read_treebank
from areaviz.samples.reasoning import separate_punctuation

Line = tuple[str, str, str]
"""The corpus's name of a split, a sentence with spaces between its words, and its tree."""
FLAT = "(S XX XX )S"


def write_treebank(data: Path, lines: Sequence[Line]) -> None:
    """Write sentences in the linear treebank's format, with made-up documents, genres and tags."""
    rows = []
    for split, words, tree in lines:
        tags = " ".join("NN" for _ in words.split())
        rows.append("\t".join((split, "letters_1", "letter", words, tags, tree)) + "\n")
    path = data / "treebank" / "gum.linear.tsv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(rows).encode()))


def test_every_split_has_its_own_sentences(tmp_path: Path) -> None:
    splits = {"train": "train", "val": "dev", "test": "test", "test_genres": "test2"}
    # The rows of a split are not adjacent.
    lines = [(own, f"{who} {own}", FLAT) for who in ("Ida", "Olaf") for own in splits.values()]
    write_treebank(tmp_path, lines)
    for name, own in splits.items():
        found = read_treebank(tmp_path, name)
        assert found == [Parsed(f"{who} {own}", FLAT, "letter") for who in ("Ida", "Olaf")]
        assert [one.words for one in found] == [2, 2]


def test_sentences_have_at_most_the_requested_length(tmp_path: Path) -> None:
    counts = [2, 5, MAX_WORDS, MAX_WORDS + 1, 30]
    lines = [("train", " ".join(["ha"] * count), "(X XX )X") for count in counts]
    write_treebank(tmp_path, lines)

    def lengths(longest: int) -> list[int]:
        return [one.words for one in read_treebank(tmp_path, "train", longest)]

    assert lengths(30) == counts and lengths(5) == [2, 5] and lengths(1) == []
    assert [one.words for one in read_treebank(tmp_path, "train")] == [2, 5, MAX_WORDS]


def test_brackets_in_text_are_restored(tmp_path: Path) -> None:
    words = "Ida -LRB- my aunt -RRB- came -LSB- late -RSB-"
    tree = "(S " + "XX " * 9 + ")S"
    write_treebank(tmp_path, [("dev", words, tree)])
    (one,) = read_treebank(tmp_path, "val")
    assert one.text == "Ida ( my aunt ) came [ late ]" and one.tree == tree and one.words == 9
    # A sentence of the user is split in this way too.
    assert separate_punctuation("Ida (my aunt) came [late]") == one.text


def test_missing_treebank_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"gum\.linear\.tsv\.gz is missing. Make it from"):
        read_treebank(tmp_path, "train")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The cat sleeps.", "The cat sleeps ."),
        ("Stop! Who, me?", "Stop ! Who , me ?"),
        ("Bring these: tea, milk; no sugar.", "Bring these : tea , milk ; no sugar ."),
        ("She paid $3.50 (or 4€).", "She paid $ 3.50 ( or 4 € ) ."),
        ("A well-known, half-empty jar", "A well - known , half - empty jar"),
        ("He waited—and waited -- long", "He waited — and waited -- long"),
        ("Tea and/or milk, 50% each", "Tea and / or milk , 50 % each"),
        ('"Go," she said.', '" Go , " she said .'),
        ("“Is it you?” “Yes.”", "“ Is it you ? ” “ Yes . ”"),
        ('He said "no."', 'He said " no . "'),
        ("(He left.)", "( He left . )"),
    ],
)
def test_punctuation_is_split_from_words(sentence: str, expected: str) -> None:
    assert separate_punctuation(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("I don't know.", "I do n't know ."),
        ("He can't, won’t.", "He ca n't , wo n’t ."),
        ("She's here; they’re not.", "She 's here ; they ’re not ."),
        ("I'm sure he'd say we've won.", "I 'm sure he 'd say we 've won ."),
        ("Ida's boat'll sink", "Ida 's boat 'll sink"),
        ("You cannot go.", "You can not go ."),
        ("CANNOT", "CAN NOT"),
        ("Gonna sing?", "Gon na sing ?"),
        # These words are no contractions.
        ("o'clock", "o'clock"),
        ("a cannoli", "a cannoli"),
    ],
)
def test_contractions_become_two_words(sentence: str, expected: str) -> None:
    assert separate_punctuation(sentence) == expected


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("The U.S. is large.", "The U.S. is large ."),
        ("He lives in the U.S.", "He lives in the U.S."),
        ("Dr. Lind rose at 5:30 a.m.", "Dr. Lind rose at 5:30 a.m."),
        ("Ships, e.g. 10,000 rafts, sink.", "Ships , e.g. 10,000 rafts , sink ."),
        ("It rose by 3.5 in May.", "It rose by 3.5 in May ."),
        ("See (the U.S.)", "See ( the U.S. )"),
    ],
)
def test_full_stops_within_words_stay(sentence: str, expected: str) -> None:
    assert separate_punctuation(sentence) == expected


def test_number_is_not_an_abbreviation() -> None:
    assert separate_punctuation("It costs 3.5.") == "It costs 3.5 ."


@pytest.mark.parametrize("sentence", ["Well ... maybe", "Wait ...", "Wait...", "Wait…"])
def test_three_full_stops_are_one_token(sentence: str) -> None:
    assert separate_punctuation(sentence).replace("…", "...").split(" ")[1] == "..."


def test_word_may_be_contracted_twice() -> None:
    assert separate_punctuation("I'd've gone") == "I 'd 've gone"


@pytest.mark.parametrize("sentence", ["", " ", " \t\n "])
def test_text_of_blanks_gives_no_words(sentence: str) -> None:
    assert separate_punctuation(sentence) == ""


WORDS = ["dog", "Ida", "U.S.", "3.5", "10,000", "5:30", "e.g.", "o'clock"]
HALVES = ["do", "n't", "n’t", "'s", "’re", "can", "not", "gon", "na"]
MARKS = [*',.?!;:()[]“”"-…$€%&/—–', "--"]


@given(st.lists(st.sampled_from(WORDS + HALVES + MARKS), max_size=12).map(" ".join))
def test_split_text_stays_split(sentence: str) -> None:
    assert separate_punctuation(sentence) == sentence


UNITS = ["dog", "Ida", "U.S.", "3.5", "she 's", "they ’re", "did n't", "can not", "gon na"]
UNITS += ["well - known", "“ hi ”", '" no "', "( so )", "[ so ]", "$ 3.50", "50 %", "a / b"]


@given(
    st.lists(
        st.tuples(st.sampled_from(UNITS), st.sampled_from(["", ",", ";", ":"])),
        max_size=6,
    ),
    st.sampled_from(".?!"),
)
def test_joined_words_are_split(units: list[tuple[str, str]], last: str) -> None:
    together = [unit.replace(" ", "") + mark for unit, mark in units]
    separate = [f"{unit} {mark}".strip() for unit, mark in units]
    assert separate_punctuation(" ".join([*together, f"end{last}"])) == " ".join(
        [*separate, "end", last]
    )


@given(st.text())
def test_splitting_changes_only_blanks(sentence: str) -> None:
    assert "".join(separate_punctuation(sentence).split()) == "".join(sentence.split())
