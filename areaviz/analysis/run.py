"""A data set run through one model: a row an example; it can be stopped, and goes on later.

What another system wrote for it becomes rows, too, without a run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from itertools import chain, islice
from threading import Event

from areaviz.analysis.batches import batches, row_of_trace
from areaviz.analysis.measures import MEASURES
from areaviz.analysis.output_scores import score_outputs
from areaviz.analysis.row_lines import Header, Row
from areaviz.analysis.rows import RowFile
from areaviz.cards.card import Card
from areaviz.data.examples import Dataset
from areaviz.data.media import SOUND
from areaviz.trace.errors import BackendError, Busy, InputError
from areaviz.trace.record import Run, Trace
from areaviz.trace.request import Counted, Request

# Requests on their way at once, so that a backend can run similar ones in a batch.
IN_FLIGHT = 8
# Seconds until a busy backend is asked again.
RETRY_SECONDS = 0.5


class Stopped(Exception):
    """The analysis was stopped before this example was run."""


def header(dataset: Dataset, request: Request, card: Card, reader: str = "") -> Header:
    """What identifies an analysis.

    Args:
        dataset: its examples.
        request: the model and its options.
        card: of the model.
        reader: the mark of who begins it.
    """
    identity = json.dumps(card.identity, sort_keys=True, default=str)
    digest = hashlib.sha256(identity.encode()).hexdigest()
    options = request.method, request.beam, request.area_size, request.seed
    return Header(dataset.name, dataset.digest, request.model, digest, *options, reader)


def analyse(
    dataset: Dataset,
    request: Request,
    run: Run,
    file: RowFile,
    progress: Counted | None = None,
    stop: Event | None = None,
) -> bool:
    """Add a row for every example that has none yet; returns whether all have one now.

    An example that cannot be run becomes a row with the reason. After a stop or a failure no
    example is begun, but the answers on their way are waited for and written.

    Args:
        dataset: its examples.
        request: the model and its options; text and file are the examples'.
        run: may raise `Stopped`, which leaves out this example alone.
        file: takes the rows.
        progress: is told of every row.
        stop: ends the analysis early once it is set.

    Raises:
        BackendError: the model cannot be run at all; the rows so far are kept.
    """
    total, done = len(dataset.examples), file.rows
    report = progress or no_progress
    report(len(done), total)
    # A backend runs those that arrive together in a batch, so they should be alike.
    left = chain.from_iterable(batches(dataset, [i for i in range(total) if i not in done]))
    failure: BackendError | None = None
    with ThreadPoolExecutor(IN_FLIGHT) as pool:

        def begin(count: int) -> set[Future[Row]]:
            chosen = islice(left, count)
            return {pool.submit(one_row, dataset, index, request, run) for index in chosen}

        running = begin(IN_FLIGHT)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                try:
                    row = future.result()
                except Stopped:
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


def no_progress(done: int, total: int) -> None:
    """Ignore how far it is."""


def one_row(dataset: Dataset, index: int, request: Request, run: Run) -> Row:
    """The row of one example; raises BackendError, and Stopped where `run` does."""
    try:
        trace = _run_when_free(dataset.asked(request, dataset.examples[index]), run)
    except InputError as error:
        return Row(index, error=str(error))
    return row_of_trace(dataset, index, trace)


def _run_when_free(request: Request, run: Run) -> Trace:
    """The trace of a request; where too many wait, an analysis lets others go first."""
    while True:
        try:
            return run(request)
        except Busy:
            time.sleep(RETRY_SECONDS)


NO_OUTPUT = "The system has no output for this example."


def rows_of_outputs(dataset: Dataset, outputs: Sequence[str | None]) -> Mapping[int, Row]:
    """Return a row for each example: an output, its length and, with references, its scores.

    What is measured of a model's certainty or its attention is left out: nothing is known of them.

    Args:
        dataset: the examples.
        outputs: one for each, in their order; None where the system has no output, which becomes a
            row that was not run.
    """
    rows = {at: Row(at, error=NO_OUTPUT) for at, one in enumerate(outputs) if one is None}
    known = [(at, output) for at, output in enumerate(outputs) if output is not None]
    examples = [dataset.examples[at] for at, _ in known]
    scores = score_outputs([output for _, output in known], examples, dataset.medium == SOUND)
    for (index, output), found in zip(known, scores, strict=True):
        measures = {name: float(found[name]) for name in MEASURES if name in found}
        rows[index] = Row(index, output, "", measures)
    return dict(sorted(rows.items()))


def outputs_digest(outputs: Sequence[str | None]) -> str:
    """The SHA-256 of outputs: tells them from others on the same set."""
    found = hashlib.sha256()
    for output in outputs:
        found.update(repr(output).encode("utf-8", "surrogatepass"))
    return found.hexdigest()
