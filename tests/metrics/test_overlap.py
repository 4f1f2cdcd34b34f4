"""Counts of shared n-grams give the scores of sacrebleu to the last bit."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from areaviz.measures.references import count_overlap, score_corpus, score_sentences

# Use few letters and words, so that outputs and references share n-grams. U+00A0 and U+3000 are
# spaces.
TEXTS = st.lists(
    st.sampled_from(["a", "ab", "ab.", "Der", "Hund", "1,5", "“", "\u00a0", "\u3000", "", "é"]),
    max_size=12,
).map(" ".join)
PAIRS = st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6)


def slow_overlap(output: str, reference: str, order: int) -> tuple[int, int, int]:
    def grams(text: str) -> Counter[str]:
        return Counter(text[at : at + order] for at in range(len(text) - order + 1))

    ours, theirs = grams(output), grams(reference)
    return ours.total(), theirs.total(), (ours & theirs).total()


@given(PAIRS)
def test_count_overlap_equals_slow_counts(pairs: list[tuple[str, str]]) -> None:
    outputs, references = zip(*pairs, strict=True)
    found = count_overlap(outputs, references, 4)
    for place, pair in enumerate(pairs):
        for order in range(4):
            counts = (
                found.outputs_NG[place, order],
                found.references_NG[place, order],
                found.shared_NG[place, order],
            )
            assert counts == slow_overlap(*pair, order + 1)


@given(PAIRS)
def test_sentence_scores_equal_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    outputs, references = zip(*pairs, strict=True)
    bleu, chrf = score_sentences(outputs, references)
    metric = BLEU(effective_order=True)
    assert bleu.tolist() == [metric.sentence_score(one, [other]).score for one, other in pairs]
    assert chrf.tolist() == [CHRF().sentence_score(one, [other]).score for one, other in pairs]


@given(PAIRS)
def test_corpus_scores_equal_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    outputs, references = zip(*pairs, strict=True)
    bleu = BLEU().corpus_score(outputs, [references]).score
    assert score_corpus(outputs, references) == (
        bleu,
        CHRF().corpus_score(outputs, [references]).score,
    )


def test_count_overlap_of_long_texts_does_not_overflow() -> None:
    rng = np.random.default_rng(1)
    words = [[f"w{number}" for number in rng.integers(0, 50_000, 4_000)] for _ in range(2)]
    found = count_overlap(words, words, 6)
    assert (found.shared_NG == found.outputs_NG).all()


def test_sentence_scores_of_nothing_are_empty() -> None:
    assert [len(scores) for scores in score_sentences([], [])] == [0, 0]
