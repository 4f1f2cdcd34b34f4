"""Measure how support for changed runs slows down other runs, and how long changed runs take.

    python -m benchmarks.what_if [--models NAME ...] [--rounds 15] [--write]

A changed run has interventions, such as items or heads with another weight. All ways to run
alternate in one process, over the app's own examples. A figure is the median over rounds of the
ratio to the plain way in the same round. Plain: the same network without the code for interventions
in its attention. The benchmark checks that it gives the same trace. The changes have the factor 1,
so they run all code of a change while the output stays the same.
Faithfulness: one example, whose output is written once. It is then scored again, twice for the map
and twice for each random draw.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.area import area_attention
from areaviz.attention.interventions import NetworkInterventions
from areaviz.attention.multihead import AreaMemory, KeysAndValues
from areaviz.attention.pooled import AreaSpec, combine_masks
from areaviz.backend.local import LocalBackend
from areaviz.cards.tasks import TASKS
from areaviz.measures.faithfulness import Probe, measure_faithfulness
from areaviz.samples.paths import CHECKPOINTS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.changes import Change, Gate, Weigh
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from benchmarks.report import command, markdown, processor, publish

MODELS = ("char-tiny-area", "token-boundary", "scene-captions-boundary")
EXAMPLES, ROUNDS = 3, 15
SITE = "encoder-decoder"
PROBE = Probe(SITE, k=3, draws=5)
CHANGES: Mapping[str, tuple[Change, ...]] = {
    "unchanged": (),
    "an item weighed": (Weigh(SITE, (0,), factor=1.0),),
    "a head gated": (Gate(SITE, 0, 0, factor=1.0),),
}
COLUMNS = ("model", "plain ms", *CHANGES, "faithfulness ms", "faithfulness", "runs")


def attend(
    self: KeysAndValues,
    query_BHQD: Tensor,
    memory_BMW: Tensor,
    key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
    need_weights: bool = False,
    interventions: None = None,
) -> tuple[Tensor, Tensor | None]:
    """Compute the attention of `KeysAndValues.attend` without interventions."""
    key_BHMD, value_BHMD = (
        self.split_heads(self.key(memory_BMW)),
        self.split_heads(self.value(memory_BMW)),
    )
    spec = AreaSpec(
        self.areas.make_grid(memory_BMW.shape[1]),
        query_BHQD.shape[-1] ** -0.5,
        combine_masks(query_BHQD, key_BHMD, None, key_padding_mask, is_causal),
        self.areas.key_mode,
        self.features,
        self.areas.value_mode,
        need_weights=need_weights,
    )
    context, weights, _ = area_attention(query_BHQD, key_BHMD, value_BHMD, spec, self.impl)
    return context, weights


def attend_without_changes(self: AreaMemory, query_BHQD: Tensor) -> Tensor:
    """Compute the attention of `AreaMemory.attend` without interventions."""
    return F.scaled_dot_product_attention(query_BHQD, self.key, self.value, attn_mask=self.allowed)


@contextmanager
def plain() -> Iterator[None]:
    """Remove support for changed runs within the block."""
    with ExitStack() as patches:
        patches.enter_context(patch.object(KeysAndValues, "attend", attend))
        patches.enter_context(patch.object(AreaMemory, "attend", attend_without_changes))
        patches.enter_context(
            patch.object(NetworkInterventions, "get_layer_changes", lambda self, site, layer: None)
        )
        yield


@dataclass(frozen=True, slots=True)
class Figures:
    """Figures of one model."""

    model: str
    # Milliseconds of the plain way.
    plain: float
    # Ratio of each other way to the plain way.
    ratios: Mapping[str, float]
    # Milliseconds of one example's faithfulness, its ratio to the plain way, and its runs.
    faithful: float
    faithful_ratio: float
    runs: int

    def row(self) -> list[str]:
        """Return the figures as a row of the table."""
        ratios = [f"{self.ratios[name]:.2f}x" for name in CHANGES]
        faithful = [f"{self.faithful:,.0f}", f"{self.faithful_ratio:.1f}x", str(self.runs)]
        return [f"`{self.model}`", f"{self.plain:.0f}", *ratios, *faithful]


def measure(model: str, backend: LocalBackend, rounds: int) -> Figures:
    """Run all ways alternately on the first examples, and return the figures."""
    dataset = SAMPLE_SETS[TASKS[backend.models()[model].task].samples]()
    requests = [
        Request(model, one.text, picture=dataset.picture(one))
        for one in dataset.examples[:EXAMPLES]
    ]
    for request in requests:
        _check_same(backend, request)
    found = [_round(backend, requests[number % EXAMPLES]) for number in range(rounds)]
    ratios = {
        name: statistics.median(times[name] / times["plain"] for times in found) for name in CHANGES
    }
    faithful = [_faithful(backend, request) for request in requests]
    return Figures(
        model,
        1000 * statistics.median(times["plain"] for times in found),
        ratios,
        1000 * statistics.median(seconds for seconds, _, _ in faithful),
        statistics.median(seconds / base for seconds, base, _ in faithful),
        faithful[0][2],
    )


def _round(backend: LocalBackend, request: Request) -> dict[str, float]:
    """Return the seconds of each way on one request."""
    with plain():
        times = {"plain": seconds(partial(backend.trace, request))}
    for name, changes in CHANGES.items():
        changed = replace(request, changes=changes)
        times[name] = seconds(partial(backend.trace, changed))
    return times


def _faithful(backend: LocalBackend, request: Request) -> tuple[float, float, int]:
    """Return seconds of one example's faithfulness and of its plain run, and its number of runs."""
    asked: list[Request] = []

    def run(one: Request) -> Trace:
        asked.append(one)
        return backend.trace(one)

    with plain():
        base = seconds(partial(backend.trace, request))
    return seconds(partial(measure_faithfulness, request, PROBE, run)), base, len(asked)


def seconds(work: Callable[[], object]) -> float:
    """Return the time of one call in seconds."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _check_same(backend: LocalBackend, request: Request) -> None:
    """Check that every way gives the plain trace. This also loads the model.

    Raises:
        ValueError: A way gives a different trace.
    """
    with plain():
        base = backend.trace(request)
    for name, changes in CHANGES.items():
        other = backend.trace(replace(request, changes=changes))
        same = base.fields[base.output.field].labels == other.fields[other.output.field].labels
        same &= all(
            np.allclose(one.weights, other.maps[site].weights, atol=1e-5)
            for site, one in base.maps.items()
        )
        if not same:
            raise ValueError(f"{request.model}, {name}: the trace differs from the plain way's.")


def table(figures: Sequence[Figures], rounds: int) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}; torch {torch.__version__}, {torch.get_num_threads()} threads;"
        f" one request at a time, greedy, from the text or picture to its trace; {EXAMPLES}"
        f" examples, medians of {rounds} rounds. Ratios are to the plain way. Faithfulness:"
        f" {PROBE.k} items, {PROBE.draws} draws, median of the examples."
    )
    return markdown(about, COLUMNS, [each.row() for each in figures])


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure plain, unchanged and changed runs.")
    parser.add_argument(
        "--models",
        nargs="+",
        default=list(MODELS),
        help="which translators and captioners to measure",
    )
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each way runs")
    options = parser.parse_args()
    backend = LocalBackend(CHECKPOINTS, "cpu")
    figures = [measure(model, backend, options.rounds) for model in options.models]
    publish("what_if", table(figures, options.rounds), options.write)


if __name__ == "__main__":
    main()
