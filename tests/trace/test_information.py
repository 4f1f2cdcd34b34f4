"""Mutual information of query and item against its definition, and its two ends."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from areaviz.trace.information import entropy_bits, query_dependence


def test_entropy_is_that_of_the_definition() -> None:
    rows = np.array([[0.5, 0.5, 0], [1, 0, 0], [0.25, 0.25, 0.5], [0, 0, 0]], np.float32)
    np.testing.assert_allclose(entropy_bits(rows), [1, 0, 1.5, 0])


@given(
    hnp.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 5)),
        elements=st.floats(0, 1, width=32),
    ),
    st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_dependence_is_the_mutual_information_of_query_and_item(
    raw_QN: np.ndarray, same: bool
) -> None:
    raw_QN = np.repeat(raw_QN[:1], len(raw_QN), 0) if same else raw_QN
    total = raw_QN.sum(-1, keepdims=True)
    shares = np.divide(raw_QN, total, out=np.zeros_like(raw_QN), where=total > 0)
    seen = [row for row in shares if row.any()]
    expected = 0.0
    for row in seen:
        for item, p in enumerate(row):
            mean = sum(float(other[item]) for other in seen) / len(seen)
            if p > 0:
                expected += float(p) / len(seen) * math.log2(float(p) / mean)
    found, most = query_dependence(shares)
    assert found == pytest.approx(expected, abs=1e-4)
    assert 0 <= found <= most + 1e-6 or not seen
    if same:
        assert found == pytest.approx(0, abs=1e-4)


def test_the_diagonal_has_all_of_its_entropy_and_a_sink_none() -> None:
    diagonal, sink = np.eye(8, dtype=np.float32), np.zeros((8, 8), np.float32)
    sink[:, 3] = 1
    assert query_dependence(diagonal) == (3.0, 3.0)
    assert query_dependence(sink) == (0.0, 0.0)
