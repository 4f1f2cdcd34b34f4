"""No reader has more questions at a backend than the table of shares allows."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from areaviz.backend.backend import Caller
from areaviz.backend.costs import FairBackend, find_mark
from areaviz.shares import OverLimit, Scope, Visitor
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.server.models import FakeModels

ASKED = Request("char-area", "A dog runs.")
ANNA, BORIS = Caller(Visitor("anna")), Caller(Visitor("boris"))


@contextmanager
def three_questions(backend: FairBackend, models: FakeModels, *callers: Caller) -> Iterator[None]:
    """Let each caller have an unfinished question until the block ends."""
    models.may_run.clear()
    asked: list[Future[Trace]] = []
    with ThreadPoolExecutor(len(callers)) as pool:
        for caller in callers:
            asked.append(pool.submit(backend.trace, ASKED, None, caller))
        while len(models.asked) < len(callers):
            threading.Event().wait(0.002)
        try:
            yield
        finally:
            models.may_run.set()
        for one in asked:
            one.result()


def test_fourth_question_of_a_reader_is_refused() -> None:
    models = FakeModels()
    backend = FairBackend(models)
    with three_questions(backend, models, ANNA, ANNA, ANNA):
        with pytest.raises(OverLimit, match="may have 3 questions running or waiting"):
            backend.trace(ASKED, caller=ANNA)
        models.may_run.set()
        for other in (BORIS, Caller(), Caller(in_background=True)):
            assert backend.trace(ASKED, caller=other)
    assert backend.trace(ASKED, caller=ANNA)
    assert backend.questions.by_reader() == {}


def test_questions_without_a_cookie_share_one_share() -> None:
    models = FakeModels()
    backend = FairBackend(models)
    without = [Caller(Visitor("", f"203.0.113.{number}")) for number in range(4)]
    with three_questions(backend, models, *without[:3]):
        with pytest.raises(OverLimit) as caught:
            backend.trace(ASKED, caller=without[3])
        assert caught.value.scope is Scope.ANONYMOUS


def test_fresh_cookies_of_an_address_share_four_shares() -> None:
    models = FakeModels()
    backend = FairBackend(models)
    fresh = [Caller(Visitor(f"{number:032x}", "203.0.113.1")) for number in range(13)]
    with three_questions(backend, models, *fresh[:12]):
        with pytest.raises(OverLimit) as caught:
            backend.trace(ASKED, caller=fresh[12])
        assert caught.value.scope is Scope.ADDRESS


def test_load_by_reader_lists_counts_and_seconds() -> None:
    models = FakeModels()
    backend = FairBackend(models)
    with three_questions(backend, models, ANNA, ANNA, Caller(Visitor())):
        first, second = backend.load_by_reader()
    assert (first["questions"], second["questions"]) == (2, 1)
    assert first["reader"] == find_mark("anna") != "anna"
    assert second["reader"] == "without a cookie"
    assert first["seconds"] == pytest.approx(2 * float(str(second["seconds"])), abs=0.11)
    assert float(str(second["seconds"])) > 0
    assert backend.load_by_reader() == []
