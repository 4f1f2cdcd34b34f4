"""Groups that colour a plot: every example is in one group, and the largest groups have names."""

from __future__ import annotations

import numpy as np
import pandas as pd

from areaviz.draw.charts import OTHER
from areaviz.sets.buckets import MAX_GROUPS, colour_columns, colour_groups
from areaviz.sets.table import META

DOMAINS = ["news", "chat", "news", ""]
TABLE = pd.DataFrame(
    {
        "name": list("abcd"),
        f"{META}domain": DOMAINS,
        f"{META}year": [2001.0, 2002.0, np.nan, 2001.0],
        f"{META}same": ["x"] * 4,
    }
)


def listed(column: str, table: pd.DataFrame = TABLE) -> dict[str, list[int]]:
    groups = colour_groups(table, f"{META}{column}", column)
    return {name: np.flatnonzero(is_in).tolist() for name, is_in in groups.items()}


def test_colour_columns_leave_out_single_values() -> None:
    assert colour_columns(TABLE) == {f"{META}domain": "domain", f"{META}year": "year"}


def test_colour_groups_hold_each_example_once() -> None:
    assert listed("domain") == {"chat": [1], "news": [0, 2], OTHER: [3]}
    assert listed("year") == {"2001": [0, 3], "2002": [1], OTHER: [2]}
    assert listed("same") == {}


def test_colour_groups_keep_the_largest() -> None:
    values = [f"value {number}" for number in range(MAX_GROUPS + 3) for _ in range(number + 1)]
    groups = listed("many", pd.DataFrame({f"{META}many": values}))
    assert list(groups) == [*(f"value {number}" for number in range(3, MAX_GROUPS + 3)), OTHER]
    assert len(groups[OTHER]) == 1 + 2 + 3


def test_colour_groups_of_numbers_are_ranges() -> None:
    groups = listed("length", pd.DataFrame({f"{META}length": np.arange(50.0)}))
    assert [len(places) for places in groups.values()] == [10] * 5
