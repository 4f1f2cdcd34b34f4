"""Metrics by length.

BLEU equals sacrebleu's, every sentence is in one third, and intervals equal those of a slow
bootstrap.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.lab.tasks.translation import (
    THIRDS,
    compute_bleu_by_length,
    compute_gains_by_length,
    split_by_length,
)
from areaviz.measures.references import compute_bleu_and_chrf

WORDS = [
    "ein",
    "Hund",
    "läuft",
    "über",
    "die",
    "grüne",
    "Wiese",
    "und",
    "zwei",
    "Kinder",
    "sehen",
    "ihm",
    "lange",
    "zu",
]


def sentences(seed: int, count: int = 30) -> list[str]:
    """Return sentences of 4 to 12 words, so that n-grams of every order occur."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(4, 13))) for _ in range(count)]


def damaged(texts: list[str], share: float, seed: int = 9) -> list[str]:
    """Replace a share of the words by random ones."""
    rng, found = np.random.default_rng(seed), []
    for text in texts:
        words = [str(rng.choice(WORDS)) if rng.random() < share else w for w in text.split()]
        found.append(" ".join(words))
    return found


REFERENCES = sentences(1)
SYSTEM = damaged(REFERENCES, 0.2)


@given(st.lists(st.integers(1, 9), min_size=3, max_size=20))
def test_thirds_contain_every_sentence_once_by_length(lengths: list[int]) -> None:
    found = split_by_length(["w " * length for length in lengths])
    assert list(found) == list(THIRDS)
    order = [int(place) for places in found.values() for place in places]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[place] for place in order] == sorted(lengths)
    assert max(map(len, found.values())) - min(map(len, found.values())) <= 1


def test_each_third_has_the_bleu_of_sacrebleu() -> None:
    figures = compute_bleu_by_length(SYSTEM, REFERENCES, REFERENCES, resamples=20)
    for name, places in split_by_length(REFERENCES).items():
        chosen = [SYSTEM[p] for p in places], [REFERENCES[p] for p in places]
        assert figures[f"bleu_{name}"] == pytest.approx(compute_bleu_and_chrf(*chosen)[0])
        assert figures[f"bleu_{name}_low"] < figures[f"bleu_{name}_high"]
        words = [len(REFERENCES[p].split()) for p in places]
        assert figures[f"words_{name}"] == pytest.approx(sum(words) / len(words))


def test_interval_matches_slow_bootstrap() -> None:
    figures = compute_bleu_by_length(SYSTEM, REFERENCES, REFERENCES, resamples=800)
    rng, places = np.random.default_rng(3), split_by_length(REFERENCES)["long"]
    found = []
    for _ in range(400):
        drawn = rng.choice(places, len(places))
        found.append(
            compute_bleu_and_chrf([SYSTEM[p] for p in drawn], [REFERENCES[p] for p in drawn])[0]
        )
    low, high = np.percentile(found, [2.5, 97.5])
    width = high - low
    assert figures["bleu_long_low"] == pytest.approx(low, abs=0.2 * width)
    assert figures["bleu_long_high"] == pytest.approx(high, abs=0.2 * width)


def test_gain_is_largest_where_long_sentences_differ() -> None:
    longest = set(split_by_length(REFERENCES)["long"].tolist())
    worse = damaged(REFERENCES, 0.6)
    baseline = [worse[p] if p in longest else SYSTEM[p] for p in range(len(SYSTEM))]
    gains = compute_gains_by_length(SYSTEM, baseline, REFERENCES, REFERENCES, resamples=200)
    whole = (
        compute_bleu_and_chrf(SYSTEM, REFERENCES)[0]
        - compute_bleu_and_chrf(baseline, REFERENCES)[0]
    )
    assert gains["all"] == pytest.approx(whole)
    assert gains["short"] == gains["middle"] == 0
    assert gains["growth"] == gains["long"] > 0
    assert 0 < gains["growth_low"] < gains["growth"] < gains["growth_high"]


def test_equal_outputs_have_zero_gain() -> None:
    gains = compute_gains_by_length(SYSTEM, SYSTEM, REFERENCES, REFERENCES, resamples=20)
    assert set(gains.values()) == {0.0}


def test_third_without_sentences_has_no_figures() -> None:
    figures = compute_bleu_by_length(SYSTEM[:2], REFERENCES[:2], REFERENCES[:2], resamples=20)
    assert {key.split("_")[1] for key in figures} == {"short", "middle"}
    with pytest.raises(ValueError, match="at least 3 sentences, got 2"):
        compute_gains_by_length(SYSTEM[:2], SYSTEM[:2], REFERENCES[:2], REFERENCES[:2])


def test_missing_texts_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one text of each kind a sentence, got \[4, 3, 4\]"):
        compute_bleu_by_length(SYSTEM[:3], REFERENCES[:4], REFERENCES[:4])
