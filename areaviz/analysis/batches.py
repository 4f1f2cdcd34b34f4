"""Examples of a set in batches of like length, and the rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from areaviz.analysis.measures import link_counts, measure
from areaviz.analysis.row_lines import Row
from areaviz.data.examples import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.record import RunTogether, Trace
from areaviz.trace.request import Request
from areaviz.trace.summary import answer_of

# Examples that run together: more save little time, and take memory.
BATCH = 32
# Batches whose examples are sorted by length together: rows come roughly in the set's order.
WINDOW = 8


def batches(dataset: Dataset, left: Sequence[int], size: int = BATCH) -> Iterator[list[int]]:
    """Indices of a set's examples in batches; those of one have texts of like length.

    Args:
        dataset: its examples.
        left: the indices to be run, in the set's order.
        size: examples of a batch, at most.
    """
    for start in range(0, len(left), WINDOW * size):
        window = left[start : start + WINDOW * size]
        alike = sorted(window, key=lambda index: len(dataset.examples[index].text))
        for first in range(0, len(alike), size):
            yield alike[first : first + size]


def rows_of(
    dataset: Dataset, indices: Sequence[int], request: Request, run: RunTogether
) -> list[Row]:
    """The rows of some examples; one that cannot be run is a row with the reason.

    Args:
        dataset: its examples.
        indices: of those that are run.
        request: the model and its options; what is asked comes from the examples.
        run: runs requests together.

    Raises:
        BackendError: the model cannot be run at all.
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
            rows.append(row_of_trace(dataset, index, found))
    return rows


def row_of_trace(dataset: Dataset, index: int, trace: Trace) -> Row:
    """What is kept of an example's trace."""
    example = dataset.examples[index]
    counts = link_counts(trace, example)
    links = None if counts is None else astuple(counts)
    return Row(index, answer_of(trace), "", measure(trace, example), links)
