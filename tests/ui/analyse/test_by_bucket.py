"""A click on a bucket keeps exactly the examples of the bucket."""

from __future__ import annotations

import pandas as pd

from areaviz.app.page import Page
from areaviz.sets.app.filter import draw_kept_filter
from areaviz.sets.app.result import Buckets
from areaviz.sets.app.state import AnalyseState
from areaviz.sets.buckets import BUCKETINGS, bucket_table, build_word_table

TABLE = pd.DataFrame(
    {
        "reference": ["a b", "a b c d e f", "a", "c d e f g h i"],
        "text": "x",
        "output_0": "a",
        "length_0": 1.0,
    },
    index=[2, 4, 6, 8],
)


def test_length_bucket_filters_examples_and_names_them() -> None:
    found = bucket_table(TABLE, BUCKETINGS["length"], "length", 1)
    shown = Buckets(found, "length", "mean", "examples", ("words of the reference", "y"), "title")
    short, long = shown.build_filter(0), shown.build_filter(1)
    assert (short.places, long.places) == ((2, 6), (4, 8))
    assert long.title == "6–8 (words of the reference)" and long.chart != short.chart


def test_word_bucket_filters_examples_with_its_words() -> None:
    found = build_word_table(TABLE, 1)
    shown = Buckets(found, "words", "f1", "words", ("x", "y"), "title")
    once = shown.build_filter(list(found["bucket"]).index("1"))
    assert once.places == (8,) and once.title == "1 (x)"


def test_all_rows_stay_without_a_click() -> None:
    page = Page("analyse", "", AnalyseState())
    assert draw_kept_filter(page, TABLE) is TABLE
