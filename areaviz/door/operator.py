"""The operator's channel: named commands, asked from the same machine by whoever runs the app, and
by nobody else.

The app listens on a socket of the file system, in a folder that only its owner can open. A command
is a function from words to something that JSON can hold; `areaviz/cli/serve.py` lists them, and a
command line asks with `ask`:

    with listening({"status": status}, port=8501): ...
    ask(8501, "status")

A question is one line, {"command": "status", "words": []}; the reply is one, {"answer": ...} or
{"problem": "..."}. It is answered by a thread of its own, so also while the web server is at work
on something else.
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
Command = Callable[[Sequence[str]], object]
"""Words of the command line -> what JSON can hold. InputError and BackendError are told to the
operator.
"""

SETTING = "AREAVIZ_RUNTIME"
"""Environment variable: the folder of the socket; by default one in the user's own runtime folder.
"""
LINE_BYTES, SECONDS = 2**20, 20.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def listening(commands: Mapping[str, Command], port: int) -> Iterator[None]:
    """Answer these commands while the block runs; port: that of the app, by which the operator
    names it.

    Where there can be no such socket the app runs without, and its log says why.
    """
    try:
        path = _socket_path(port)
        path.unlink(
            missing_ok=True
        )  # of a run that was killed: nobody else listens at this port of the machine
        server = _Server(commands, path)
    except (OSError, AttributeError, InputError) as error:
        log.warning("`areaviz status` will not work for this app: %s", error)
        yield
        return
    thread = threading.Thread(target=server.serve_forever, name="areaviz-operator", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        path.unlink(missing_ok=True)


def ask(port: int, command: str, *words: str) -> Any:
    """The answer of the app that runs at this port of this machine.

    Raises:
        InputError: no app is there, or the command cannot be done as it was asked.
        BackendError: the app did not answer.
    """
    question = json.dumps({"command": command, "words": words}).encode() + b"\n"
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(SECONDS)
            line.connect(str(_socket_path(port)))
            line.sendall(question)
            with line.makefile("rb") as lines:
                reply = lines.readline()
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise InputError(
            f"No app of yours runs at port {port} of this machine; name its port: --port."
        ) from error
    except OSError as error:
        raise BackendError(
            f"The app at port {port} did not answer ({error}); try again."
        ) from error
    if not reply.endswith(b"\n"):
        raise BackendError(f"The app at port {port} ended while it was asked; look at its log.")
    told = json.loads(reply)
    if "problem" in told:
        raise InputError(told["problem"])
    return told["answer"]


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    """commands: by name."""

    daemon_threads = True

    def __init__(self, commands: Mapping[str, Command], path: Path) -> None:
        self.commands = commands
        super().__init__(str(path), _Handler)
        path.chmod(0o600)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server
    timeout = SECONDS

    def handle(self) -> None:
        """One question, one reply."""
        self.wfile.write(json.dumps(self._reply(self.rfile.readline(LINE_BYTES))).encode() + b"\n")

    def _reply(self, line: bytes) -> dict[str, object]:
        try:
            asked = json.loads(line)
            name, words = str(asked["command"]), [str(word) for word in asked["words"]]
        except (ValueError, KeyError, TypeError):
            return {"problem": "This is no command; ask with: python -m areaviz status."}
        if name not in self.server.commands:
            known = ", ".join(self.server.commands)
            return {"problem": f'The app knows no command "{name}"; it knows: {known}.'}
        try:
            return {"answer": self.server.commands[name](words)}
        except (InputError, BackendError) as error:
            return {"problem": str(error)}
        except Exception:
            log.exception("While the operator asked for %s", name)
            return {"problem": "Something went wrong; it was written to the app's log."}


def _socket_path(port: int) -> Path:
    """Where the app of that port listens; InputError where others could open the folder."""
    folder = Path(os.environ.get(SETTING) or _usual_folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or about.st_mode & _OTHERS:
        raise InputError(
            f"The folder {folder} is not yours alone; remove it, or name another one in {SETTING}."
        )
    return folder / f"{port}.sock"


def _usual_folder() -> Path:
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "areaviz" if own else Path(tempfile.gettempdir()) / f"areaviz-{os.getuid()}"
