"""The cache answers equal requests once, keeps a limited number, and stores no failures."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from areaviz.backend import backend as cached_module
from areaviz.backend.backend import OWN_WORK, CachedBackend, Caller
from areaviz.trace.changes import Gate
from areaviz.trace.errors import BackendError
from areaviz.trace.record import LayeredWeights, Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.pages.folder import card

ASKED = Request("m", "A dog.")
ANALYSIS = Caller(in_background=True)


class Counting(fakes.FakeBackend):
    """A model that counts its runs, and can fail or be delayed."""

    def __init__(self) -> None:
        super().__init__({"m": card("m", "area")})
        self.runs: list[Request] = []
        self.fail = False
        self.may_run = threading.Event()
        self.may_run.set()

    def problems(self) -> tuple[str, ...]:
        return ("One is damaged.",)

    def trace(
        self, request: Request, progress: Progress | None = None, caller: Caller = OWN_WORK
    ) -> Trace:
        self.runs.append(request)
        self.may_run.wait()
        if self.fail:
            raise BackendError("No memory.")
        return replace(fakes.trace(request.text), request=request)


def test_trace_runs_equal_requests_once() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    assert cached.trace(ASKED) is cached.trace(Request("m", "A dog."))
    assert len(inner.runs) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"text": "A cat."},
        {"method": "beam"},
        {"area_size": 2},
        {"seed": 1},
        {"model": "n"},
        {"beam": 2},
        {"changes": (Gate("encoder self"),)},
    ],
)
def test_cache_key_has_every_part_of_request(other: dict[str, object]) -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    cached.trace(ASKED)
    different = replace(ASKED, **other)  # type: ignore[arg-type]
    assert cached.trace(different).request == different


def test_retrained_model_runs_cached_request_again() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    cached.trace(ASKED)
    inner.cards = {"m": replace(inner.cards["m"], code_version="later")}
    cached.trace(ASKED)
    assert len(inner.runs) == 2


def test_cache_drops_the_least_recently_used_trace() -> None:
    inner = Counting()
    cached = CachedBackend(inner, max_entries=2)
    first, second, third = (Request("m", text) for text in ("One.", "Two.", "Three."))
    for request in (first, second, first, third, first, second):
        cached.trace(request)
    assert inner.runs == [first, second, third, second]


def test_cache_bounds_bytes() -> None:
    one = fakes.trace("A dog.").nbytes
    inner = Counting()
    cached = CachedBackend(inner, max_entries=9, max_bytes=int(one * 1.5))
    for text in ("A dog.", "A cat.", "A dog."):
        cached.trace(Request("m", text))
    assert len(inner.runs) == 3


def test_oversized_trace_evicts_no_cached_trace() -> None:
    """Check the trace of a long text, which is larger than the whole cache."""
    short, long = Request("m", "A."), Request("m", "A long sentence about a small dog.")
    room = fakes.trace(short.text).nbytes + 1
    assert fakes.trace(long.text).nbytes > room
    inner = Counting()
    cached = CachedBackend(inner, max_bytes=room)
    kept = cached.trace(short)
    cached.trace(long)
    cached.trace(long)
    assert cached.trace(short) is kept
    assert inner.runs == [short, long, long]


def test_cache_stores_no_failure() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    inner.fail = True
    with pytest.raises(BackendError):
        cached.trace(ASKED)
    inner.fail = False
    assert cached.trace(ASKED).request == ASKED


def test_equal_requests_run_once_across_threads() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    with ThreadPoolExecutor(9) as pool:
        inner.may_run.clear()
        equal = [pool.submit(cached.trace, ASKED) for _ in range(6)]
        other = pool.submit(cached.trace, Request("m", "A cat."))
        inner.may_run.set()
        assert len({id(future.result()) for future in equal}) == 1
        assert other.result().request.text == "A cat."
    assert sorted(request.text for request in inner.runs) == ["A cat.", "A dog."]


def test_descriptions_come_from_the_wrapped_backend() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    assert (cached.models(), cached.problems(), cached.device()) == (
        inner.cards,
        inner.problems(),
        "nowhere",
    )


def test_cache_without_room_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one"):
        CachedBackend(Counting(), max_entries=0)


def test_caller_may_leave_while_equal_request_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cached_module, "PROGRESS_SECONDS", 0.01)
    inner, told = Counting(), []
    inner.may_run.clear()
    backend = CachedBackend(inner)

    def leave(share: float, what: str) -> None:
        told.append(what)
        raise KeyboardInterrupt

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(backend.trace, ASKED)
        while not inner.runs:
            threading.Event().wait(0.002)
        with pytest.raises(KeyboardInterrupt):
            backend.trace(ASKED, leave)
        inner.may_run.set()
        assert first.result() is backend.trace(ASKED)
    assert (
        told == ["Waiting: another reader asked the same question first"]
        and len(inner.runs) == 1
        and not backend._running
    )


def test_given_outputs_are_not_remembered() -> None:
    inner = Counting()
    cached = CachedBackend(inner, max_entries=1)
    kept = cached.trace(ASKED)
    for _ in range(2):
        cached.trace(replace(ASKED, target="Ein Hund."))
    assert cached.trace(ASKED) is kept
    assert len(inner.runs) == 3


def test_forget_drops_all_traces() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    first = cached.trace(ASKED)
    cached.forget()
    assert cached.trace(ASKED) is not first and len(inner.runs) == 2


def test_trace_knows_its_size() -> None:
    trace = fakes.caption_trace()
    assert trace.request.picture is not None
    weights = sum(one.weights.nbytes for one in trace.maps.values())
    assert trace.nbytes == weights + len(trace.request.picture.rgb)
    one = trace.maps["encoder-decoder"]
    later: Any = LayeredWeights(one.weights.shape, one.weights.__getitem__)
    fetched = replace(trace, maps={"encoder-decoder": replace(one, weights=later)})
    assert fetched.nbytes == later.nbytes + len(trace.request.picture.rgb), (
        "what it comes to take, of a server's"
    )


def test_question_does_not_wait_for_equal_background_request() -> None:
    inner = Counting()
    cached = CachedBackend(inner)
    inner.may_run.clear()
    with ThreadPoolExecutor(2) as pool:
        analysis = pool.submit(cached.trace, ASKED, None, ANALYSIS)
        while not inner.runs:
            time.sleep(0.002)
        reader = pool.submit(cached.trace, ASKED)
        while len(inner.runs) < 2:
            time.sleep(0.002)
        inner.may_run.set()
        assert analysis.result().request == reader.result().request
    cached.trace(ASKED, caller=ANALYSIS)
    assert len(inner.runs) == 2, "what is remembered is not run in the background either"
