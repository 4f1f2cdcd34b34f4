"""`Trace.to_frame` returns the weights as a tidy table."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from areaviz.trace.errors import InputError
from areaviz.trace.record import TIDY_COLUMNS
from tests import fakes


def test_table_has_a_row_for_each_weight() -> None:
    trace = fakes.trace()
    site, attention = next(iter(trace.maps.items()))
    table = trace.to_frame(sites=[site])
    weights = np.asarray(attention.weights)
    assert len(table) == np.count_nonzero(weights > 0)
    assert table["weight"].sum() == pytest.approx(weights.sum(), rel=1e-4)
    row = table.iloc[len(table) // 2]
    boxes = np.asarray(attention.grid.table()).tolist()
    area = boxes.index([int(row[side]) for side in ("top", "left", "height", "width")])
    assert weights[row["layer"], row["head"], row["query"], area] == row["weight"]
    assert row["query_label"] == trace.fields[attention.query].labels[row["query"]]
    start = row["top"] * attention.grid.width + row["left"]
    assert str(row["area_label"]).startswith(trace.fields[attention.memory].labels[start])


def test_table_keeps_the_chosen_part() -> None:
    trace = fakes.trace()
    site = next(iter(trace.maps))
    table = trace.to_frame([site], layers=[0], min_weight=0.1)
    assert set(table["layer"]) == {0} and table["weight"].min() > 0.1
    assert set(trace.to_frame()["site"]) == set(trace.maps)


@pytest.mark.parametrize(
    ("sites", "layers", "says"),
    [
        (["nowhere"], None, 'no site "nowhere"'),
        (None, [99], "there is no layer 99"),
        (None, [2], "there is no layer 2"),
        (None, [-1], "there is no layer -1"),
        ("encoder self", None, "sites= must list names"),
        ([None], None, "sites= must list names"),
        (None, 0, "layers= must list whole numbers"),
        (None, ["first"], "layers= must list whole numbers but has 'first'"),
        (None, [True], "layers= must list whole numbers but has True"),
    ],
)
def test_missing_part_is_refused(sites: Any, layers: Any, says: str) -> None:
    with pytest.raises(InputError, match=says):
        fakes.trace().to_frame(sites, layers)


@pytest.mark.parametrize("weight", [None, "0.1", 2, float("nan")])
def test_minimum_weight_is_a_share(weight: Any) -> None:
    with pytest.raises(InputError, match='"min_weight" is'):
        fakes.trace().to_frame(min_weight=weight)


def test_trace_without_maps_has_an_empty_table() -> None:
    table = replace(fakes.trace(), maps={}).to_frame()
    assert table.empty and tuple(table.columns) == TIDY_COLUMNS
