"""The app behind its door, under our own web server."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import uvicorn
from streamlit import config
from streamlit.starlette import App

from areaviz.backend import access
from areaviz.backend.access import LOOPBACK_NAMES
from areaviz.door.door import Door, Rules
from areaviz.door.head import name_and_port
from areaviz.door.limits import MOST, SESSION_DESCRIPTORS, Connections, raise_limit
from areaviz.door.log_lines import bound_lines
from areaviz.door.operator import Command, listening
from areaviz.door.protocols import BoundedRequests, BoundedSocket
from areaviz.door.sign_in import SignIn
from areaviz.trace.errors import InputError

SCRIPT = Path(__file__).with_name("script.py")
EVERY_ADDRESS = ("0.0.0.0", "::")
PING_SECONDS, LEAVE_SECONDS = 30.0, 5
QUEUE, AT_ONCE = 2048, 8
"""Connections that the system keeps until they are taken, and those taken before any of them is
looked at.
"""
ROOMY = MOST * (1 + SESSION_DESCRIPTORS)
"""File descriptors that are enough for all connections there may be."""


@dataclass(frozen=True, slots=True)
class AppPlace:
    """Where the app listens, and for whom.

    names: by which readers reach this machine, besides its address and those of loopback. token: ""
    where none is wanted. proxies: addresses of proxies whose word on a reader's address is taken.
    framing: origins whose pages may hold the app in a frame.
    """

    host: str
    port: int
    names: tuple[str, ...] = ()
    token: str = field(default="", repr=False)
    proxies: tuple[str, ...] = ()
    framing: tuple[str, ...] = ()

    @property
    def known_as(self) -> frozenset[str]:
        """All names that a request may mean this server by."""
        own = () if self.host in EVERY_ADDRESS else (self.host,)
        return frozenset(
            name_and_port(_bracketed(name))[0] for name in (*LOOPBACK_NAMES, *own, *self.names)
        )

    @property
    def url(self) -> str:
        """The address for people on this machine."""
        host = "127.0.0.1" if self.host in EVERY_ADDRESS else self.host
        return f"http://{_bracketed(host)}:{self.port}"


def serve_app(
    place: AppPlace, folder: Path, commands: Callable[[Connections], Mapping[str, Command]]
) -> None:
    """Serve the app until it is stopped; raises InputError where nothing can listen there.

    folder: that in which Streamlit's configuration lies. commands: what the operator may ask, of an
    app with these connections.
    """
    os.chdir(folder)
    opened = listen(place.host, place.port)
    key = access.admission_key(place.token) if place.token else ""
    os.environ[access.KEY_SETTING] = key
    _tell_streamlit(place)
    sign_in = SignIn(key, place.port, place.framing) if key else None
    back = float(config.get_option("server.disconnectedSessionTTL"))
    door = Door(App(SCRIPT), Rules(place.known_as, place.port, sign_in, place.framing, back))
    connections = Connections(raise_limit(), place.proxies)
    bound_lines()
    print(f"areaviz is open at {place.url}; stop it with Ctrl-C.", flush=True)
    with listening(commands(connections), place.port):
        _Server(_server_options(door, place, connections)).run(sockets=[opened])


class _Server(uvicorn.Server):
    """Takes few connections at a time, as asyncio would take what there is, beyond all file
    descriptors.
    """

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn does, but the system's queue stays as long as it was."""
        await super().startup(sockets)
        for one in sockets or ():
            one.listen(QUEUE)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there; InputError where the port is taken or the address is not this
    machine's.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        both = host == "::" and socket.has_dualstack_ipv6()
        return socket.create_server((host, port), family=family, backlog=QUEUE, dualstack_ipv6=both)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise InputError(f"Port {port} is taken; choose another with --port.") from error
        raise InputError(
            f"Nothing can listen at {host}, port {port} ({error.strerror}); choose others."
        ) from error


def _tell_streamlit(place: AppPlace) -> None:
    """What Streamlit has to know of the server that it does not run itself."""
    config.set_option("server.address", place.host)
    config.set_option("server.port", place.port)
    config.set_option("server.allowedHosts", sorted(place.known_as))
    # Otherwise Streamlit asks the internet for this machine's address to print it.
    config.set_option("browser.serverAddress", place.host)
    config.set_option("server.headless", True)
    config.set_option("client.allowedOrigins", list(place.framing))
    if place.framing:
        config.set_option("server.xsrfCookieSameSite", "none")


def _server_options(door: Door, place: AppPlace, connections: Connections) -> uvicorn.Config:
    return uvicorn.Config(
        door,
        host=place.host,
        port=place.port,
        loop=_loop(connections),
        http=cast("Any", partial(BoundedRequests, connections)),
        ws=cast("Any", partial(BoundedSocket, connections)),
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=PING_SECONDS,
        ws_max_size=config.get_option("server.maxWidgetStateSize") * 2**20,
        ws_per_message_deflate=False,
        # Addresses of requests carry readers' texts, so none is logged: not by INFO, and not as
        # "access".
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


def _loop(connections: Connections) -> Literal["auto", "asyncio"]:
    """uvloop, where it is installed, is quicker, but it takes all connections that wait at once,
    and closes unseen those for which there is no file descriptor; so only where they cannot run out
    by that.
    """
    _, limit = connections.descriptors()
    return "asyncio" if limit is not None and limit < ROOMY else "auto"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
