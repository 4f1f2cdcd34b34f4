"""A data set run through one model: a row an example, resumable, with progress, and stopped when
asked to.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from threading import Event

from areaviz.analysis.measures import link_counts, measure, output_of
from areaviz.analysis.rows import Header, Row, RowFile
from areaviz.analysis.turns import Stopped
from areaviz.cards.card import Card
from areaviz.data.examples import Dataset
from areaviz.trace.errors import Busy, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request

Run = Callable[[Request], Trace]
Progress = Callable[[int, int], None]
"""Called with how many rows there are, and how many there will be."""

TOGETHER = 8
"""Requests on their way at once, so that a backend can run like ones in a batch."""
AGAIN = 0.5
"""Seconds until a backend that is busy is asked again."""


def header(dataset: Dataset, request: Request, card: Card, reader: str = "") -> Header:
    """What identifies an analysis; `request` has the model and its options, `reader` is the mark of
    who begins it.
    """
    digest = hashlib.sha256(
        json.dumps(card.identity, sort_keys=True, default=str).encode()
    ).hexdigest()
    options = request.method, request.beam, request.area_size, request.seed
    return Header(dataset.name, dataset.digest, request.model, digest, *options, reader)


def analyse(
    dataset: Dataset,
    request: Request,
    run: Run,
    file: RowFile,
    progress: Progress | None = None,
    stop: Event | None = None,
) -> bool:
    """Add a row for every example that has none yet; returns whether all are there, and not stopped
    before.

    Args:
        request: the model and its options; text and picture are the examples'.
        run: may raise `Stopped`, which ends nothing but this example.

    An example that cannot be run becomes a row with the reason.

    Raises:
        BackendError: the model cannot be run at all; the rows so far are kept.
    """
    done = file.rows
    left = iter([index for index in range(len(dataset.examples)) if index not in done])
    told = progress or (lambda done, most: None)
    told(len(done), len(dataset.examples))
    with ThreadPoolExecutor(TOGETHER) as pool:
        running = _started(pool, dataset, request, run, islice(left, TOGETHER))
        while running:
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for one in finished:
                running.remove(one)
                if row := one.result():
                    file.add(row)
                    told(len(file), len(dataset.examples))
            if stop is None or not stop.is_set():
                running |= _started(pool, dataset, request, run, islice(left, len(finished)))
    return len(file) == len(dataset.examples)


def _started(
    pool: ThreadPoolExecutor, dataset: Dataset, request: Request, run: Run, indices: Iterator[int]
) -> set[Future[Row | None]]:
    return {pool.submit(_unless_stopped, dataset, index, request, run) for index in indices}


def _unless_stopped(dataset: Dataset, index: int, request: Request, run: Run) -> Row | None:
    """The row of one example; None where the analysis was stopped before its turn came."""
    try:
        return one_row(dataset, index, request, run)
    except Stopped:
        return None


def one_row(dataset: Dataset, index: int, request: Request, run: Run) -> Row:
    """The row of one example; raises BackendError."""
    example = dataset.examples[index]
    try:
        asked = replace(request, text=example.text, picture=dataset.picture(example))
        trace = _in_time(asked, run)
    except InputError as error:
        return Row(index, error=str(error))
    counts = link_counts(trace, example)
    links = (
        None
        if counts is None
        else (counts.made, counts.sure, counts.made_sure, counts.made_possible)
    )
    return Row(index, output_of(trace), "", measure(trace, example), links)


def _in_time(request: Request, run: Run) -> Trace:
    """The trace of a request; others go first where too many wait, for an analysis has time."""
    while True:
        try:
            return run(request)
        except Busy:
            time.sleep(AGAIN)
