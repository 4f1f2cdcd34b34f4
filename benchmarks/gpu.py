"""Measure area attention on a GPU, in one call of at most five minutes.

    python -m areaviz bench gpu [-- --device cpu --quick]

Every implementation is compared with regular attention (`scaled_dot_product_attention`, SDPA). A
training step and a step of the decoder are measured as well. Calls that are compared run
alternately. On a GPU the tables are written into README.md. `--device cpu` runs the benchmark on
the processor, and `--quick` uses small inputs. With these two, the tables are only printed.
"""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from areaviz.attention.multihead import AreaMemory, CachedMemory
from areaviz.models.network import BaseDecoderLayer
from areaviz.models.translation import Transformer, TransformerConfig, find_padding
from benchmarks.attention import BASE, Attention, Case, asked, boundary, call, output, regular
from benchmarks.gpu_clock import Clock, Run, milliseconds, ratio
from benchmarks.report import markdown, processor, publish
from benchmarks.training import FORMS, LETTERS, REGULAR, Step

CASES = (
    Case("characters, spans of 5: B64 H4 L256 d32", 64, 4, 256, 32, (1, 256), (1, 5)),
    Case("long text, spans of 5: B4 H8 L2048 d64", 4, 8, 2048, 64, (1, 2048), (1, 5)),
    Case("14x14 grid, areas 4x4: B32 H8 d64", 32, 8, 196, 64, (14, 14), (4, 4)),
)
QUICK = (
    Case("spans of 3: B2 H2 L16 d16", 2, 2, 16, 16, (1, 16), (1, 3)),
    Case("4x4 grid, areas 2x2: B2 H2 d16", 2, 2, 16, 16, (4, 4), (2, 2)),
)
DTYPES = {"bfloat16": torch.bfloat16, "float32": torch.float32}
IMPLS = ("pooled", "streamed", "fused")
KEYS = (REGULAR, "mean (Eq. 3, 4)", "boundary")
# No measurement starts after this time. A compilation takes a minute, and the benchmark must end
# within five minutes.
SECONDS = 210
# Number of characters that are written before a step of the decoder is measured.
WRITTEN = 32


def attention_table(clock: Clock, cases: tuple[Case, ...]) -> str:
    """Return the table of time and memory of every implementation."""
    columns = [BASE, *IMPLS, *(f"boundary {impl}" for impl in IMPLS)]
    rows = []
    for case in cases:
        for name, dtype in DTYPES.items():
            for backward in (False, True):
                passed = f"{name}, forward{' + backward' if backward else ''}"
                for what, cells in _rows(clock, case, dtype, backward, columns):
                    rows.append([case.title, f"{passed}, {what}", *cells])
    about = (
        f"Time: ratio to {BASE} (its milliseconds in the first column). Memory: megabytes a call"
        " adds. `fused`: a compiled kernel. –: not supported, or not measured within the time."
    )
    return markdown(about, ["case", "", *columns], rows)


def _rows(
    clock: Clock, case: Case, dtype: torch.dtype, backward: bool, columns: list[str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a case: the times with each mask, and the memory."""
    for mask in ("plain", "causal", "padded") if case.grid[0] == 1 else ("plain", "padded"):
        runs = contestants(case, mask, dtype, backward, clock.device)
        times = clock.times(runs)
        cells = [milliseconds(times.get(BASE))]
        for column in columns[1:]:
            cells.append(ratio(times.get(column), times.get(BASE)))
        yield mask, cells
        if backward:
            yield f"{mask}, MB", [clock.megabytes(runs[column]) for column in columns]


def contestants(
    case: Case, mask: str, dtype: torch.dtype, backward: bool, device: torch.device
) -> dict[str, Run]:
    """Return a call of every implementation, by name."""
    inputs = case.inputs(device, dtype)
    spec, padding = asked(case, mask, device, dtype)
    found: dict[str, Attention] = {BASE: partial(regular, padding, mask == "causal")}
    learned = boundary(spec, case, device)
    for impl in IMPLS:
        found[impl] = partial(output, spec, impl)
        found[f"boundary {impl}"] = partial(output, learned, impl)
    return {name: partial(call, one, inputs, backward) for name, one in found.items()}


def training_table(clock: Clock, quick: bool) -> str:
    """Return the table of a training step of the character translator with each form of keys."""
    rows, recipe = [], replace(LETTERS, sentences=2) if quick else LETTERS
    for name, dtype in DTYPES.items():
        steps: dict[str, Run] = {}
        for keys in KEYS:
            step = Step(FORMS[keys], recipe, clock.device)
            steps[keys] = partial(_cast, clock.device, dtype, step.run)
        times = clock.times(steps)
        for keys in KEYS:
            found = times.get(keys)
            cells = [milliseconds(found), ratio(found, times.get(REGULAR))]
            rows.append([f"{name}, {keys}", *cells])
    about = f"A training step of the translator of letters, {recipe.sentences} sentences."
    return markdown(about, ["keys", "a step", "ratio to regular"], rows)


def _cast(device: torch.device, dtype: torch.dtype, run: Run) -> None:
    """Run with autocast to half precision if `dtype` is not float32."""
    with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
        run()


class Decoding:
    """The layers of a decoder that has written some characters, and its next step."""

    def __init__(self, keys: str, device: torch.device, written: int) -> None:
        torch.manual_seed(0)
        config = TransformerConfig(LETTERS.vocabulary, dropout=0.0, **FORMS[keys])
        network = Transformer(config).to(device).eval()
        source = torch.randint(4, LETTERS.vocabulary, (8, LETTERS.source)).to(device)
        padding = find_padding(source)
        encoded, _ = network.encode(source, padding)
        self.layers: list[tuple[BaseDecoderLayer, AreaMemory | None, CachedMemory]] = []
        for layer in network.layers:
            memory = layer.cross_attention.build_memory(encoded, padding)
            history: AreaMemory | None = None
            for x in torch.randn(written, 8, 1, config.width).to(device):
                _, history = layer.step(x, history, memory)
            self.layers.append((layer, history, memory))
        self.x: Tensor = torch.randn(8, 1, config.width).to(device)

    def step(self) -> None:
        """Compute one step."""
        x = self.x
        for layer, history, memory in self.layers:
            x, _ = layer.step(x, history, memory)

    def graph(self) -> Run:
        """Record the step as a CUDA graph, which the host starts in one call, and return the call.

        Raises:
            RuntimeError: torch's error if a step makes the host wait.
        """
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self.step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.step()
        return graph.replay


@torch.no_grad()
def decoding_table(clock: Clock) -> str:
    """Return the table of a step of the decoder, call by call and as a CUDA graph."""
    steps: dict[str, Run] = {}
    for keys in KEYS:
        decoding = Decoding(keys, clock.device, WRITTEN)
        steps[keys] = decoding.step
        if clock.device.type == "cuda":
            try:
                steps[f"{keys}, graph"] = decoding.graph()
            except RuntimeError as error:
                print(f"No CUDA graph of {keys}: {error}")
    times = clock.times(steps)
    rows = []
    for keys in KEYS:
        plain, graph = times.get(keys), times.get(f"{keys}, graph")
        rows.append([keys, milliseconds(plain), milliseconds(graph), ratio(graph, plain)])
    about = f"A step of the decoder after {WRITTEN} letters of 8 sentences, float32, all layers."
    return markdown(about, ["keys", "a step", "as a CUDA graph", "ratio"], rows)


def tables(device: torch.device, quick: bool) -> str:
    """Return all tables as Markdown, with the name of the machine."""
    clock = Clock(device, 1 if quick else 7, 1 if quick else 10, time.monotonic() + SECONDS)
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else processor()
    parts = [
        f"Measured on {name}; torch {torch.__version__}, medians of {clock.rounds} rounds.",
        training_table(clock, quick),
        decoding_table(clock),
        attention_table(clock, QUICK if quick else CASES),
    ]
    return "\n\n".join(parts)


def main() -> None:
    """Measure and print the tables, and write them to README.md on a GPU."""
    parser = ArgumentParser(description="Measure area attention on a GPU.")
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--quick", action="store_true", help="small inputs, one round")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.exit(
            1,
            "torch finds no GPU with CUDA on this machine, so there is nothing to measure. To try"
            " the command without one: python -m areaviz bench gpu -- --device cpu --quick\n",
        )
    found = tables(torch.device(options.device), options.quick)
    publish("gpu", found, write=options.device == "cuda" and not options.quick)


if __name__ == "__main__":
    main()
