"""Columns of metadata: numbers, categories and missing values."""

from __future__ import annotations

import math

import pytest

from areaviz.samples.dataset import Dataset, Example
from areaviz.sets.roles import list_categories, parse_numbers


def test_numbers_of_reads_missing_values_as_nan() -> None:
    found = parse_numbers(("1", " 2.5 ", "", "n/a", "NaN", "-3e1"))
    assert found is not None and found[:2] == (1.0, 2.5) and found[-1] == -30
    assert all(map(math.isnan, found[2:5]))


@pytest.mark.parametrize("values", [("1", "two"), ("", ""), ("inf",), ("1_000",)])
def test_numbers_of_refuses_text_and_columns_without_numbers(values: tuple[str, ...]) -> None:
    assert parse_numbers(values) is None


def test_categories_of_sorts_values_and_omits_free_text() -> None:
    assert list_categories(("street", "", "garden", "street")) == ("garden", "street")
    assert list_categories(tuple(map(str, range(31)))) == ()


def test_dataset_metadata_does_not_change_the_digest() -> None:
    examples = (Example("1", "a"), Example("2", "b"))
    plain, known = Dataset("s", examples, {}), Dataset("s", examples, {}, metadata={"d": ("x", "")})
    assert plain.digest == known.digest
    assert plain.metadata_digest == "" != known.metadata_digest


def test_dataset_metadata_needs_a_value_for_each_example() -> None:
    with pytest.raises(ValueError, match='column "d" has 1 values for 2 examples'):
        Dataset("s", (Example("1", "a"), Example("2", "b")), {}, metadata={"d": ("x",)})
