"""Measure area attention on a CPU in time and memory, compared with regular attention.

    python -m benchmarks.attention [--cases char image8 ...] [--write]

On a GPU, use `python -m areaviz bench gpu`. Time: all implementations take turns on the same
inputs, round after round in one process. A figure is the median over rounds of the ratio to
`scaled_dot_product_attention` (SDPA) in that round. Memory: growth of the process's peak during one
call, in a fresh process. The PyPI package `area-attention` 0.1.0 takes part if it is installed
(`pip install --no-deps area-attention==0.1.0`), but only without masks.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention import area as kernels
from areaviz.attention.area import area_attention
from areaviz.attention.keys import BoundaryKeys
from areaviz.attention.pooled import AreaSpec, combine_masks
from areaviz.trace.areas import AreaGrid
from benchmarks.report import command, processor, publish
from benchmarks.summed_table import table as summed_table

PACKAGE = "area_attention"
BASE = "SDPA"
ROUNDS = 7
CPU = torch.device("cpu")


@dataclass(frozen=True)
class Case:
    """Inputs of one size: B batch, H heads, L items and queries, D width of a head."""

    title: str
    batch: int
    heads: int
    items: int
    width: int
    grid: tuple[int, int]
    area: tuple[int, int]

    def inputs(
        self, device: torch.device = CPU, dtype: torch.dtype = torch.float32
    ) -> list[Tensor]:
        """Return query, key and value, each [B, H, L, D]."""
        generator = torch.Generator().manual_seed(0)
        shape = (self.batch, self.heads, self.items, self.width)
        made = []
        for _ in range(3):
            made.append(torch.randn(shape, generator=generator).to(device, dtype).requires_grad_())
        return made


CASES = {
    "char": Case("characters, spans of 5: B8 H4 L256 d32", 8, 4, 256, 32, (1, 256), (1, 5)),
    "long": Case("long text, spans of 5: B1 H8 L1024 d64", 1, 8, 1024, 64, (1, 1024), (1, 5)),
    "image8": Case("8x8 grid, areas 3x3: B32 H8 d64", 32, 8, 64, 64, (8, 8), (3, 3)),
    "image14": Case("14x14 grid, areas 4x4: B16 H8 d64", 16, 8, 196, 64, (14, 14), (4, 4)),
}
MASKS = ("plain", "causal", "padded")
Attention = Callable[[Tensor, Tensor, Tensor], Tensor]


def contestants(case: Case, mask: str) -> dict[str, Attention]:
    """Return every implementation that supports the case, by name."""
    spec, padding = asked(case, mask)
    found: dict[str, Attention] = {BASE: partial(regular, padding, mask == "causal")}
    found["table"] = partial(_by_table, spec)
    names = ["pooled", "streamed", *(["fused"] if kernels.has_cpu_kernel() else [])]
    found |= {name: partial(output, spec, name) for name in names}
    # Boundary keys, by the kernel and in torch, and mean keys with a size bias.
    learned = boundary(spec, case)
    bias = torch.linspace(0, 1, case.area[0] * case.area[1])
    found["boundary"] = partial(output, learned, "auto")
    found["boundary streamed"] = partial(output, learned, "streamed")
    found["size bias"] = partial(output, replace(spec, size_bias=bias), "auto")
    if mask == "plain" and find_spec(PACKAGE):
        found["package"] = _package(case)
    return found


def asked(
    case: Case, mask: str, device: torch.device = CPU, dtype: torch.dtype = torch.float32
) -> tuple[AreaSpec, Tensor | None]:
    """Return the arguments of area attention with mean keys, and its padding [B, L] or None."""
    padding = None
    if mask == "padded":
        kept = torch.linspace(0.5, 1.0, case.batch, device=device)[:, None] * case.items
        padding = torch.arange(case.items, device=device) >= kept
    query, key, _ = case.inputs(device, dtype)
    spec = AreaSpec(
        AreaGrid(*case.grid, *case.area),
        case.width**-0.5,
        combine_masks(query, key, None, padding, mask == "causal"),
    )
    return spec, padding


def boundary(spec: AreaSpec, case: Case, device: torch.device = CPU) -> AreaSpec:
    """Return the arguments of area attention with boundary keys."""
    torch.manual_seed(0)
    keys = BoundaryKeys(case.width, case.area).to(device).requires_grad_(False)
    return replace(spec, key_mode="boundary", features=keys)


def output(spec: AreaSpec, impl: str, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Compute area attention."""
    return area_attention(query, key, value, spec, impl).output


def _by_table(spec: AreaSpec, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    return summed_table(query, key, value, spec).output


def regular(
    padding: Tensor | None, causal: bool, query: Tensor, key: Tensor, value: Tensor
) -> Tensor:
    """Compute attention to single items with torch."""
    keep = None if padding is None else ~padding[:, None, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=keep, is_causal=causal)


def _package(case: Case) -> Attention:
    from area_attention import AreaAttention

    module = AreaAttention(
        case.width,
        max_area_height=case.area[0],
        max_area_width=case.area[1],
        memory_height=case.grid[0],
        memory_width=case.grid[1],
    )
    return lambda query, key, value: module(
        *(x.flatten(0, 1) for x in (query, key, value))
    ).view_as(query)


def call(attention: Attention, inputs: list[Tensor], backward: bool) -> None:
    """Make one call, and its backward pass if `backward` is set."""
    if not backward:
        with torch.no_grad():
            attention(*inputs)
        return
    torch.autograd.grad(attention(*inputs).sum(), inputs)


def seconds(attention: Attention, inputs: list[Tensor], backward: bool) -> float:
    """Return the time of one call in seconds."""
    start = time.perf_counter()
    call(attention, inputs, backward)
    return time.perf_counter() - start


def ratios(case: Case, mask: str, backward: bool) -> tuple[float, dict[str, float]]:
    """Return the milliseconds of SDPA, and the median ratio of each implementation to it."""
    inputs, found = case.inputs(), contestants(case, mask)
    for attention in found.values():
        call(attention, inputs, backward)
    rounds = [
        {name: seconds(run, inputs, backward) for name, run in found.items()} for _ in range(ROUNDS)
    ]
    base = statistics.median(times[BASE] for times in rounds) * 1e3
    return base, {
        name: statistics.median(times[name] / times[BASE] for times in rounds) for name in found
    }


def peak(case: Case, name: str, backward: bool) -> float:
    """Return the growth of this process's memory peak in one call, in megabytes."""
    inputs = case.inputs()
    attention = contestants(case, "plain")[name]
    tiny = (
        Case("", 1, 1, 4, 4, (1, 4), (1, 2))
        if case.grid[0] == 1
        else Case("", 1, 1, 4, 4, (2, 2), (2, 2))
    )
    if (
        name != "package"
    ):  # Warm up, because a first call also allocates memory that later calls reuse.
        call(contestants(tiny, "plain")[name], tiny.inputs(), backward)
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")
    before = _resident("VmRSS")
    call(attention, inputs, backward)
    return (_resident("VmHWM") - before) / 1024


def _resident(field: str) -> int:
    """Return a field of /proc/self/status, in KiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


def peak_elsewhere(case: str, name: str, backward: bool) -> float:
    """Return `peak`, measured in a fresh process."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.attention",
        "--peak",
        case,
        name,
        str(int(backward)),
    ]
    return float(
        json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    )


def table(names: list[str]) -> str:
    """Return the figures as Markdown, with the name of the machine."""
    lines = [
        (
            f"Measured on {processor()}; torch {torch.__version__},"
            f" {torch.get_num_threads()} threads, float32. Time: ratio to {BASE} (its"
            f" milliseconds in the first column), median of {ROUNDS} rounds. Memory: megabytes"
            " a call adds."
        ),
        "",
    ]
    columns = [BASE, "fused", "boundary", "size bias", "streamed", "boundary streamed", "pooled"]
    columns += ["table", "package"]
    lines += [f"| case | | {' | '.join(columns)} |", f"|---|---|{'--:|' * len(columns)}"]
    for name in names:
        case = CASES[name]
        for backward in (False, True):
            passed = "forward + backward" if backward else "forward"
            for mask in MASKS:
                base, found = ratios(case, mask, backward)
                cells = [
                    f"{base:.1f} ms",
                    *(f"{found[c]:.1f}x" if c in found else "-" for c in columns[1:]),
                ]
                lines.append(f"| {case.title} | {passed}, {mask} | {' | '.join(cells)} |")
            able = contestants(case, "plain").keys()
            cells = [
                f"{peak_elsewhere(name, c, backward):.0f}" if c in able else "-" for c in columns
            ]
            lines.append(f"| {case.title} | {passed}, MB | {' | '.join(cells)} |")
            print(*lines[-4:], sep="\n", flush=True)
    return "\n".join(lines)


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Compare area attention with regular attention.")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument(
        "--peak", nargs=3, metavar=("CASE", "NAME", "BACKWARD"), help=argparse.SUPPRESS
    )
    options = parser.parse_args()
    if options.peak:
        case, name, backward = options.peak
        print(json.dumps(peak(CASES[case], name, bool(int(backward)))))
        return
    if not find_spec(PACKAGE):
        print("To include the PyPI package: pip install --no-deps area-attention==0.1.0")
    publish("attention", table(options.cases), options.write)


if __name__ == "__main__":
    main()
