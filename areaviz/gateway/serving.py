"""Serving of the app with uvicorn, its memory limit, and the commands of its operator."""

from __future__ import annotations

import ctypes
import errno
import json
import logging
import os
import re
import socket
import socketserver
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

import uvicorn
from streamlit import config
from streamlit.starlette import App

from areaviz.backend import access
from areaviz.gateway import messages
from areaviz.gateway.gateway import AppPlace, Gateway
from areaviz.gateway.protocols import (
    DESCRIPTORS_PER_SESSION,
    MAX_CONNECTIONS,
    BasePath,
    BoundedRequests,
    BoundedSocket,
    Connections,
    raise_limit,
)
from areaviz.trace.errors import BackendError, InputError

# The operator's channel for commands from the user who runs the app, on the same machine.
#
# The app listens on a Unix socket in a folder that only its owner can open. A command is a function
# from words to JSON values. `areaviz/cli/serve.py` lists the commands, and a command line sends
# them with `send_command`:
#
#     with listening({"status": status}, port=8501): ...
#     ask(8501, "status")
#
# A command is one line, {"command": "status", "words": []}, and so is the reply, {"answer": ...} or
# {"problem": "..."}. A separate thread answers, so commands work even while the web server is busy.


log = logging.getLogger(__name__)

# Function that takes the words of the command line and returns JSON values. The operator sees the
# message of an InputError or a BackendError.
Command = Callable[[Sequence[str]], object]

# Environment variable with a folder for the socket. The default is the user's runtime folder.
SETTING = "AREAVIZ_RUNTIME"
LINE_BYTES, SECONDS = 2**20, 20.0
# Seconds between two checks of whether the app is ending.
STOP_SECONDS = 0.1
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def serve_commands(commands: Mapping[str, Command], port: int) -> Iterator[None]:
    """Answer commands while the block runs.

    On systems without Unix sockets the app runs without the channel, and its log says why.

    Args:
        commands: the commands by name.
        port: the port of the app, which identifies it to the operator.
    """
    try:
        path = _get_socket_path(port)
        # A killed process leaves its socket behind. It is removed, as no other app can use this
        # port.
        path.unlink(missing_ok=True)
        server = _CommandServer(commands, path)
    except (OSError, AttributeError, InputError) as error:
        log.warning("`areaviz status` will not work for this app: %s", error)
        yield
        return
    thread = threading.Thread(
        target=server.serve_forever, args=(STOP_SECONDS,), name="areaviz-operator", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def send_command(port: int, command: str, *words: str) -> Any:
    """Send a command to the app at a port of this machine, and return its answer.

    Raises:
        InputError: no app runs there, or the command failed.
        BackendError: the app did not answer.
    """
    question = json.dumps({"command": command, "words": words}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(SECONDS)
            line.connect(str(_get_socket_path(port)))
            line.sendall(question)
            with line.makefile("rb") as lines:
                reply = lines.readline()
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise InputError(
            f"You have no app at port {port} of this machine. Give the app's port with --port."
        ) from error
    except OSError as error:
        raise BackendError(
            f"The app at port {port} did not answer ({error}). Try again."
        ) from error
    if not reply.endswith(b"\n"):
        raise BackendError(f"The app at port {port} ended before it answered. Look at its log.")
    found = json.loads(reply)
    if "problem" in found:
        raise InputError(found["problem"])
    return found["answer"]


class _CommandServer(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, commands: Mapping[str, Command], path: Path) -> None:
        self.commands = commands
        super().__init__(str(path), _Handler)
        path.chmod(0o600)


class _Handler(socketserver.StreamRequestHandler):
    server: _CommandServer
    timeout = SECONDS

    def handle(self) -> None:
        """Answer one question."""
        reply = self._reply(self.rfile.readline(LINE_BYTES))
        self.wfile.write(json.dumps(reply).encode() + b"\n")

    def _reply(self, line: bytes) -> dict[str, object]:
        try:
            asked = json.loads(line)
            name, words = str(asked["command"]), [str(word) for word in asked["words"]]
        except (ValueError, KeyError, TypeError):
            return {"problem": "This is not a command. Use: python -m areaviz status."}
        if name not in self.server.commands:
            known = ", ".join(self.server.commands)
            return {"problem": f'The app has no command "{name}". Its commands are: {known}.'}
        try:
            return {"answer": self.server.commands[name](words)}
        except (InputError, BackendError) as error:
            return {"problem": str(error)}
        except Exception:
            log.exception("While the operator asked for %s", name)
            return {"problem": "The command failed. The app's log says why."}


def _get_socket_path(port: int) -> Path:
    """Return the path of the socket. Raise InputError if other users can open its folder."""
    folder = Path(os.environ.get(SETTING) or _get_default_folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or about.st_mode & _OTHERS:
        raise InputError(
            f"Other users can open the folder {folder}. Remove it, or name another in {SETTING}."
        )
    return folder / f"{port}.sock"


def _get_default_folder() -> Path:
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "areaviz" if own else Path(tempfile.gettempdir()) / f"areaviz-{os.getuid()}"


# A limit on the app's memory when many threads run.


# glibc's M_ARENA_MAX (malloc.h), and the pools that all threads share.
ARENA_MAX, POOLS = -8, 2


def limit_memory_pools() -> None:
    """Let all threads share two memory pools.

    glibc otherwise gives every thread its own pool, and memory that one thread freed is not used by
    other threads. Five users of the largest trace then take 100 MB more. Systems without glibc have
    no such pools, so nothing is changed there.
    """
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).mallopt(ARENA_MAX, POOLS)


# Serving of the app with uvicorn behind its gateway, with a bounded log and visitor statistics.


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
        _WebServer(make_server_options(gateway, place, connections)).run(sockets=[opened])


def process_stats(started: float, connections: Connections) -> dict[str, object]:
    """Return statistics of the process and its visitors, for the operator.

    Args:
        started: the start time of the app, by `time.monotonic`.
        connections: the connections of the app.
    """
    active, waiting = messages.count_sessions()
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
        "uploaded_megabytes": round(sum(messages.count_uploaded_bytes().values()) / 2**20, 1),
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


class _WebServer(uvicorn.Server):
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
