"""Batches of examples with texts of similar length, and the rows that result from a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import astuple

from areaviz.analysis.measures import compute_metrics, link_counts
from areaviz.analysis.row_lines import Row
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.trace.record import RunTogether, Trace
from areaviz.trace.request import Request

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
