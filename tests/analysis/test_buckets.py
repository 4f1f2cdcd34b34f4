"""Examples by bucket, and words by how frequent they are, against hand-counted cases."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.analysis.buckets import BUCKETINGS, bucket_table, word_table
from areaviz.metrics.translation import translation_scores

REFERENCES = ["der Hund rennt", "der Hund schläft im Haus", "eine Katze", ""]


def table(
    outputs: list[str], references: list[str] = REFERENCES, **columns: list[float]
) -> pd.DataFrame:
    made = {"text": ["a b c"] * len(outputs), "reference": references, "output_0": outputs}
    return pd.DataFrame({**made, "entropy_0": [1.0, 2.0, 3.0, 6.0], **columns})


def test_examples_of_a_length_are_scored_together() -> None:
    outputs = ["der Hund rennt", "der Hund", "eine Maus", "x"]
    found = bucket_table(table(outputs), "length", "entropy", 1)
    (row,) = found.to_dict("records")
    scores = translation_scores(outputs[:3], REFERENCES[:3])
    assert (row["bucket"], row["examples"], row["mean_0"]) == ("1–5", 4, 3.0)
    assert row["corpus_bleu_0"] == scores["bleu"] and row["corpus_chrf_0"] == scores["chrf"]


@pytest.mark.parametrize("kind", BUCKETINGS)
def test_every_example_is_in_one_bucket_and_buckets_rise(kind: str) -> None:
    rng = np.random.default_rng(0)
    references = [" ".join(rng.choice(list("abcdefgh"), n)) for n in rng.integers(1, 70, 50)]
    made = pd.DataFrame(
        {
            "text": "a",
            "reference": references,
            "output_0": references,
            "chrf_0": rng.uniform(0, 100, 50),
        }
    )
    found = bucket_table(made.assign(entropy_0=1.0), kind, "entropy", 1)
    assert found["examples"].sum() == 50 and (found["mean_0"] == 1).all()
    starts = [int(name.rstrip("+").split("–")[0].replace(",", "")) for name in found["bucket"]]
    assert starts == sorted(starts)


def test_without_references_there_are_no_scores_but_means() -> None:
    made = table(["a", "b", "c", "d"], [""] * 4)
    row = bucket_table(made, "length", "entropy", 1).to_dict("records")[0]
    assert np.isnan(row["corpus_bleu_0"]) and row["mean_0"] == 3.0


def test_words_are_matched_by_how_often_references_have_them() -> None:
    # Twice: der, hund. Once: rennt, schläft, im, haus, eine, katze. Written besides: maus (in no
    # reference).
    found = word_table(table(["Der Hund rennt.", "der Hund der Hund", "eine Maus", ""]), 1)
    assert list(found["bucket"]) == ["1", "2"] and list(found["words"]) == [6, 4]
    assert found["f1_0"][0] == pytest.approx(2 * 2 / (3 + 6)) and found["f1_0"][1] == pytest.approx(
        2 * 4 / (6 + 4)
    )


@given(st.lists(st.sampled_from(["a", "b b", "a b c d e f g", "a c", "h"]), min_size=1))
def test_buckets_name_the_examples_that_they_hold(references: list[str]) -> None:
    table = pd.DataFrame(
        {"reference": references, "text": "x", "output_0": "a", "length_0": 1.0},
        index=range(10, 10 + len(references)),
    )
    by_length = bucket_table(table, "length", "length", 1)
    assert sorted(place for places in by_length["places"] for place in places) == list(table.index)
    assert [len(places) for places in by_length["places"]] == list(by_length["examples"])
    counts = Counter(word for text in references for word in text.split())
    for row in word_table(table, 1).to_dict("records"):
        low, _, high = row["bucket"].partition("–")
        for place, text in zip(table.index, references, strict=True):
            has_one = any(int(low) <= counts[word] <= int(high or low) for word in text.split())
            assert (place in row["places"]) == has_one
