"""A proxy that never answers, which shows the hosts that a server contacts."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Listener:
    """The proxy's address, and the first bytes of every request to it."""

    url: str
    asked: list[bytes] = field(default_factory=list)


@contextmanager
def listening() -> Iterator[Listener]:
    """Run the proxy while the block runs."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        listener = Listener(f"http://127.0.0.1:{server.getsockname()[1]}")

        def take() -> None:
            while True:
                try:
                    line, _ = server.accept()
                except OSError:
                    return
                line.settimeout(1)
                listener.asked.append(line.recv(200))

        threading.Thread(target=take, daemon=True).start()
        yield listener
