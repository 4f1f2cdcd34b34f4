"""The app's own stories, points and trees have the answers that a slow reader finds."""

from __future__ import annotations

import numpy as np

from areaviz.samples.dataset import Example
from areaviz.samples.reasoning import (
    FEWEST_APART,
    SET_COUNT,
    STORY_COUNT,
    linearise_tree,
    make_point_sets,
    make_sentences_with_trees,
    make_stories,
    separate_punctuation,
)
from areaviz.trace.kinds import make_facts_field, parse_points, read_tree


def answer_of(example: Example) -> tuple[str, set[int]]:
    """Walk through the story, and return the answer and the facts that give it."""
    where: dict[str, tuple[str, int]] = {}
    carried: dict[str, tuple[str, int]] = {}
    for number, fact in enumerate(make_facts_field(example.text).labels):
        words = fact.rstrip(".").split()
        if words[-1] == "there":
            carried[words[-2]] = words[0], number
        else:
            where[words[0]] = words[-1], number
    wanted = example.text.rstrip("?").split()[-1]
    if wanted in carried:
        person, taken = carried[wanted]
        return where[person][0], {taken, where[person][1]}
    return where[wanted][0], {where[wanted][1]}


def test_stories_have_answers_and_supporting_facts() -> None:
    found = make_stories().examples
    assert len(found) == STORY_COUNT
    for example in found:
        assert answer_of(example) == (example.references[0], set(example.facts))
    assert {len(example.facts) for example in found} == {1, 2}


def test_trees_are_complete_and_match_their_words() -> None:
    for example in make_sentences_with_trees().examples:
        assert read_tree(example.references[0].split()).is_of(len(example.text.split()))
        assert separate_punctuation(example.text) == example.text, "marks stand alone"


def test_bracketed_sentence_becomes_a_row() -> None:
    words, tree = linearise_tree("(S (NP He) (VP slept) .)")
    assert words == ["He", "slept", "."]
    assert tree == "(S (NP XX )NP (VP XX )VP XX )S"


def test_points_are_distinguishable() -> None:
    found = [parse_points(example.text) for example in make_point_sets().examples]
    assert len(found) == SET_COUNT and {len(one) for one in found} == set(range(5, 11))
    for points_N2 in found:
        for number, point in enumerate(points_N2):
            others_M2 = np.delete(points_N2, number, 0)
            nearest = float(np.linalg.norm(others_M2 - point, axis=1).min())
            assert nearest >= FEWEST_APART
