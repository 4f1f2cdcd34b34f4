"""The models on Ray Serve: several replicas, on the GPUs and nodes there are, behind
one address.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from areaviz.analysis.cluster import joined_ray
from areaviz.backend import wire
from areaviz.backend.base import Backend
from areaviz.backend.cached import CachedBackend
from areaviz.server.api import Api, Reply
from areaviz.server.options import Place, Scale
from areaviz.trace.errors import BackendError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

Open = Callable[[], Backend]
"""Opens a backend in the process of a replica; must be importable there."""

NAME, EVERY_ADDRESS = "areaviz", ("0.0.0.0", "::")
ROUTER = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
"""Requests with the same `wire.AFFINITY` go to one replica, which remembers the trace, or to the
next if it dies.
"""
REQUEST_SECONDS, START_SECONDS = 150.0, 180.0


class Replica:
    """One copy of the models. Requests wait here for the backend's worker, which runs like ones as
    one batch.
    """

    def __init__(self, open_backend: Open, digest: str, together: int) -> None:
        _stay_on_loopback()
        self._api = Api(CachedBackend(open_backend()), digest)
        self._threads = ThreadPoolExecutor(together, "areaviz-request")

    async def __call__(self, request: Request) -> Response:
        """Answer one HTTP request."""
        head = request.method, request.url.path, request.headers.get("authorization", "")
        if refused := self._api.refusal(*head, length=_length(request)):
            return _response(refused)
        body = bytearray()
        async for part in request.stream():
            body += part
            if refused := self._api.refusal(*head, length=len(body)):
                return _response(refused)
        answer = asyncio.get_running_loop().run_in_executor(
            self._threads, self._api.answer, *head, bytes(body)
        )
        return _response(await answer)


@contextmanager
def serving(open_backend: Open, digest: str, scale: Scale, place: Place) -> Iterator[str]:
    """Serve a backend to whoever has the token of this digest; gives the address, and ends the
    server afterwards.

    On a cluster the server's own application ends, and nothing else there.

    Raises:
        BackendError: Ray is not installed or does not start, or the cluster does not answer.
    """
    with joined_ray(place.cluster):
        from ray import serve

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        try:
            _start(application(open_backend, digest, scale), place)
            yield f"http://{place.host}:{place.port}"
        finally:
            serve.delete(NAME) if place.cluster else serve.shutdown()  # type: ignore[no-untyped-call]


def _start(app: Any, place: Place) -> None:
    """Listen, and wait until the replicas answer; raises BackendError."""
    from ray import serve
    from ray.exceptions import RayError

    options = {"host": place.host, "port": place.port, "request_timeout_s": REQUEST_SECONDS}
    try:
        with suppress(
            TimeoutError
        ):  # of 60 s, in which a busy machine may not get so far; it goes on starting
            serve.start(http_options=options)
        serve.run(app, name=NAME, route_prefix="/")
        if place.cluster is None:  # whose nodes need not be reached from here
            host = "127.0.0.1" if place.host in EVERY_ADDRESS else place.host
            _wait_for(f"http://{host}:{place.port}/-/healthz")
    except (RayError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise BackendError(
            f"Ray Serve did not start ({reason}); see that port {place.port} is free and the"
            " processors are there."
        ) from error


def _wait_for(address: str) -> None:
    """Wait until an address answers; raises RuntimeError where it does not within
    `START_SECONDS`.
    """
    late = time.monotonic() + START_SECONDS
    while time.monotonic() < late:
        with suppress(requests.RequestException):
            if requests.get(address, timeout=2).ok:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens within {START_SECONDS:.0f} s")


def application(open_backend: Open, digest: str, scale: Scale) -> Any:
    """The Ray Serve application, for `serve.run`."""
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    grows = {
        "min_replicas": scale.replicas,
        "max_replicas": scale.most_replicas,
        "target_ongoing_requests": max(1, scale.together // 2),
    }
    deployment = serve.deployment(
        name=NAME,
        max_ongoing_requests=scale.together,
        max_queued_requests=scale.waiting,
        ray_actor_options={"num_cpus": scale.cpus, "num_gpus": scale.gpus},
        request_router_config=RequestRouterConfig.model_validate({"request_router_class": ROUTER}),
        graceful_shutdown_timeout_s=5,
        **(
            {"autoscaling_config": grows}
            if scale.most_replicas
            else {"num_replicas": scale.replicas}
        ),
    )(Replica)
    return deployment.bind(open_backend, digest, scale.together)


def open_local(checkpoints: Path, device: str) -> Backend:
    """The models of a folder, which every node must have; torch is imported in the replica only."""
    from areaviz.backend.local import LocalBackend

    return LocalBackend(checkpoints, device)


def _stay_on_loopback() -> None:
    """Have Ray Serve open a replica's door for other deployments on loopback, and not on every
    address.

    Behind it requests are pickled and no token is asked for, and no option closes it (Ray 2.60).
    There is one deployment here, which nobody calls that way. A Ray without this place ends the
    replica before it opens anything.
    """
    replica: Any = import_module("ray.serve._private.replica")
    bind = replica.add_port_to_grpc_server
    replica.add_port_to_grpc_server = lambda server, _: bind(server, "127.0.0.1:0")


def _length(request: Request) -> int:
    """How long the body says it is; one that says nothing is counted while it is read."""
    told = request.headers.get("content-length", "0")
    return int(told) if told.isascii() and told.isdigit() else wire.MAX_REQUEST_BYTES + 1


def _response(reply: Reply) -> Response:
    from starlette.responses import Response

    return Response(reply.content, reply.status, media_type=reply.kind)
