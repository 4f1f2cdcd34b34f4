"""Krippendorff's alpha: published examples, a slow version of the definition, and its limits."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.sets.table import LEVELS, compute_krippendorff_alpha

NONE = float("nan")
# Example C of Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability": four observers and
# 12 units.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
)


@pytest.mark.parametrize(
    ("level", "alpha"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)]
)
def test_alpha_of_published_example_with_missing_data(level: str, alpha: float) -> None:
    assert compute_krippendorff_alpha(PUBLISHED, level) == pytest.approx(alpha, abs=5e-4)


def test_alpha_of_published_two_observer_examples() -> None:
    # Examples A (binary data) and B (nominal data a to e) of that paper.
    binary = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]], float)
    assert compute_krippendorff_alpha(binary, "nominal") == pytest.approx(0.095, abs=5e-4)
    letters = [[*"aabbdcccedda"], [*"babbbccceddd"]]
    nominal = np.array([[ord(letter) for letter in row] for row in letters], float)
    assert compute_krippendorff_alpha(nominal, "nominal") == pytest.approx(0.692, abs=5e-4)


def slow_alpha(ratings: np.ndarray, level: str) -> float:
    """Compare the mean distance of pairs within units with that of all pairs."""
    units = [[one for one in unit if one == one] for unit in ratings.T.tolist()]
    units = [unit for unit in units if len(unit) > 1]
    everyone = [one for unit in units for one in unit]

    def distance(one: float, other: float) -> float:
        if level == "nominal":
            return float(one != other)
        if level == "interval":
            return (one - other) ** 2
        low, high = sorted((one, other))
        between = sum(low <= value <= high for value in everyone)
        ends = everyone.count(one) + everyone.count(other)
        return float(between - ends / 2) ** 2 if one != other else 0.0

    seen = 0.0
    for unit in units:
        seen += sum(distance(*pair) for pair in permutations(unit, 2)) / (len(unit) - 1)
    chance = sum(distance(*pair) for pair in permutations(everyone, 2)) / max(len(everyone) - 1, 1)
    return 1 - seen / chance if chance else float("nan")


@given(
    st.integers(1, 6).flatmap(
        lambda units: st.lists(
            st.lists(st.sampled_from([0.0, 1.0, 2.5, 7.0, NONE]), min_size=units, max_size=units),
            min_size=1,
            max_size=4,
        )
    ),
    st.sampled_from(LEVELS),
)
def test_alpha_follows_its_definition(ratings: list[list[float]], level: str) -> None:
    given_RU = np.array(ratings)
    wanted = slow_alpha(given_RU, level)
    assert compute_krippendorff_alpha(given_RU, level) == pytest.approx(wanted, nan_ok=True)


def test_alpha_without_disagreement_is_one_or_undefined() -> None:
    assert compute_krippendorff_alpha(np.array([[1.0, 2.0, 3.0]] * 3), "interval") == 1
    assert np.isnan(compute_krippendorff_alpha(np.array([[1.0, 2.0, 3.0]]), "interval"))
    assert np.isnan(compute_krippendorff_alpha(np.array([[2.0, 2.0]] * 2), "interval"))
    with pytest.raises(ValueError, match="not a level"):
        compute_krippendorff_alpha(PUBLISHED, "ratio")
