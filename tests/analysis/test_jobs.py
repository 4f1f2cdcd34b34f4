"""Work beside the page: one job for all who ask for the same, told how far it is, stopped, and its
problem kept.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from areaviz.analysis import jobs as jobs_module
from areaviz.analysis.jobs import MOST, MOST_OF_A_READER, Job, Jobs
from areaviz.trace.errors import BackendError, InputError


def until_stopped(job: Job) -> None:
    job.stopping.wait(10)


@contextmanager
def running(jobs: Jobs, *owners: str) -> Iterator[list[Job]]:
    """A job for each owner, which go on until the end of the block."""
    begun = [
        jobs.start(f"key {turn}", until_stopped, owner, "set, model")
        for turn, owner in enumerate(owners)
    ]
    try:
        yield begun
    finally:
        for job in jobs.running():
            job.stop()
            job.wait(10)


def test_a_job_tells_how_far_it_is_and_ends() -> None:
    job = Jobs().start("a", lambda job: job.tell(2, 3), "ada", "set, model")
    job.wait(10)
    assert not job.running and (job.done, job.most, job.problem) == (2, 3, "")


def test_who_asks_for_the_same_gets_the_same_job_until_it_ends() -> None:
    jobs, started = Jobs(), []

    def work(job: Job) -> None:
        started.append(1)
        job.stopping.wait(10)

    one = jobs.start("a", work, "ada", "set, model")
    assert jobs.start("a", work, "bob", "set, model") is one is jobs.get("a")
    one.stop()
    one.wait(10)
    again = jobs.start("a", work, "ada", "set, model")
    assert again is not one
    again.stop()
    again.wait(10)
    assert len(started) == 2


@pytest.mark.parametrize(
    ("error", "said"),
    [(InputError("Shorten it."), "Shorten it."), (RuntimeError("x"), "written to the app's log")],
)
def test_what_goes_wrong_is_one_sentence_and_stays_to_be_read(error: Exception, said: str) -> None:
    def work(job: Job) -> None:
        raise error

    jobs = Jobs()
    jobs.start("a", work, "ada", "set, model").wait(10)
    found = jobs.get("a")
    assert found and said in found.problem


def test_too_many_jobs_are_refused() -> None:
    jobs, owners = Jobs(), [f"reader {number}" for number in range(MOST)]
    with (
        running(jobs, *owners),
        pytest.raises(BackendError, match="8 analyses are running already"),
    ):
        jobs.start("one more", lambda job: None, "late", "set, model")


def test_a_reader_has_few_at_a_time_and_others_still_begin() -> None:
    jobs = Jobs()
    with running(jobs, *["ada"] * MOST_OF_A_READER):
        with pytest.raises(
            BackendError,
            match="You have 2 analyses running already; wait for one of them, or stop it",
        ):
            jobs.start("one more", until_stopped, "ada", "set, model")
        assert jobs.start("his", until_stopped, "bob", "set, model").running
        assert [job.owner for job in jobs.running("bob")] == ["bob"] and len(jobs.running()) == 3
        jobs.running("ada")[0].stop()
        jobs.running("ada")[0].wait(10)
        assert jobs.start("one more", until_stopped, "ada", "set, model").running


def test_the_operator_sees_all_and_stops_one() -> None:
    jobs = Jobs()
    with running(jobs, "ada", "bob") as (hers, his):
        his.tell(300, 2000)
        first, second = (job.entry for job in jobs.running())
        assert first == {
            **{"number": 1, "title": "set, model", "done": 0, "of": 0, "watched": True},
            "begun": hers.begun.isoformat(timespec="seconds"),
        }, "ids of readers are for nobody's eyes"
        assert (second["number"], second["done"], second["of"]) == (2, 300, 2000)
        assert jobs.stop(2) is his
        his.wait(10)
        assert (
            hers.running and not his.running and "The operator stopped this analysis" in his.problem
        )
        for number in (2, 99):
            with pytest.raises(
                InputError, match=f"No analysis {number} is running; running are: 1."
            ):
                jobs.stop(number)


def test_a_job_is_watched_for_a_while_after_a_look(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(jobs_module.time, "monotonic", lambda: now[0])
    with running(Jobs(), "ada") as (job,):
        assert job.watched
        now[0] += 11
        assert not job.watched and job.entry["watched"] is False
        job.look()
        assert job.watched


def test_all_jobs_together_have_few_requests_on_their_way() -> None:
    jobs, gate, at_once, most = Jobs(), threading.Event(), [0], [0]
    lock = threading.Lock()

    def one(job: Job) -> None:
        with jobs.turns.turn(lambda: job.watched, job.stopping):
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            gate.wait(0.05)
            with lock:
                at_once[0] -= 1

    def work(job: Job) -> None:
        threads = [threading.Thread(target=one, args=(job,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    begun = [
        jobs.start(str(number), work, f"reader {number}", "set, model") for number in range(MOST)
    ]
    for job in begun:
        job.wait(30)
    assert most[0] == 8
