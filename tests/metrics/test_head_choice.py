"""Names of heads, at the thresholds from which heads get them."""

from __future__ import annotations

from typing import Any

import pytest

from areaviz.measures.heads import WANTED, SpanHead, choose_span_head, find_largest, name_head


def names(values: dict[str, float], site: str = "encoder self") -> list[str]:
    """Return the names of a head with these values alone."""
    figures: dict[str, Any] = {name: [[None, value]] for name, value in values.items()}
    figures["aer_diagonal"] = values.get("aer_diagonal")
    return [one.name for one in name_head(figures, site, 0, 1)]


@pytest.mark.parametrize(
    ("values", "earned"),
    [
        ({"previous": 0.5, "offset": -1, "offset_share": 0.5}, ["previous item"]),
        ({"previous": 0.49, "offset": -1, "offset_share": 0.49}, []),
        ({"previous": 0.1, "offset": 3, "offset_share": 0.5}, ["position"]),
        ({"sink": 0.51}, ["sink"]),
        ({"sink": 0.5}, []),
        ({"sink": 0.9, "cell": 0.4}, []),
        ({"aer": 0.4, "aer_diagonal": 0.41}, ["alignment"]),
        ({"aer": 0.41, "aer_diagonal": 0.41}, []),
        ({"edge_lift": 2.0}, ["word edge"]),
        ({"edge_lift": 1.9}, []),
        ({"sink": 0.6, "edge_lift": 2.5}, ["sink", "word edge"]),
        ({}, []),
    ],
)
def test_head_gets_name_from_its_threshold_on(values: dict[str, float], earned: list[str]) -> None:
    assert names(values) == earned


def test_previous_head_needs_a_single_text() -> None:
    values = {"previous": 0.8, "offset": -1.0, "offset_share": 0.8}
    assert names(values, "encoder-decoder") == ["position"]


def test_head_name_includes_its_measure() -> None:
    figures = {"offset": [[-2.0]], "offset_share": [[0.62]], "aer": [[0.2]], "aer_diagonal": 0.5}
    found = [str(one) for one in name_head(figures, "encoder-decoder", 0, 0)]
    assert found == [
        "alignment (error 20%, the diagonal's 50%)",
        "position (2 items before in 62% of queries)",
    ]


def test_spans_of_pieces_need_not_be_words() -> None:
    figures = {"multi_share": [[0.5, 0.8]], "dependence": [[2.0, 2.0]]}
    assert choose_span_head(figures, 1.0, WANTED["encoder self"]) is None
    assert choose_span_head(figures, 1.0, WANTED["encoder self"], words=False) == SpanHead(
        0, 1, 0.8, 0.0
    )


def test_largest_of_missing_measure_is_0() -> None:
    assert find_largest({"sink": [[0.2, None], [0.4, 0.1]]}, "sink") == 0.4
    assert find_largest({}, "sink") == 0
