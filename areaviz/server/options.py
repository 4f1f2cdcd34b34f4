"""Options of the server of models: how it scales, and where it listens. Checked before anything is
started.
"""

from __future__ import annotations

from dataclasses import dataclass

from areaviz.trace.errors import InputError


@dataclass(frozen=True, slots=True)
class Scale:
    """How many replicas of the models there are, and what each may use.

    replicas: how many there are, or the fewest while `most_replicas` is set. most_replicas: up to
    how many Ray Serve adds while requests wait; None: it never does. cpus, gpus: of each replica; a
    fraction of a GPU is shared, so 0.5 puts two replicas on one. together: requests a replica works
    on at once; like ones run as one batch, of at most 8.
    waiting: requests that may wait for a replica before further ones are refused as busy.
    """

    replicas: int = 1
    most_replicas: int | None = None
    cpus: float = 1.0
    gpus: float = 0.0
    together: int = 16
    waiting: int = 64

    def __post_init__(self) -> None:
        if min(self.replicas, self.together, self.waiting) < 1:
            raise InputError(
                "A server needs at least one replica, one request at a time and room for one to"
                " wait."
            )
        if self.most_replicas is not None and self.most_replicas < self.replicas:
            raise InputError(
                f"There cannot be at least {self.replicas} and at most {self.most_replicas}"
                " replicas; raise the second."
            )
        if self.cpus < 0 or self.gpus < 0:
            raise InputError("A replica cannot use fewer than 0 processors; give 0 or more.")
        if self.gpus > 1 and self.gpus != int(self.gpus):
            raise InputError(
                f"A replica cannot use {self.gpus} GPUs; give a part of one or a whole number."
            )


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server is. host, port: where it listens. cluster: the address of a Ray cluster
    ("auto" on one of its nodes, or "ray://head:10001"); None starts Ray on this machine alone and
    ends it with the server.
    """

    host: str = "127.0.0.1"
    port: int = 8000
    cluster: str | None = None
