"""Tests of where the long versions write their figures."""

from __future__ import annotations

from pathlib import Path

from tests.faults.soak import PARTS, TABLE, write


def test_new_row_replaces_only_the_older_row(tmp_path: Path) -> None:
    copy = tmp_path / "table.md"
    copy.write_text(
        "before\n\n| quantity | target |\n| - | - |\n| b | t | old | m | p |\n\nafter | here\n"
    )
    write(("a", "t", "1"), "p", "m", copy)
    write(("b", "t", "new"), "p", "m", copy)
    expected = (
        "before\n\n| quantity | target |\n| - | - |\n| b | t | new | m | p |\n| a | t | 1 | m | p"
        " |\n\nafter | here\n"
    )
    assert copy.read_text() == expected


def test_soak_page_names_every_part() -> None:
    assert all(f"- **{part}**: " in TABLE.read_text("utf-8") for part in PARTS)
