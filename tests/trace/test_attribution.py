"""Attribution compared with attention: shares of gradients, and agreement against plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.trace.areas import FloatArray
from areaviz.trace.derived import (
    compare_attribution,
    find_attributions_of_layer,
    make_gradient_map,
    mean_of,
    split_attributed_site,
)
from areaviz.trace.record import AttentionMap
from tests.fakes import trace


def single(rows_QN: FloatArray) -> AttentionMap:
    """Return a map of one layer and one head over single items."""
    items = rows_QN.shape[1]
    whole = trace("x" * (items - 1), "y" * (len(rows_QN) - 1), layers=1, heads=1, area_size=1)
    return AttentionMap(
        "encoder-decoder",
        "target",
        "source",
        whole.maps["encoder-decoder"].grid,
        rows_QN[None, None],
    )


def rows(seed: int, queries: int, items: int) -> FloatArray:
    found = np.random.default_rng(seed).integers(0, 4, (queries, items)).astype(np.float32)
    shares: FloatArray = found / np.maximum(found.sum(-1, keepdims=True), 1)
    return shares


def slow_rank(values: list[float], value: float) -> float:
    below = sum(other < value for other in values)
    return below + (sum(other == value for other in values) - 1) / 2


def slow_agreement(ours: FloatArray, theirs: FloatArray, top: int) -> tuple[float, float]:
    """Compute Spearman's correlation and the shared part of the top items by their definitions."""
    pairs = [(float(a), float(b)) for a, b in zip(ours, theirs, strict=True) if a > 0 or b > 0]
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    correlation = common = np.nan
    if len(pairs) >= 3 and len(set(first)) > 1 and len(set(second)) > 1:
        ranks = [[slow_rank(side, value) for value in side] for side in (first, second)]
        correlation = float(np.asarray(np.corrcoef(ranks))[0, 1])
    if len(pairs) > top:
        best = [
            sorted(range(len(side)), key=lambda place: -side[place])[:top]  # noqa: B023
            for side in (first, second)
        ]
        common = len(set(best[0]) & set(best[1])) / top
    return correlation, common


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 4))
def test_agreement_follows_its_definitions(seed: int, items: int, top: int) -> None:
    ours, theirs = rows(seed, 3, items), rows(seed + 1, 3, items)
    found = compare_attribution(single(ours), 0, 0, single(theirs), 0, top)
    for query in range(3):
        correlation, common = slow_agreement(ours[query], theirs[query], top)
        assert found.correlation[query] == pytest.approx(correlation, abs=1e-9, nan_ok=True)
        assert found.common[query] == pytest.approx(common, nan_ok=True)


def test_map_agrees_with_itself_not_with_its_reverse() -> None:
    rising = (np.arange(1, 9)[None] / 36).astype(np.float32)
    same = compare_attribution(single(rising), 0, 0, single(rising), 0)
    other = compare_attribution(single(rising), 0, 0, single(rising[:, ::-1].copy()), 0)
    assert mean_of(same.correlation) == pytest.approx(1) and mean_of(same.common) == 1
    assert mean_of(other.correlation) == pytest.approx(-1) and mean_of(other.common) == 0
    assert mean_of(same.chance) == pytest.approx(3 / 8)


def test_shared_zeros_do_not_count_as_agreement() -> None:
    ours = np.array([[0.6, 0.4, 0, 0, 0, 0, 0]], np.float32)
    theirs = np.array([[0.4, 0.6, 0, 0, 0, 0, 0]], np.float32)
    found = compare_attribution(single(ours), 0, 0, single(theirs), 0)
    assert np.isnan(mean_of(found.correlation)) and np.isnan(mean_of(found.common))


def test_gradient_map_shows_magnitudes() -> None:
    base = trace("ab", "x").maps["encoder-decoder"]
    found = make_gradient_map(base, np.array([[1, -2, 1], [0, 0, 0]], np.float32))
    expected = np.array([[0.25, 0.5, 0.25], [0, 0, 0]])
    np.testing.assert_allclose(found.weights[0, 0], expected)
    assert found.site == "encoder-decoder gradient" and "not attention" in found.derived


def test_attribution_is_found_for_the_attributed_map() -> None:
    whole = trace("ab", "x")
    base = whole.maps["encoder-decoder"]
    near = make_gradient_map(base, np.ones((2, 3), np.float32))
    maps = {**whole.maps, near.site: near}
    assert find_attributions_of_layer(maps, "encoder-decoder", 1) == {" gradient": (near, 0)}
    assert find_attributions_of_layer(maps, "encoder self", 1) == {}
    assert split_attributed_site(near.site) == ("encoder-decoder", " gradient")
    assert split_attributed_site("encoder self") == ("encoder self", "")
