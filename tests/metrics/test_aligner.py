"""The statistical aligner finds corresponding words and ignores words that it never saw."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.measures.alignment import Aligner, compute_diagonal_prior, make_diagonal_links

PAIRS = [
    ("the dog", "der Hund"),
    ("the cat", "die Katze"),
    ("a dog", "ein Hund"),
    ("a cat", "eine Katze"),
    ("black dog", "schwarzer Hund."),
]


@pytest.fixture(scope="module")
def aligner() -> Aligner:
    return Aligner.train([(source.split(), target.split()) for source, target in PAIRS] * 3)


def test_co_occurring_words_are_linked_at_any_position(aligner: Aligner) -> None:
    assert aligner.links(["a", "black", "dog"], ["Hund"]) == {(2, 0)}
    assert aligner.links(["cat", "the", "dog"], ["Hund,", "Katze"]) == {(2, 0), (0, 1)}


def test_probabilities_of_a_source_word_sum_to_one(aligner: Aligner) -> None:
    totals: dict[str, float] = {}
    for (source, _), probability in aligner.probabilities.items():
        totals[source] = totals.get(source, 0.0) + probability
    assert all(total == pytest.approx(1) for total in totals.values())


def test_unseen_words_and_empty_sentences_get_no_link(aligner: Aligner) -> None:
    assert aligner.links(["dog"], ["Xylophon"]) == frozenset()
    assert aligner.links([], ["Hund"]) == aligner.links(["dog"], []) == frozenset()


def test_prior_is_a_distribution_peaked_on_the_diagonal() -> None:
    prior_TS = compute_diagonal_prior(4, 8, 4.0)
    np.testing.assert_allclose(prior_TS.sum(1), 1)
    assert prior_TS.argmax(1).tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    np.testing.assert_allclose(compute_diagonal_prior(5, 2, 0.0), 0.2)


def test_diagonal_links_every_target_word_once() -> None:
    assert make_diagonal_links(3, 3) == {(0, 0), (1, 1), (2, 2)}
    assert make_diagonal_links(2, 4) == {(0, 0), (0, 1), (1, 2), (1, 3)}
    assert make_diagonal_links(0, 2) == frozenset()
