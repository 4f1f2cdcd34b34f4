"""The operator's channel: commands from the user who runs the app, on the same machine.

The app listens on a socket of the file system, in a folder that only its owner can open. A command
is a function from words to something that JSON can hold; `areaviz/cli/serve.py` lists them, and a
command line sends them with `ask`:

    with listening({"status": status}, port=8501): ...
    ask(8501, "status")

A question is one line, {"command": "status", "words": []}; the reply is one, {"answer": ...} or
{"problem": "..."}. A thread of its own answers, even while the web server is busy.
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

# Words of the command line -> what JSON can hold; InputError and BackendError reach the operator.
Command = Callable[[Sequence[str]], object]

# Environment variable with the folder of the socket, if not in the user's own runtime folder.
SETTING = "AREAVIZ_RUNTIME"
LINE_BYTES, SECONDS = 2**20, 20.0
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@contextmanager
def listening(commands: Mapping[str, Command], port: int) -> Iterator[None]:
    """Answer these commands while the block runs.

    Where there can be no such socket the app runs without, and its log says why.

    Args:
        commands: by name.
        port: of the app, by which the operator names it.
    """
    try:
        path = _socket_path(port)
        # Left by a run that was killed: nobody else listens at this port of the machine.
        path.unlink(missing_ok=True)
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
        InputError: no app is there, or the command cannot be done as it was given.
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
        """One question, one reply."""
        reply = self._reply(self.rfile.readline(LINE_BYTES))
        self.wfile.write(json.dumps(reply).encode() + b"\n")

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
    folder = Path(os.environ.get(SETTING) or _default_folder())
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = folder.stat()
    if about.st_uid != os.getuid() or about.st_mode & _OTHERS:
        raise InputError(
            f"The folder {folder} is not yours alone; remove it, or name another one in {SETTING}."
        )
    return folder / f"{port}.sock"


def _default_folder() -> Path:
    own = os.environ.get("XDG_RUNTIME_DIR")
    return Path(own) / "areaviz" if own else Path(tempfile.gettempdir()) / f"areaviz-{os.getuid()}"
