"""Analysis of a dataset by Ray Data, whose processes compute the rows of `run.analyse_dataset`.

The rows return to the one process that writes the file, so stopping, resuming and crashes work as
in `run.analyse_dataset`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from threading import Event
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.analysis.row_lines import Row, parse_row
from areaviz.analysis.rows import RowFile
from areaviz.analysis.run import IN_FLIGHT, ignore_progress, run_example
from areaviz.backend.ray import connect_to_ray
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import BackendError
from areaviz.trace.record import Run
from areaviz.trace.request import Counted, Request

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
    dataset: Dataset,
    request: Request,
    open_run: Open,
    left: Sequence[int],
    workers: Workers,
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
