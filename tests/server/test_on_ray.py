"""The models on a local Ray Serve: equal answers, the token, and replicas that may die."""

from __future__ import annotations

import os
import signal
import stat
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
import requests

from areaviz.backend import wire
from areaviz.backend.remote import RemoteBackend
from areaviz.trace import file
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import LayeredWeights
from areaviz.trace.request import Request
from tests.server.models import TOKEN, FakeModels, MortalModels
from tests.server.ray_server import LOOPBACK, listening, served

pytestmark = [pytest.mark.long, pytest.mark.filterwarnings("ignore::DeprecationWarning:ray")]
LARGE = Request("char-area", "A small dog runs over the grass. " * 6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which replicas report that they wait or have died."""
    return tmp_path_factory.mktemp("deaths")


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[str]:
    """Serve models on two replicas, which die if a text says so; yield the address."""
    with served(partial(MortalModels, folder)) as running:
        yield running


@pytest.fixture
def backend(address: str) -> RemoteBackend:
    return RemoteBackend(address, TOKEN, answer_seconds=60)


def test_server_answers_like_local_backend(backend: RemoteBackend) -> None:
    assert (
        backend.models() == FakeModels().models() and backend.problems() == FakeModels().problems()
    )
    for text in ("A dog runs.", LARGE.text):
        asked = Request("char-area", text)
        found, here = backend.trace(asked), FakeModels().trace(asked)
        assert file.trace_to_bytes(replace(found, details=here.details)) == file.trace_to_bytes(
            here
        )
    with pytest.raises(InputError, match="does not take"):
        backend.trace(Request("char-area", "refuse"))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", wire.MODELS),
        ("POST", wire.TRACE),
        ("POST", wire.LAYER),
        ("POST", wire.LOGITS),
        ("GET", "/"),
        ("GET", "/docs"),
        ("PUT", "/x"),
    ],
)
@pytest.mark.parametrize("token", [None, "another-token-altogether"])
def test_every_route_requires_the_token(
    address: str, method: str, path: str, token: str | None
) -> None:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    answer = requests.request(method, address + path, headers=headers, timeout=30)
    assert answer.status_code == 401 and wire.failure_from_json(answer.content)[0] == "token"


def test_ray_folder_is_private(address: str) -> None:
    folders = [path.parent for path in Path("/tmp").glob("areaviz-ray-*/r")]
    assert any((folder / "r" / "session_latest").exists() for folder in folders)
    assert {stat.S_IMODE(folder.stat().st_mode) for folder in folders} == {0o700}


def test_ray_routes_reveal_nothing(address: str) -> None:
    assert requests.get(f"{address}/-/healthz", timeout=30).text == "success"
    assert requests.get(f"{address}/-/routes", timeout=30).json() == {"/": "areaviz"}


def test_body_without_length_is_limited(address: str) -> None:
    parts = (b"x" * 2**16 for _ in range(wire.MAX_REQUEST_BYTES // 2**16 + 2))
    answer = requests.post(
        address + wire.TRACE, data=parts, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60
    )
    assert answer.status_code == 413


def test_ray_listens_on_loopback_only(address: str) -> None:
    found = listening()
    assert found and found <= LOOPBACK


def test_replicas_do_not_mix_results(backend: RemoteBackend) -> None:
    texts = [f"Sentence number {number}." for number in range(24)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: backend.trace(Request("char-area", text)), texts))
    assert [one.request.text for one in found] == texts
    assert [one.fields["target"].raw for one in found] == [text[::-1] for text in texts]
    assert len({one.details["process"] for one in found}) == 2


def test_layers_come_from_replica_with_cached_trace(backend: RemoteBackend) -> None:
    found = backend.trace(LARGE)
    weights = found.maps["encoder self"].weights
    assert isinstance(weights, LayeredWeights)
    here = FakeModels().trace(LARGE).maps["encoder self"].weights
    assert (weights[1] == here[1]).all()
    assert backend.trace(LARGE).details == found.details


def test_request_survives_killed_replica(backend: RemoteBackend) -> None:
    assert (
        backend.trace(Request("char-area", "Please die once.")).fields["target"].raw
        == ".ecno eid esaelP"
    )


def test_killed_replicas_fail_only_their_requests(
    backend: RemoteBackend, address: str, folder: Path
) -> None:
    """Check that only the question that kills two replicas is lost.

    Meanwhile, the questions of another reader are answered.
    """
    other = RemoteBackend(address, TOKEN, answer_seconds=60)
    with ThreadPoolExecutor(1) as pool:
        question = pool.submit(backend.trace, Request("char-area", "Please wait for a kill."))
        for kill in range(2):
            os.kill(waiting_process(folder), signal.SIGKILL)
            for number in range(3):
                text = f"Sentence {number} after kill {kill}."
                found = other.trace(Request("char-area", text))
                assert found.fields["target"].raw == text[::-1]
        with pytest.raises(BackendError, match="Your input is kept") as told:
            question.result()
    assert "\n" not in str(told.value) and str(told.value).endswith("Try again in a moment.")
    assert backend.trace(Request("char-area", "A dog runs.")).request.text == "A dog runs."


def waiting_process(folder: Path) -> int:
    """Return the number of the process that waits for a kill, as soon as there is one."""
    while not (found := list(folder.glob("*.waiting"))):
        time.sleep(0.05)
    found[0].unlink()
    return int(found[0].stem)
