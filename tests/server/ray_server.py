"""A server of models on a local Ray: two replicas, loopback only."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from areaviz.backend.access import compute_digest
from areaviz.backend.ray import Open, Place, Scale, connect_to_ray, serve_backend
from tests.server.models import TOKEN

OPTIONS = {"num_cpus": 2, "object_store_memory": 200 * 2**20}
LISTENS = "0A"
LOOPBACK = {"0100007F", "0" * 16 + "FFFF00000100007F", "0" * 24 + "01000000"}
"""127.0.0.1, its form in IPv6, and ::1, as Linux writes them."""
SCALE = Scale(replicas=2, cpus=0.5, together=8, waiting=16)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(open_backend: Open, scale: Scale = SCALE) -> Iterator[str]:
    """Yield the address of a running server that requires `TOKEN`."""
    with (
        connect_to_ray(None, **OPTIONS),
        serve_backend(
            open_backend, compute_digest(TOKEN), scale, Place(port=free_port())
        ) as address,
    ):
        yield address


def listening() -> set[str]:
    """Return the addresses at which this process and its children listen, as /proc writes them."""
    processes = _family(os.getpid())
    sockets = {
        name for process in processes for name in _files(process) if name.startswith("socket:")
    }
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            columns = line.split()
            if columns[3] == LISTENS and f"socket:[{columns[9]}]" in sockets:
                found.add(columns[1].split(":")[0])
    return found


def _family(first: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    family, found = set[int](), {first}
    while found:
        family |= found
        found = {process for process, parent in parents.items() if parent in found}
    return family


def _files(process: int) -> Iterator[str]:
    for path in Path(f"/proc/{process}/fd").glob("*"):
        with suppress(OSError):
            yield os.readlink(path)
