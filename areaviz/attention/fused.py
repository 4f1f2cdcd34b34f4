"""Area attention by a small C kernel, for training on a CPU where a C compiler exists.

The rest of the package needs no compiler; this is the same mathematics as the streamed form (item
logits, running means, coverage) with a row of logits in the first-level cache. Shapes: N batch
times heads, Q queries, M memory items, S shapes of an area, D width of a head.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from areaviz.attention.blocked import AreaTerms
from areaviz.attention.spec import AreaResult, AreaSpec
from areaviz.trace.areas import AreaGrid

_SOURCE = Path(__file__).with_name("fused.c")
_BASE = ("-O3", "-ffast-math", "-fPIC")
# The fastest first; what a compiler or processor does not know is left out.
_FLAGS = (
    (*_BASE, "-fopenmp", "-march=native", "-mprefer-vector-width=512"),
    (*_BASE, "-fopenmp"),
    _BASE,
)


def available() -> bool:
    """Whether the kernel can be compiled here."""
    try:
        _library()
    except RuntimeError:
        return False
    return True


@cache
def _library() -> ctypes.CDLL:
    """The kernel, compiled on first use; RuntimeError where that is not possible."""
    compiler = shutil.which(os.environ.get("CC", "gcc")) or shutil.which("cc")
    if compiler is None:
        raise RuntimeError(
            'impl="fused" needs a C compiler (gcc or cc) and none was found; use impl="auto".'
        )
    with tempfile.TemporaryDirectory(prefix="areaviz-") as folder:
        for flags in _FLAGS:
            library = _compiled(compiler, flags, Path(folder))
            if library is not None:
                return ctypes.CDLL(str(library))
    raise RuntimeError(f'impl="fused" could not be compiled by {compiler}; use impl="auto".')


def _compiled(compiler: str, flags: tuple[str, ...], folder: Path) -> Path | None:
    """The shared library, or None where the compiler does not know the flags."""
    part, library = folder / "fused.o", folder / "fused.so"
    # Linked in a step of its own: a library linked with -ffast-math would make the loading thread,
    # and so all of Python, treat the smallest floats as zero.
    threads = [flag for flag in flags if flag == "-fopenmp"]
    for step in (
        [compiler, *flags, "-c", str(_SOURCE), "-o", str(part)],
        [compiler, "-shared", *threads, str(part), "-o", str(library), "-lm"],
    ):
        if subprocess.run(step, capture_output=True, check=False).returncode:
            return None
    return library


def _call(name: str, tensors: list[Tensor], grid: AreaGrid, *more: int) -> None:
    """Call a function of the kernel; the second tensor has a number for each row."""
    pointers = [ctypes.c_void_p(x.data_ptr()) for x in tensors]
    rows = ctypes.c_int64(tensors[1].numel())
    sizes = (grid.items, grid.width, grid.max_height, grid.max_width)
    getattr(_library(), name)(*pointers, rows, *sizes, *more, torch.get_num_threads())


def _slopes(
    name: str, grad: Tensor, value_NMD: Tensor, saved: list[Tensor], grid: AreaGrid, *more: int
) -> tuple[Tensor, Tensor]:
    """Gradients of the scores and the values; saved: scores, lengths, log sums, coverage, output.

    Values are transposed by a copy: batched products of small matrices are several times faster
    then.
    """
    scores_NQP, lengths_NQ, log_sum_NQ, coverage_NQM, out_NQD = saved
    grad_NQD = grad.contiguous()
    grad_coverage_NQM = torch.bmm(grad_NQD, value_NMD.transpose(1, 2).contiguous())
    delta_NQ = (grad_NQD * out_NQD).sum(-1)
    grad_scores_NQP = torch.empty_like(scores_NQP)
    inputs = [scores_NQP, lengths_NQ, log_sum_NQ, grad_coverage_NQM, delta_NQ, grad_scores_NQP]
    _call(name, inputs, grid, *more)
    return grad_scores_NQP, torch.bmm(coverage_NQM.transpose(1, 2), grad_NQD)


class _Fused(torch.autograd.Function):
    """Attention whose logits are means of item logits; keys are transposed by a copy, too."""

    @staticmethod
    def forward(
        ctx: Any,
        query_NQD: Tensor,
        key_NMD: Tensor,
        value_NMD: Tensor,
        lengths_NQ: Tensor,
        grid: AreaGrid,
        scale: float,
    ) -> Tensor:
        logits_NQM = torch.bmm(query_NQD * scale, key_NMD.transpose(1, 2).contiguous())
        coverage_NQM = torch.empty_like(logits_NQM)
        log_sum_NQ = logits_NQM.new_empty(logits_NQM.shape[:-1])
        _call("areas_forward", [logits_NQM, lengths_NQ, coverage_NQM, log_sum_NQ], grid)
        out_NQD = torch.bmm(coverage_NQM, value_NMD)
        ctx.grid, ctx.scale = grid, scale
        saved = (logits_NQM, lengths_NQ, log_sum_NQ, coverage_NQM, out_NQD)
        ctx.save_for_backward(query_NQD, key_NMD, value_NMD, *saved)
        return out_NQD

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        query_NQD, key_NMD, value_NMD, *saved = ctx.saved_tensors
        slope_NQM, grad_value = _slopes("areas_backward", grads[0], value_NMD, saved, ctx.grid)
        grad_query = torch.bmm(slope_NQM, key_NMD).mul_(ctx.scale)
        grad_key = torch.bmm(slope_NQM.transpose(1, 2), query_NQD).mul_(ctx.scale)
        return grad_query, grad_key, grad_value, None, None, None


class _FusedTerms(torch.autograd.Function):
    """Attention whose areas have terms of their own.

    P = M scores of means, M of first and M of last items, S of shapes, side by side; without edges
    M of means and S of shapes.
    """

    @staticmethod
    def forward(
        ctx: Any,
        scores_NQP: Tensor,
        value_NMD: Tensor,
        lengths_NQ: Tensor,
        grid: AreaGrid,
        edges: bool,
    ) -> Tensor:
        scores_NQP = scores_NQP.contiguous()
        coverage_NQM = scores_NQP.new_empty(*scores_NQP.shape[:-1], grid.items)
        log_sum_NQ = scores_NQP.new_empty(scores_NQP.shape[:-1])
        _call("terms_forward", [scores_NQP, lengths_NQ, coverage_NQM, log_sum_NQ], grid, int(edges))
        out_NQD = torch.bmm(coverage_NQM, value_NMD)
        ctx.grid, ctx.edges = grid, edges
        ctx.save_for_backward(value_NMD, scores_NQP, lengths_NQ, log_sum_NQ, coverage_NQM, out_NQD)
        return out_NQD

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        value_NMD, *saved = ctx.saved_tensors
        slopes = _slopes("terms_backward", grads[0], value_NMD, saved, ctx.grid, int(ctx.edges))
        return (*slopes, None, None, None)


def _with_terms(
    query: Tensor, key: Tensor, value: Tensor, lengths_NQ: Tensor, spec: AreaSpec
) -> Tensor:
    """One product of the query with all keys of items and shapes, then the kernel: [N, Q, D]."""
    terms = AreaTerms.of(key, spec)
    query_NQD, key_NMD = query.flatten(0, -3), key.flatten(0, -3)
    keys = [key_NMD]
    if terms.first is not None and terms.last is not None and terms.shape is not None:
        keys += [terms.first, terms.last, terms.shape.expand(key_NMD.shape[0], -1, -1)]
    scores_NQP = torch.bmm(query_NQD * spec.scale, torch.cat(keys, 1).transpose(1, 2).contiguous())
    if terms.bias is not None:
        bias_NQS = terms.bias[:, None].expand(-1, query_NQD.shape[1], -1)
        if terms.shape is None:
            scores_NQP = torch.cat([scores_NQP, bias_NQS], -1)
        else:
            scores_NQP = scores_NQP + F.pad(bias_NQS, (3 * spec.grid.items, 0))
    out: Tensor = _FusedTerms.apply(  # type: ignore[no-untyped-call]
        scores_NQP, value.flatten(0, -3).contiguous(), lengths_NQ, spec.grid, len(keys) > 1
    )
    return out


def fused(query: Tensor, key: Tensor, value: Tensor, spec: AreaSpec) -> AreaResult:
    """[..., Q, E], [..., M, E], [..., M, V] -> [..., Q, V]: every linear mode but mean values.

    Masks may hide items at the end of a memory of one row: padding and causality.

    Raises:
        ValueError: for another mask or mode, a device or type the kernel was not written for.
        RuntimeError: when there is no C compiler.
    """
    _check(query, spec)
    lengths = _lengths(spec, query, key.shape[-2])
    out_NQD: Tensor
    if spec.means_alone:
        rows = [x.flatten(0, -3).contiguous() for x in (query, key, value)]
        last = (lengths, spec.grid, spec.scale)
        out_NQD = _Fused.apply(*rows, *last)  # type: ignore[no-untyped-call]
    else:
        out_NQD = _with_terms(query, key, value, lengths, spec)
    return AreaResult(out_NQD.unflatten(0, query.shape[:-2]))


def _check(query: Tensor, spec: AreaSpec) -> None:
    where = query.device.type == "cpu" and query.dtype == torch.float32
    if not (where and spec.value_mode == "sum" and spec.plain and spec.mask.bias is None):
        raise ValueError(
            'impl="fused" computes mean or boundary keys and sum values, in float32 on the CPU,'
            ' without weights, dropout, top_k or a float mask; use impl="auto".'
        )


def _lengths(spec: AreaSpec, query: Tensor, items: int) -> Tensor:
    """How many leading items each query may see: int32 [N, Q].

    Raises:
        ValueError: when a mask hides items before others that may be seen.
    """
    allowed = spec.mask.allowed_items(query.shape[-2], items, query.device)
    shape = query.shape[:-1]
    if allowed is None:
        return torch.full(shape, items, dtype=torch.int32).flatten(0, -2)
    lengths = allowed.sum(-1, dtype=torch.int32)
    whole = spec.grid.height == 1 or bool((lengths == items).all())
    if not (whole and torch.equal(allowed, torch.arange(items) < lengths.unsqueeze(-1))):
        raise ValueError(
            'impl="fused" can only hide items at the end of a memory of one row; use impl="auto".'
        )
    return lengths.expand(shape).flatten(0, -2).contiguous()
