"""The models of a server: equal answers, large weights on demand, clear errors for all faults."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from areaviz.backend import remote, wire
from areaviz.backend.access import compute_digest
from areaviz.backend.backend import OWN_WORK, CachedBackend, Caller
from areaviz.backend.remote import RemoteBackend
from areaviz.backend.server import Api, Reply
from areaviz.shares import Visitor
from areaviz.trace import file, query
from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import Logits
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import LayeredWeights, Trace
from areaviz.trace.request import Progress, Request
from tests import fakes
from tests.server.models import TOKEN, FakeModels
from tests.server.server import Server, serving

ASKED = Request("char-area", "A small dog runs.", "beam", 3, 4, 7)
LARGE = Request("char-area", "A small dog runs over the grass. " * 6)


@pytest.fixture
def models() -> FakeModels:
    return FakeModels()


@pytest.fixture
def server(models: FakeModels) -> Iterator[Server]:
    with serving(Api(CachedBackend(models), compute_digest(TOKEN))) as running:
        yield running


@pytest.fixture
def backend(server: Server) -> RemoteBackend:
    return RemoteBackend(server.address, TOKEN)


def same(one: Trace, other: Trace) -> bool:
    return file.trace_to_bytes(one) == file.trace_to_bytes(other)


def test_remote_backend_matches_local_backend(backend: RemoteBackend, models: FakeModels) -> None:
    assert backend.models() == models.models()
    assert backend.problems() == models.problems()
    assert backend.device().startswith(models.device())
    told: list[float] = []
    assert same(backend.trace(ASKED, lambda share, _: told.append(share)), models.trace(ASKED))
    assert told and models.asked[0] == ASKED


def test_pictures_are_transferred_both_ways(backend: RemoteBackend, models: FakeModels) -> None:
    asked = Request("char-area", "", picture=fakes.picture("seen", 33, 21), sample=True)
    assert same(backend.trace(asked), models.trace(asked))


def test_large_weights_are_fetched_layer_by_layer(
    backend: RemoteBackend, models: FakeModels, server: Server
) -> None:
    found, whole = backend.trace(LARGE), models.trace(LARGE)
    assert server.paths.count(wire.LAYER) == 0
    for site, attention in found.maps.items():
        assert isinstance(attention.weights, LayeredWeights), site
        assert attention.weights.shape == whole.maps[site].weights.shape
    site = "encoder-decoder"
    np.testing.assert_array_equal(
        query.coverage(found.maps[site], 1, None), query.coverage(whole.maps[site], 1, None)
    )
    query.coverage(found.maps[site], 1, 2)
    assert server.paths.count(wire.LAYER) == 1, "one layer was read, twice"
    assert same(found, whole)
    assert server.paths.count(wire.LAYER) == sum(one.layers for one in whole.maps.values())
    assert models.asked == [LARGE.checked()] * 2, (
        "once by the server, which remembers it, and once by this test"
    )


class Explaining(FakeModels):
    """A backend that also returns the parts of its logits."""

    def logits(
        self,
        request: Request,
        site: str,
        layer: int,
        progress: Progress | None = None,
        caller: Caller = OWN_WORK,
    ) -> Logits:
        if site == "nowhere":
            raise InputError("It is not known there; choose another place.")
        item = np.full((4, 2, 3), layer, np.float32)
        return Logits(AreaGrid(1, 3, 1, 2), item, item + 1, item + 2)


def test_logit_contributions_are_transferred() -> None:
    with serving(Api(CachedBackend(models := Explaining()), compute_digest(TOKEN))) as running:
        backend = CachedBackend(RemoteBackend(running.address, TOKEN))
        assert backend.explains
        found, own = backend.logits(ASKED, "encoder self", 1), models.logits(ASKED, "", 1)
        assert found.grid == own.grid and found.shape is None
        np.testing.assert_array_equal(found.end, own.end)
        with pytest.raises(InputError, match="not known there"):
            backend.logits(ASKED, "nowhere", 1)


def test_server_of_stored_traces_refuses_logits(backend: RemoteBackend) -> None:
    with pytest.raises(InputError, match="cannot explain its weights"):
        backend.logits(ASKED, "encoder self", 1)


@pytest.mark.parametrize(
    "content", [b"", b"<html>", file.layer_to_bytes(np.ones((1, 1, 1), np.float32))]
)
def test_malformed_logits_are_refused(
    backend: RemoteBackend, server: Server, content: bytes
) -> None:
    backend.models()
    server.faults = [Reply(200, wire.NPZ, content)]
    with pytest.raises(BackendError, match="unknown format"):
        backend.logits(ASKED, "encoder self", 1)


def test_requests_for_one_trace_go_to_one_replica(backend: RemoteBackend, server: Server) -> None:
    backend.trace(LARGE).maps["encoder self"].weights[0]
    backend.trace(ASKED)
    keys = [headers[wire.AFFINITY] for _, path, headers in server.asked if path != wire.MODELS]
    assert keys[0] == keys[1] != keys[2] and len(keys[0]) == 64


def test_input_errors_stay_input_errors(backend: RemoteBackend, server: Server) -> None:
    with pytest.raises(InputError, match="only blanks"):
        backend.trace(Request("char-area", " "))
    assert wire.TRACE not in server.paths, "it is not even sent"
    with pytest.raises(InputError, match="does not take <b>such</b> texts"):
        backend.trace(Request("char-area", "refuse this"))
    with pytest.raises(BackendError, match="ran out of memory"):
        backend.trace(Request("char-area", "fail at this"))
    with pytest.raises(BackendError, match="See its log for the reason") as caught:
        backend.trace(Request("char-area", "crash"))
    assert "secret" not in str(caught.value)
    assert server.paths.count(wire.TRACE) == 3, "what has a name is not tried again"


@pytest.mark.parametrize(
    "fault", ["drop", "cut", Reply(500, "text/plain", b"Internal Server Error")]
)
def test_lost_request_is_sent_once_more(
    backend: RemoteBackend, server: Server, models: FakeModels, fault: Reply | str
) -> None:
    backend.models()
    server.faults = [fault]
    assert backend.trace(ASKED).request == ASKED
    server.faults = [fault, fault]
    with pytest.raises(BackendError, match="Your input is kept"):
        backend.trace(LARGE)
    assert not server.faults, "once, not for ever"
    assert backend.trace(LARGE).request == LARGE.checked(), "the next request works"


def test_lost_layer_is_fetched_once_more(backend: RemoteBackend, server: Server) -> None:
    weights = backend.trace(LARGE).maps["encoder self"].weights
    server.faults = ["drop"]
    assert weights[0].shape == weights.shape[1:]
    server.faults = ["drop", "drop"]
    with pytest.raises(BackendError, match="Your input is kept"):
        weights[1]
    assert weights[1].shape == weights.shape[1:]


def test_missing_answer_is_named(server: Server) -> None:
    backend = RemoteBackend(server.address, TOKEN, answer_seconds=0.2)
    backend.models()
    server.faults = ["hang"]
    with pytest.raises(BackendError, match="did not answer in time"):
        backend.trace(ASKED)
    assert server.paths.count(wire.TRACE) == 1, "it may still be at work: not sent again"


def test_busy_server_is_named(backend: RemoteBackend, server: Server) -> None:
    backend.models()
    server.faults = [Reply(503, "text/plain", b"Request dropped due to backpressure")]
    with pytest.raises(BackendBusy, match="busy"):
        backend.trace(ASKED)
    assert server.paths.count(wire.TRACE) == 1
    with pytest.raises(BackendBusy, match="32 requests are waiting"):
        backend.trace(Request("char-area", "busy"))
    assert server.paths.count(wire.TRACE) == 2


def test_background_requests_stay_background_at_server(
    backend: RemoteBackend, models: FakeModels
) -> None:
    backend.trace(ASKED, caller=Caller(in_background=True))
    backend.trace(LARGE)
    assert models.in_background == [True, False]


def test_server_gets_marks_of_readers_without_ids(
    backend: RemoteBackend, models: FakeModels
) -> None:
    anna, boris = (Visitor(name * 32, "203.0.113.1") for name in "ab")
    for number, visitor in enumerate((anna, boris, anna, Visitor(), None)):
        backend.trace(Request("char-area", f"Dog {number}."), caller=Caller(visitor))
    marks = [caller.visitor for caller in models.callers]
    assert marks[0] == marks[2] and marks[0] is not None and marks[1] is not None
    assert marks[0].reader != marks[1].reader and marks[0].address == marks[1].address
    assert marks[3:] == [Visitor(), None]
    assert anna.reader not in repr(marks) and anna.address not in repr(marks)


def test_missing_server_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Api(FakeModels(), compute_digest(TOKEN))) as gone:
        address = gone.address
    backend = RemoteBackend(address, TOKEN)
    assert backend.models() == {}
    assert "cannot be reached" in backend.problems()[0]
    with pytest.raises(BackendError, match="cannot be reached"):
        backend.trace(ASKED)


def test_models_stay_listed_when_server_stops(
    backend: RemoteBackend, server: Server, models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ABOUT_SECONDS", 0.0)
    monkeypatch.setattr(remote, "ABOUT_AGAIN_SECONDS", 0.0)
    assert set(backend.models()) == set(models.cards)
    server.faults = ["drop", "drop"]
    assert set(backend.models()) == set(models.cards), "the form stays as it was"
    server.faults = ["drop", "drop"]
    assert "cannot be reached" in backend.problems()[0]
    assert backend.problems() == models.problems()


def test_descriptions_are_fetched_again_after_some_time(
    backend: RemoteBackend, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(remote, "time", SimpleNamespace(monotonic=lambda: now))
    for _ in range(20):
        backend.models(), backend.problems(), backend.device()
    assert server.paths == [wire.MODELS]
    now += remote.ABOUT_SECONDS
    for _ in range(20):
        backend.models(), backend.problems(), backend.device()
    assert server.paths == [wire.MODELS] * 2


def test_slow_answer_does_not_delay_other_callers(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "ABOUT_SECONDS", 0.0)
    # The slow question waits for longer than any test runs.
    backend = RemoteBackend(server.address, TOKEN, answer_seconds=86_400)
    known = backend.models()
    server.faults = ["hang"]
    slow = threading.Thread(target=backend.models)
    slow.start()
    while server.faults:
        time.sleep(0.01)
    assert backend.models() == known and backend.problems()
    assert slow.is_alive(), "the others get their answer before it does"
    server.released.set()
    slow.join()


def test_callers_wait_for_the_first_description(backend: RemoteBackend, server: Server) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: backend.models(), range(8)))
    assert all(found) and server.paths == [wire.MODELS]


def test_wrong_token_is_named(server: Server) -> None:
    stranger = RemoteBackend(server.address, "another-token-altogether")
    assert stranger.models() == {} and "refused the access token" in stranger.problems()[0]
    with pytest.raises(BackendError, match="refused the access token"):
        stranger.trace(ASKED)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80\x04K\x01.",
        b"PK\x03\x04",
        file.trace_to_bytes(fakes.trace("Another text.")),
        b'{"models": {}}',
    ],
    ids=["nothing", "pickle", "torn archive", "another's trace", "JSON"],
)
def test_malformed_answer_is_refused(
    backend: RemoteBackend, server: Server, content: bytes
) -> None:
    backend.models()
    server.faults = [Reply(200, wire.NPZ, content)]
    with pytest.raises(BackendError, match="model server"):
        backend.trace(ASKED)


@pytest.mark.parametrize("shape", [(4, 10, 10), (3, 3), (0,)])
def test_layer_of_wrong_shape_is_refused(
    backend: RemoteBackend, server: Server, shape: tuple[int, ...]
) -> None:
    weights = backend.trace(LARGE).maps["encoder self"].weights
    server.faults = [Reply(200, wire.NPZ, file.layer_to_bytes(np.zeros(shape, np.float32)))]
    with pytest.raises(BackendError, match="unknown format"):
        weights[0]


def test_layer_that_does_not_sum_is_refused(backend: RemoteBackend, server: Server) -> None:
    weights = backend.trace(LARGE).maps["encoder self"].weights
    for value in (np.nan, -1, 2):
        server.faults = [
            Reply(200, wire.NPZ, file.layer_to_bytes(np.full(weights.shape[1:], value, np.float32)))
        ]
        with pytest.raises(BackendError, match="unknown format"):
            weights[0]


def test_answer_is_read_up_to_its_limit(backend: RemoteBackend, server: Server) -> None:
    weights = backend.trace(LARGE).maps["encoder self"].weights
    server.faults = [Reply(200, wire.NPZ, bytes(weights.nbytes))]
    with pytest.raises(BackendError, match="unknown format"):
        weights[0]
    server.faults = [Reply(200, wire.JSON, bytes(wire.MAX_ABOUT_BYTES + 1))]
    fresh = RemoteBackend(server.address, TOKEN)
    assert fresh.models() == {} and "unknown format" in fresh.problems()[0]


def test_token_is_not_sent_to_redirect_targets(backend: RemoteBackend, server: Server) -> None:
    backend.models()
    server.faults = [Reply(302, "text/plain", b"")]
    with pytest.raises(BackendError, match="unknown format"):
        backend.trace(ASKED)
    assert server.paths == [wire.MODELS, wire.TRACE]


def test_retrained_model_is_not_mixed_with_old_one(
    backend: RemoteBackend, models: FakeModels
) -> None:
    weights = backend.trace(LARGE).maps["encoder self"].weights
    models.cards = {
        name: replace(card, code_version="later") for name, card in models.cards.items()
    }
    with pytest.raises(BackendError, match="changed after this run"):
        weights[0]


@pytest.mark.parametrize(
    "address",
    ["", "http://", "ftp://host", "http://user:secret@host", "http://a b", "http://host?x=1"],
)
def test_invalid_address_is_refused(address: str) -> None:
    with pytest.raises(BackendError, match="such as http://127.0.0.1:8000"):
        RemoteBackend(address, TOKEN)


def test_token_is_never_logged(
    backend: RemoteBackend, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.faults = ["drop"] * 4
    with pytest.raises(BackendError):
        backend.trace(ASKED)
    assert caplog.text and TOKEN not in caplog.text


def test_seen_part_of_a_picture_is_transferred(
    backend: RemoteBackend, models: FakeModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Request("char-area", "", picture=fakes.picture("seen", 33, 21))
    part = replace(asked, picture=fakes.picture("seen", 12, 12))
    trace = models.trace
    monkeypatch.setattr(models, "trace", lambda request, *more: trace(part))
    assert backend.trace(asked).request == part
    with pytest.raises(BackendError, match="answered another request"):
        backend.trace(replace(asked, seed=3))
