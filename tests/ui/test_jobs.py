"""Work beside the page: one job for all who ask for the same, told how far it is, stopped, and its problem kept."""

from __future__ import annotations

import threading

import pytest

from areaviz.trace.errors import BackendError, InputError
from areaviz.ui.jobs import MOST, Jobs, Progress


def test_a_job_tells_how_far_it_is_and_ends() -> None:
    def work(progress: Progress, stop: threading.Event) -> None:
        progress(2, 3)

    job = Jobs().start("a", work)
    job.wait(10)
    assert not job.running and (job.done, job.most, job.problem) == (2, 3, "")


def test_who_asks_for_the_same_gets_the_same_job_until_it_ends() -> None:
    jobs, started = Jobs(), []

    def work(progress: Progress, stop: threading.Event) -> None:
        started.append(1)
        stop.wait(10)

    one = jobs.start("a", work)
    assert jobs.start("a", work) is one is jobs.get("a")
    one.stop()
    one.wait(10)
    again = jobs.start("a", work)
    assert again is not one
    again.stop()
    again.wait(10)
    assert len(started) == 2


@pytest.mark.parametrize(
    ("error", "said"), [(InputError("Shorten it."), "Shorten it."), (RuntimeError("x"), "written to the app's log")]
)
def test_what_goes_wrong_is_one_sentence_and_stays_to_be_read(error: Exception, said: str) -> None:
    def work(progress: Progress, stop: threading.Event) -> None:
        raise error

    jobs = Jobs()
    jobs.start("a", work).wait(10)
    found = jobs.get("a")
    assert found and said in found.problem


def test_too_many_jobs_are_refused() -> None:
    jobs = Jobs()
    running = [jobs.start(str(number), lambda progress, stop: stop.wait(10)) for number in range(MOST)]
    with pytest.raises(BackendError, match="are running already"):
        jobs.start("one more", lambda progress, stop: None)
    for job in running:
        job.stop()
        job.wait(10)
