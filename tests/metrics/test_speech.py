"""Edits, error rates and boundary hits with known answers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.measures.references import compute_error_rate, count_edits, find_boundary_hits

TEXTS = st.text("123", max_size=6)


@pytest.mark.parametrize(
    ("found", "wanted", "count"),
    [
        ("", "", 0),
        ("12", "12", 0),
        ("", "123", 3),
        ("1123", "123", 1),
        ("321", "123", 2),
        ("13", "123", 1),
    ],
)
def test_edits_by_known_answers(found: str, wanted: str, count: int) -> None:
    assert count_edits(found, wanted) == count


def slow(found: str, wanted: str) -> int:
    """Compute the edit distance from its definition, by trying everything."""
    if not found or not wanted:
        return len(found) + len(wanted)
    exchanged = slow(found[1:], wanted[1:]) + (found[0] != wanted[0])
    return min(exchanged, slow(found[1:], wanted) + 1, slow(found, wanted[1:]) + 1)


@given(TEXTS, TEXTS)
def test_edits_follow_their_definition(found: str, wanted: str) -> None:
    assert count_edits(found, wanted) == count_edits(wanted, found) == slow(found, wanted)


def test_error_rate_pools_letters_of_all_examples() -> None:
    assert compute_error_rate(["12", "3"], ["12", "45"]) == pytest.approx(2 / 4)
    assert compute_error_rate([], []) == 0


def test_hit_overlaps_the_digit() -> None:
    weights = np.eye(4, dtype=np.float32)[[0, 2, 3]]
    # Items have 10 samples: item 0 overlaps 5..8, item 2 ends before 30, item 3 begins at 30.
    assert find_boundary_hits(weights, [(5, 8), (30, 40), (30, 31)], 10) == [True, False, True]
