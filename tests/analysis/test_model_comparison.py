"""What one model gets right more often than another, and how certain a difference is."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from areaviz.sets.buckets import (
    compare_corpus_scores,
    count_wins,
    find_distinguishing_ngrams,
    find_joint_failures,
    mean_change,
)

REFERENCES = ["der Hund rennt", "der Hund schläft", "die Katze schläft im Haus"]


def table(first: list[str], second: list[str]) -> pd.DataFrame:
    columns = {"reference": REFERENCES, "output_0": first, "output_1": second}
    return pd.DataFrame(columns, index=pd.Index([4, 7, 9], name="index"))


def test_telling_n_grams_have_their_side_and_examples() -> None:
    made = table(
        ["der Hund rennt", "der Hund", "die Katze"],
        ["ein Hund rennt", "ein Hund schläft", "die Katze schläft"],
    )
    first, second = find_distinguishing_ngrams(made, 1)
    assert [(one.text, one.first, one.second, one.examples) for one in first] == [
        ("der", 2, 0, (4, 7))
    ]
    assert [(one.text, one.first, one.second, one.examples) for one in second] == [
        ("schläft", 0, 2, (7, 9))
    ]
    assert first[0].lean == pytest.approx(-np.log(3)) and second[0].lean == pytest.approx(np.log(3))
    assert [one.text for one in find_distinguishing_ngrams(made, 2)[0]] == ["der hund"]
    assert [one.text for one in find_distinguishing_ngrams(made, 2)[1]] == [
        "hund schläft",
        "katze schläft",
    ]


def test_word_counts_at_most_its_count_in_reference() -> None:
    made = table(["der der der"] * 3, ["der"] * 3)
    assert find_distinguishing_ngrams(made, 1) == ([], [])


def test_wins_depend_on_the_better_direction() -> None:
    change = np.array([1.0, 2.0, 0.0, -1.0, np.nan])
    assert count_wins(change, "high") == (2, 1, 1) and count_wins(change, "low") == (1, 1, 2)


def test_interval_contains_mean_and_narrows_with_examples() -> None:
    rng = np.random.default_rng(0)
    few, many = rng.normal(1, 1, 20), rng.normal(1, 1, 2000)
    for values in (few, many):
        mean, low, high = mean_change(values)
        assert low < mean < high and mean == pytest.approx(values.mean())
    assert mean_change(many)[2] - mean_change(many)[1] == pytest.approx(
        4 * 0.98 / np.sqrt(2000), rel=0.15
    )
    assert all(map(np.isnan, mean_change(np.array([np.nan]))))
    assert mean_change(few) == mean_change(few[::-1])


def test_corpus_is_compared_if_references_exist() -> None:
    same = compare_corpus_scores(table(REFERENCES, REFERENCES))
    assert same["bleu"].difference == 0 and same["bleu"].p_value == 1
    assert compare_corpus_scores(table(REFERENCES, REFERENCES).assign(reference="")) == {}


def test_both_fail_finds_worst_quarter_of_both_systems() -> None:
    made = pd.DataFrame(
        {"chrf_0": [10.0, 20, 90, 15, np.nan], "chrf_1": [30.0, 5, 10, 95, 1]},
        index=[2, 4, 6, 8, 9],
    )
    places, limit = find_joint_failures(made, "chrf", "high")
    assert limit == 10 and places == ()
    worse = made.assign(chrf_0=[1.0, 0, 90, 91, np.nan], chrf_1=[3.0, 1, 92, 93, 1])
    assert find_joint_failures(worse, "chrf", "high")[0] == (4,)
    assert find_joint_failures(-worse, "chrf", "low") == (
        (4,),
        -find_joint_failures(worse, "chrf", "high")[1],
    )


def test_both_fail_is_empty_for_equal_or_unknown_scores() -> None:
    alike = pd.DataFrame({"a_0": [1.0, 1], "a_1": [1.0, 1]})
    assert find_joint_failures(alike, "a", "high")[0] == ()
    places, limit = find_joint_failures(alike * np.nan, "a", "high")
    assert places == () and np.isnan(limit)
