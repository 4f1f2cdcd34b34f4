"""Limits on the number of connections. An idle connection is closed to make room for a new one.

The limit is on file descriptors, because they run out first. A connection takes one. A session
takes three more, which Streamlit frees only minutes after the visitor has left. This module
therefore asks the operating system for the number of open descriptors.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections import Counter
from dataclasses import dataclass

from areaviz.backend.access import is_loopback

try:
    import resource
except ImportError:  # Windows has no such limit.
    resource = None  # type: ignore[assignment]

log = logging.getLogger(__name__)

# Descriptors of a session in addition to its connection, and descriptors reserved for files,
# databases and sessions that are about to start.
DESCRIPTORS_PER_SESSION, RESERVED_DESCRIPTORS = 3, 64

# Maximum number of connections in total, and from one address that is neither local nor a proxy's.
MAX_CONNECTIONS, MAX_CONNECTIONS_PER_CLIENT = 4096, 128
UNLIMITED = 65536
LOOK_SECONDS = 0.25
NO_ROOM = "This server has no room for more visitors at the moment. Try again in a minute."


@dataclass(slots=True)
class ConnectionSlot:
    """The address of a connection, and whether it waits for its next request."""

    client: str
    waiting: bool = True


class Connections:
    """The connections of the server, the oldest first.

    Args:
        limit: the limit on file descriptors of the process, or None without a limit.
        proxies: addresses from which connections of many users come.
    """

    def __init__(self, limit: int | None, proxies: tuple[str, ...] = ()) -> None:
        self._limit, self._proxies = limit, proxies
        self._seats: dict[asyncio.BaseTransport, ConnectionSlot] = {}
        self._by_client: Counter[str] = Counter()
        # Descriptors in use at the last check, descriptors taken since then, and the time of the
        # check.
        self._seen, self._since, self._looked = 0, 0, -1.0

    def __len__(self) -> int:
        return len(self._seats)

    def try_admit(self, transport: asyncio.BaseTransport) -> bool:
        """Admit a new connection if there is room, and return whether it was admitted.

        The oldest waiting connection is closed to make room if necessary.
        """
        client = str((transport.get_extra_info("peername") or [""])[0])
        if self._by_client[client] >= MAX_CONNECTIONS_PER_CLIENT and not self._is_shared(client):
            log.warning(
                "%s has %d connections. Another one was refused.",
                client,
                MAX_CONNECTIONS_PER_CLIENT,
            )
            return False
        if not self._make_room(1, RESERVED_DESCRIPTORS):
            return False
        self._seats[transport] = ConnectionSlot(client)
        self._by_client[client] += 1
        self._since += 1
        return True

    def begin_session(self, transport: asyncio.BaseTransport) -> bool:
        """Count the session of a WebSocket if there is room, and return whether it was counted."""
        self.mark_request_received(transport)
        if not self._make_room(DESCRIPTORS_PER_SESSION, RESERVED_DESCRIPTORS // 2):
            return False
        self._since += DESCRIPTORS_PER_SESSION
        return True

    def mark_request_received(self, transport: asyncio.BaseTransport) -> None:
        """Mark a connection as busy with a request, so that it is not closed to make room."""
        if seat := self._seats.get(transport):
            seat.waiting = False

    def wait(self, transport: asyncio.BaseTransport) -> None:
        """Mark a connection as waiting after its response. It becomes the newest waiting one."""
        if seat := self._seats.pop(transport, None):
            seat.waiting = True
            self._seats[transport] = seat

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """Remove a connection that has ended."""
        seat = self._seats.pop(transport, None)
        if seat is None:
            return
        self._by_client[seat.client] -= 1
        if not self._by_client[seat.client]:
            del self._by_client[seat.client]

    def descriptors(self) -> tuple[int, int | None]:
        """Return the number of file descriptors in use, and the limit."""
        if self._limit is None:
            return 0, None
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._seen, self._since, self._looked = len(os.listdir("/dev/fd")), 0, now
        return self._seen + self._since, self._limit

    def _make_room(self, descriptors: int, reserve: int) -> bool:
        """Return whether these descriptors are free. If they are not, close an idle connection."""
        used, limit = self.descriptors()
        if len(self._seats) < MAX_CONNECTIONS and (
            limit is None or used + descriptors + reserve <= limit
        ):
            return True
        oldest = next((transport for transport, seat in self._seats.items() if seat.waiting), None)
        if oldest is None:
            text = "A visitor was refused: %d of %s file descriptors are used (ulimit -Hn)."
            log.warning(text, used, limit)
            return False
        text = "A silent connection was closed for a new one: %d of %s file descriptors are used."
        log.warning(text, used, limit)
        self.leave(oldest)
        # The event loop frees the descriptor before it accepts another connection.
        self._since -= 1
        assert isinstance(oldest, asyncio.WriteTransport)
        oldest.abort()
        return True

    def _is_shared(self, client: str) -> bool:
        """Return whether many users may share an address, as with this machine and proxies."""
        return client in self._proxies or is_loopback(client)


def raise_limit() -> int | None:
    """Raise the soft limit on file descriptors to the hard limit.

    Returns:
        The new limit, or None if the system has none.
    """
    if resource is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
