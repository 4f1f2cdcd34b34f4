"""Bytes that all readers together hold: counted for as long as a thing lives, refused in one
sentence.
"""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from areaviz.trace.errors import BackendError
from areaviz.ui.shell.budget import MEBI, Budget, disk
from areaviz.ui.shell.waiting import traced
from tests import fakes


class Thing:
    """Something that holds bytes."""


def test_what_lives_is_counted_once_and_what_is_gone_is_not() -> None:
    budget, thing = Budget(10 * MEBI, "attention"), Thing()
    budget.hold(thing, 6 * MEBI)
    budget.hold(thing, 6 * MEBI)
    assert budget.used == 6 * MEBI
    with pytest.raises(
        BackendError, match="have 6 MiB of attention open .* at most 10, .* no room for 5 more; try"
    ):
        budget.hold(Thing(), 5 * MEBI)
    assert budget.used == 6 * MEBI
    del thing
    gc.collect()
    assert budget.used == 0
    release = budget.reserve(10 * MEBI)
    release()
    assert budget.used == 0


def test_what_can_be_made_again_gives_way_first() -> None:
    remembered = [Thing()]
    budget = Budget(10, "attention", remembered.clear)
    budget.hold(remembered[0], 8)
    other = Thing()
    budget.hold(other, 8)
    assert not remembered and budget.used == 8


def test_an_end_while_bytes_are_being_counted_does_not_hang() -> None:
    """A thing may be collected by the thread that holds the lock."""
    budget = Budget(100, "attention")

    def spare() -> None:
        thing = Thing()
        budget.hold(thing, 1)
        del thing
        gc.collect()

    budget._spare = spare  # called with the lock held
    with pytest.raises(BackendError):
        budget.reserve(101)
    assert budget.used == 0


def test_many_threads_count_right() -> None:
    budget, together = Budget(1000, "attention"), threading.Barrier(8)

    def work(_: int) -> None:
        together.wait()
        for _ in range(500):
            release = budget.reserve(7)
            thing = Thing()
            budget.hold(thing, 5)
            del thing
            release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    gc.collect()
    assert budget.used == 0


def test_a_setting_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_DISK_MIB", "many")
    disk.clear()
    with pytest.raises(BackendError, match='AREAVIZ_DISK_MIB is "many" but must be a whole number'):
        disk()
    monkeypatch.setenv("AREAVIZ_DISK_MIB", "3")
    release = disk().reserve(3 * MEBI)
    with pytest.raises(BackendError, match="at most 3"):
        disk().reserve(1)
    release()
    disk.clear()


def test_traces_that_are_asked_for_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = fakes.trace()
    budget = Budget(trace.nbytes, "attention")
    monkeypatch.setattr("areaviz.ui.shell.waiting.memory", lambda: budget)

    class Backend:
        def trace(self, request: object, progress: object = None) -> object:
            return trace if request == "same" else fakes.trace()

    assert traced(Backend(), ("same", "same"), "") == (trace, trace)  # type: ignore[arg-type]
    assert budget.used == trace.nbytes
    with pytest.raises(BackendError, match="no room"):
        traced(Backend(), ("other",), "")  # type: ignore[arg-type]
