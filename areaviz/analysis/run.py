"""Analysis of a dataset by one model, with one row per example. It can be stopped and continued.

Outputs of other systems become rows too, without running a model.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from threading import Event

from areaviz.analysis.batches import iterate_batches, make_row_from_trace
from areaviz.analysis.measures import order_measures
from areaviz.analysis.output_scores import score_outputs
from areaviz.analysis.row_lines import Header, Row
from areaviz.analysis.rows import RowFile
from areaviz.cards.card import Card
from areaviz.media.formats import SOUND
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import BackendBusy, BackendError, InputError
from areaviz.trace.record import Run, Trace
from areaviz.trace.request import Counted, Request

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
