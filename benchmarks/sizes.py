"""Measure external models at real sizes: time and memory of a trace, and its page.

    python -m benchmarks.sizes [--cases BERT-base ...] [--write]

Weights are random and made from configurations, so nothing is downloaded. Each figure comes from
its own process: one runs only the model (the plain pass), one calls `areaviz.attend` and
`areaviz.export`. Memory is the peak of a process. "Above" is the second peak minus the first, as a
share of the allowed memory, which is three tenths of the plain pass plus the requested maps.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.report import command, markdown, processor, publish
from tests.adapters.torchvision_ops import make_importable

MEBI = 2**20
THREADS = 1
COLUMNS = (
    "model, areas of up to 3 (3x3)",
    "plain pass s",
    "trace s",
    "plain pass MiB",
    "trace MiB",
    "maps MiB",
    "above",
    "a layer s",
    "page MB",
)


@dataclass(frozen=True, slots=True)
class Case:
    """A model and its input."""

    # Function that returns the model and the keyword arguments of its call.
    make: Callable[[], tuple[Any, dict[str, Any]]]
    # Requested layers. None for all.
    layers: tuple[int, ...] | None = None


def _tokens(count: int, vocabulary: int) -> dict[str, Any]:
    import torch

    generator = torch.Generator().manual_seed(0)
    return {"input_ids": torch.randint(5, vocabulary, (1, count), generator=generator)}


def _vit() -> tuple[Any, dict[str, Any]]:
    import torch
    from transformers import ViTConfig, ViTForImageClassification

    return ViTForImageClassification(ViTConfig()), {"pixel_values": torch.randn(1, 3, 224, 224)}


def _bert() -> tuple[Any, dict[str, Any]]:
    from transformers import BertConfig, BertForMaskedLM

    return BertForMaskedLM(BertConfig()), _tokens(512, 30_000)


def _gpt2(layers: int = 12) -> tuple[Any, dict[str, Any]]:
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(GPT2Config(n_layer=layers)), _tokens(1024, 50_000)


def _wide() -> tuple[Any, dict[str, Any]]:
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        hidden_size=512,
        intermediate_size=1376,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    )
    return LlamaForCausalLM(config), _tokens(1000, 32_000)


CASES: Mapping[str, Case] = {
    "ViT-B/16, 224 pixels": Case(_vit),
    "BERT-base, 512 tokens": Case(_bert),
    "GPT-2, 1,024 tokens": Case(_gpt2),
    # Its weights in half precision exceed the memory limit, so they are read layer by layer.
    "GPT-2 of 24 layers, 1,024 tokens": Case(partial(_gpt2, 24)),
    "32 layers of 32 heads, 1,000 tokens, 4 layers asked for": Case(_wide, (0, 10, 20, 31)),
}


def plain(case: Case) -> dict[str, float]:
    """Measure one call of the model without areaviz."""
    import torch

    model, given = case.make()
    model.eval()
    start = time.perf_counter()
    with torch.no_grad():
        model(**given)
    return {"seconds": time.perf_counter() - start, "memory": _most_memory()}


def traced(case: Case) -> dict[str, float]:
    """Measure the trace by the public functions, one of its layers, and the page of one layer."""
    import areaviz
    from areaviz.trace.record import count_held_bytes

    model, given = case.make()
    [inputs] = given.values()
    start = time.perf_counter()
    trace = areaviz.attend(model, inputs, layers=case.layers)
    seconds, memory = time.perf_counter() - start, _most_memory()
    # Bytes in memory. Derived maps take none before one of their layers is read.
    made = [map_ for map_ in trace.maps.values() if "as areas" in map_.site]
    start = time.perf_counter()
    made[0].weights[0]
    a_layer = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        options = areaviz.PageOptions(layers=(0,), limit=64 * MEBI)
        areaviz.export(trace, page, options=options)
        size = page.stat().st_size
    found = {
        "seconds": seconds,
        "memory": memory,
        "maps": count_held_bytes(trace.maps.values()) / MEBI,
    }
    return found | {"layer": a_layer, "page": size / 1e6}


def _most_memory() -> float:
    """Return the peak memory of this process in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


MEASURES: Mapping[str, Callable[[Case], dict[str, float]]] = {"plain": plain, "trace": traced}


def measure(name: str) -> list[str]:
    """Return a row of the table, measured in two processes."""
    one, other = (_apart(name, measure) for measure in MEASURES)
    allowed = 0.3 * one["memory"] + other["maps"]
    above = (other["memory"] - one["memory"]) / allowed
    seconds = f"{one['seconds']:.1f}", f"{other['seconds']:.1f}"
    sizes = [f"{size:,.0f}" for size in (one["memory"], other["memory"], other["maps"])]
    return [name, *seconds, *sizes, f"{above:.2f}", f"{other['layer']:.2f}", f"{other['page']:.1f}"]


def _apart(name: str, measure: str) -> dict[str, float]:
    """Return one measure from its own process, which prints it last."""
    asked = [sys.executable, "-m", "benchmarks.sizes", "--alone", measure, "--cases", name]
    threads = {"OMP_NUM_THREADS": str(THREADS), "MALLOC_ARENA_MAX": "2"}
    done = subprocess.run(
        asked, stdout=subprocess.PIPE, text=True, check=True, env={**os.environ, **threads}
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(rows: Sequence[Sequence[str]]) -> str:
    """Return the rows as Markdown, with the machine and a description."""
    import torch

    about = (
        f"Measured on {processor()}; torch {torch.__version__}, {THREADS} thread, float32, random"
        " weights; one run, each row in two processes. Maps: what the trace holds. Above: memory"
        " beyond the plain pass, as a share of .3 of that and the maps; 1 or less is aimed at. A"
        " layer: the areas of one layer, made when it is looked at. Page: one layer of every site,"
        " exported."
    )
    return markdown(about, COLUMNS, rows)


def main() -> None:
    """Measure and print, and write if requested."""
    parser = command("Measure traces of external models at real sizes.")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--alone", choices=list(MEASURES), help="measure in this process, as JSON")
    options = parser.parse_args()
    if options.alone:
        make_importable()
        print(json.dumps(MEASURES[options.alone](CASES[options.cases[0]])))
        return
    rows = []
    for name in options.cases:
        rows.append(measure(name))
        print(" | ".join(rows[-1]), flush=True)
    publish("sizes", report(rows), options.write)


if __name__ == "__main__":
    main()
