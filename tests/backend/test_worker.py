"""The worker of the device: turns of readers, batches, runs that give way, and failures."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pytest

from areaviz.backend import worker as worker_module
from areaviz.backend.backend import Caller
from areaviz.backend.costs import Cost, Costs
from areaviz.backend.worker import Worker
from areaviz.shares import Visitor
from areaviz.trace.changes import Gate
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Progress, Request
from tests.fakes import trace


class Recorder:
    """A run that records its batches and waits for `go`."""

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
        self.go.wait()
        error = self.fails(requests)
        if error:
            raise error
        return [replace(trace("x", "y"), request=request) for request in requests]


ANALYSIS = Caller(in_background=True)


def reader(name: str, address: str = "") -> Caller:
    """Return the caller of a reader's question."""
    return Caller(Visitor(name, address))


@contextmanager
def asked(
    worker: Worker, run: Recorder, *requests: Request, callers: Sequence[Caller] = ()
) -> Iterator[list[Future[Trace]]]:
    """Run the first request, and keep the other ones waiting in this order until the block ends."""
    with ThreadPoolExecutor(len(requests)) as pool:
        futures: list[Future[Trace]] = []
        try:
            for count, request in enumerate(requests):
                caller = callers[count] if callers else Caller()
                futures.append(pool.submit(worker.submit, request, None, caller))
                run.began.wait()
                while worker.waiting() < count:
                    threading.Event().wait(0.002)
            yield futures
        finally:
            run.go.set()


def submit_behind(
    worker: Worker, run: Recorder, requests: list[Request]
) -> list[Trace | BaseException]:
    """Submit one request, and the others in order while it runs; return results or errors."""
    with asked(worker, run, *requests) as futures:
        run.go.set()
        return [future.exception() or future.result() for future in futures]


def test_worker_batches_requests_of_one_kind() -> None:
    run = Recorder()
    requests = [Request("a", text) for text in ("first", "b", "c")] + [
        Request("other", "d"),
        Request("a", "e"),
    ]
    found = submit_behind(Worker(run), run, requests)
    assert [result.request for result in found if isinstance(result, Trace)] == requests
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e"]]


def test_worker_batches_requests_with_equal_changes() -> None:
    run, off = Recorder(), (Gate("encoder self"),)
    requests = [
        Request("a", "first"),
        Request("a", "b", changes=off),
        Request("a", "c", changes=off),
    ]
    requests += [Request("a", "d"), Request("a", "e", target="x"), Request("a", "f", target="y")]
    submit_behind(Worker(run), run, requests)
    assert run.batches == [["first"], ["b", "c"], ["d"], ["e", "f"]]


def test_alone_runs_work_in_its_turn() -> None:
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
            assert answer.result() == 7 and last.result()
        assert all(future.result() for future in futures)
    assert run.batches == [["first"], ["b"], ["c"]] and done == [2]


def test_alone_turns_failures_into_sentences() -> None:
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


def test_bad_request_does_not_fail_its_batch() -> None:
    def fails(requests: Sequence[Request]) -> Exception | None:
        return InputError("bad") if any(request.text == "bad" for request in requests) else None

    run = Recorder(fails)
    found = submit_behind(
        Worker(run), run, [Request("a", text) for text in ("first", "good", "bad", "fine")]
    )
    assert [type(result) for result in found] == [Trace, Trace, InputError, Trace]


def test_full_queue_refuses_requests() -> None:
    run = Recorder()
    worker = Worker(run, max_waiting=1)
    with asked(worker, run, Request("a", "1"), Request("a", "2")) as (first, second):
        with pytest.raises(BackendBusy, match="busy: 1 requests"):
            worker.submit(Request("a", "3"))
        run.go.set()
        assert first.result() and second.result()


def test_progress_is_called_in_the_asking_thread() -> None:
    run, threads = Recorder(), []

    def progress(share: float, what: str) -> None:
        threads.append((threading.get_ident(), what))
        run.go.set()

    Worker(run).submit(Request("a", "1"), progress)
    assert threads[-1][0] == threading.get_ident()


def test_progress_counts_requests_before() -> None:
    run, told = Recorder(), []
    worker = Worker(run)

    def progress(share: float, what: str) -> None:
        told.append(what)
        if what.startswith("Waiting for the model: "):
            run.go.set()

    with asked(worker, run, Request("a", "1"), Request("b", "2")) as (first, second):
        worker.submit(Request("c", "3"), progress)
        assert first.result() and second.result()
    assert told[0] == "Waiting for the model: 2 requests are before yours; it starts by itself"
    last = "Waiting for the model: 1 request is before yours; it starts by itself"
    assert set(told[1:]) <= {last, "Waiting for the model", "half way"}


class Left(BaseException):
    """The exception that a page raises after its reader has left."""


def leave(share: float, what: str) -> None:
    raise Left


def test_request_of_absent_caller_is_not_run() -> None:
    run = Recorder()
    worker = Worker(run)
    with asked(worker, run, Request("a", "1")) as (first,):
        with pytest.raises(Left):
            worker.submit(Request("b", "2"), leave)
        assert worker.waiting() == 0
        run.go.set()
        assert first.result()
    assert run.batches == [["1"]]


def test_run_ends_early_when_all_callers_left() -> None:
    may_end, over = threading.Event(), threading.Event()

    def run(requests: Sequence[Request], report: Progress) -> list[Trace]:
        """Take steps until `may_end` is set or the run is stopped."""
        try:
            while not may_end.is_set():
                report(0.5, "writing")
                may_end.wait(0.002)
        finally:
            over.set()
        return [replace(trace("x", "y"), request=request) for request in requests]

    def look(share: float, what: str) -> None:
        if share > 0:
            raise Left

    worker = Worker(run)
    with pytest.raises(Left):
        worker.submit(Request("a", "1"), look)
    over.wait()
    may_end.set()
    assert worker.submit(Request("a", "2")).request.text == "2"


@pytest.mark.parametrize(
    "error", [RuntimeError("x"), MemoryError(), SystemExit(), KeyboardInterrupt(), Left()]
)
def test_any_error_becomes_a_sentence(error: BaseException) -> None:
    failing = [True]

    def run(requests: Sequence[Request], report: Progress) -> list[Trace]:
        if failing and failing.pop():
            raise error
        return [replace(trace("x", "y"), request=request) for request in requests]

    worker = Worker(run)
    with pytest.raises(BackendError, match="stopped with an error.*Try again"):
        worker.submit(Request("a", "1"))
    assert worker.submit(Request("a", "1")).request.text == "1"


def test_ended_thread_is_replaced() -> None:
    run = Recorder()
    worker = Worker(run)
    with asked(worker, run, Request("a", "1"), Request("b", "2")) as (first, second):
        dead = threading.Thread(target=lambda: None)
        dead.start()
        dead.join()
        worker._thread = dead
        with pytest.raises(BackendError, match="was stopped while it ran. Try again"):
            first.result()
        run.go.set()
        assert second.result().request.text == "2"


def test_sampled_requests_run_in_their_own_batch() -> None:
    run = Recorder()
    requests = [Request("a", "first"), Request("a", "b"), Request("a", "c", sample=True)]
    submit_behind(Worker(run), run, requests)
    assert run.batches == [["first"], ["b"], ["c"]]


def test_analyses_run_when_no_reader_waits() -> None:
    run, order = (
        Recorder(),
        [("r", False), ("b1", True), ("b2", True), ("r2", False), ("b3", True), ("r3", False)],
    )
    worker = Worker(run, max_batch=1)
    with ThreadPoolExecutor(len(order)) as pool:
        futures = []
        for count, (text, background) in enumerate(order):
            caller = Caller(in_background=background)
            futures.append(pool.submit(worker.submit, Request("a", text), None, caller))
            run.began.wait()
            while worker.waiting() < count:
                threading.Event().wait(0.002)
        run.go.set()
        assert [future.result().request.text for future in futures] == [text for text, _ in order]
    assert run.batches == [["r"], ["r2"], ["r3"], ["b1"], ["b2"], ["b3"]]


def test_full_background_queue_refuses_no_user() -> None:
    run = Recorder()
    worker = Worker(run, max_waiting=1)
    with asked(worker, run, Request("a", "1")) as (first,), ThreadPoolExecutor(2) as pool:
        later = pool.submit(worker.submit, Request("b", "2"), None, ANALYSIS)
        while worker.waiting() < 1:
            threading.Event().wait(0.002)
        with pytest.raises(BackendBusy):
            worker.submit(Request("b", "3"), caller=ANALYSIS)
        question = pool.submit(worker.submit, Request("c", "4"))
        while worker.waiting() < 2:
            threading.Event().wait(0.002)
        run.go.set()
        assert all(one.result() for one in (first, later, question))
    assert run.batches == [["1"], ["4"], ["2"]]


class Stepping:
    """A run whose requests take as many steps as their text says: "long 20" takes 20.

    `started` has the texts in the order in which they started, `ended` in the order in which they
    ended.

    Args:
        at_step: called with a text and the number of each of its steps.
    """

    def __init__(self, at_step: Callable[[str, int], None] = lambda text, step: None) -> None:
        self.started: list[str] = []
        self.ended: list[str] = []
        self.at_step = at_step

    def __call__(self, requests: Sequence[Request], report: Progress) -> list[Trace]:
        for request in requests:
            self.started.append(request.text)
        steps = max(int(request.text.split()[-1]) for request in requests)
        for step in range(1, steps + 1):
            self.at_step(requests[0].text, step)
            report(step / steps, "writing")
        for request in requests:
            self.ended.append(request.text)
        return [replace(trace("x", "y"), request=request) for request in requests]


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    while not condition():
        threading.Event().wait(0.002)


class Asking:
    """Readers who ask while a run is at a step; `answers` has their results."""

    def __init__(self, when: tuple[str, int], *questions: tuple[Caller, str]) -> None:
        self.when, self.questions = when, questions
        self.pool = ThreadPoolExecutor(8)
        self.answers: list[Future[Trace]] = []
        self.run = Stepping(self.at_step)
        self.worker = Worker(self.run)

    def at_step(self, text: str, step: int) -> None:
        if (text, step) != self.when or self.answers:
            return
        for number, (caller, question) in enumerate(self.questions, start=1):
            asked = Request("a", question)
            self.answers.append(self.pool.submit(self.worker.submit, asked, None, caller))
            wait_for(partial(self._are_waiting, number))

    def _are_waiting(self, count: int) -> bool:
        return self.worker.waiting() >= count

    def finish(self) -> None:
        for answer in self.answers:
            answer.result()
        self.pool.shutdown()


@pytest.fixture
def soon_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat every run as long from its first step on."""
    monkeypatch.setattr(worker_module, "LONG_SECONDS", 0.0)


def costs_of(seconds: dict[str, float]) -> Costs:
    """Return costs that predict the seconds of models by their names."""
    return Costs({}, {model: Cost(start=start, step=0) for model, start in seconds.items()})


def test_users_take_turns_despite_many_requests_of_one() -> None:
    run, anna, boris = Recorder(), reader("anna"), reader("boris")
    requests = [Request(str(number), text) for number, text in enumerate("xaaab")]
    texts = [replace(one, text=f"{one.text}{number}") for number, one in enumerate(requests)]
    callers = [Caller(), anna, anna, anna, boris]
    with asked(Worker(run), run, *texts, callers=callers) as futures:
        run.go.set()
        assert all(future.result() for future in futures)
    assert run.batches == [["x0"], ["a1"], ["b4"], ["a2"], ["a3"]]


def test_fresh_cookies_of_one_address_share_its_turns() -> None:
    run = Recorder()
    fresh = [reader(f"fresh {number}", "203.0.113.1") for number in range(3)]
    callers = [Caller(), *fresh, reader("anna", "203.0.113.2")]
    requests = [Request(str(number), str(number)) for number in range(5)]
    with asked(Worker(run), run, *requests, callers=callers) as futures:
        run.go.set()
        assert all(future.result() for future in futures)
    assert run.batches == [["0"], ["1"], ["4"], ["2"], ["3"]]


def test_batch_has_one_question_of_each_reader() -> None:
    run, anna, boris = Recorder(), reader("anna"), reader("boris")
    requests = [Request("a", text) for text in ("first", "b", "c", "d")]
    callers = [Caller(), anna, anna, boris]
    with asked(Worker(run), run, *requests, callers=callers) as futures:
        run.go.set()
        assert all(future.result() for future in futures)
    assert run.batches == [["first"], ["b", "d"], ["c"]]


def test_batch_stays_below_a_second_of_predicted_time() -> None:
    run = Recorder()
    worker = Worker(run, costs_of({"a": 0.4}))
    submit_behind(worker, run, [Request("a", text) for text in ("first", "b", "c", "d")])
    assert run.batches == [["first"], ["b", "c"], ["d"]]


@pytest.mark.usefixtures("soon_long")
def test_long_question_gives_way_at_a_step() -> None:
    asking = Asking(("long 20", 3), (reader("boris"), "short 1"))
    asking.worker = Worker(asking.run, costs_of({"long": 4.0, "a": 0.1}))
    asking.worker.submit(Request("long", "long 20"), None, reader("anna"))
    asking.finish()
    assert asking.run.started == ["long 20", "short 1"], "nothing is begun twice"
    assert asking.run.ended == ["short 1", "long 20"]


@pytest.mark.usefixtures("soon_long")
def test_reader_has_one_running_question() -> None:
    asking = Asking(("long 20", 3), (reader("anna"), "own 1"), (reader("boris"), "other 1"))
    asking.worker = Worker(asking.run, costs_of({"long": 4.0, "a": 0.1}))
    asking.worker.submit(Request("long", "long 20"), None, reader("anna"))
    asking.finish()
    assert asking.run.ended == ["other 1", "long 20", "own 1"]


@pytest.mark.usefixtures("soon_long")
def test_long_question_does_not_yield_to_long_one() -> None:
    asking = Asking(("long 20", 3), (reader("boris"), "too 20"), (reader("cecil"), "too 21"))
    asking.worker = Worker(asking.run, costs_of({"long": 4.0, "a": 4.0}))
    asking.worker.submit(Request("long", "long 20"), None, reader("anna"))
    asking.finish()
    assert asking.run.ended == ["long 20", "too 20", "too 21"]


@pytest.mark.usefixtures("soon_long")
def test_long_question_ends_despite_endless_short_questions() -> None:
    """Check that a long question gives way to one batch for each of its own steps."""
    run = Stepping()
    worker = Worker(run, costs_of({"long": 4.0}))
    with ThreadPoolExecutor(3) as pool:
        long = pool.submit(worker.submit, Request("long", "long 30"), None, reader("anna"))

        def keep_asking(name: str) -> None:
            while not long.done():
                worker.submit(Request(name, "short 1"), None, reader(name))

        others = [pool.submit(keep_asking, name) for name in ("boris", "cecil")]
        assert long.result().request.text == "long 30"
        for other in others:
            other.result()
    assert run.started.index("long 30") < 3
    before = run.ended[: run.ended.index("long 30")]
    assert len(before) <= 2 + 30


@pytest.mark.usefixtures("soon_long")
def test_run_that_cannot_pause_is_finished_first() -> None:
    asking = Asking(("long 20", 3), (reader("boris"), "short 1"))
    asking.worker = Worker(
        asking.run,
        costs_of({"long": 4.0, "a": 0.1}),
        can_pause=lambda request: request.model != "long",
    )
    asking.worker.submit(Request("long", "long 20"), None, reader("anna"))
    asking.finish()
    assert asking.run.ended == ["long 20", "short 1"]


@pytest.mark.usefixtures("soon_long")
def test_failed_interposed_question_does_not_fail_the_long_one() -> None:
    def fails(text: str, step: int) -> None:
        asking.at_step(text, step)
        if text == "bad 1":
            raise InputError("bad")

    asking = Asking(("long 20", 3), (reader("boris"), "bad 1"))
    asking.run.at_step = fails
    asking.worker = Worker(asking.run, costs_of({"long": 4.0, "a": 0.1}))
    found = asking.worker.submit(Request("long", "long 20"), None, reader("anna"))
    assert found.request.text == "long 20"
    with pytest.raises(InputError, match="bad"):
        asking.answers[0].result()


def test_analysis_gives_way_to_readers_at_a_step() -> None:
    questions = [(reader(name), f"{name} 1") for name in ("anna", "boris", "cecil")]
    asking = Asking(("analysis 20", 3), *questions)
    asking.worker.submit(Request("a", "analysis 20"), None, ANALYSIS)
    asking.finish()
    assert asking.run.started[0] == "analysis 20"
    assert asking.run.ended == ["anna 1", "boris 1", "cecil 1", "analysis 20"]


def test_question_far_beyond_its_prediction_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AREAVIZ_LIMIT_QUESTION_SECONDS", "0.01")

    def work(text: str, step: int) -> None:
        until = time.thread_time() + 0.005
        while time.thread_time() < until:
            pass

    worker = Worker(Stepping(work))
    with pytest.raises(InputError, match="stopped after 0.0[0-9]+ seconds.*may take 0.01 seconds"):
        worker.submit(Request("a", "long 100"), None, reader("anna"))
    assert worker.submit(Request("a", "long 20")).request.text == "long 20", (
        "a command has no limit"
    )
