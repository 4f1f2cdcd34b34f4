"""Best alignments: the mean of rows of several heads, their entry on a card, and their sentence."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import BEST, BestAlignment, add_best, describe_heads, read_best_alignment
from areaviz.trace.record import AttentionMap, Trace
from tests.fakes import trace as make_trace

SITE = "encoder-decoder"


def aligned(*heads: tuple[int, int, int]) -> BestAlignment:
    return BestAlignment(heads, 20, "validation captions", 0.2, 0.3)


def test_map_is_the_mean_of_the_rows_at_their_steps() -> None:
    trace = make_trace()
    weights = trace.maps[SITE].weights
    found = add_best(trace, {SITE: aligned((0, 1, 1), (0, 0, 0))}).maps[SITE + BEST]
    for query in range(weights.shape[2]):
        later = min(query + 1, weights.shape[2] - 1)
        wanted = (weights[0, 1, later] + weights[0, 0, query]) / 2
        np.testing.assert_allclose(found.weights[0, 0, query], wanted, atol=1e-6)
    assert found.weights.shape[:2] == (1, 1) and found.derived


def test_trace_without_the_heads_stays_unchanged() -> None:
    trace = make_trace()
    found = add_best(trace, {SITE: aligned((90, 0, 0)), "hops": aligned((0, 0, 0))})
    assert found.maps.keys() == trace.maps.keys()


def test_older_best_alignment_is_made_again() -> None:
    older = add_best(make_trace(), {SITE: aligned((0, 0, 0))})
    found = add_best(older, {SITE: aligned((0, 1, 0))})
    np.testing.assert_array_equal(found.maps[SITE + BEST].weights[0, 0], head_of(older, 1))


def head_of(trace: Trace, head: int) -> Any:
    return trace.maps[SITE].weights[0, head]


def test_sentence_names_heads_from_one_and_the_examples() -> None:
    assert describe_heads([(2, 1, 0)]) == "Head 3.2"
    assert describe_heads([(0, 1, 1), (3, 0, 0)]) == "Heads 1.2 (at the next step) and 4.1"
    both = [(0, 0, 0), (1, 2, 1), (0, 0, 1)]
    assert describe_heads(both) == "Heads 1.1 (also at the next step) and 2.3 (at the next step)"
    assert aligned((2, 1, 0)).sentence.endswith("chosen on 20 validation captions.")
    rows = "Head 1.1 (also at the next step). This map is the mean of both rows."
    assert aligned((0, 0, 0), (0, 0, 1)).sentence.startswith(rows)


def test_entry_of_a_card_is_read_back() -> None:
    best = replace(aligned((0, 1, 1), (3, 0, 0)), opens=True)
    assert read_best_alignment(best.entries) == best


@pytest.mark.parametrize(
    "wrong",
    [
        {"heads": []},
        {"heads": [[0, 0, 2]]},
        {"heads": [[0, -1, 0]]},
        {"examples": "20"},
        {"opens": 1},
        {"error": None},
        {"other": 1},
    ],
)
def test_wrong_entry_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="best"):
        read_best_alignment({**aligned((0, 0, 0)).entries, **wrong})


def test_grid_of_the_site_is_kept() -> None:
    attention = AttentionMap(
        SITE, "target", "source", AreaGrid(1, 3, 1, 2), np.full((1, 1, 2, 5), 0.2, np.float32)
    )
    trace = replace(make_trace(), maps={SITE: attention})
    assert add_best(trace, {SITE: aligned((0, 0, 1))}).maps[SITE + BEST].grid == attention.grid
