"""Serving of the app with uvicorn behind its gateway, with a bounded log and visitor statistics."""

from __future__ import annotations

import errno
import logging
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import uvicorn
from streamlit import config
from streamlit.starlette import App

from areaviz.backend import access
from areaviz.gateway import streamlit_parts
from areaviz.gateway.base_path import BasePath
from areaviz.gateway.gateway import AppPlace, Gateway
from areaviz.gateway.limits import (
    DESCRIPTORS_PER_SESSION,
    MAX_CONNECTIONS,
    Connections,
    raise_limit,
)
from areaviz.gateway.memory_pools import limit_memory_pools
from areaviz.gateway.operator import Command, serve_commands
from areaviz.gateway.protocols import BoundedRequests, BoundedSocket
from areaviz.trace.errors import InputError

SCRIPT = Path(__file__).with_name("app_script.py")
PING_SECONDS, LEAVE_SECONDS = 30.0, 5

# Number of connections that the system queues, and number of connections accepted at once.
QUEUE, AT_ONCE = 2048, 8

# Number of file descriptors that is enough for the maximum number of connections.
ROOMY = MAX_CONNECTIONS * (1 + DESCRIPTORS_PER_SESSION)

LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LOG_SECONDS, LOG_CAUSES = 1.0, 1024


def serve_app(
    place: AppPlace,
    folder: Path,
    commands: Callable[[Connections], Mapping[str, Command]],
    script: Path = SCRIPT,
) -> None:
    """Serve the app until it is stopped.

    Args:
        place: the address at which the app listens, and who may use it.
        folder: the folder with Streamlit's configuration.
        commands: returns the operator's commands for an app with these connections.
        script: the Streamlit script to run.

    Raises:
        InputError: the app cannot listen at this address.
    """
    os.chdir(folder)
    limit_memory_pools()
    opened = open_listening_socket(place.host, place.port)
    os.environ[access.KEY_SETTING] = place.key
    _configure_streamlit(place)
    gateway = Gateway(App(script), place, config.get_option("server.disconnectedSessionTTL"))
    connections = Connections(raise_limit(), place.proxies)
    _bound_log()
    url = access.make_local_address(place.host, place.port) + (place.base and f"{place.base}/")
    print(f"areaviz is open at {url}. Stop it with Ctrl-C.", flush=True)
    with serve_commands(commands(connections), place.port):
        _Server(make_server_options(gateway, place, connections)).run(sockets=[opened])


def process_stats(started: float, connections: Connections) -> dict[str, object]:
    """Return statistics of the process and its visitors, for the operator.

    Args:
        started: the start time of the app, by `time.monotonic`.
        connections: the connections of the app.
    """
    active, waiting = streamlit_parts.count_sessions()
    used, limit = connections.descriptors()
    return {
        "process": os.getpid(),
        "running_minutes": round((time.monotonic() - started) / 60),
        "memory_megabytes": _measure_memory_megabytes(),
        "threads": threading.active_count(),
        "connections": len(connections),
        "file_descriptors": used,
        "file_descriptors_limit": limit,
        "sessions": active,
        "sessions_kept_for_return": waiting,
        "uploaded_megabytes": round(
            sum(streamlit_parts.count_uploaded_bytes().values()) / 2**20, 1
        ),
    }


def _measure_memory_megabytes() -> int | None:
    """Return the memory of the process in MB, or None if the system does not report it."""
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return None
    return round(int(found[1]) / 1024) if found else None


class OncePerSecond(logging.Filter):
    """A filter that drops a log line if its cause was logged within the last second.

    It counts the dropped lines. A cause is the logger, the text without its arguments, and the type
    of error. Repeated errors therefore cannot fill the disk.
    """

    def __init__(self) -> None:
        super().__init__()
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write the line."""
        error = record.exc_info[0] if record.exc_info else None
        cause = (record.name, record.levelno, str(record.msg)[:200], error)
        now = time.monotonic()
        when, dropped = self._last.get(cause, (-LOG_SECONDS, 0))
        if now - when < LOG_SECONDS:
            self._last[cause] = when, dropped + 1
            return False
        if len(self._last) >= LOG_CAUSES:
            self._last.clear()
        self._last[cause] = now, 0
        if dropped:
            record.msg = f"{record.getMessage()} ({dropped:,} more like this were not written)"
            record.args = None
        return True


def _bound_log() -> None:
    """Add the filter to every handler. Call this when all loggers exist."""
    logging.basicConfig(format=LOG_FORMAT, level=logging.WARNING)
    loggers = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
    for handler in {handler for logger in (logging.root, *loggers) for handler in logger.handlers}:
        handler.addFilter(OncePerSecond())


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start like uvicorn, but with a long connection queue in the system.

        asyncio accepts as many connections at once as the backlog, even without a free file
        descriptor. The backlog is therefore short (`AT_ONCE`), and the queue is set here.
        """
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def open_listening_socket(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raise InputError if the port or address is not available."""
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=QUEUE, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"Port {port} is in use. Choose another with --port.") from error
        raise InputError(
            f"The app cannot listen on {host}, port {port} ({error.strerror}). Choose another"
            " address or port."
        ) from error


def _configure_streamlit(place: AppPlace) -> None:
    """Set Streamlit's options for a server that Streamlit does not start itself."""
    config.set_option("server.address", place.host)
    config.set_option("server.port", place.port)
    config.set_option("server.allowedHosts", sorted(place.known_names))
    # Otherwise Streamlit asks a server on the internet for this machine's address to print it.
    config.set_option("browser.serverAddress", place.host)
    config.set_option("server.headless", True)
    config.set_option("client.allowedOrigins", list(place.framing))
    if place.framing:
        config.set_option("server.xsrfCookieSameSite", "none")


def make_server_options(
    gateway: Gateway, place: AppPlace, connections: Connections
) -> uvicorn.Config:
    """Return the options of the web server for the app."""
    return uvicorn.Config(
        BasePath(gateway, place.base),
        host=place.host,
        port=place.port,
        loop=_choose_loop(connections),
        http=cast("Any", partial(BoundedRequests, connections)),
        ws=cast("Any", partial(BoundedSocket, connections)),
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=config.get_option("server.maxWidgetStateSize") * 2**20,
        ws_per_message_deflate=False,
        # URLs contain users' texts, so requests are not logged.
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(place.proxies),
        forwarded_allow_ips=list(place.proxies),
        timeout_graceful_shutdown=LEAVE_SECONDS,
        ssl_certfile=config.get_option("server.sslCertFile"),
        ssl_keyfile=config.get_option("server.sslKeyFile"),
        backlog=AT_ONCE,
    )


def _choose_loop(connections: Connections) -> Literal["auto", "asyncio"]:
    """Return "asyncio" if file descriptors may run out, else let uvicorn choose uvloop.

    uvloop is faster. However, it accepts all queued connections at once and closes those without a
    file descriptor before the gateway sees them.
    """
    _, limit = connections.descriptors()
    return "asyncio" if limit is not None and limit < ROOMY else "auto"
