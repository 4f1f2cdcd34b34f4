"""Analysis of a dataset by several processes of this machine, each with its own model.

The rows are those of `run.analyse_dataset`, computed in batches. They return to the one process
that writes the file, so stopping, resuming and crashes work as in `run.analyse_dataset`. A process
ends when its parent is gone.
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

from areaviz.analysis.batches import BATCH, iterate_batches, run_examples
from areaviz.analysis.row_lines import Row
from areaviz.analysis.rows import RowFile
from areaviz.analysis.run import ignore_progress
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import RunTogether
from areaviz.trace.request import Counted, Request

# Function that opens the model in a worker process and returns the function that runs requests. It
# must be importable there.
OpenTogether = Callable[[], RunTogether]
# The result of a batch, which is its rows or the reason why the model cannot run.
Answer = list[Row] | BackendError | InputError

# Maximum number of processes. Each one needs the memory of a whole model.
MAX_PROCESSES = 8
# Number of examples in the first batch of each process.
FIRST_BATCH = 4


@dataclass(frozen=True, slots=True)
class Work:
    """The settings that all processes share."""

    dataset: Dataset
    request: Request
    open_run: OpenTogether


def choose_process_count(examples: int) -> int:
    """Return a sensible number of processes, at most one per processor and per batch."""
    return max(1, min(count_processors(), MAX_PROCESSES, -(-examples // BATCH)))


def count_processors() -> int:
    """Return the number of processors that this process may use."""
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
    """Run `run.analyse_dataset` in several processes. Each one opens the model with `open_run`.

    Args:
        dataset: the dataset with the examples.
        request: the model and its options. Text and picture come from the examples.
        open_run: opens the model. A single process uses the present process.
        file: receives the rows.
        progress: called after every row.
        stop: ends the analysis early when it is set. Running batches are still completed.
        processes: the number of processes. None uses `choose_process_count`.

    Returns:
        Whether all examples now have a row.

    Raises:
        BackendError: the model cannot run at all, or a process was killed. The rows so far are
            kept.
        InputError: the model cannot be opened with these options.
    """
    total = len(dataset.examples)
    left = [index for index in range(total) if index not in file.rows]
    report = progress or ignore_progress
    report(len(file), total)
    count = processes or choose_process_count(len(left))
    work = Work(dataset, request, open_run)
    todo = _iterate_batches_in_order(dataset, left, count)
    answers = (
        _run_in_this_process(work, todo, stop)
        if count == 1
        else _run_in_other_processes(work, todo, stop, count)
    )
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


def _iterate_batches_in_order(
    dataset: Dataset, left: Sequence[int], count: int
) -> Iterator[list[int]]:
    """Yield the batches of a dataset: small ones first, so that the first rows appear soon."""
    few = count * FIRST_BATCH
    yield from iterate_batches(dataset, left[:few], FIRST_BATCH)
    # Keep the batches small enough that every process gets one.
    rest = left[few:]
    yield from iterate_batches(dataset, rest, min(BATCH, max(1, -(-len(rest) // count))))


def _run_in_this_process(
    work: Work, todo: Iterator[list[int]], stop: Event | None
) -> Iterator[Answer]:
    """Yield the results of one batch after another, computed in this process."""
    run: RunTogether | None = None
    for indices in todo:
        if stop and stop.is_set():
            return
        run = run or work.open_run()
        yield run_examples(work.dataset, indices, work.request, run)


def _run_in_other_processes(
    work: Work, todo: Iterator[list[int]], stop: Event | None, count: int
) -> Iterator[Answer]:
    """Yield the results of several processes as they arrive.

    After a failure no batch is started.
    """
    with _start_processes(work, count) as idle:
        busy: list[Connection] = []

        def begin() -> None:
            while idle and not (stop and stop.is_set()):
                indices = next(todo, None)
                if indices is None:
                    return
                busy.append(idle.pop())
                _send_batch(busy[-1], indices)

        begin()
        while busy:
            for ready in cast(list[Connection], wait(busy)):
                busy.remove(ready)
                answer = _receive_answer(ready)
                if isinstance(answer, list):
                    idle.append(ready)
                    # Let the process continue while these rows are written.
                    begin()
                else:
                    todo = iter(())
                yield answer


@contextmanager
def _start_processes(work: Work, count: int) -> Iterator[list[Connection]]:
    """Start `count` processes, yield their connections, and end the processes with the block."""
    # Forking would copy the locks of other threads, and CUDA does not work in a forked process.
    context = get_context("spawn")
    connections: list[Connection] = []
    processes: list[SpawnProcess] = []
    try:
        for _ in range(count):
            ours, theirs = context.Pipe()
            process = context.Process(target=_compute_batches, args=(theirs, work), daemon=True)
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


def _compute_batches(connection: Connection, work: Work) -> None:
    """Compute batch after batch until the other end of the connection is closed."""
    # Ctrl-C is for the parent, which then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    run: RunTogether | None = None
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            indices = connection.recv()
            answer: Answer
            try:
                run = run or work.open_run()
                answer = run_examples(work.dataset, indices, work.request, run)
            except (InputError, BackendError) as error:
                answer = error
            connection.send(answer)


def _send_batch(connection: Connection, indices: Sequence[int]) -> None:
    """Send a process its next batch. If the process is gone, `_receive_answer` reports it."""
    with suppress(OSError):
        connection.send(indices)


def _receive_answer(connection: Connection) -> Answer:
    try:
        answer: Answer = connection.recv()
    except (EOFError, OSError):
        return BackendError(
            "A process of the analysis was killed, perhaps because the memory was full. The"
            " results so far are kept. Free some memory, then start it again."
        )
    return answer
