"""How many requests of analyses run together: all without readers, few with active readers."""

from __future__ import annotations

import pytest

from areaviz.backend.costs import ACTIVE_SECONDS, KINDS, SLICE_SECONDS, BackgroundBudget
from areaviz.trace.request import Request

KIND = Request("a", "")


@pytest.fixture
def now() -> list[float]:
    return [100.0]


@pytest.fixture
def pace(now: list[float]) -> BackgroundBudget:
    return BackgroundBudget(lambda: now[0])


def test_batch_is_full_without_readers(pace: BackgroundBudget) -> None:
    pace.add(KIND, 1, 100.0)
    assert not pace.readers_active and pace.batch_size(KIND, 8) == 8


def test_batch_fits_a_slice_while_users_are_active(
    pace: BackgroundBudget, now: list[float]
) -> None:
    pace.reader_came()
    assert pace.batch_size(KIND, 8) == 1, "its time is not known yet"
    pace.add(KIND, 1, SLICE_SECONDS / 3.5)
    assert pace.batch_size(KIND, 8) == 3
    pace.add(KIND, 3, 0.001)
    assert pace.batch_size(KIND, 8) > 3
    for _ in range(8):
        pace.add(KIND, 1, 0.0)
    assert pace.batch_size(KIND, 8) == 8
    for _ in range(8):
        pace.add(KIND, 2, 40.0)
    assert pace.batch_size(KIND, 8) == 1, "one always runs"
    now[0] += ACTIVE_SECONDS
    assert pace.batch_size(KIND, 8) == 8


def test_pace_measures_a_bounded_number_of_kinds(pace: BackgroundBudget) -> None:
    pace.reader_came()
    pace.add(KIND, 8, 0.1)
    for seed in range(KINDS - 1):
        pace.add(Request("b", "", seed=seed), 1, 10.0)
    assert pace.batch_size(KIND, 8) == 8 and pace.batch_size(Request("b", "", seed=1), 8) == 1
    pace.add(Request("c", ""), 1, 10.0)
    assert len(pace._seconds) == KINDS and pace.batch_size(KIND, 8) == 1, (
        "the one unmeasured for longest is forgotten"
    )
