"""Models on Ray: start of Ray on this machine or a cluster, and a server of replicas."""

from __future__ import annotations

import asyncio
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import requests

from areaviz.backend import wire
from areaviz.backend.access import bracket_host, make_local_address
from areaviz.backend.backend import Backend, CachedBackend
from areaviz.backend.server import Api, Reply
from areaviz.samples.paths import ROOT
from areaviz.trace.errors import BackendError, InputError

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response


# Start Ray on this machine and stop it afterwards, or join a cluster and leave it running.


# Memory that processes on this machine share for examples and rows. Weights are never shared.
STORE_BYTES = 256 * 2**20
# Environment variables that configure Ray: on every machine, and for Ray on this machine only.
NO_REPORTS = {"RAY_USAGE_STATS_ENABLED": "0"}
HERE = {
    # All Ray processes listen only on loopback, on any operating system.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    # Ray Serve kills processes that start slowly, which happens on a busy machine.
    "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",
    "RAY_SERVE_PROXY_HEALTH_CHECK_TIMEOUT_S": "30",
}
# Options of `ray.init` that keep its log quiet.
QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": "warning"}


@contextmanager
def connect_to_ray(address: str | None, **options: Any) -> Iterator[None]:
    """Connect to Ray for the duration of the block.

    If the process already uses Ray, that connection is used and left open.

    Args:
        address: the address of a cluster. None starts Ray on this machine, on loopback, and stops
            it after the block.
        options: further options of `ray.init`.

    Raises:
        BackendError: Ray is not installed or does not start, or the cluster does not answer.
    """
    # Ray reads these variables when it is imported.
    os.environ.update(NO_REPORTS if address else NO_REPORTS | HERE)
    try:
        import ray
    except ImportError as error:
        raise BackendError(
            "Ray is not installed. Install it with: pip install 'areaviz[serve]'."
        ) from error
    if ray.is_initialized():
        yield
        return
    with ExitStack() as stack:
        if address:
            settings = {**QUIET, "address": address, "namespace": "areaviz"}
        else:
            settings = _make_local_settings(stack.enter_context(_create_private_folder()))
        try:
            ray.init(**{**settings, **options})
        except (ConnectionError, RuntimeError, ValueError, TimeoutError) as error:
            reason = str(error)[:200]
            raise BackendError(
                f"Ray could not be started or reached ({reason}). Check its address."
            ) from error
        stack.callback(ray.shutdown)
        yield


def _make_local_settings(folder: str) -> dict[str, Any]:
    """Return the `ray.init` options for Ray on this machine."""
    path = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {
        **QUIET,
        "address": "local",
        "include_dashboard": False,
        "object_store_memory": STORE_BYTES,
        "runtime_env": {"env_vars": {"PYTHONPATH": path}},
        "_temp_dir": f"{folder}/r",
    }


@contextmanager
def _create_private_folder() -> Iterator[str]:
    """Create a folder for Ray's files, logs and sockets that no other user of the machine can open.

    Ray makes its own folder readable for everyone, so it is placed inside this private folder,
    which is removed afterwards. The path must be short because it contains sockets. Ray also writes
    a token into the home folder. The umask keeps that file private.
    """
    mask = os.umask(0o077)
    try:
        with tempfile.TemporaryDirectory(
            prefix="areaviz-ray-", dir="/tmp", ignore_cleanup_errors=True
        ) as folder:
            yield folder
    finally:
        os.umask(mask)


# The models on Ray Serve: replicas on the available GPUs and nodes, behind one address.


# Opens a backend in a replica's process. It must be importable there.
Open = Callable[[], Backend]

NAME = "areaviz"

# This router sends requests with an equal header `wire.AFFINITY` to one replica, which caches the
# trace. If that replica dies, the requests go to another one.
ROUTER = "ray.serve.experimental.consistent_hash_router:ConsistentHashRouter"
REQUEST_SECONDS, START_SECONDS = 150.0, 180.0


@dataclass(frozen=True, slots=True)
class Scale:
    """The number of replicas of the models and the resources of each.

    Args:
        replicas: number of replicas, or the minimum number if `most_replicas` is set.
        most_replicas: maximum number of replicas that Ray Serve may start while requests wait. None
            keeps the number fixed.
        cpus: number of processors of each replica.
        gpus: number of GPUs of each replica. 0.5 puts two replicas on one GPU.
        together: number of requests that a replica handles at once. Similar requests run in batches
            of at most 8.
        waiting: number of requests that may wait for a replica. Further requests are refused as
            busy.

    Raises:
        InputError: if a number is out of range.
    """

    replicas: int = 1
    most_replicas: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    together: int = 16
    waiting: int = 64

    def __post_init__(self) -> None:
        if min(self.replicas, self.together, self.waiting) < 1:
            raise InputError(
                "The numbers of replicas, of requests at once and of waiting requests must be at"
                " least 1. Give larger numbers."
            )
        if self.most_replicas is not None and self.most_replicas < self.replicas:
            raise InputError(
                f"The minimum number of replicas ({self.replicas}) is above the maximum"
                f" ({self.most_replicas}). Raise the maximum."
            )
        if self.cpus < 0 or self.gpus < 0:
            raise InputError("The number of processors and GPUs must be 0 or more.")
        if self.gpus > 1 and self.gpus != int(self.gpus):
            raise InputError(
                f"A replica cannot use {self.gpus} GPUs. Give a whole number, or a fraction"
                " below 1."
            )


@dataclass(frozen=True, slots=True)
class Place:
    """The address of the server.

    Args:
        host: the address to listen on.
        port: the port to listen on.
        cluster: the address of a Ray cluster ("auto" on one of its nodes, or "ray://head:10001").
            None starts Ray on this machine alone and ends it with the server.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    cluster: str | None = None


class Replica:
    """One copy of the models, whose worker runs similar requests in batches."""

    def __init__(self, open_backend: Open, digest: str, together: int) -> None:
        _stay_on_loopback()
        self._api = Api(CachedBackend(open_backend()), digest)
        self._threads = ThreadPoolExecutor(together, "areaviz-request")

    async def __call__(self, request: Request) -> Response:
        """Answer one HTTP request."""
        head = request.method, request.url.path, request.headers.get("authorization", "")
        if refused := self._api.refusal(*head, length=_get_length(request)):
            return _make_response(refused)
        body = bytearray()
        async for part in request.stream():
            body += part
            if refused := self._api.refusal(*head, length=len(body)):
                return _make_response(refused)
        answer = asyncio.get_running_loop().run_in_executor(
            self._threads, self._api.answer, *head, bytes(body)
        )
        return _make_response(await answer)


@contextmanager
def serve_backend(open_backend: Open, digest: str, scale: Scale, place: Place) -> Iterator[str]:
    """Serve a backend while the block runs, and yield its address.

    The server ends with the block. On a cluster, only the application of areaviz ends.

    Args:
        open_backend: function that opens the backend. It is called in every replica.
        digest: digest of the token that clients need.
        scale: the number of replicas.
        place: the address to listen on.

    Raises:
        BackendError: if Ray is not installed or does not start, or the cluster does not answer.
    """
    with connect_to_ray(place.cluster):
        from ray import serve

        logging.getLogger("ray.serve").setLevel(logging.WARNING)
        try:
            _start(make_application(open_backend, digest, scale), place)
            yield f"http://{bracket_host(place.host)}:{place.port}"
        finally:
            if place.cluster:
                serve.delete(NAME)
            else:
                serve.shutdown()  # type: ignore[no-untyped-call]


def _start(app: Any, place: Place) -> None:
    """Start Ray Serve, and wait until the replicas answer.

    Raises:
        BackendError: if Ray Serve does not start.
    """
    from ray import serve
    from ray.exceptions import RayError

    options = {"host": place.host, "port": place.port, "request_timeout_s": REQUEST_SECONDS}
    try:
        # Ray stops waiting after 60 s, which may be too short on a busy machine. It then continues
        # to start in the background.
        with suppress(TimeoutError):
            serve.start(http_options=options)
        serve.run(app, name=NAME, route_prefix="/")
        # The nodes of a cluster may not be reachable from here.
        if place.cluster is None:
            _wait_for(f"{make_local_address(place.host, place.port)}/-/healthz")
    except (RayError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:200]
        raise BackendError(
            f"Ray Serve did not start ({reason}). Check that port {place.port} is free and"
            " that there are enough processors."
        ) from error


def _wait_for(address: str) -> None:
    """Wait until an address answers.

    Raises:
        RuntimeError: if it does not answer within `START_SECONDS`.
    """
    late = time.monotonic() + START_SECONDS
    while time.monotonic() < late:
        with suppress(requests.RequestException):
            if requests.get(address, timeout=2).ok:
                return
        time.sleep(0.1)
    raise RuntimeError(f"nothing listens within {START_SECONDS:.0f} s")


def make_application(open_backend: Open, digest: str, scale: Scale) -> Any:
    """Return the Ray Serve application, for `serve.run`."""
    from ray import serve
    from ray.serve.config import RequestRouterConfig

    replicas: dict[str, Any] = {"num_replicas": scale.replicas}
    if scale.most_replicas:
        growth = {
            "min_replicas": scale.replicas,
            "max_replicas": scale.most_replicas,
            "target_ongoing_requests": max(1, scale.together // 2),
        }
        replicas = {"autoscaling_config": growth}
    deployment = serve.deployment(
        name=NAME,
        max_ongoing_requests=scale.together,
        max_queued_requests=scale.waiting,
        ray_actor_options={"num_cpus": scale.cpus, "num_gpus": scale.gpus},
        request_router_config=RequestRouterConfig.model_validate({"request_router_class": ROUTER}),
        graceful_shutdown_timeout_s=5,
        **replicas,
    )(Replica)
    return deployment.bind(open_backend, digest, scale.together)


def open_local(checkpoints: Path, device: str, folders: Sequence[str] = ()) -> Backend:
    """Open a backend with the models of a folder and external models in their own folders.

    Every node of a cluster must have these folders. Torch is imported only in the replica.
    """
    from areaviz.backend.local import LocalBackend

    return LocalBackend(checkpoints, device, folders)


def _stay_on_loopback() -> None:
    """Make Ray Serve listen only on the loopback address with its port for other deployments.

    Requests on that port are pickled and need no token, and no option closes the port (Ray 2.60).
    There is only one deployment here, so the port is not needed. If a version of Ray lacks the
    replaced function, the replica ends with an error before it opens a port.
    """
    replica: Any = import_module("ray.serve._private.replica")
    bind = replica.add_port_to_grpc_server
    replica.add_port_to_grpc_server = lambda server, _: bind(server, "127.0.0.1:0")


def _get_length(request: Request) -> int:
    """Return the size of the body in bytes that the head of a request states, or 0 without one.

    `Replica` counts the bytes of every body while it reads them. An invalid size counts as too
    large.
    """
    given = request.headers.get("content-length", "0")
    return int(given) if given.isascii() and given.isdigit() else wire.MAX_REQUEST_BYTES + 1


def _make_response(reply: Reply) -> Response:
    from starlette.responses import Response

    return Response(reply.content, reply.status, media_type=reply.kind)
