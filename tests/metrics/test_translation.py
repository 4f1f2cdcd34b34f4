"""Translation scores on cases whose answer follows from the definitions."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from areaviz.measures.references import compare_systems, compute_bleu_and_chrf, score_translations

REFERENCES = [
    "Ein Hund schläft unter dem alten Tisch .",
    "Zwei Kinder malen ein großes blaues Haus .",
    "Der Mann liest seiner Tochter ein Buch vor .",
    "Am Abend regnet es über der ganzen Stadt .",
    "Sie kocht heute Suppe mit frischem Gemüse .",
    "Die Katze springt leise auf das Dach .",
]


def test_bleu_by_hand() -> None:
    scores = score_translations(["a b c d e f"], ["a b c d x f"])
    assert scores["bleu"] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25)
    assert scores["length_ratio"] == 1
    assert scores["sentences"] == 1


def test_short_output_pays_the_brevity_penalty() -> None:
    scores = score_translations(["a b c d"], ["a b c d e"])
    assert scores["bleu"] == pytest.approx(100 * math.exp(1 - 5 / 4))
    assert scores["length_ratio"] == pytest.approx(4 / 5)


def test_chrf_by_hand() -> None:
    # Half of the letters match and no pair of letters does. There are no longer n-grams.
    assert score_translations(["ab"], ["ac"])["chrf"] == pytest.approx(25)


def test_lower_casing_forgives_case_only() -> None:
    scores = score_translations(
        ["ein hund schläft unter dem Tisch"], ["Ein Hund schläft unter dem Tisch"]
    )
    assert scores["bleu_lowercase"] == pytest.approx(100)
    assert float(scores["bleu"]) < 100


def test_punctuation_is_split_by_13a() -> None:
    assert score_translations(["Sie lacht laut heute ."], ["Sie lacht laut heute."])[
        "bleu"
    ] == pytest.approx(100)


def test_score_signatures_state_the_methods() -> None:
    scores = score_translations(REFERENCES, REFERENCES)
    assert "case:mixed" in str(scores["bleu_signature"])
    assert "tok:13a" in str(scores["bleu_signature"])
    assert "case:lc" in str(scores["bleu_lowercase_signature"])
    assert "nc:6|nw:0" in str(scores["chrf_signature"])


@pytest.mark.parametrize("hypotheses", [[], ["a"], ["a", "b", "c"]], ids=["none", "fewer", "more"])
def test_every_hypothesis_needs_its_reference(hypotheses: list[str]) -> None:
    with pytest.raises(ValueError, match=f"{len(hypotheses)} translations and 2 references"):
        score_translations(hypotheses, ["a", "b"])
    with pytest.raises(ValueError, match="one reference for each"):
        compare_systems(["a", "b"], hypotheses, ["a", "b"])


def test_no_sentences_have_no_score() -> None:
    with pytest.raises(ValueError, match="got 0 translations"):
        score_translations([], [])


def test_bleu_and_chrf_equals_full_scores() -> None:
    outputs = [REFERENCES[0], *REFERENCES[:-1]]
    scores = score_translations(outputs, REFERENCES)
    assert compute_bleu_and_chrf(outputs, REFERENCES) == (scores["bleu"], scores["chrf"])


def test_clear_difference_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SACREBLEU_SEED", raising=False)
    baseline = [" ".join(reversed(line.split())) for line in REFERENCES]
    comparison = compare_systems(REFERENCES, baseline, REFERENCES, resamples=200)
    assert set(comparison) == {"bleu", "chrf"}
    bleu = comparison["bleu"]
    assert bleu.system == pytest.approx(100)
    assert bleu.difference == pytest.approx(
        100 - float(score_translations(baseline, REFERENCES)["bleu"])
    )
    assert bleu.p_value < 0.05
    assert "seed:12345" in bleu.signature
    assert "ar:200" in bleu.signature


def test_system_does_not_differ_from_itself() -> None:
    hypotheses = [line.replace("ein", "das") for line in REFERENCES]
    chrf = compare_systems(hypotheses, hypotheses, REFERENCES, resamples=50)["chrf"]
    assert chrf.difference == 0
    assert chrf.p_value == 1


def test_p_value_is_two_sided() -> None:
    """The reference exchanges the sentences in every possible way, and counts each way once."""
    system = [REFERENCES[0], *(line.replace("e", "a") for line in REFERENCES[1:])]
    worse = {0: "Ein Hund liegt vor dem Haus .", 1: REFERENCES[1], 2: "Der Mann geht .", 4: "Ja ."}
    baseline = [worse.get(i, line.replace("e", "o")) for i, line in enumerate(system)]

    def difference(swapped: tuple[bool, ...]) -> float:
        pairs = [
            (other, one) if swap else (one, other)
            for one, other, swap in zip(system, baseline, swapped, strict=True)
        ]
        first, second = (
            compute_bleu_and_chrf(side, REFERENCES)[1] for side in zip(*pairs, strict=True)
        )
        return first - second

    seen = difference((False,) * len(system))
    drawn = [difference(swapped) for swapped in product((False, True), repeat=len(system))]
    exact = sum(abs(one) >= abs(seen) - 1e-9 for one in drawn) / len(drawn)
    found = compare_systems(system, baseline, REFERENCES, resamples=2000)["chrf"].p_value
    assert found == pytest.approx(exact, abs=0.05)
    back = compare_systems(baseline, system, REFERENCES, resamples=2000)["chrf"].p_value
    assert back == pytest.approx(found, abs=0.05)


def test_single_different_sentence_is_not_significant() -> None:
    baseline = ["Eine Katze .", *REFERENCES[1:]]
    assert compare_systems(REFERENCES, baseline, REFERENCES, resamples=50)["bleu"].p_value == 1


def test_bleu_and_chrf_take_all_references() -> None:
    outputs = ["a dog runs over the field", "two cats sleep on a mat"]
    references = [("the dog is running", outputs[0]), (outputs[1],)]
    np.testing.assert_allclose(compute_bleu_and_chrf(outputs, references), 100)
    firsts = [one[0] for one in references]
    assert compute_bleu_and_chrf(outputs, firsts)[0] < 60
    streams: Any = [firsts, [outputs[0], None]]
    assert (
        compute_bleu_and_chrf(outputs, references)[0] == BLEU().corpus_score(outputs, streams).score
    )
