"""The app with its notes on a full disk: visitors see an error, and no note is lost."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pytest

from areaviz.sets.retention import NOTES_SETTING, STEADY, is_date_steady
from areaviz.sets.run import SETTING
from areaviz.shares import DAYS
from tests.faults.client import Session
from tests.faults.served import served
from tests.notes.test_store import assert_untouched, fill, may_mount, saved, small_disk


@pytest.mark.long
@pytest.mark.skipif(
    "CI" not in os.environ and not may_mount(),
    reason="needs the right to mount a small file system",
)
def test_full_disk_is_reported_and_no_note_lost(tmp_path: Path) -> None:
    with small_disk() as folder:
        path = folder / "notes.db"
        before = saved(path)
        fill(folder / "rest")
        # The page opens the store to remove old notes. It does so only if notes are kept for a
        # limited number of days and the date of the machine has been steady.
        rows = tmp_path / "rows"
        is_date_steady(rows, datetime.now(UTC) - STEADY)
        settings = {NOTES_SETTING: f"sqlite:///{path}", SETTING: str(rows), DAYS: "36500"}

        def visited(url: str) -> list[str]:
            with Session.open(url) as session:
                return session.visit("analyse", "new=1").errors

        with served(tmp_path / "log", settings) as app:
            with ThreadPoolExecutor(3) as pool:
                told = list(pool.map(visited, [app.url] * 3))
            assert all("disk is full" in "".join(errors) for errors in told), told
            (folder / "rest").unlink()
            assert visited(app.url) == []
        assert_untouched(path, before)
