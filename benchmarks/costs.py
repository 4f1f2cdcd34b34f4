"""Measure the processor time of requests: the factors of `areaviz/backend/costs.py` per model.

    python -m benchmarks.costs [--write] [MODEL ...]

Every model answers requests with several lengths and beams, with and without attribution, on one
processor. The factors are a non-negative least-squares fit of relative errors. Models that read
pictures, sounds or clips answer the requests that their pages open with. With --write, the factors
of the named models, or of all, are written to `areaviz/backend/costs.json`.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import nnls

from areaviz.backend.costs import TABLE, Cost, Costs, count_attended_items, estimate_items_read
from areaviz.backend.local import LocalBackend
from areaviz.cards.card import Card
from areaviz.samples.paths import CHECKPOINTS, OPENINGS, ROOT
from areaviz.trace import file
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from benchmarks.report import processor

PATH = ROOT / "areaviz" / "backend" / TABLE
SENTENCE = (
    "A small brown dog runs over the green grass near an old man who sits on a bench and reads a"
    " long letter from his daughter. "
)
LENGTHS, BEAMS = (40, 120, 300), (1, 4, 16)
TEXTS = ("translation", "reading", "parsing")


@dataclass(frozen=True, slots=True)
class Run:
    """One measured run.

    Args:
        request: The request.
        steps: Number of items that were written.
        seconds: Seconds of one processor.
    """

    request: Request
    steps: int
    seconds: float


def requests_of(card: Card, opened: Sequence[Request]) -> Iterator[Request]:
    """Yield the requests with which a model is measured.

    Args:
        card: Card of the model.
        opened: Requests that pages open with, for models of the same task.
    """
    if card.task in TEXTS:
        for length in LENGTHS:
            text = (SENTENCE * 3)[:length].strip()
            for beam in BEAMS:
                yield Request(card.name, text, method="beam" if beam > 1 else "greedy", beam=beam)
            if "attribution" in card.can and length < LENGTHS[-1]:
                yield Request(card.name, text, attribution=True)
        return
    for request in opened:
        asked = replace(request, model=card.name, target=None, method="greedy")
        yield asked
        yield replace(asked, method="beam", beam=8)
        if "attribution" in card.can:
            yield replace(asked, attribution=True)


def measure(backend: LocalBackend, request: Request) -> Run:
    """Run a request on one processor.

    Raises:
        InputError: The model does not support the request.
    """
    model = backend.load(request)
    steps = [0]

    def count(done: int, most: int) -> None:
        steps[0] = done

    began = time.process_time()
    model.trace([request.checked()], count)
    return Run(request, steps[0], time.process_time() - began)


def fit(card: Card, runs: Sequence[Run]) -> Cost:
    """Return the factors of a model that predict its runs best."""
    plain = [run for run in runs if not run.request.attribution]
    rows, seconds = [], []
    for run in plain:
        weight = 1 / run.seconds
        items = run.steps * count_attended_items(run.request, card, run.steps)
        rows.append([weight, weight * run.steps, weight * items])
        seconds.append(1.0)
    (start, step, item), _ = nnls(np.array(rows), np.array(seconds))
    greedy = [run for run in plain if run.request.method == "greedy"]
    fixed, written = _written(card, greedy)
    cost = Cost(start, step, item, written, fixed, 0.0, 0.0)
    return _with_gradients(cost, card, runs)


def _written(card: Card, runs: Sequence[Run]) -> tuple[float, float]:
    """Return a line that predicts the written items: a constant, and the items per read item."""
    read = [estimate_items_read(run.request, card) for run in runs]
    if card.task not in TEXTS:
        return float(np.mean([run.steps for run in runs])), 0.0
    rows = np.array([[1.0, one] for one in read])
    (fixed, written), _ = nnls(rows, np.array([float(run.steps) for run in runs]))
    return float(fixed), float(written)


def _with_gradients(cost: Cost, card: Card, runs: Sequence[Run]) -> Cost:
    """Return a cost with the factors of attribution, fitted to the time that `cost` leaves over."""
    rows, seconds = [], []
    for run in runs:
        if not run.request.attribution or not run.steps:
            continue
        plain = cost.start + run.steps * (
            cost.step + cost.item * count_attended_items(run.request, card, run.steps)
        )
        read = estimate_items_read(run.request, card)
        rows.append([run.steps, run.steps * (read + run.steps)])
        seconds.append(max(run.seconds - plain, 0.0))
    if not rows:
        return cost
    (gradient, more), _ = nnls(np.array(rows), np.array(seconds))
    return replace(cost, gradient=float(gradient), gradient_item=float(more))


def opened_requests() -> list[Request]:
    """Return the requests that pages open with."""
    return [file.load(path).request for path in sorted(OPENINGS.glob("*.npz"))]


def measured(backend: LocalBackend, card: Card, opened: Sequence[Request]) -> list[Run]:
    """Return the runs of a model. A first run, which also loads it, is left out."""
    tasks = {name: one.task for name, one in backend.models().items()}
    own = [request for request in opened if tasks.get(request.model) == card.task]
    asked = list(requests_of(card, own))
    measure(backend, asked[0])
    runs = []
    for request in asked:
        try:
            runs.append(measure(backend, request))
        except InputError as error:
            print(f"  left out: {error}")
    return runs


def main() -> None:
    """Measure, print predictions and measured times, and write the factors if requested."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", help="which models, all by default")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    backend = LocalBackend(Path(CHECKPOINTS), "cpu")
    content = json.loads(PATH.read_text("utf-8")) if PATH.exists() else {"models": {}}
    opened = opened_requests()
    for name in options.models or list(backend.models()):
        card = backend.models()[name]
        runs = measured(backend, card, opened)
        cost = fit(card, runs)
        content["models"][name] = {key: float(f"{one:.3g}") for key, one in asdict(cost).items()}
        costs = Costs(backend.models(), {name: cost})
        ratios = [costs.predict(run.request) / run.seconds for run in runs]
        slowest = max(run.seconds for run in runs)
        print(
            f"{name}: {len(runs)} runs, the slowest {slowest:.2f} s; predicted by measured"
            f" {min(ratios):.2f} to {max(ratios):.2f}, median {np.median(ratios):.2f}",
            flush=True,
        )
    content["machine"] = processor()
    if options.write:
        PATH.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    main()
