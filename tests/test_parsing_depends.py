"""The shipped parser reads its sentence: trees and bracket attention follow the words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from areaviz.backend.local import LocalBackend
from areaviz.measures.spans import find_word_runs
from areaviz.models.recurrent import RECURRENT_SITE
from areaviz.samples.reasoning import SENTENCES, separate_punctuation
from areaviz.trace.areas import FloatArray
from areaviz.trace.kinds import is_opening, read_tree
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

CHECKPOINTS = Path(__file__).parents[1] / "checkpoints"
NAME = "parser-boundary"


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    made = LocalBackend(CHECKPOINTS, "cpu")
    assert NAME in made.models(), f"checkpoints/{NAME} is missing"
    return made


def tree_of(trace: Trace) -> list[str]:
    return trace.fields["target"].raw.split()


ALIKE = (
    "The old man saw dogs in a park .",
    "She said that my friends like to sing .",
    "If it rains , we stay at home .",
    "In the kitchen , her small cat sleeps .",
)
"""Sentences with equal numbers of words but different structures."""


def test_different_sentence_gets_a_different_tree(backend: LocalBackend) -> None:
    trees = {" ".join(tree_of(backend.trace(Request(NAME, text)))) for text in ALIKE}
    assert len(trees) == len(ALIKE) and {len(text.split()) for text in ALIKE} == {9}


def test_most_samples_get_a_whole_tree_of_their_words(backend: LocalBackend) -> None:
    whole = []
    for sentence in SENTENCES:
        text = separate_punctuation(sentence)
        tree = read_tree(tree_of(backend.trace(Request(NAME, text))))
        if tree.is_of(len(text.split())):
            whole.append(sentence)
    assert len(whole) >= 4, whole


def bracket_attention(trace: Trace, head: int) -> FloatArray:
    """Return each word's attention from every opening bracket: float32 [brackets, words]."""
    shares = item_shares(trace.maps[RECURRENT_SITE], 0, head)
    words = [shares[:, start:end].sum(1) for start, end in find_word_runs(trace.fields["source"])]
    rows = [number for number, token in enumerate(tree_of(trace)) if is_opening(token)]
    found: FloatArray = np.stack(words, 1)[rows]
    return found


@pytest.mark.parametrize("other", ALIKE[1:])
def test_equal_brackets_attend_to_words_of_their_sentence(
    backend: LocalBackend, other: str
) -> None:
    """Both sentences get the tree of the first one, so that only the sentence differs."""
    first = backend.trace(Request(NAME, ALIKE[0]))
    tree = first.fields["target"].raw
    second = backend.trace(Request(NAME, other, target=tree))
    assert tree_of(second) == tree.split()
    apart_most = []
    for head in range(first.maps[RECURRENT_SITE].heads):
        moved = np.abs(bracket_attention(first, head) - bracket_attention(second, head))
        apart_most.append(moved.max())
    assert max(apart_most) > 0.2
