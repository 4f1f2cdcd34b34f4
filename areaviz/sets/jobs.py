"""Analyses in the background: in threads, in several processes, and on Ray."""

from __future__ import annotations

import json
import logging
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from threading import Event
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from areaviz.backend.ray import connect_to_ray
from areaviz.samples.dataset import Dataset
from areaviz.sets.run import (
    BATCH,
    IN_FLIGHT,
    AnalysisStopped,
    Row,
    RowFile,
    ignore_progress,
    iterate_batches,
    parse_row,
    run_example,
    run_examples,
)
from areaviz.shares import ANALYSES_AT_ONCE, ANALYSES_RUNNING, OverLimit, Scope, get_limit_of_scope
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Run, RunTogether
from areaviz.trace.request import Counted, Request

# Analyses that run in threads of their own while users visit pages.
#
# Users who start the same analysis share one job. A job belongs to the user who started it, who can
# stop it. Each user may run only a few jobs. Jobs that a page is showing get their turns first, and
# the other jobs continue in the background.


log = logging.getLogger(__name__)

# Seconds for which a job counts as watched after a page has shown it.
WATCHED_SECONDS = 10.0
# Seconds between checks of whether a waiting analysis was stopped.
LOOK_SECONDS = 0.5


class FairScheduler:
    """The turns of all analyses of this process, which decide who runs the next example.

    All analyses together have few requests in flight. A model server cannot tell them apart, so
    they must not fill its queue.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._changed = threading.Condition()
        # Waiting analyses in order of arrival, as functions that return whether they are watched.
        self._waiting: list[Callable[[], bool]] = []

    @contextmanager
    def turn(self, watched: Callable[[], bool], stop: threading.Event) -> Iterator[None]:
        """Hold one of the turns for the duration of the block.

        Args:
            watched: returns whether a page shows the analysis. It is called whenever a turn is
                free.
            stop: set when the analysis has to end.

        Raises:
            Stopped: `stop` was set before a turn was free.
        """
        self._take(watched, stop)
        try:
            yield
        finally:
            with self._changed:
                self._free += 1
                self._changed.notify_all()

    def _take(self, watched: Callable[[], bool], stop: threading.Event) -> None:
        with self._changed:
            self._waiting.append(watched)
            try:
                while not stop.is_set():
                    # Watched analyses sort first. Among equal ones, `min` returns the one that
                    # arrived first.
                    first = min(self._waiting, key=lambda is_watched: not is_watched())
                    if self._free and first is watched:
                        self._free -= 1
                        return
                    self._changed.wait(LOOK_SECONDS)
                raise AnalysisStopped
            finally:
                self._waiting.remove(watched)
                self._changed.notify_all()


class Job:
    """A piece of work in its own thread, whose attributes pages read while it runs.

    Attributes:
        number: identifies the job for the operator.
        owner: the id of the user who started it.
        title: describes the job for display.
        address: the network address of that user. "" if limits by address do not apply.
        done: the number of examples that have a row.
        total: the number of examples, 0 until it is known.
        problem: one sentence that says why the job failed. "" if it finished or its owner stopped
            it.
    """

    def __init__(self, work: Work, number: int, owner: str, title: str, address: str = "") -> None:
        self.number, self.owner, self.title, self.address = number, owner, title, address
        self.done, self.total, self.problem = 0, 0, ""
        self.begun = datetime.now(UTC)
        self.stopping = threading.Event()
        self._seen = time.monotonic()
        self._thread = threading.Thread(
            target=self._run, args=(work,), name="areaviz-job", daemon=True
        )
        self._thread.start()

    @property
    def running(self) -> bool:
        """True if the thread is still alive."""
        return self._thread.is_alive()

    @property
    def watched(self) -> bool:
        """True if a page has shown the job within the last `WATCHED_SECONDS`."""
        return time.monotonic() - self._seen < WATCHED_SECONDS

    @property
    def entry(self) -> dict[str, object]:
        """The job as JSON values for the operator, without its owner."""
        return {
            "number": self.number,
            "title": self.title,
            "done": self.done,
            "of": self.total,
            "begun": self.begun.isoformat(timespec="seconds"),
            "watched": self.watched,
        }

    def watch(self) -> None:
        """Record that a page shows the job now."""
        self._seen = time.monotonic()

    def report(self, done: int, total: int) -> None:
        """Set the progress. The work calls this method."""
        self.done, self.total = done, total

    def stop(self, reason: str = "") -> None:
        """Ask the job to end. Finished rows are kept."""
        self.problem = reason
        self.stopping.set()

    def wait(self, seconds: float | None = None) -> None:
        """Wait for the end of the job, at most `seconds`."""
        self._thread.join(seconds)

    def _run(self, work: Work) -> None:
        try:
            work(self)
        except (InputError, BackendError) as error:
            self.problem = str(error)
        except Exception:
            log.exception("While a job ran")
            self.problem = (
                "Something went wrong, and the app's log has the reason. The results so far"
                " are kept. Run it again."
            )


# Function that does the work and reports its progress to the job. It ends early once `job.stopping`
# is set.
Work = Callable[[Job], object]


class Jobs:
    """The jobs of this process, by a key that identifies the work.

    Attributes:
        turns: shared by all jobs, so that together they have no more requests in flight than a
            single job.
    """

    def __init__(self) -> None:
        self.turns = FairScheduler(IN_FLIGHT)
        # The latest job of a key is kept while it has a problem, so that pages can show the
        # problem.
        self._jobs: dict[str, Job] = {}
        self._numbers = count(1)
        self._lock = threading.Lock()

    def get(self, key: str) -> Job | None:
        """Return the running or latest job of a key, or None if there is none."""
        with self._lock:
            return self._jobs.get(key)

    def running(self, owner: str | None = None) -> list[Job]:
        """Return the running jobs of one user, or of all users, the oldest first."""
        with self._lock:
            jobs = list(self._jobs.values())
        return [job for job in jobs if job.running and owner in (None, job.owner)]

    def start(self, key: str, work: Work, owner: str, title: str, address: str = "") -> Job:
        """Start a job, or return the job of this key if it is already running.

        Args:
            key: identifies the work.
            work: the function to run.
            owner: the id of the user who starts the job.
            title: describes the job for display.
            address: the user's network address. "" if limits by address do not apply.

        Raises:
            OverLimit: the user, the address or the app has too many running jobs.
        """
        with self._lock:
            last = self._jobs.get(key)
            if last and last.running:
                return last
            self._check_room(owner, address)
            self._jobs = {
                name: job
                for name, job in self._jobs.items()
                if name != key and (job.running or job.problem)
            }
            job = self._jobs[key] = Job(work, next(self._numbers), owner, title, address)
            return job

    def stop(self, number: int) -> Job:
        """Stop a job for the operator.

        Raises:
            InputError: no job with this number is running.
        """
        running = {job.number: job for job in self.running()}
        if number not in running:
            numbers = ", ".join(map(str, running)) or "none"
            raise InputError(f"No analysis {number} is running. Running analyses: {numbers}.")
        running[number].stop(
            "The operator stopped this analysis. The results so far are kept, and you can"
            " continue it later."
        )
        return running[number]

    def _check_room(self, owner: str, address: str) -> None:
        """Raise OverLimit if the user, the address or the app may not start another job."""
        running = [job for job in self._jobs.values() if job.running]
        if sum(job.owner == owner for job in running) >= ANALYSES_AT_ONCE.value():
            raise OverLimit(ANALYSES_AT_ONCE, Scope.READER)
        of_address = sum(job.address == address for job in running)
        if address and of_address >= get_limit_of_scope(ANALYSES_AT_ONCE, Scope.ADDRESS):
            raise OverLimit(ANALYSES_AT_ONCE, Scope.ADDRESS)
        if len(running) >= ANALYSES_RUNNING.value():
            raise OverLimit(ANALYSES_RUNNING, Scope.APP)


# Analysis of a dataset by several processes of this machine, each with its own model.
#
# The rows are those of `run.analyse_dataset`, computed in batches. They return to the one process
# that writes the file, so stopping, resuming and crashes work as in `run.analyse_dataset`. A
# process ends when its parent is gone.


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
class ProcessSettings:
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
    work = ProcessSettings(dataset, request, open_run)
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
    work: ProcessSettings, todo: Iterator[list[int]], stop: Event | None
) -> Iterator[Answer]:
    """Yield the results of one batch after another, computed in this process."""
    run: RunTogether | None = None
    for indices in todo:
        if stop and stop.is_set():
            return
        run = run or work.open_run()
        yield run_examples(work.dataset, indices, work.request, run)


def _run_in_other_processes(
    work: ProcessSettings, todo: Iterator[list[int]], stop: Event | None, count: int
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
def _start_processes(work: ProcessSettings, count: int) -> Iterator[list[Connection]]:
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


def _compute_batches(connection: Connection, work: ProcessSettings) -> None:
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


# Analysis of a dataset by Ray Data, whose processes compute the rows of `run.analyse_dataset`.
#
# The rows return to the one process that writes the file, so stopping, resuming and crashes work as
# in `run.analyse_dataset`.


# Function that opens the model in a worker process and returns the function that runs a request. It
# must be importable there.
Open = Callable[[], Run]
Column = npt.NDArray[Any]

# Number of examples that a worker gets at once. Their rows return together.
BLOCK = 4 * IN_FLIGHT


@dataclass(frozen=True, slots=True)
class Workers:
    """The processes that run the model."""

    count: int = 2
    # Resources of each process. A fraction lets processes share a GPU.
    cpus: float = 1.0
    gpus: float = 0.0
    # The address of a Ray cluster. None starts Ray on this machine until the analysis ends.
    cluster: str | None = None


def analyse_on_ray(
    dataset: Dataset,
    request: Request,
    open_run: Open,
    file: RowFile,
    progress: Counted | None = None,
    stop: Event | None = None,
    workers: Workers | None = None,
) -> bool:
    """Run `run.analyse_dataset` on Ray, where every worker opens the model with `open_run`.

    Returns:
        Whether all examples now have a row.

    Raises:
        BackendError: the model or Ray cannot run at all. The rows so far are kept.
    """
    total = len(dataset.examples)
    left = [index for index in range(total) if index not in file.rows]
    report = progress or ignore_progress
    report(len(file), total)
    chosen = workers or Workers()
    if left and not (stop and stop.is_set()):
        rows = _iterate_rows(dataset, request, open_run, left, chosen)
        # Close the rows before Ray stops.
        with connect_to_ray(chosen.cluster), closing(rows):
            for row in rows:
                file.add(row)
                report(len(file), total)
                if stop and stop.is_set():
                    break
    return len(file) == total


def _iterate_rows(
    dataset: Dataset, request: Request, open_run: Open, left: Sequence[int], workers: Workers
) -> Generator[Row, None, None]:
    """Yield the rows in the order in which they are finished.

    Raises:
        BackendError: Ray lost its workers, or the model cannot run.
    """
    from ray import data
    from ray.exceptions import RayError

    data.DataContext.get_current().enable_progress_bars = False
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    blocks = -(-len(left) // BLOCK)
    source = data.from_items([{"index": index} for index in left], override_num_blocks=blocks)
    answers = source.map_batches(
        _Worker,
        fn_constructor_args=(dataset, request, open_run),
        batch_size=BLOCK,
        compute=data.ActorPoolStrategy(size=min(workers.count, blocks)),
        num_cpus=workers.cpus,
        num_gpus=workers.gpus,
    )
    try:
        for answer in answers.iter_rows():
            if answer["failure"]:
                raise BackendError(answer["failure"])
            yield parse_row(json.loads(answer["row"]))
    except RayError as error:
        raise BackendError(
            "Ray lost its workers and could not bring them back. Start the analysis again."
        ) from error


class _Worker:
    """A process with the model, which turns indices of examples into their rows."""

    def __init__(self, dataset: Dataset, request: Request, open_run: Open) -> None:
        self._dataset, self._request, self._run = dataset, request, open_run()

    def __call__(self, batch: Mapping[str, Column]) -> dict[str, Column]:
        """Return the columns "row" (JSON) and "failure" (a sentence). One of the two is ""."""
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            answers = list(pool.map(self._answer, batch["index"].tolist()))
        rows, failures = [row for row, _ in answers], [failure for _, failure in answers]
        return {"row": np.array(rows), "failure": np.array(failures)}

    def _answer(self, index: int) -> tuple[str, str]:
        try:
            return json.dumps(
                asdict(run_example(self._dataset, index, self._request, self._run))
            ), ""
        except BackendError as error:
            return "", str(error)
