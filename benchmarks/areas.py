"""Measure the public functions for heaviest areas, coverage and densest areas.

    python -m benchmarks.areas [--rounds 15] [--before FOLDER] [--write]

Weights are random, for one layer. With `--before`, a clone of the repository at f3d8762, the
functions take turns with the fastest functions of that commit: the ribbon's own search, which only
the ribbon could use, and the public query of that time. The benchmark checks that the answers are
equal. A figure is the median of the ratios over the rounds.
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from areaviz.trace.areas import (
    AreaGrid,
    FloatArray,
    coverage_shares,
    find_smallest_areas,
    rank_areas,
    sum_coverage,
)
from areaviz.views.ribbon.ribbon import find_top_queries
from benchmarks.report import command, markdown, processor, publish
from benchmarks.what_if import seconds

K, ROUNDS = 4, 15
CASES: Mapping[str, tuple[int, int, AreaGrid]] = {
    "40 letters, 4 heads": (4, 40, AreaGrid(1, 40, 1, 5)),
    "128 letters, 4 heads": (4, 128, AreaGrid(1, 128, 1, 5)),
    "400 tokens, 8 heads": (8, 400, AreaGrid(1, 400, 1, 5)),
    "1,024 tokens, 8 heads": (8, 1024, AreaGrid(1, 1024, 1, 5)),
    "12 words over 8x8 cells, 8 heads": (8, 12, AreaGrid(8, 8, 3, 3)),
    "14x14 cells over themselves, 8 heads": (8, 196, AreaGrid(14, 14, 4, 4)),
}
COLUMNS = (
    *(
        "one layer, areas up to 5 items, 3x3, 4x4 cells",
        "heaviest areas ms",
        "ribbon's before",
        "query before",
    ),
    *(
        "coverage ms",
        "ribbon's before",
        "queries of items ms",
        "ribbon's before",
        "densest areas ms",
    ),
)
Work = Callable[[], Any]


@dataclass(frozen=True, slots=True)
class Before:
    """The modules of f3d8762: the ribbon's search and the public query."""

    ribbon: ModuleType
    query: ModuleType

    @classmethod
    def of(cls, folder: Path) -> Before:
        """Load the old modules next to the present ones. They import no other old module."""
        return cls(
            *(
                _loaded(folder / "areaviz" / part)
                for part in ("views/ribbon_arrays.py", "trace/query.py")
            )
        )


def row(name: str, rounds: int, before: Before | None) -> list[str]:
    """Return the figures of one case: milliseconds, and their ratio to the fastest old time."""
    heads, queries, grid = CASES[name]
    weights_HQA = random_weights(heads, queries, grid)
    p_HQN = coverage_shares(sum_coverage(weights_HQA, grid))
    areas, covered = (
        partial(rank_areas, weights_HQA, grid, K),
        partial(sum_coverage, weights_HQA, grid),
    )
    attending, densest = (
        partial(find_top_queries, weights_HQA, grid, K),
        partial(find_smallest_areas, p_HQN, grid),
    )
    others: dict[str, Work] = {}
    if before is not None:
        others["query"] = partial(_each_head, before.query._heaviest, weights_HQA, grid, K, 0.5)
        if grid.height == 1:
            others["areas"] = partial(before.ribbon.top_spans, weights_HQA, grid, K)
            others["coverage"] = partial(_each_head, before.ribbon.span_coverage, weights_HQA, grid)
            others["attending"] = partial(before.ribbon.top_queries, weights_HQA, grid, K)
            _check_same(areas().weight, others["areas"]().weight)
            _check_same(covered(), np.stack(others["coverage"]()))
        _check_same(areas().weight, np.stack([weight_QK for _, weight_QK in others["query"]()]))
    area_ms, *area_ratios = compared(areas, [others.get("areas"), others.get("query")], rounds)
    covered_ms, covered_ratio = compared(covered, [others.get("coverage")], rounds)
    attending_ms, attending_ratio = compared(attending, [others.get("attending")], rounds)
    densest_ms = compared(densest, [], rounds)
    return [
        name,
        area_ms,
        *area_ratios,
        covered_ms,
        covered_ratio,
        attending_ms,
        attending_ratio,
        *densest_ms,
    ]


def compared(work: Work, others: Sequence[Work | None], rounds: int) -> list[str]:
    """Return the milliseconds of `work`, and the ratio of its time to that of each of `others`.

    The ratio is a dash where a function of `others` is None.
    """
    work()
    found = [[seconds(one) if one else None for one in (work, *others)] for _ in range(rounds)]
    ratios = []
    for number in range(1, len(others) + 1):
        each = [
            times[0] / other for times in found if times[0] is not None and (other := times[number])
        ]
        ratios.append(f"{statistics.median(each):.2f}x" if each else "–")
    own = statistics.median(times[0] for times in found if times[0] is not None)
    return [f"{1000 * own:.2f}", *ratios]


def random_weights(heads: int, queries: int, grid: AreaGrid) -> FloatArray:
    """Return distributions in which few areas have much weight: float32 [H, Q, A]."""
    weights_HQA = np.random.default_rng(0).exponential(1, (heads, queries, grid.count)) ** 4
    weights_HQA /= weights_HQA.sum(-1, keepdims=True)
    return weights_HQA.astype(np.float32, copy=False)


def _each_head(work: Callable[..., Any], weights_HQA: FloatArray, *more: object) -> list[Any]:
    return [work(weights_QA, *more) for weights_QA in weights_HQA]


def _check_same(found: FloatArray, expected: FloatArray) -> None:
    if not np.array_equal(found, expected):
        raise ValueError("The answers differ from those of the old functions.")


def _loaded(path: Path) -> ModuleType:
    name = f"before_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # Its dataclasses look up their own module there.
    spec.loader.exec_module(module)
    return module


def table(rows: Sequence[Sequence[str]], rounds: int) -> str:
    """Return the figures as Markdown, with the machine and a description."""
    about = (
        f"Measured on {processor()}; NumPy {np.__version__}; {K} areas of every query, and {K}"
        f" queries of every item; medians of {rounds} rounds. Before: ratio to the time of that"
        " function at f3d8762 in the same round."
    )
    return markdown(about, COLUMNS, rows)


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure the functions for heaviest areas, coverage and densest areas.")
    parser.add_argument(
        "--rounds", type=int, default=ROUNDS, help="how often each function is called"
    )
    parser.add_argument(
        "--before", type=Path, help="a clone of the repository at f3d8762, to compare with"
    )
    options = parser.parse_args()
    before = Before.of(options.before) if options.before else None
    publish(
        "areas",
        table([row(name, options.rounds, before) for name in CASES], options.rounds),
        options.write,
    )


if __name__ == "__main__":
    main()
