"""The CPU kernel of area attention: how it is compiled, loaded and called.

The comment at the top of `areas.c` explains the algorithm.
"""

from __future__ import annotations

import ctypes
import hashlib
import math
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional as F

from areaviz.attention.keys import apply_to_last_axis, box_scatter
from areaviz.attention.pooled import AreaResult, AreaSpec, ItemMask
from areaviz.attention.streamed import LOG2_E, MASKED, AreaTerms
from areaviz.trace.areas import AreaGrid

# The CPU kernel as a library, compiled once per machine if there is a C compiler.
#
# The library is in the user's cache folder, under a name that changes with the source, the compiler
# and the processor's vector instructions. Only the user may write to that folder, because a library
# is code.


HOME = Path(__file__).parent
SOURCES = ("areas.c", "sweep.h", "lanes.h")
# -ffast-math is left out because it reorders operations, which would undo the rounding in `power`.
# A product and a sum may become one instruction.
_BASE = ("-O3", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math")
VECTORS = {
    "AVX512": ("-mavx512f", "-mavx512dq", "-mavx512bw", "-mavx512vl", "-mfma"),
    "AVX2": ("-mavx2", "-mfma"),
}
"""Compiler flags by the capability that torch reports. Any other processor gets plain C."""
# Maximum time for the compiler, which takes less even on a busy machine.
COMPILER_TIMEOUT_S = 240


@cache
def get_library() -> ctypes.CDLL | None:
    """Return the kernel for this processor, or None if it cannot be compiled."""
    return load_library(torch.backends.cpu.get_cpu_capability())


def load_library(capability: str) -> ctypes.CDLL | None:
    """Return the kernel for a processor capability: a key of `VECTORS`, or any other text."""
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        return None
    # Without OpenMP (Apple's compiler), the kernel runs in one thread.
    for threads in (("-fopenmp",), ()):
        flags = (*_BASE, *VECTORS.get(capability, ()), *threads)
        try:
            return _compile_once(compiler, flags)
        except (OSError, subprocess.SubprocessError):
            continue
    return None


def _compile_once(compiler: str, flags: tuple[str, ...]) -> ctypes.CDLL:
    """Return the library for these flags, from the cache or compiled into it."""
    folder = _get_cache_folder()
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="areaviz-") as passing:
            path = Path(passing) / "areas.so"
            _compile_library(compiler, flags, path)
            return ctypes.CDLL(str(path))
    path = folder / f"areas-{_hash_source(compiler, flags)}.so"
    if not path.exists():
        # The finished file is moved into place, so that no process loads half of it.
        with tempfile.TemporaryDirectory(dir=folder) as passing:
            _compile_library(compiler, flags, Path(passing) / path.name)
            os.replace(Path(passing) / path.name, path)
    return ctypes.CDLL(str(path))


def _compile_library(compiler: str, flags: tuple[str, ...], path: Path) -> None:
    command = [compiler, *flags, "-shared", str(HOME / SOURCES[0]), "-o", str(path), "-lm"]
    subprocess.run(command, capture_output=True, check=True, timeout=COMPILER_TIMEOUT_S)


def _hash_source(compiler: str, flags: tuple[str, ...]) -> str:
    found = os.stat(compiler)
    parts = [compiler, str(found.st_size), str(found.st_mtime_ns), *flags]
    digest = hashlib.sha256("\n".join(parts).encode())
    for name in SOURCES:
        digest.update((HOME / name).read_bytes())
    return digest.hexdigest()[:16]


def _get_cache_folder() -> Path | None:
    """Return a folder that only this user may write to, or None if there is none."""
    home = os.environ.get("XDG_CACHE_HOME")
    folder = (Path(home) if home else Path.home() / ".cache") / "areaviz" / "kernels"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, RuntimeError):
        return None
    mine = not hasattr(os, "getuid") or found.st_uid == os.getuid()
    return folder if mine and not found.st_mode & 0o022 and os.access(folder, os.W_OK) else None


# Area attention by the C kernel, for float32 and half precision on a CPU.
#
# The inputs of a call are brought into the shapes of `areas.c`.
#
# Shapes: N rows (batch and heads together), Q queries, M items, P scores of a query (`areas.c`), S
# shapes of an area, R areas, E key width, V value width, K rows of a mask.


# Largest height and width of an area. It equals `MOST` in `sweep.h`.
MAX_AREA_SIZE = 32
TYPES = (torch.float32, torch.bfloat16, torch.float16)


def supports_cpu(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> bool:
    """Return whether the kernel supports this call, provided that it could be compiled."""
    if query.device.type != "cpu" or query.dtype not in TYPES or not spec.is_linear:
        return False
    if max(spec.grid.max_height, spec.grid.max_width) > MAX_AREA_SIZE:
        return False
    if spec.top_k is not None or spec.dropout_p > 0:
        return False
    bias = spec.mask.bias
    if spec.plain:
        return bias is None or not (bias.requires_grad and torch.is_grad_enabled())
    # The kernel computes no gradients of weights.
    parts = [query, key, value, bias, spec.size_bias, spec.multipliers]
    if spec.features is not None:
        parts += spec.features.parameters()
    learned = any(part is not None and part.requires_grad for part in parts)
    return not (learned and torch.is_grad_enabled())


class Rows(NamedTuple):
    """Numbers stored without broadcast rows. Each stored row may serve many of the N rows."""

    # [K, ...], float32
    data: Tensor
    # int32 [N]: the index of each row's data in K.
    own: Tensor

    @classmethod
    def from_tensor(cls, data: Tensor, lead: torch.Size, axes: int) -> Rows:
        """Create rows from a tensor whose leading axes broadcast to `lead`.

        The last `axes` axes are kept.
        """
        before = data.shape[:-axes]
        padded = (1,) * (len(lead) - len(before)) + tuple(before)
        index = torch.arange(before.numel(), dtype=torch.int32).view(padded).expand(lead)
        rows = data.detach().reshape(before.numel(), *data.shape[-axes:])
        return cls(rows.float().contiguous(), index.flatten().contiguous())


@dataclass(frozen=True)
class Call:
    """The parameters of a kernel call, without its inputs."""

    grid: AreaGrid
    scale: float
    # True if scores of first items, last items and shapes come after the scores of means.
    edges: bool
    # True if an area's value is the mean of its items instead of the sum.
    average: bool
    causal: bool
    # Biases on the scores: per item [K, M], and per query and item [K, Q, M].
    padding: Rows | None
    bias: Rows | None
    # Biases on the area logits, in units of log 2: [K, Q or 1, R].
    extra: Rows | None
    # Number of items up to the last one that any query of a row may attend to: int32 [N].
    seen: Tensor
    weights: bool


def compute_on_cpu(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """Compute area attention: [..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V].

    The call must be one that `supports_cpu` accepts.
    """
    kernel = get_library()
    if kernel is None:
        raise RuntimeError("The CPU kernel could not be compiled here.")
    lead, lanes = key.shape[:-2], kernel.lanes()
    terms = AreaTerms.from_spec(key, spec)
    keys = key.flatten(0, -3)
    if terms.first is not None and terms.last is not None and terms.shape is not None:
        shapes = terms.shape.to(key.dtype).expand(keys.shape[0], -1, -1)
        keys = torch.cat([keys, terms.first, terms.last, shapes], 1)
    inputs = [
        _pad_to_vector_width(x, lanes) for x in (query.flatten(0, -3), keys, value.flatten(0, -3))
    ]
    bias = None if terms.bias is None else terms.bias.float()
    call = _make_call(spec, query, lead)
    output, *asked = _Areas.apply(*inputs, bias, call)  # type: ignore[no-untyped-call]
    output = output[..., : value.shape[-1]].to(query.dtype).unflatten(0, lead)
    if not spec.need_weights:
        return AreaResult(output)
    weights, coverage = (x.unflatten(0, lead) for x in asked)
    if spec.value_mode == "mean":
        coverage = apply_to_last_axis(box_scatter, weights, spec.grid)
    return AreaResult(output, weights, coverage)


def _pad_to_vector_width(x: Tensor, lanes: int) -> Tensor:
    """Convert to float32 and pad the channels to a multiple of the vector width."""
    missing = -x.shape[-1] % lanes
    return F.pad(x.float(), (0, missing)) if missing else x.float()


def _make_call(spec: AreaSpec, query: Tensor, lead: torch.Size) -> Call:
    padding, bias = _express_mask(spec.mask, query.shape[-2], spec.grid.items, lead)
    seen = torch.full((lead.numel(),), spec.grid.items, dtype=torch.int32)
    if padding is not None:
        place_M = torch.arange(1, spec.grid.items + 1, dtype=torch.int32)
        last_K = ((padding.data > MASKED / 2) * place_M).amax(1)
        seen = last_K[padding.own.long()].int()
    extra = None
    if spec.multipliers is not None:
        logs = spec.multipliers.float().log2()
        extra = Rows.from_tensor(logs.clamp_min(2 * MASKED), lead, axes=2)
    return Call(
        spec.grid,
        spec.scale,
        spec.key_mode == "boundary",
        spec.value_mode == "mean",
        spec.mask.causal,
        padding,
        bias,
        extra,
        seen,
        spec.need_weights,
    )


def _express_mask(
    mask: ItemMask, queries: int, items: int, lead: torch.Size
) -> tuple[Rows | None, Rows | None]:
    """Return a mask as two biases: one that all queries share, and one for the remaining parts."""
    shared: list[Tensor] = []
    others: list[Tensor] = []
    for blocked in mask.blocked:
        added = torch.zeros_like(blocked, dtype=torch.float32).masked_fill_(blocked, MASKED)
        (shared if blocked.shape[-2] == 1 else others).append(added)
    if mask.bias is not None:
        (shared if mask.bias.shape[-2] == 1 else others).append(mask.bias.detach().float())
    padding = bias = None
    if shared:
        total = sum(shared[1:], shared[0])
        padding = Rows.from_tensor(total.expand(*total.shape[:-1], items).squeeze(-2), lead, axes=1)
    if others:
        total = sum(others[1:], others[0])
        bias = Rows.from_tensor(total.expand(*total.shape[:-2], queries, items), lead, axes=2)
    return padding, bias


class _Problem(ctypes.Structure):
    """The kernel's `Problem` structure, field by field."""

    _fields_ = [
        *((name, ctypes.c_void_p) for name in ("query", "key", "value", "padding", "bias")),
        *((name, ctypes.c_void_p) for name in ("padding_row", "bias_row", "seen", "shape")),
        *((name, ctypes.c_void_p) for name in ("extra", "extra_row", "output", "bound")),
        *((name, ctypes.c_void_p) for name in ("log_sum", "weights", "coverage", "grad")),
        *((name, ctypes.c_void_p) for name in ("d_query", "d_key", "d_value", "d_shape")),
        ("scale", ctypes.c_float),
        *((name, ctypes.c_int32) for name in ("rows", "queries", "items", "areas", "width")),
        *((name, ctypes.c_int32) for name in ("tall", "wide", "keys", "values", "extra_queries")),
        *((name, ctypes.c_int32) for name in ("edges", "terms", "average", "causal", "parts")),
        ("threads", ctypes.c_int32),
    ]


def _run_kernel(name: str, call: Call, parts: int, tensors: dict[str, Tensor | None]) -> None:
    """Call a function of the kernel with tensors named after its fields."""
    grid = call.grid
    for kind in ("padding", "bias", "extra"):
        rows: Rows | None = getattr(call, kind)
        if rows is not None:
            tensors[kind], tensors[f"{kind}_row"] = rows
    tensors["seen"] = call.seen
    problem = _Problem(
        **{name: x.data_ptr() for name, x in tensors.items() if x is not None},
        scale=call.scale,
        rows=len(call.seen),
        items=grid.items,
        areas=grid.count,
        width=grid.width,
        tall=grid.max_height,
        wide=grid.max_width,
        extra_queries=1 if call.extra is None else call.extra.data.shape[1],
        edges=call.edges,
        terms=call.edges or tensors["shape"] is not None or call.extra is not None,
        average=call.average,
        causal=call.causal,
        parts=parts,
        threads=torch.get_num_threads(),
    )
    query, value = tensors["query"], tensors["value"]
    assert query is not None and value is not None
    problem.queries, problem.keys, problem.values = *query.shape[1:], value.shape[2]
    if getattr(get_library(), name)(ctypes.byref(problem)):
        raise MemoryError("The attention kernel could not get its memory.")


class _Areas(torch.autograd.Function):
    """[N, Q, E], [N, M or P, E], [N, M, V] and maybe [N, S] -> [N, Q, V], weights, coverage."""

    @staticmethod
    def forward(
        ctx: Any, query: Tensor, key: Tensor, value: Tensor, shape: Tensor | None, call: Call
    ) -> tuple[Tensor, ...]:
        inputs = [x.contiguous() for x in (query, key, value)]
        logs = None if shape is None else shape * LOG2_E
        output = inputs[0].new_empty(*query.shape[:2], value.shape[2])
        bound, log_sum = output.new_empty(2, *query.shape[:2])
        asked = []
        if call.weights:
            asked = [
                output.new_empty(*query.shape[:2], n) for n in (call.grid.count, call.grid.items)
            ]
        tensors: dict[str, Tensor | None] = dict(
            zip(("query", "key", "value"), inputs, strict=True)
        )
        tensors |= {"shape": logs, "output": output, "bound": bound, "log_sum": log_sum}
        tensors |= dict(zip(("weights", "coverage"), asked, strict=False))
        _run_kernel("areas_forward", call, 1, tensors)
        ctx.call = call
        ctx.save_for_backward(*inputs, logs, output, bound, log_sum)
        return output, *asked

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query, key, value, logs, output, bound, log_sum = ctx.saved_tensors
        call: Call = ctx.call
        # If there are fewer rows than threads, each row is computed in parts, whose gradients are
        # added.
        parts = math.ceil(torch.get_num_threads() / len(query))
        d_query = torch.empty_like(query)
        d_key, d_value = (x.new_zeros(len(x), parts, *x.shape[1:]) for x in (key, value))
        d_shape = None if logs is None else logs.new_zeros(len(logs), parts, logs.shape[1])
        tensors = {"query": query, "key": key, "value": value, "shape": logs, "output": output}
        tensors |= {"bound": bound, "log_sum": log_sum, "grad": grads[0].contiguous()}
        tensors |= {"d_query": d_query, "d_key": d_key, "d_value": d_value, "d_shape": d_shape}
        _run_kernel("areas_backward", call, parts, tensors)
        d_key, d_value = (x[:, 0] if parts == 1 else x.sum(1) for x in (d_key, d_value))
        if d_shape is not None:
            d_shape = d_shape.sum(1)
        return d_query.mul_(call.scale), d_key.mul_(call.scale), d_value, d_shape, None
