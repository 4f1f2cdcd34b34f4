"""The operator's view of the app's jobs."""

from __future__ import annotations

import pytest

from areaviz.app import run as work_module
from areaviz.app.run import BYTES_PER_MIB, Budget, describe_work
from areaviz.backend.costs import find_mark
from areaviz.cli.serve import format_values
from areaviz.sets.app import runs as jobs_module
from areaviz.sets.jobs import Job, Jobs


def until_stopped(job: Job) -> None:
    job.stopping.wait()


def test_describe_work_lists_analyses_by_user_and_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_QUESTION_SECONDS", "2.5")
    jobs = Jobs()
    monkeypatch.setattr(jobs_module, "get_jobs", lambda: jobs)
    # Use an own budget, because earlier tests may have left attention in that of the process.
    memory = Budget(BYTES_PER_MIB, "attention")
    monkeypatch.setattr(work_module, "get_memory_budget", lambda: memory)
    begun = [jobs.start(key, until_stopped, "a" * 32, "set") for key in "xy"]
    try:
        found = describe_work()
    finally:
        for job in begun:
            job.stop()
            job.wait()
    assert found["analyses_by_reader"] == {find_mark("a" * 32): 2}
    assert found["question_load"] == [] and found["attention_megabytes"] == []
    lines = format_values(found)
    assert "question seconds 2.5" in lines and "a" * 32 not in lines
