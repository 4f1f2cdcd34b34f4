"""Memory that all readers together use: counted while an object lives, refused in one sentence."""

from __future__ import annotations

import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from areaviz.app.run import BYTES_PER_MIB, Budget, get_disk_budget, run_requests
from areaviz.shares import OverLimit, Visitor
from areaviz.trace.errors import BackendError, InputError
from tests import fakes

ANNA, BORIS = Visitor("a" * 32), Visitor("b" * 32)


class Thing:
    """An object that uses memory."""


@pytest.fixture(autouse=True)
def whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let one reader use all of a budget, unless the test sets the share."""
    monkeypatch.setenv("AREAVIZ_LIMIT_BUDGET_PERCENT", "100")


def test_user_gets_at_most_a_quarter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AREAVIZ_LIMIT_BUDGET_PERCENT")
    budget, things = (
        Budget(1024 * BYTES_PER_MIB, "uploaded attention"),
        [Thing(), Thing(), Thing()],
    )
    release = budget.reserve(156 * BYTES_PER_MIB, ANNA)
    budget.hold(things[0], 100 * BYTES_PER_MIB, ANNA)
    with pytest.raises(OverLimit, match="A reader may use 25 % of the memory, and of the disk"):
        budget.hold(things[1], 1 * BYTES_PER_MIB, ANNA)
    budget.hold(things[2], 256 * BYTES_PER_MIB, BORIS)
    assert budget.list_mebibytes_by_user() == [256, 256]
    release()
    budget.hold(things[1], 156 * BYTES_PER_MIB, ANNA)
    assert budget.used == 512 * BYTES_PER_MIB


def test_fresh_cookies_of_an_address_share_four_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_BUDGET_PERCENT", "10")
    budget = Budget(1000, "attention")
    for number in range(4):
        budget.reserve(100, Visitor(f"{number:032x}", "203.0.113.1"))
    with pytest.raises(OverLimit, match="address together may use 4 times"):
        budget.reserve(1, Visitor("f" * 32, "203.0.113.1"))
    budget.reserve(100, BORIS)


def test_cached_traces_are_freed_before_a_user_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_BUDGET_PERCENT", "25")
    remembered = [Thing()]
    budget = Budget(1000, "attention", remembered.clear)
    budget.hold(remembered[0], 200, ANNA)
    thing = Thing()
    budget.hold(thing, 200, ANNA)
    assert not remembered and budget.used == 200


def test_object_is_counted_once_while_it_lives() -> None:
    budget, thing = Budget(10 * BYTES_PER_MIB, "attention"), Thing()
    budget.hold(thing, 6 * BYTES_PER_MIB, ANNA)
    budget.hold(thing, 6 * BYTES_PER_MIB, ANNA)
    assert budget.used == 6 * BYTES_PER_MIB
    with pytest.raises(
        BackendError,
        match="have 6 MiB of attention open, .* limit is 10 MiB, so 5 MiB more do not fit. Try",
    ):
        budget.hold(Thing(), 5 * BYTES_PER_MIB, ANNA)
    assert budget.used == 6 * BYTES_PER_MIB
    del thing
    gc.collect()
    assert budget.used == 0
    release = budget.reserve(10 * BYTES_PER_MIB, ANNA)
    release()
    assert budget.used == 0


def test_spare_content_is_freed_before_refusal() -> None:
    remembered = [Thing()]
    budget = Budget(10, "attention", remembered.clear)
    budget.hold(remembered[0], 8, ANNA)
    other = Thing()
    budget.hold(other, 8, ANNA)
    assert not remembered and budget.used == 8


def test_collection_during_counting_does_not_deadlock() -> None:
    """Check an object that is collected by the thread that holds the lock."""
    budget = Budget(100, "attention")

    def spare() -> None:
        thing = Thing()
        budget.hold(thing, 1, ANNA)
        del thing
        gc.collect()

    budget._spare = spare  # called with the lock held
    with pytest.raises(BackendError):
        budget.reserve(101, ANNA)
    assert budget.used == 0


def test_many_threads_count_right() -> None:
    budget, together = Budget(1000, "attention"), threading.Barrier(8)

    def work(_: int) -> None:
        together.wait()
        for _ in range(500):
            release = budget.reserve(7, ANNA)
            thing = Thing()
            budget.hold(thing, 5, ANNA)
            del thing
            release()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    gc.collect()
    assert budget.used == 0


def test_non_numeric_setting_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_DISK_MIB", "many")
    get_disk_budget.clear()
    with pytest.raises(InputError, match='AREAVIZ_DISK_MIB is "many". It must be a whole'):
        get_disk_budget()
    monkeypatch.setenv("AREAVIZ_DISK_MIB", "3")
    release = get_disk_budget().reserve(3 * BYTES_PER_MIB, ANNA)
    with pytest.raises(BackendError, match="the limit is 3 MiB"):
        get_disk_budget().reserve(1, ANNA)
    release()
    get_disk_budget.clear()


def test_requested_traces_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    trace = fakes.trace()
    budget = Budget(trace.nbytes, "attention")
    monkeypatch.setattr("areaviz.app.run.get_memory_budget", lambda: budget)

    class Backend:
        def trace(self, request: object, progress: object, caller: object) -> object:
            return trace if request == "same" else fakes.trace()

    assert run_requests(Backend(), ("same", "same"), "") == (trace, trace)  # type: ignore[arg-type]
    assert budget.used == trace.nbytes
    with pytest.raises(BackendError, match="do not fit"):
        run_requests(Backend(), ("other",), "")  # type: ignore[arg-type]
