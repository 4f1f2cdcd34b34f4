"""A short run of the kills, and a check that they would notice a loss."""

from __future__ import annotations

import random
from pathlib import Path

from tests.faults.kills import REMOVED, _lost_notes, _told, note_kills, row_kills


def test_no_note_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    found = note_kills(tmp_path, 6)
    assert (found.kills, found.ended) == (6, 0) and found.acknowledged >= 6, str(found)
    assert (found.lost, found.doubled, found.damaged) == (0, 0, 0), str(found)


def test_no_row_is_lost_or_doubled_by_kills(tmp_path: Path) -> None:
    found = row_kills(tmp_path, 4)
    assert (found.kills, found.ended) == (4, 0) and found.acknowledged >= 4, str(found)
    assert (found.lost, found.doubled, found.damaged) == (0, 0, 0), str(found)


def test_failed_writer_is_not_counted_as_killed(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"version":99}\n')
    told, alive = _told("rows", tmp_path / "rows.jsonl", ["writer"], random.Random(0))
    assert (told, alive) == ([], 0)


def test_lost_note_is_noticed() -> None:
    promised = {"w 1": 2, "w 2": 2, "w 3": 1, "w 4": REMOVED, "w 9": 1, "w 19": REMOVED}
    assert _lost_notes(promised, {"w 1": 2, "w 2": 3}) == ["w 3"]
    assert _lost_notes(promised, {"w 1": 1, "w 2": 4, "w 3": 1, "w 4": 3, "w 9": 2}) == [
        "w 1",
        "w 2",
        "w 4",
    ]
