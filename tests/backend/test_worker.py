"""The owner of the device: like requests run together, failures stay apart, a full queue says so."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from areaviz.backend.worker import Report, Worker
from areaviz.trace.change import Gate
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.fakes import trace


class Recorder:
    """A run that notes its batches and waits until it is let go."""

    def __init__(self, fails: Callable[[Sequence[Request]], Exception | None] = lambda requests: None) -> None:
        self.batches: list[list[str]] = []
        self.go, self.began = threading.Event(), threading.Event()
        self.fails = fails

    def __call__(self, requests: Sequence[Request], report: Report) -> list[Trace]:
        self.batches.append([request.text for request in requests])
        self.began.set()
        report(0.5, "half way")
        assert self.go.wait(5)
        error = self.fails(requests)
        if error:
            raise error
        return [replace(trace("x", "y"), request=request) for request in requests]


def submit_behind(worker: Worker, run: Recorder, requests: list[Request]) -> list[Trace | Exception]:
    """Submit one request, and the others in order while it runs; returns results or errors."""
    with ThreadPoolExecutor(len(requests)) as pool:
        futures = []
        for count, request in enumerate(requests):
            futures.append(pool.submit(worker.submit, request))
            assert run.began.wait(5)
            while worker.waiting() < count:
                threading.Event().wait(0.002)
        run.go.set()
        return [future.exception(5) or future.result() for future in futures]  # type: ignore[misc]


def test_like_requests_run_together_and_others_apart() -> None:
    run = Recorder()
    requests = [Request("a", text) for text in ("first", "b", "c")] + [Request("other", "d"), Request("a", "e")]
    found = submit_behind(Worker(run), run, requests)
    assert [result.request for result in found] == requests
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e"]]


def test_requests_that_are_changed_alike_run_together() -> None:
    run, off = Recorder(), (Gate("encoder self"),)
    requests = [Request("a", "first"), Request("a", "b", changes=off), Request("a", "c", changes=off)]
    requests += [Request("a", "d"), Request("a", "e", target="x"), Request("a", "f", target="y")]
    submit_behind(Worker(run), run, requests)
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e", "f"]]


def test_one_bad_request_fails_alone() -> None:
    def fails(requests: Sequence[Request]) -> Exception | None:
        return InputError("bad") if any(request.text == "bad" for request in requests) else None

    run = Recorder(fails)
    found = submit_behind(Worker(run), run, [Request("a", text) for text in ("first", "good", "bad", "fine")])
    assert [type(result) for result in found] == [Trace, Trace, InputError, Trace]


def test_a_full_queue_says_so() -> None:
    run = Recorder()
    worker = Worker(run, max_waiting=1)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(worker.submit, Request("a", "1"))
        assert run.began.wait(5)
        second = pool.submit(worker.submit, Request("a", "2"))
        while worker.waiting() < 1:
            threading.Event().wait(0.002)
        with pytest.raises(BackendError, match="busy: 1 requests"):
            worker.submit(Request("a", "3"))
        run.go.set()
        assert first.result(5) and second.result(5)


def test_progress_is_reported_in_the_thread_that_asked() -> None:
    run, threads = Recorder(), []

    def progress(share: float, what: str) -> None:
        threads.append((threading.get_ident(), what))
        run.go.set()

    Worker(run).submit(Request("a", "1"), progress)
    assert threads[-1][0] == threading.get_ident()
