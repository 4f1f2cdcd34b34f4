"""A short run of the kills, and that they would notice a loss."""

from __future__ import annotations

from pathlib import Path

from tests.faults.kills import REMOVED, _lost_notes, note_kills, row_kills


def test_no_note_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    found = note_kills(tmp_path, 6)
    assert found.kills == 6 and found.acknowledged >= 6
    assert (found.lost, found.doubled, found.damaged) == (0, 0, 0), str(found)


def test_no_row_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    found = row_kills(tmp_path, 4)
    assert found.acknowledged >= 4 and (found.lost, found.doubled, found.damaged) == (0, 0, 0), str(found)


def test_a_lost_note_is_noticed() -> None:
    promised = {"w 1": 2, "w 2": 2, "w 3": 1, "w 4": REMOVED, "w 9": 1, "w 19": REMOVED}
    assert _lost_notes(promised, {"w 1": 2, "w 2": 3}) == ["w 3"]
    assert _lost_notes(promised, {"w 1": 1, "w 2": 4, "w 3": 1, "w 4": 3, "w 9": 2}) == ["w 1", "w 2", "w 4"]
