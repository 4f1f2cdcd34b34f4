"""A data set run through one model by processes of this machine, each with the model: the rows of
`run.analyse`, in batches.

The rows come back to the one process that writes the file, so stopping, resuming and a crash mean
what they mean there. A process whose parent is gone ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Event
from typing import cast

from areaviz.analysis.batches import BATCH, batches, rows_of
from areaviz.analysis.row_lines import Row
from areaviz.analysis.rows import RowFile
from areaviz.analysis.run import no_progress
from areaviz.data.examples import Dataset
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import RunTogether
from areaviz.trace.request import Counted, Request

# Opens, in a process of its own, what runs requests; must be importable there.
OpenTogether = Callable[[], RunTogether]
# What comes back: the rows of a batch, or why the model cannot be run.
Answer = list[Row] | BackendError | InputError

# Each takes the memory of a whole model.
MAX_PROCESSES = 8
# Examples of the first batch of each.
FIRST_BATCH = 4


@dataclass(frozen=True, slots=True)
class Work:
    """What all processes do."""

    dataset: Dataset
    request: Request
    open_run: OpenTogether


def processes_for(examples: int) -> int:
    """How many processes are worth their start: at most one a processor, and one a batch."""
    return max(1, min(processors(), MAX_PROCESSES, -(-examples // BATCH)))


def processors() -> int:
    """Those this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def analyse_in_processes(
    dataset: Dataset,
    request: Request,
    open_run: OpenTogether,
    file: RowFile,
    progress: Counted | None = None,
    stop: Event | None = None,
    processes: int | None = None,
) -> bool:
    """As `run.analyse`, but every process opens the model for itself by `open_run`.

    Args:
        dataset: its examples.
        request: the model and its options; text and picture are the examples'.
        open_run: opens the model; with one process in this one.
        file: takes the rows.
        progress: is told of every row.
        stop: ends the analysis early once it is set; batches on their way are waited for.
        processes: how many; None for as many as are worth their start.

    Raises:
        BackendError: the model cannot be run at all, or a process was ended; the rows so far are
            kept.
        InputError: the model cannot be opened with these options.
    """
    total = len(dataset.examples)
    left = [index for index in range(total) if index not in file.rows]
    report = progress or no_progress
    report(len(file), total)
    count = processes or processes_for(len(left))
    work = Work(dataset, request, open_run)
    todo = _in_order(dataset, left, count)
    answers = _here(work, todo, stop) if count == 1 else _elsewhere(work, todo, stop, count)
    failure: BackendError | InputError | None = None
    for answer in answers:
        if isinstance(answer, BackendError | InputError):
            failure = answer
            continue
        for row in answer:
            file.add(row)
            report(len(file), total)
    if failure is not None:
        raise failure
    return len(file) == total


def _in_order(dataset: Dataset, left: Sequence[int], count: int) -> Iterator[list[int]]:
    """The batches of a set: small ones first, so that one soon sees the first rows."""
    few = count * FIRST_BATCH
    yield from batches(dataset, left[:few], FIRST_BATCH)
    # No batch is so large that a process has nothing to do.
    rest = left[few:]
    yield from batches(dataset, rest, min(BATCH, max(1, -(-len(rest) // count))))


def _here(work: Work, todo: Iterator[list[int]], stop: Event | None) -> Iterator[Answer]:
    """One batch after the other, in this process."""
    run: RunTogether | None = None
    for indices in todo:
        if stop and stop.is_set():
            return
        run = run or work.open_run()
        yield rows_of(work.dataset, indices, work.request, run)


def _elsewhere(
    work: Work, todo: Iterator[list[int]], stop: Event | None, count: int
) -> Iterator[Answer]:
    """The answers of several processes as they come; after a failure no batch is begun."""
    with _started(work, count) as idle:
        busy: list[Connection] = []

        def begin() -> None:
            while idle and not (stop and stop.is_set()):
                indices = next(todo, None)
                if indices is None:
                    return
                busy.append(idle.pop())
                _send(busy[-1], indices)

        begin()
        while busy:
            for ready in cast(list[Connection], wait(busy)):
                busy.remove(ready)
                answer = _received(ready)
                if isinstance(answer, list):
                    idle.append(ready)
                    # The process goes on while these rows are written.
                    begin()
                else:
                    todo = iter(())
                yield answer


@contextmanager
def _started(work: Work, count: int) -> Iterator[list[Connection]]:
    """The connections to so many processes, which end with the block."""
    # A fork would copy the threads' locks, and CUDA works in no copy.
    context = get_context("spawn")
    connections: list[Connection] = []
    processes: list[SpawnProcess] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work), daemon=True)
            process.start()
            theirs.close()
            connections.append(ours)
            processes.append(process)
        yield list(connections)
    finally:
        for connection in connections:
            connection.close()
        for process in processes:
            process.terminate()
            process.join()


def _serve(connection: Connection, work: Work) -> None:
    """Answer batch after batch until the other end is closed."""
    # Ctrl-C is the parent's, which ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run: RunTogether | None = None
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            indices = connection.recv()
            answer: Answer
            try:
                run = run or work.open_run()
                answer = rows_of(work.dataset, indices, work.request, run)
            except (InputError, BackendError) as error:
                answer = error
            connection.send(answer)


def _send(connection: Connection, indices: Sequence[int]) -> None:
    """Give a process its next batch; one that is gone says so when it is asked for the answer."""
    with suppress(OSError):
        connection.send(indices)


def _received(connection: Connection) -> Answer:
    try:
        answer: Answer = connection.recv()
    except (EOFError, OSError):
        return BackendError(
            "A process of the analysis was ended from outside, perhaps because the memory was full;"
            " what was done is kept: free some memory, then start it again."
        )
    return answer
