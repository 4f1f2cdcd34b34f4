"""A clock that is set forward or back deletes nothing."""

from __future__ import annotations

import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from areaviz.sets.retention import DATES, is_date_steady

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def check_hourly(folder: Path, first: datetime, hours: int) -> list[bool]:
    """Return the result of each of a series of hourly checks."""
    return [is_date_steady(folder, first + number * HOUR) for number in range(hours)]


def test_date_is_steady_after_a_day_of_checks(tmp_path: Path) -> None:
    assert check_hourly(tmp_path, START, 30) == [False] * 24 + [True] * 6
    assert (tmp_path / DATES).stat().st_mode & 0o777 == 0o600


def test_pause_of_some_days_is_not_a_jump(tmp_path: Path) -> None:
    check_hourly(tmp_path, START, 25)
    assert is_date_steady(tmp_path, START + 7 * DAY)
    assert is_date_steady(tmp_path, START + 13 * DAY)


@pytest.mark.parametrize("jump", [365 * DAY, 8 * DAY, -2 * DAY, -365 * DAY])
def test_date_jump_needs_a_second_day(
    tmp_path: Path, jump: timedelta, caplog: pytest.LogCaptureFixture
) -> None:
    now = START + 30 * HOUR
    check_hourly(tmp_path, START, 30)
    with caplog.at_level(logging.WARNING):
        assert check_hourly(tmp_path, now + jump, 30) == [False] * 24 + [True] * 6
    assert caplog.text.count("Nothing is deleted for a day") == 1


def test_clock_that_is_corrected_never_was_steady(tmp_path: Path) -> None:
    check_hourly(tmp_path, START, 30)
    assert not any(check_hourly(tmp_path, START + 365 * DAY, 20))
    assert not is_date_steady(tmp_path, START + 50 * HOUR)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"first": 1, "last": 2}', b'{"first": "2026-03-01"}']
)
def test_unreadable_dates_start_again(tmp_path: Path, content: bytes) -> None:
    check_hourly(tmp_path, START, 30)
    (tmp_path / DATES).write_bytes(content)
    assert not is_date_steady(tmp_path, START + 31 * HOUR)
