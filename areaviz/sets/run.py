"""Runs of a model on a dataset, and the file of rows that they write.

The lines and the file come first. `analyse_dataset` writes them, and the last section stores
the analysis that the page shows first.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, astuple, dataclass, field
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from threading import Event
from typing import Any, NamedTuple, Self

from filelock import AcquireReturnProxy, FileLock, Timeout

from areaviz.cards.card import Card
from areaviz.media.formats import SOUND
from areaviz.samples.dataset import Dataset
from areaviz.samples.paths import ANALYSIS, own_folder
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.measures import compute_metrics, link_counts, order_measures, score_outputs
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Run, RunTogether, Trace
from areaviz.trace.request import Counted, Request
from areaviz.trace.safe_files import (
    PRIVATE_FILE,
    find_aside_name,
    make_private_folder,
    set_aside,
    write_whole,
)

# The lines of an analysis file: a header, then one row per example, each a JSON object.
#
# The JSON is ASCII, because a model can write unpaired surrogates, which UTF-8 cannot encode.


# The version of the file format and of the metrics. Rows of two versions are never mixed.
VERSION = 4
# Exceptions that Python raises for JSON that is not a header or a row.
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)


@dataclass(frozen=True, slots=True)
class Header:
    """The model, options and dataset of an analysis. The options are those of `Request`."""

    # The name and digest of the dataset.
    dataset: str
    digest: str
    # The name of the model and the digest of its card. Rows of a retrained model are never mixed
    # with older rows.
    model: str
    card: str
    method: str = "greedy"
    beam: int = 4
    area_size: int | None = None
    seed: int = 0
    # The id of the user who started it (`areaviz/app/run.py`), or "" for the command
    # line. It does not count in comparisons, because an analysis is the same for all users.
    reader: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Row:
    """The result of one example."""

    # Index of the example in the dataset, from 0.
    index: int
    output: str = ""
    # One sentence that says why there is no output, "" if there is one.
    error: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    # With gold alignments, the number of alignments made and of sure gold alignments, then the
    # number of made ones that are sure and of made ones that are possible.
    links: tuple[int, int, int, int] | None = None


class Lines(NamedTuple):
    """The content of an analysis file."""

    version: int
    header: Header
    # Rows by index. If an example has two rows, this is the last one.
    rows: dict[int, Row]
    # Numbers of lines that are not valid rows, from 1.
    damaged: tuple[int, ...]
    # The bytes of all valid lines.
    sound: bytes


class DamagedHeader(InputError):
    """An error for a first line that is not a header, so that the rows have no known analysis."""


def format_header(header: Header) -> bytes:
    """Return the first line of a new file."""
    return _format_line({"version": VERSION, **asdict(header)})


def format_row(row: Row) -> bytes:
    """Return the line of a row."""
    return _format_line(asdict(row))


def read_lines(content: bytes, name: str) -> Lines:
    """Parse a file of this version or an older one. An incomplete last line is ignored.

    Args:
        content: the content of the file.
        name: the name of the file, for error messages.

    Raises:
        DamagedHeader: the first line cannot be read.
        InputError: a newer version of the app wrote the file.
    """
    first, *rest = content.split(b"\n")
    version, header = read_header(first if rest else b"", name)
    rows, damaged, sound = {}, [], [first]
    for number, line in enumerate(rest[:-1], 2):
        if not line:
            continue
        try:
            row = parse_row(json.loads(line))
        except _DAMAGE:
            damaged.append(number)
        else:
            rows[row.index] = row
            sound.append(line)
    return Lines(version, header, rows, tuple(damaged), b"\n".join(sound) + b"\n")


def read_header(line: bytes, name: str) -> tuple[int, Header]:
    """Return the version and the header of a first line. Errors are those of `read_lines`."""
    sorry = f"{name} is not an analysis of this version. Choose another file."
    try:
        entries = json.loads(line)
        version = entries.pop("version")
        header = Header(**entries) if version <= VERSION else None
    except _DAMAGE as error:
        raise DamagedHeader(sorry) from error
    if header is None:
        raise InputError(sorry)
    return version, header


def parse_row(values: Any) -> Row:
    """Return the row that parsed JSON describes.

    Raises:
        ValueError, TypeError, KeyError, AttributeError: the JSON does not describe a row.
    """
    links = values["links"]
    row = Row(**{**values, "links": None if links is None else tuple(links)})
    counts = (row.index, *(row.links or ()))
    is_sound = (
        {type(row.output), type(row.error)} == {str}
        # Compare types, because True is an instance of int.
        and {type(count) for count in counts} == {int}
        and {type(value) for value in row.measures.values()} <= {int, float}
        and len(counts) in (1, 5)
        and min(counts) >= 0
    )
    if not is_sound:
        raise ValueError("A row has values of other kinds.")
    return row


def _format_line(values: Mapping[str, Any]) -> bytes:
    return f"{json.dumps(values, separators=(',', ':'))}\n".encode("ascii")


# The rows of an analysis in a growing JSON Lines file: a header, then one line per example.
#
# A line counts as written once it is complete and on the disk. An incomplete last line, left by a
# crash, is dropped. Other damaged lines are reported by number. The original file is then kept
# under another name, and the analysis continues without these lines. A file has one writer and any
# number of readers. The operating system holds the writer's lock and frees it after a crash.


SETTING = "AREAVIZ_ANALYSES"


def find_analyses_folder() -> Path:
    """Return the folder of analyses, which AREAVIZ_ANALYSES can set."""
    return Path(os.environ.get(SETTING) or own_folder("analyses")).expanduser()


def find_rows_path(header: Header) -> Path:
    """Return the path of an analysis. Its name depends on model, options and dataset only."""
    what = asdict(header)
    del what["reader"]
    digest = hashlib.sha256(repr((VERSION, what)).encode("utf-8", "surrogatepass")).hexdigest()
    return find_analyses_folder() / f"{digest[:24]}.jsonl"


class RowFile:
    """The rows of one analysis, either open for writing (`open`) or only read (`read`).

    Attributes:
        damaged: the numbers of the lines that cannot be read.
        aside: the copy of the original file if damaged lines were dropped, else None.
    """

    def __init__(self, path: Path, lines: Lines) -> None:
        self.path, self.header, self.version = path, lines.header, lines.version
        self.damaged = lines.damaged
        self.aside: Path | None = None
        self._rows = lines.rows
        self._lock: AcquireReturnProxy[FileLock] | None = None

    @classmethod
    def open(cls, path: Path, header: Header) -> Self:
        """Open a file to add rows, and create it if it does not exist.

        Only one writer may do so at a time. A file with damaged lines is first kept under another
        name.

        Raises:
            InputError: the file contains another analysis, has another version, or is being written
                to by another process.
            BackendError: the disk is full, or the folder cannot be written to.
        """
        lock = _acquire_lock(path)
        try:
            with _write_errors(path):
                aside = _prepare(path, header)
            file = cls.read(path)
        except BaseException:
            lock.lock.release()
            raise
        file._lock, file.aside = lock, aside
        return file

    def close(self) -> None:
        """Let other writers add to the file. This does nothing if the file was only read."""
        if self._lock is not None:
            self._lock.lock.release()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read the rows of a finished or unfinished analysis of this version or an older one.

        Raises:
            FileNotFoundError: the file does not exist.
            InputError: the file is not an analysis, or a newer version wrote it.
            BackendError: the file cannot be read.
        """
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise BackendError(
                f"{path.name} could not be read ({reason}). Fix that, then try again."
            ) from error
        return cls(path, read_lines(content, path.name))

    def __len__(self) -> int:
        """Return the number of rows so far."""
        return len(self._rows)

    @property
    def rows(self) -> Mapping[int, Row]:
        """The rows so far, by index."""
        return dict(self._rows)

    def add(self, row: Row) -> None:
        """Write one row. The row is on the disk when this returns.

        Raises:
            BackendError: the disk is full or the file cannot be written to. Earlier rows are kept.
            ValueError: the file was only read, or is closed.
        """
        if self._lock is None:
            raise ValueError(f"{self.path.name} is not open for rows to be added.")
        with _write_errors(self.path):
            _append_line(self.path, format_row(row))
        self._rows[row.index] = row


def remove_rows(path: Path, reader: str) -> None:
    """Delete an analysis for the user who started it.

    Raises:
        InputError: the analysis is running, or another user started it.
        BackendError: the file cannot be read or deleted.
    """
    with _acquire_lock(path), _write_errors(path):
        if not reader or RowFile.read(path).header.reader != reader:
            raise InputError(
                "Another user started this analysis. Only that user or the operator of this"
                " app can delete it."
            )
        path.unlink()


def remove_idle(path: Path) -> bool:
    """Delete an analysis of any user unless it is running, and return whether it is gone."""
    try:
        lock = _acquire_lock(path)
    except InputError:
        return False
    with lock, _write_errors(path):
        path.unlink(missing_ok=True)
    return True


def _prepare(path: Path, header: Header) -> Path | None:
    """Prepare the file for more rows, and return the path of its copy if it was damaged, else None.

    Raises:
        InputError: the file contains another analysis or has another version.
    """
    if not path.exists():
        write_whole(path, format_header(header), PRIVATE_FILE)
        return None
    with suppress(OSError):
        path.chmod(PRIVATE_FILE)  # files of older versions were readable for other users
    content = path.read_bytes()
    try:
        lines = read_lines(content, path.name)
    except DamagedHeader:
        aside = set_aside(path)
        write_whole(path, format_header(header), PRIVATE_FILE)
        return aside
    if (lines.header, lines.version) != (header, VERSION):
        raise InputError(
            f"{path.name} has the analysis of another set, model or option. Choose another name."
        )
    if not lines.damaged:
        os.truncate(path, content.rfind(b"\n") + 1)
        return None
    aside = find_aside_name(path, "damaged")
    os.link(path, aside)
    # Write a new file under the original name. The damaged file keeps its other name.
    write_whole(path, lines.sound, PRIVATE_FILE)
    return aside


def _acquire_lock(path: Path) -> AcquireReturnProxy[FileLock]:
    """Take the writer's lock, which is a hidden file next to `path`.

    Raises:
        InputError: another writer has the lock.
        BackendError: the folder cannot be written to.
    """
    with _write_errors(path):
        make_private_folder(path.parent)
        name = path.with_name(f".{path.name}.lock")
        lock = FileLock(name, blocking=False, thread_local=False, mode=PRIVATE_FILE)
        try:
            return lock.acquire()
        except Timeout:
            raise InputError(
                "This analysis is already running, alone or as one of two. Wait for its end"
                " or stop it there, then continue."
            ) from None


def _append_line(path: Path, line: bytes) -> None:
    """Append a line to an existing file, or leave the file unchanged if writing fails."""
    with path.open("r+b", buffering=0) as file:
        before = file.seek(0, os.SEEK_END)
        try:
            left = memoryview(line)
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError:
            with suppress(OSError):
                file.truncate(before)  # half a line would damage the next one
            raise


@contextmanager
def _write_errors(path: Path) -> Iterator[None]:
    """Raise errors of the disk as BackendError with one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise BackendError(
            f"{path.name} could not be written ({reason}). The results so far are kept. Free"
            " some space, then continue."
        ) from error


# Batches of examples with texts of similar length, and the rows that result from a batch.


# Examples per batch. Larger batches save little time and take more memory.
BATCH = 32
# Number of batches whose examples are sorted by length together. A small window keeps the rows
# roughly in the order of the dataset.
WINDOW = 8


def iterate_batches(
    dataset: Dataset, left: Sequence[int], size: int = BATCH
) -> Iterator[list[int]]:
    """Yield the indices of examples in batches with texts of similar length.

    Args:
        dataset: the dataset with the examples.
        left: indices of the examples to run, in the order of the dataset.
        size: the largest number of examples per batch.
    """
    for start in range(0, len(left), WINDOW * size):
        window = left[start : start + WINDOW * size]
        alike = sorted(window, key=lambda index: len(dataset.examples[index].text))
        for first in range(0, len(alike), size):
            yield alike[first : first + size]


def run_examples(
    dataset: Dataset, indices: Sequence[int], request: Request, run: RunTogether
) -> list[Row]:
    """Run some examples and return their rows. An example that fails gets a row with the reason.

    Args:
        dataset: the dataset with the examples.
        indices: indices of the examples to run.
        request: the model and its options. The input comes from the examples.
        run: runs several requests together.

    Raises:
        BackendError: the model cannot run at all.
    """
    rows, chosen, requests = [], [], []
    for index in indices:
        try:
            requests.append(dataset.asked(request, dataset.examples[index]))
            chosen.append(index)
        except InputError as error:
            rows.append(Row(index, error=str(error)))
    for index, found in zip(chosen, run(requests), strict=True):
        if isinstance(found, InputError):
            rows.append(Row(index, error=str(found)))
        else:
            rows.append(make_row_from_trace(dataset, index, found))
    return rows


def make_row_from_trace(dataset: Dataset, index: int, trace: Trace) -> Row:
    """Return the row that an analysis stores for an example's trace."""
    example = dataset.examples[index]
    counts = link_counts(trace, example)
    links = None if counts is None else astuple(counts)
    return Row(index, trace.answer, "", compute_metrics(trace, example), links)


# Analysis of a dataset by one model, with one row per example. It can be stopped and continued.
#
# Outputs of other systems become rows too, without running a model.


# Number of requests that run at once, so that a backend can run similar ones as a batch.
IN_FLIGHT = 8
# Seconds before a busy backend gets the request again.
RETRY_SECONDS = 0.5


class AnalysisStopped(Exception):
    """The analysis was stopped before this example ran."""


def make_header(dataset: Dataset, request: Request, card: Card, reader: str = "") -> Header:
    """Return the header that identifies an analysis.

    Args:
        dataset: the dataset.
        request: the model and its options.
        card: the card of the model.
        reader: the id of the user who starts the analysis.
    """
    identity = json.dumps(card.identity, sort_keys=True, default=str)
    digest = hashlib.sha256(identity.encode()).hexdigest()
    options = request.method, request.beam, request.area_size, request.seed
    return Header(dataset.name, dataset.digest, request.model, digest, *options, reader)


def analyse_dataset(
    dataset: Dataset,
    request: Request,
    run: Run,
    file: RowFile,
    progress: Counted | None = None,
    stop: Event | None = None,
) -> bool:
    """Add a row for every example without one, and return whether all examples have a row now.

    An example that cannot be run gets a row with the reason. After a stop or a failure, no further
    example is started. Running requests are completed and their rows are written.

    Args:
        dataset: the dataset with the examples.
        request: the model and its options. Text and file come from the examples.
        run: runs a request. It may raise `AnalysisStopped`, which skips only this example.
        file: receives the rows.
        progress: called after every row.
        stop: ends the analysis early when it is set.

    Raises:
        BackendError: the model cannot run at all. The rows so far are kept.
    """
    total, done = len(dataset.examples), file.rows
    report = progress or ignore_progress
    report(len(done), total)
    # A backend runs requests that arrive together as a batch, so neighbours should be similar.
    left = chain.from_iterable(iterate_batches(dataset, [i for i in range(total) if i not in done]))
    failure: BackendError | None = None
    with ThreadPoolExecutor(IN_FLIGHT) as pool:

        def begin(count: int) -> set[Future[Row]]:
            chosen = islice(left, count)
            return {pool.submit(run_example, dataset, index, request, run) for index in chosen}

        running = begin(IN_FLIGHT)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                try:
                    row = future.result()
                except AnalysisStopped:
                    continue
                except BackendError as error:
                    failure = error
                    continue
                file.add(row)
                report(len(file), total)
            if failure is None and not (stop and stop.is_set()):
                running |= begin(len(finished))
    if failure is not None:
        raise failure
    return len(file) == total


def ignore_progress(done: int, total: int) -> None:
    """Ignore the progress."""


def run_example(dataset: Dataset, index: int, request: Request, run: Run) -> Row:
    """Return the row of one example.

    Raises:
        BackendError: the model cannot run at all.
        AnalysisStopped: `run` raised it.
    """
    try:
        trace = _run_when_free(dataset.asked(request, dataset.examples[index]), run)
    except InputError as error:
        return Row(index, error=str(error))
    return make_row_from_trace(dataset, index, trace)


def _run_when_free(request: Request, run: Run) -> Trace:
    """Return the trace of a request. Wait and retry while the backend's queue is full."""
    while True:
        try:
            return run(request)
        except BackendBusy:
            time.sleep(RETRY_SECONDS)


NO_OUTPUT = "The system has no output for this example."


def make_rows_from_outputs(dataset: Dataset, outputs: Sequence[str | None]) -> Mapping[int, Row]:
    """Return a row for each example with its output, its length and, with references, its scores.

    Metrics of the model's confidence and attention are left out, because they are unknown.

    Args:
        dataset: the examples.
        outputs: the output for each example, in order. None marks an example without an output. Its
            row is marked as not run.
    """
    rows = {at: Row(at, error=NO_OUTPUT) for at, one in enumerate(outputs) if one is None}
    known = [(at, output) for at, output in enumerate(outputs) if output is not None]
    examples = [dataset.examples[at] for at, _ in known]
    scores = score_outputs([output for _, output in known], examples, dataset.medium == SOUND)
    for (index, output), found in zip(known, scores, strict=True):
        rows[index] = Row(index, output, "", order_measures(found))
    return dict(sorted(rows.items()))


def hash_outputs(outputs: Sequence[str | None]) -> str:
    """Return the SHA-256 of outputs, which distinguishes outputs for one dataset."""
    found = hashlib.sha256()
    for output in outputs:
        found.update(repr(output).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


# The analysis that the page Analyse shows first, of two models on the app's own sentences.
#
# Its rows are files of the repository, one per model, so the page opens without running a model.
# The command `areaviz openings --only-analysis` writes them.


SET = "Sentences"
MODELS = ("recurrent-additive", "recurrent-none")
"""The compared models. The second one is the first one without attention."""


def store_analysis(folder: Path, cards: Mapping[str, Card], run: Run) -> list[Path]:
    """Run both models on the sentences, and write one file of rows per model.

    Sentences are run one after another, so that every call writes equal files.

    Args:
        folder: where the files are written to.
        cards: the cards of the models, by name.
        run: runs a request.

    Raises:
        BackendError: a model cannot be run.
    """
    dataset = SAMPLE_SETS[SET]()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in MODELS:
        request = Request(name, "")
        lines = [format_header(make_header(dataset, request, cards[name]))]
        for index in range(len(dataset.examples)):
            lines.append(format_row(run_example(dataset, index, request, run)))
        path = folder / f"{name}.jsonl"
        write_whole(path, b"".join(lines))
        written.append(path)
    return written


def find_stored_analysis(about: Header) -> Path | None:
    """Return the stored file with the rows of exactly this analysis, None if there is none."""
    path = ANALYSIS / f"{about.model}.jsonl"
    if about.model not in MODELS or not path.is_file():
        return None
    return path if _read_header(path) == about else None


@lru_cache(maxsize=len(MODELS))
def _read_header(path: Path) -> Header:
    """Return the header of a stored file, which does not change while the app runs."""
    return RowFile.read(path).header
