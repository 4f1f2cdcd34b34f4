"""The operator's channel for commands from the user who runs the app, on the same machine.

The app listens on a Unix socket in a folder that only its owner can open. A command is a function
from words to JSON values. `areaviz/cli/serve.py` lists the commands, and a command line sends them
with `send_command`:

    with listening({"status": status}, port=8501): ...
    ask(8501, "status")

A command is one line, {"command": "status", "words": []}, and so is the reply, {"answer": ...} or
{"problem": "..."}. A separate thread answers, so commands work even while the web server is busy.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import socketserver
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from areaviz.trace.errors import BackendError, InputError

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
        server = _Server(commands, path)
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


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True

    def __init__(self, commands: Mapping[str, Command], path: Path) -> None:
        self.commands = commands
        super().__init__(str(path), _Handler)
        path.chmod(0o600)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
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
