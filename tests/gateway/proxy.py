"""A small reverse proxy, which serves an app below a path, as nginx and Caddy can."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_CONNECTION = re.compile(rb"(?im)^connection:[^\r]*\r\n")
_NOT_FOUND = b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"
_REDIRECT = b"HTTP/1.1 301 Moved\r\nlocation: %s\r\ncontent-length: 0\r\n\r\n"


class Proxy:
    """Proxy that passes connections below a path to a server and answers other paths with 404.

    One connection carries one request, or one WebSocket.

    Args:
        target: the port of the server on this machine.
        path: the path without a slash at its end, such as "/areaviz".
        strips: whether the proxy removes the path from addresses.
    """

    def __init__(self, target: int, path: str, strips: bool) -> None:
        self._target, self._path, self._strips = target, path.encode(), strips
        self.missed: list[str] = []

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection."""
        with suppress(OSError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            address = head.split(b" ", 2)[1]
            if own := self._own_answer(address):
                writer.write(own)
            else:
                back, forth = await asyncio.open_connection("127.0.0.1", self._target)
                forth.write(self._rewritten(head))
                await asyncio.gather(_copy(reader, forth), _copy(back, writer))
        writer.close()

    def _own_answer(self, address: bytes) -> bytes:
        """Return the proxy's own answer, or nothing if the server answers the address."""
        if self._strips and address == self._path:
            # nginx and Caddy also redirect if they strip a path.
            return _REDIRECT % (self._path + b"/")
        if address == self._path or address.startswith(self._path + b"/"):
            return b""
        self.missed.append(address.decode())
        return _NOT_FOUND

    def _rewritten(self, head: bytes) -> bytes:
        """Return the head of a request as the server gets it."""
        method, address, rest = head.split(b" ", 2)
        if self._strips:
            address = address.removeprefix(self._path)
        first, _, rest = rest.partition(b"\r\n")
        if b"\nupgrade: websocket" not in b"\n" + rest.lower():
            rest = b"Connection: close\r\n" + _CONNECTION.sub(b"", rest)
        return b"%s %s %s\r\n%s" % (method, address, first, rest)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while part := await reader.read(65536):
            writer.write(part)
            await writer.drain()
    writer.close()


@contextmanager
def proxied(target: int, path: str, strips: bool) -> Iterator[tuple[str, Proxy]]:
    """Run a proxy for the server at a port, and yield its URL without the path, and the proxy."""
    proxy, loop = Proxy(target, path, strips), asyncio.new_event_loop()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            # This thread needs its own loop, because tests with a browser run a loop in theirs.
            asyncio.set_event_loop(loop)
            server = loop.run_until_complete(asyncio.start_server(proxy.take, sock=listening))
            loop.run_forever()
            server.close()
            for task in asyncio.all_tasks(loop):
                task.cancel()
            loop.run_until_complete(asyncio.sleep(0))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}", proxy
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(10)
