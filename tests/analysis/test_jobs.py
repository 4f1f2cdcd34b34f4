"""Background jobs: sharing, progress, results, errors and order.

Equal requests share one job. Watched jobs run first, in the order in which they were requested.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from areaviz.sets import jobs as jobs_module
from areaviz.sets.jobs import FairScheduler, Job, Jobs
from areaviz.sets.run import AnalysisStopped
from areaviz.shares import OverLimit
from areaviz.trace.errors import InputError


def until_stopped(job: Job) -> None:
    job.stopping.wait()


@contextmanager
def running(jobs: Jobs, *owners: str) -> Iterator[list[Job]]:
    """Run one job for each owner until the block ends."""
    begun = [
        jobs.start(f"key {turn}", until_stopped, owner, "set, model")
        for turn, owner in enumerate(owners)
    ]
    try:
        yield begun
    finally:
        for job in jobs.running():
            job.stop()
            job.wait()


def test_job_reports_progress_and_ends() -> None:
    job = Jobs().start("a", lambda job: job.report(2, 3), "ada", "set, model")
    job.wait()
    assert not job.running and (job.done, job.total, job.problem) == (2, 3, "")


def test_equal_request_joins_the_running_job() -> None:
    jobs, started = Jobs(), []

    def work(job: Job) -> None:
        started.append(1)
        job.stopping.wait()

    one = jobs.start("a", work, "ada", "set, model")
    assert jobs.start("a", work, "bob", "set, model") is one is jobs.get("a")
    one.stop()
    one.wait()
    again = jobs.start("a", work, "ada", "set, model")
    assert again is not one
    again.stop()
    again.wait()
    assert len(started) == 2


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (InputError("Shorten it."), "Shorten it."),
        (RuntimeError("x"), "the app's log has the reason"),
    ],
)
def test_job_failure_stays_as_one_sentence(error: Exception, said: str) -> None:
    def work(job: Job) -> None:
        raise error

    jobs = Jobs()
    jobs.start("a", work, "ada", "set, model").wait()
    found = jobs.get("a")
    assert found and said in found.problem


def test_jobs_refuses_more_than_the_app_may_run() -> None:
    jobs, owners = Jobs(), [f"reader {number}" for number in range(16)]
    with (
        running(jobs, *owners),
        pytest.raises(OverLimit, match="16 analyses of all readers may run"),
    ):
        jobs.start("one more", lambda job: None, "late", "set, model")


def test_fresh_cookies_of_an_address_share_four_shares_of_jobs() -> None:
    jobs, address = Jobs(), "203.0.113.1"
    with running(jobs):
        for number in range(8):
            jobs.start(f"key {number}", until_stopped, f"fresh {number}", "set", address)
        with pytest.raises(OverLimit, match="address together may use 4 times"):
            jobs.start("one more", until_stopped, "fresh 9", "set", address)
        assert jobs.start("his", until_stopped, "bob", "set", "203.0.113.2").running


def test_jobs_refuses_only_the_user_above_the_limit() -> None:
    jobs = Jobs()
    with running(jobs, "ada", "ada"):
        with pytest.raises(OverLimit, match="may have 2 analyses running. Wait for one of your"):
            jobs.start("one more", until_stopped, "ada", "set, model")
        assert jobs.start("his", until_stopped, "bob", "set, model").running
        assert [job.owner for job in jobs.running("bob")] == ["bob"] and len(jobs.running()) == 3
        jobs.running("ada")[0].stop()
        jobs.running("ada")[0].wait()
        assert jobs.start("one more", until_stopped, "ada", "set, model").running


def test_operator_sees_all_jobs_and_stops_one() -> None:
    jobs = Jobs()
    with running(jobs, "ada", "bob") as (hers, his):
        his.report(300, 2000)
        first, second = (job.entry for job in jobs.running())
        assert first == {
            **{"number": 1, "title": "set, model", "done": 0, "of": 0, "watched": True},
            "begun": hers.begun.isoformat(timespec="seconds"),
        }, "ids of readers are for nobody's eyes"
        assert (second["number"], second["done"], second["of"]) == (2, 300, 2000)
        assert jobs.stop(2) is his
        his.wait()
        assert (
            hers.running and not his.running and "The operator stopped this analysis" in his.problem
        )
        for number in (2, 99):
            with pytest.raises(
                InputError, match=f"No analysis {number} is running. Running analyses: 1."
            ):
                jobs.stop(number)


def test_job_stays_watched_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(jobs_module.time, "monotonic", lambda: now[0])
    with running(Jobs(), "ada") as (job,):
        assert job.watched
        now[0] += 11
        assert not job.watched and job.entry["watched"] is False
        job.watch()
        assert job.watched


def test_all_jobs_together_have_few_requests_on_their_way() -> None:
    jobs, gate, at_once, most = Jobs(), threading.Event(), [0], [0]
    lock = threading.Lock()

    def one(job: Job) -> None:
        with jobs.turns.turn(lambda: job.watched, job.stopping):
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            gate.wait()
            with lock:
                at_once[0] -= 1

    def work(job: Job) -> None:
        threads = [threading.Thread(target=one, args=(job,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    begun = [
        jobs.start(str(number), work, f"reader {number}", "set, model") for number in range(16)
    ]
    # All requests have come when those without a turn wait for one.
    while at_once[0] + len(jobs.turns._waiting) < 16 * 8:
        time.sleep(0.001)
    assert at_once[0] == 8
    gate.set()
    for job in begun:
        job.wait()
    assert most[0] == 8


class Line:
    """Threads that wait for a turn one after the other, and record who got it."""

    def __init__(self, turns: FairScheduler) -> None:
        self.turns, self.order, self.threads = turns, list[str](), list[threading.Thread]()
        self.stop = threading.Event()
        self.stopped = list[str]()

    def join(self, name: str, watched: bool) -> None:
        before = len(self.turns._waiting)
        self.threads.append(threading.Thread(target=self._wait, args=(name, watched)))
        self.threads[-1].start()
        while len(self.turns._waiting) == before:
            time.sleep(0.001)

    def end(self) -> None:
        for thread in self.threads:
            thread.join()
            assert not thread.is_alive()

    def _wait(self, name: str, watched: bool) -> None:
        try:
            with self.turns.turn(lambda: watched, self.stop):
                self.order.append(name)
        except AnalysisStopped:
            self.stopped.append(name)


def test_watched_jobs_run_first_in_order_of_arrival() -> None:
    turns = FairScheduler(1)
    line = Line(turns)
    with turns.turn(lambda: True, threading.Event()):
        for name, watched in (
            ("left 1", False),
            ("seen 1", True),
            ("left 2", False),
            ("seen 2", True),
        ):
            line.join(name, watched)
        assert line.order == []
    line.end()
    assert line.order == ["seen 1", "seen 2", "left 1", "left 2"]


def test_stopped_job_leaves_the_queue_without_a_turn() -> None:
    turns = FairScheduler(1)
    line = Line(turns)
    with turns.turn(lambda: True, threading.Event()):
        line.join("a", True)
        line.join("b", True)
        line.stop.set()
        line.end()
    assert sorted(line.stopped) == ["a", "b"] and line.order == []
    with turns.turn(lambda: True, threading.Event()):
        line.order.append("free again")
    with pytest.raises(AnalysisStopped), turns.turn(lambda: True, line.stop):
        pass
    assert line.order == ["free again"]


def test_failed_run_gives_back_its_turn() -> None:
    turns = FairScheduler(1)
    for _ in range(2):
        with pytest.raises(RuntimeError), turns.turn(lambda: True, threading.Event()):
            raise RuntimeError
