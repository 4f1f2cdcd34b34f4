"""Examples by bucket and words by frequency, compared with cases counted by hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.measures.references import score_translations
from areaviz.sets import buckets
from areaviz.sets.buckets import (
    BUCKETINGS,
    bucket_by_metadata,
    bucket_by_values,
    bucket_table,
    build_word_table,
    list_bucketings,
    name_buckets,
    read_corpus,
)
from areaviz.trace.errors import InputError

REFERENCES = ["der Hund rennt", "der Hund schläft im Haus", "eine Katze", ""]


def table(
    outputs: list[str], references: list[str] = REFERENCES, **columns: list[float]
) -> pd.DataFrame:
    made = {"text": ["a b c"] * len(outputs), "reference": references, "output_0": outputs}
    return pd.DataFrame({**made, "entropy_0": [1.0, 2.0, 3.0, 6.0], **columns})


def test_examples_of_a_length_are_scored_together() -> None:
    outputs = ["der Hund rennt", "der Hund", "eine Maus", "x"]
    found = bucket_table(table(outputs), BUCKETINGS["length"], "entropy", 1)
    (row,) = found.to_dict("records")
    scores = score_translations(outputs[:3], REFERENCES[:3])
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
    found = bucket_table(made.assign(entropy_0=1.0), BUCKETINGS[kind], "entropy", 1)
    assert found["examples"].sum() == 50 and (found["mean_0"] == 1).all()
    starts = [int(name.rstrip("+").split("–")[0].replace(",", "")) for name in found["bucket"]]
    assert starts == sorted(starts)


def test_missing_references_leave_means_without_scores() -> None:
    made = table(["a", "b", "c", "d"], [""] * 4)
    row = bucket_table(made, BUCKETINGS["length"], "entropy", 1).to_dict("records")[0]
    assert np.isnan(row["corpus_bleu_0"]) and row["mean_0"] == 3.0


def test_words_match_at_most_their_count_in_references() -> None:
    # Twice: der, hund. Once: rennt, schläft, im, haus, eine, katze. In the output but not in any
    # reference: maus.
    found = build_word_table(table(["Der Hund rennt.", "der Hund der Hund", "eine Maus", ""]), 1)
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
    by_length = bucket_table(table, BUCKETINGS["length"], "length", 1)
    assert sorted(place for places in by_length["places"] for place in places) == list(table.index)
    assert [len(places) for places in by_length["places"]] == list(by_length["examples"])
    counts = Counter(word for text in references for word in text.split())
    for row in build_word_table(table, 1).to_dict("records"):
        low, _, high = row["bucket"].partition("–")
        for place, text in zip(table.index, references, strict=True):
            has_one = any(int(low) <= counts[word] <= int(high or low) for word in text.split())
            assert (place in row["places"]) == has_one


def test_buckets_by_metric_have_equal_sizes() -> None:
    made = table(["a"] * 4).iloc[:1]
    many = pd.concat([made] * 20, ignore_index=True).assign(comet_0=np.arange(20) / 20)
    how = bucket_by_values(many, "comet_0", "COMET")
    assert how is not None
    found = bucket_table(many, how, "comet", 1)
    assert found["examples"].tolist() == [4] * 5
    assert found["bucket"].tolist()[0] == "below 0.19" and found["bucket"].tolist()[-1] == "0.76+"
    assert bucket_by_values(many.assign(comet_0=1.0), "comet_0", "COMET") is None
    assert bucket_by_values(many.assign(comet_0=np.nan), "comet_0", "COMET") is None


def test_frequencies_of_a_corpus_sort_words_and_examples() -> None:
    made = table(["der Hund rennt", "ein Hund", "eine Katze", "x"])
    corpus = read_corpus("c.txt", {"c.txt": b"Der Hund, der bellt.\r\nDer Hund!"})
    assert corpus == {"der": 3, "hund": 2, "bellt": 1}
    found = build_word_table(made, 1, corpus)
    # Not in the corpus: rennt, schläft, im, haus, eine, katze. 2 to 4 times in the corpus: der and
    # hund, twice here.
    assert found[["bucket", "words"]].to_numpy().tolist() == [["0", 6], ["2–4", 4]]
    written = 2 * 3 / (6 + 5)
    assert found["f1_0"].tolist() == pytest.approx([written, 2 * 3 / (4 + 3)])
    by_rarest = bucket_table(made.iloc[:3], list_bucketings(corpus)["rarest"], "entropy", 1)
    assert by_rarest["bucket"].tolist() == ["0"] and list_bucketings() is BUCKETINGS


def test_binary_or_too_large_corpus_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "c").write_bytes(b"a b\n\xff\n")
    with pytest.raises(InputError, match='Line 2 of "c" is not a UTF-8 text'):
        read_corpus("c", {"c": tmp_path / "c"})
    monkeypatch.setattr(buckets, "MAX_CORPUS_MEGABYTES", 0)
    with pytest.raises(InputError, match="the limit is 0 for a corpus"):
        read_corpus("c", {"c": b"x" * 2**21})


def test_by_metadata_has_a_bucket_for_each_category_or_few_numbers() -> None:
    table = pd.DataFrame(
        {"meta:d": ["b", "a", "b", ""], "meta:y": [2019.0, 2020.0, 2019.0, np.nan]}
    )
    for column, names, counts in (
        ("meta:d", ("a", "b"), (1, 2)),
        ("meta:y", ("2019", "2020"), (2, 1)),
    ):
        how = bucket_by_metadata(table, column, column[5:])
        assert how is not None and how.names == names
        assert tuple(how.number(table).value_counts().sort_index()) == counts
    free = pd.DataFrame({"meta:t": [f"text {n}" for n in range(40)]})
    assert bucket_by_metadata(free, "meta:t", "t") is None
    assert bucket_by_metadata(free.assign(**{"meta:o": "one"}), "meta:o", "o") is None


def test_buckets_of_large_close_values_have_names_of_their_own() -> None:
    table = pd.DataFrame({"year": [2000.0 + n for n in range(40)]})
    how = bucket_by_values(table, "year", "Year")
    assert how is not None
    names = name_buckets(how.edges)
    assert len(set(names)) == len(names) == 5
