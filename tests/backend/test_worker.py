"""The owner of the device: like requests run together, failures stay apart, queues are bounded."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import pytest

from areaviz.backend.worker import MAX_INTERRUPTIONS, Worker
from areaviz.trace.errors import BackendError, Busy, InputError
from areaviz.trace.interventions import Gate
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests.fakes import trace


class Recorder:
    """A run that notes its batches and waits for `go`."""

    def __init__(
        self, fails: Callable[[Sequence[Request]], Exception | None] = lambda requests: None
    ) -> None:
        self.batches: list[list[str]] = []
        self.go, self.began = threading.Event(), threading.Event()
        self.fails = fails

    def __call__(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        self.batches.append([request.text for request in requests])
        self.began.set()
        report(0.5, "half way")
        assert self.go.wait(5)
        error = self.fails(requests)
        if error:
            raise error
        return [replace(trace("x", "y"), request=request) for request in requests]


@contextmanager
def asked(worker: Worker, run: Recorder, *requests: Request) -> Iterator[list[Future[Trace]]]:
    """The first request runs and the others wait behind it, in order, until the block ends."""
    with ThreadPoolExecutor(len(requests)) as pool:
        futures: list[Future[Trace]] = []
        try:
            for count, request in enumerate(requests):
                futures.append(pool.submit(worker.submit, request))
                assert run.began.wait(5)
                while worker.waiting() < count:
                    threading.Event().wait(0.002)
            yield futures
        finally:
            run.go.set()


def submit_behind(
    worker: Worker, run: Recorder, requests: list[Request]
) -> list[Trace | BaseException]:
    """Submit one request, and the others in order while it runs; returns results or errors."""
    with asked(worker, run, *requests) as futures:
        run.go.set()
        return [future.exception(5) or future.result() for future in futures]


def test_like_requests_run_together_and_others_apart() -> None:
    run = Recorder()
    requests = [Request("a", text) for text in ("first", "b", "c")] + [
        Request("other", "d"),
        Request("a", "e"),
    ]
    found = submit_behind(Worker(run), run, requests)
    assert [result.request for result in found if isinstance(result, Trace)] == requests
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e"]]


def test_requests_that_are_changed_alike_run_together() -> None:
    run, off = Recorder(), (Gate("encoder self"),)
    requests = [
        Request("a", "first"),
        Request("a", "b", changes=off),
        Request("a", "c", changes=off),
    ]
    requests += [Request("a", "d"), Request("a", "e", target="x"), Request("a", "f", target="y")]
    submit_behind(Worker(run), run, requests)
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e", "f"]]


def test_other_work_is_done_alone_and_in_its_turn() -> None:
    run, done = Recorder(), []
    worker = Worker(run)

    def work(report: Progress) -> int:
        report(0.5, "half way")
        done.append(len(run.batches))
        return 7

    with asked(worker, run, *(Request("a", text) for text in ("first", "b"))) as futures:
        with ThreadPoolExecutor(2) as pool:
            answer = pool.submit(worker.alone, Request("a", "x"), work)
            while worker.waiting() < 2:
                threading.Event().wait(0.002)
            last = pool.submit(worker.submit, Request("a", "c"))
            while worker.waiting() < 3:
                threading.Event().wait(0.002)
            run.go.set()
            assert answer.result(5) == 7 and last.result(5)
        assert all(future.result(5) for future in futures)
    assert run.batches == [["first"], ["b"], ["c"]] and done == [2]


def test_other_work_that_fails_has_a_sentence_and_the_thread_goes_on() -> None:
    run = Recorder()
    run.go.set()
    worker = Worker(run)

    def refused(_: Progress) -> None:
        raise InputError("not here")

    def broken(_: Progress) -> None:
        raise KeyError("secret")

    with pytest.raises(InputError, match="not here"):
        worker.alone(Request("a", "x"), refused)
    with pytest.raises(BackendError, match="stopped with an error"):
        worker.alone(Request("a", "x"), broken)
    assert worker.submit(Request("a", "y"))


def test_one_bad_request_fails_alone() -> None:
    def fails(requests: Sequence[Request]) -> Exception | None:
        return InputError("bad") if any(request.text == "bad" for request in requests) else None

    run = Recorder(fails)
    found = submit_behind(
        Worker(run), run, [Request("a", text) for text in ("first", "good", "bad", "fine")]
    )
    assert [type(result) for result in found] == [Trace, Trace, InputError, Trace]


def test_a_full_queue_says_so() -> None:
    run = Recorder()
    worker = Worker(run, max_waiting=1)
    with asked(worker, run, Request("a", "1"), Request("a", "2")) as (first, second):
        with pytest.raises(Busy, match="busy: 1 requests"):
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


def test_who_waits_is_told_how_many_stand_before() -> None:
    run, told = Recorder(), []
    worker = Worker(run)

    def progress(share: float, what: str) -> None:
        told.append(what)
        if what.startswith("Waiting for the model: "):
            run.go.set()

    with asked(worker, run, Request("a", "1"), Request("b", "2")) as (first, second):
        worker.submit(Request("c", "3"), progress)
        assert first.result(5) and second.result(5)
    assert told[0] == "Waiting for the model: 2 requests are before yours; it starts by itself"
    last = "Waiting for the model: 1 request is before yours; it starts by itself"
    assert set(told[1:]) <= {last, "Waiting for the model", "half way"}


class Left(BaseException):
    """What a page raises once its reader has left."""


def leave(share: float, what: str) -> None:
    raise Left


def test_who_leaves_while_waiting_is_not_run() -> None:
    run = Recorder()
    worker = Worker(run)
    with asked(worker, run, Request("a", "1")) as (first,):
        with pytest.raises(Left):
            worker.submit(Request("b", "2"), leave)
        assert worker.waiting() == 0
        run.go.set()
        assert first.result(5)
    assert run.batches == [["1"]]


def test_a_run_that_all_have_left_ends_early() -> None:
    steps, running, over = [], threading.Event(), threading.Event()

    def run(requests: Sequence[Request], report: Progress) -> list[Trace]:
        try:
            for step in range(2000):
                report(step / 2000, "writing")
                steps.append(step)
                running.wait(0.002)
        finally:
            over.set()
        return [replace(trace("x", "y"), request=request) for request in requests]

    def look(share: float, what: str) -> None:
        if share > 0:
            raise Left

    worker = Worker(run)
    with pytest.raises(Left):
        worker.submit(Request("a", "1"), look)
    assert over.wait(5) and len(steps) < 2000
    running.set()
    assert worker.submit(Request("a", "2")).request.text == "2"


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), MemoryError(), SystemExit(), KeyboardInterrupt(), Left()]
)
def test_whatever_a_run_raises_has_a_name_and_the_next_request_works(error: BaseException) -> None:
    failing = [True]

    def run(requests: Sequence[Request], report: Progress) -> list[Trace]:
        if failing and failing.pop():
            raise error
        return [replace(trace("x", "y"), request=request) for request in requests]

    worker = Worker(run)
    with pytest.raises(BackendError, match="stopped with an error.*try again"):
        worker.submit(Request("a", "1"))
    assert worker.submit(Request("a", "1")).request.text == "1"


def test_a_thread_that_ended_is_replaced() -> None:
    run = Recorder()
    worker = Worker(run)
    with asked(worker, run, Request("a", "1"), Request("b", "2")) as (first, second):
        dead = threading.Thread(target=lambda: None)
        dead.start()
        dead.join()
        worker._thread = dead
        with pytest.raises(BackendError, match="was stopped while it ran; try again"):
            first.result(5)
        run.go.set()
        assert second.result(5).request.text == "2"


def test_drawn_and_most_probable_choices_run_apart() -> None:
    run = Recorder()
    requests = [Request("a", "first"), Request("a", "b"), Request("a", "c", sample=True)]
    submit_behind(Worker(run), run, requests)
    assert run.batches == [["first"], ["b"], ["c"]]


def test_the_background_runs_when_no_reader_waits() -> None:
    run, order = (
        Recorder(),
        [("r", False), ("b1", True), ("b2", True), ("r2", False), ("b3", True), ("r3", False)],
    )
    worker = Worker(run, max_batch=1)
    with ThreadPoolExecutor(len(order)) as pool:
        futures = []
        for count, (text, background) in enumerate(order):
            futures.append(pool.submit(worker.submit, Request("a", text), None, background))
            assert run.began.wait(5)
            while worker.waiting() < count:
                threading.Event().wait(0.002)
        run.go.set()
        assert [future.result(5).request.text for future in futures] == [text for text, _ in order]
    assert run.batches == [["r"], ["r2"], ["r3"], ["b1"], ["b2"], ["b3"]]


def test_a_full_background_refuses_no_reader() -> None:
    run = Recorder()
    worker = Worker(run, max_waiting=1)
    with asked(worker, run, Request("a", "1")) as (first,), ThreadPoolExecutor(2) as pool:
        later = pool.submit(worker.submit, Request("b", "2"), None, True)
        while worker.waiting() < 1:
            threading.Event().wait(0.002)
        with pytest.raises(Busy):
            worker.submit(Request("b", "3"), background=True)
        reader = pool.submit(worker.submit, Request("c", "4"))
        while worker.waiting() < 2:
            threading.Event().wait(0.002)
        run.go.set()
        assert all(one.result(5) for one in (first, later, reader))
    assert run.batches == [["1"], ["4"], ["2"]]


class Stepping:
    """A run of many steps that notes its batches, and whether each came to its end.

    Args:
        before: called with the texts of a batch before its first step.
    """

    def __init__(self, before: Callable[[list[str]], None] = lambda texts: None) -> None:
        self.batches: list[tuple[list[str], bool]] = []
        self.before = before

    def __call__(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        texts, whole = [request.text for request in requests], False
        self.before(texts)
        try:
            for step in range(100):
                report(step / 100, "writing")
                threading.Event().wait(0.002 * len(texts))
            whole = True
        finally:
            self.batches.append((texts, whole))
        return [replace(trace("x", "y"), request=request) for request in requests]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds; AssertionError after ten seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "the condition never held"
        threading.Event().wait(0.002)


def test_the_background_gives_way_to_a_reader_and_goes_on_in_small_batches() -> None:
    """The first request runs alone, the three that wait behind it are one batch."""
    readers: list[Future[Trace]] = []

    def before(texts: list[str]) -> None:
        if texts == ["1"]:
            wait_for(lambda: worker.waiting() == 3)
        elif len(texts) == 3:
            readers.append(pool.submit(worker.submit, Request("a", "reader")))
            wait_for(lambda: worker.waiting() == 1)

    run = Stepping(before)
    worker = Worker(run)
    with ThreadPoolExecutor(5) as pool:
        analysis = [pool.submit(worker.submit, Request("a", "1"), None, True)]
        wait_for(lambda: len(worker._running) == 1)
        for text in ("2", "3", "4"):
            analysis.append(pool.submit(worker.submit, Request("a", text), None, True))
        assert sorted(one.result(10).request.text for one in analysis) == ["1", "2", "3", "4"]
    assert readers[0].result(10).request.text == "reader"
    kinds = [(len(texts), whole) for texts, whole in run.batches]
    assert kinds == [(1, True), (3, False), (1, True), (1, True), (1, True), (1, True)]
    assert run.batches[2][0] == ["reader"]


def test_a_request_of_the_background_runs_to_its_end_however_many_readers_come() -> None:
    run = Stepping()
    worker = Worker(run)
    with ThreadPoolExecutor(1) as pool:
        analysis = pool.submit(worker.submit, Request("a", "analysis"), None, True)
        while not analysis.done():
            while not (worker._running and worker._running[0].background or analysis.done()):
                threading.Event().wait(0.001)
            worker.submit(Request("a", "reader"))
        assert analysis.result(10).request.text == "analysis"
    ends = [whole for texts, whole in run.batches if texts == ["analysis"]]
    assert ends == [False] * MAX_INTERRUPTIONS + [True]
    assert all(whole for texts, whole in run.batches if texts == ["reader"])
