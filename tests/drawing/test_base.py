"""The table under a figure."""

from __future__ import annotations

from areaviz.draw.view import Table


def test_filled_leaves_out_only_columns_that_are_empty_in_every_row() -> None:
    table = Table(("word", "note", "weight"), [("dog", "", 0.0), ("runs", "", "")])
    assert table.filled() == Table(("word", "weight"), [("dog", 0.0), ("runs", "")])
