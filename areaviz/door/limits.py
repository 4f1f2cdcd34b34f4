"""How many connections there may be, and which of them has to go when a new one finds no room.

Room is counted in file descriptors, because they run out first: a connection takes one, the session
of a visitor three more, which Streamlit gives back minutes after the visitor left. So they are not
added up but looked at.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import time
from collections import Counter
from dataclasses import dataclass

try:
    import resource
except ImportError:  # Windows has no such limit
    resource = None  # type: ignore[assignment]

log = logging.getLogger(__name__)
SESSION_DESCRIPTORS, RESERVE = 3, 64
"""What a session takes besides its connection; what is left for files, databases and sessions about
to begin.
"""
MOST, FROM_ONE = 4096, 128
"""Connections of all, and of one address that is neither this machine's nor a named proxy's."""
UNLIMITED = 65536
LOOK_SECONDS = 0.25
FULL = "This server has as many visitors as it can hold; try again in a minute."


@dataclass(slots=True)
class Seat:
    """What is known of one connection. waiting: it has not said yet what it wants, or is done for
    now.
    """

    client: str
    waiting: bool = True


class Connections:
    """The connections of the server, in the order they came.

    limit: file descriptors of the process; None where the system has no such limit. proxies:
    addresses from which the connections of many come.
    """

    def __init__(self, limit: int | None, proxies: tuple[str, ...] = ()) -> None:
        self._limit, self._proxies = limit, proxies
        self._seats: dict[asyncio.BaseTransport, Seat] = {}
        self._from: Counter[str] = Counter()
        self._seen, self._since, self._looked = 0, 0, -1.0

    def __len__(self) -> int:
        return len(self._seats)

    def enter(self, transport: asyncio.BaseTransport) -> bool:
        """Take a connection in, if need be in the place of the one that waits for longest; whether
        there is room.
        """
        client = str((transport.get_extra_info("peername") or [""])[0])
        if self._from[client] >= FROM_ONE and not self._is_shared(client):
            log.warning("%s has %d connections; another one was refused.", client, FROM_ONE)
            return False
        if not self._make_room(1, RESERVE):
            return False
        self._seats[transport] = Seat(client)
        self._from[client] += 1
        self._since += 1
        return True

    def begin_session(self, transport: asyncio.BaseTransport) -> bool:
        """Whether there is room for the session of a socket, which is then no longer waiting."""
        self.settle(transport)
        if not self._make_room(SESSION_DESCRIPTORS, RESERVE // 2):
            return False
        self._since += SESSION_DESCRIPTORS
        return True

    def settle(self, transport: asyncio.BaseTransport) -> None:
        """It has said what it wants: it stays."""
        if seat := self._seats.get(transport):
            seat.waiting = False

    def wait(self, transport: asyncio.BaseTransport) -> None:
        """It has its answer, and may ask again: now it is the last of those that wait."""
        if seat := self._seats.pop(transport, None):
            seat.waiting = True
            self._seats[transport] = seat

    def leave(self, transport: asyncio.BaseTransport) -> None:
        """It has ended."""
        seat = self._seats.pop(transport, None)
        if seat is None:
            return
        self._from[seat.client] -= 1
        if not self._from[seat.client]:
            del self._from[seat.client]

    def descriptors(self) -> tuple[int, int | None]:
        """How many file descriptors are used, and how many there may be."""
        if self._limit is None:
            return 0, None
        now = time.monotonic()
        if now - self._looked > LOOK_SECONDS:
            self._seen, self._since, self._looked = len(os.listdir("/dev/fd")), 0, now
        return self._seen + self._since, self._limit

    def _make_room(self, descriptors: int, reserve: int) -> bool:
        """Whether so many descriptors are free besides the reserve, once who waits for longest has
        gone.
        """
        used, limit = self.descriptors()
        if len(self._seats) < MOST and (limit is None or used + descriptors + reserve <= limit):
            return True
        oldest = next((transport for transport, seat in self._seats.items() if seat.waiting), None)
        if oldest is None:
            log.warning(
                "A visitor was refused: %d of %s file descriptors are used (ulimit -Hn).",
                used,
                limit,
            )
            return False
        log.warning(
            "A silent connection was closed for a new one: %d of %s file descriptors are used.",
            used,
            limit,
        )
        self.leave(oldest)
        # Its descriptor is free once the event loop has closed it, which is before the next
        # connection is taken.
        self._since -= 1
        assert isinstance(oldest, asyncio.WriteTransport)
        oldest.abort()
        return True

    def _is_shared(self, client: str) -> bool:
        """Whether one address stands for many: this machine's own, and proxies."""
        try:
            return client in self._proxies or ipaddress.ip_address(client).is_loopback
        except ValueError:
            return False


def raise_limit() -> int | None:
    """Raise the soft limit of file descriptors to the hard one; the limit, None where the system
    has none.
    """
    if resource is None:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    return wanted
