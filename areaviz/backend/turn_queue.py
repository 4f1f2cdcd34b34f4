"""The queue of questions, in which users take turns regardless of the number of their questions.

Network addresses take turns first, then the users of one address, so new cookies bring no extra
turns. A user without a known address takes turns as if it were an address.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from areaviz.backend.job import Job

_Readers = OrderedDict[str, deque[Job]]


class TurnQueue:
    """A queue of waiting jobs. It has no lock of its own, because the worker holds one."""

    def __init__(self) -> None:
        # By address, then by user. The user or address served last is at the end.
        self._addresses: OrderedDict[str, _Readers] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, job: Job) -> bool:
        address, reader = _find_queue_place(job)
        readers = self._addresses.get(address)
        return readers is not None and job in readers.get(reader, ())

    def add(self, job: Job) -> None:
        """Add a job behind the other jobs of its user."""
        address, reader = _find_queue_place(job)
        readers = self._addresses.setdefault(address, OrderedDict())
        readers.setdefault(reader, deque()).append(job)
        self._count += 1

    def remove(self, job: Job) -> None:
        """Remove a job that is served or abandoned, and end its user's turn.

        Raises:
            ValueError: if the job is not in the queue.
        """
        address, reader = _find_queue_place(job)
        readers = self._addresses.get(address, OrderedDict())
        jobs = readers.get(reader, deque())
        jobs.remove(job)
        self._count -= 1
        if jobs:
            readers.move_to_end(reader)
        else:
            del readers[reader]
        if readers:
            self._addresses.move_to_end(address)
        else:
            del self._addresses[address]

    def in_order(self) -> Iterator[Job]:
        """Yield the jobs in the order in which they will be served if no other job arrives."""
        addresses = deque(
            deque(deque(jobs) for jobs in readers.values()) for readers in self._addresses.values()
        )
        while addresses:
            readers = addresses.popleft()
            jobs = readers.popleft()
            yield jobs.popleft()
            if jobs:
                readers.append(jobs)
            if readers:
                addresses.append(readers)

    def count_before(self, job: Job) -> int:
        """Return the number of jobs that will be served before this one."""
        for count, other in enumerate(self.in_order()):
            if other is job:
                return count
        return self._count


def _find_queue_place(job: Job) -> tuple[str, str]:
    """Return the address and the user under which a job is queued."""
    visitor = job.visitor
    if visitor is None:
        return "", ""
    return visitor.address or f"reader {visitor.reader}", visitor.reader
