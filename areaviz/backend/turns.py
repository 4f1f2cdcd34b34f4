"""The queue of questions: readers take turns, however many questions each of them has.

Network addresses take turns first, then the readers of one address, so that fresh cookies bring no
further turns. Readers without a known address take turns by themselves.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator

from areaviz.backend.job import Job

_Readers = OrderedDict[str, deque[Job]]


class TurnQueue:
    """Jobs that wait. It has no lock of its own: the worker holds one."""

    def __init__(self) -> None:
        # By address, then by reader. Whoever was served last is last.
        self._addresses: OrderedDict[str, _Readers] = OrderedDict()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def __contains__(self, job: Job) -> bool:
        address, reader = _place(job)
        readers = self._addresses.get(address)
        return readers is not None and job in readers.get(reader, ())

    def add(self, job: Job) -> None:
        """Put a job behind the other jobs of its reader."""
        address, reader = _place(job)
        readers = self._addresses.setdefault(address, OrderedDict())
        readers.setdefault(reader, deque()).append(job)
        self._count += 1

    def remove(self, job: Job) -> None:
        """Take a job out because it is served or nobody waits for it; its reader's turn is over.

        Raises:
            ValueError: the job is not in the queue.
        """
        address, reader = _place(job)
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
        """Yield the jobs in the order in which they will be served if no other job comes."""
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
        """Return how many jobs will be served before this one."""
        for count, other in enumerate(self.in_order()):
            if other is job:
                return count
        return self._count


def _place(job: Job) -> tuple[str, str]:
    """Return the address and the reader that a job is queued under."""
    visitor = job.visitor
    if visitor is None:
        return "", ""
    return visitor.address or f"reader {visitor.reader}", visitor.reader
