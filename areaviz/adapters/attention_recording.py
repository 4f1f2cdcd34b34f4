"""Recording of every attention layer during a model's run, in any way that works for the layer.

    the model as it is ──────────── plain pass ───► outputs ──┐ they agree, or
    the model watched by PASSES ─── pass by pass ─► outputs ──┘ the pass is not used
                                       │ note(module, call)
                                       ▼
                                   Recorder: by site, the requested layers

A way is a file with a function `watch` and a line in `PASSES`. The ways of one pass record
different kinds of layers, which are layers that look up their attention function, layers that call
torch's, and layers of torch itself or with a probe. If these ways miss sites, a separate pass asks
the model to return its attention.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from areaviz.adapters import (
    recording_by_calls,
    recording_by_interface,
    recording_by_layers,
    recording_by_outputs,
)
from areaviz.adapters.call_records import Found, Note, Probe, Recorder, SiteOf, Wanted
from areaviz.adapters.failures import run_or_refuse
from areaviz.trace.errors import BackendError, InputError, InputErrorWithAdvice


@dataclass(frozen=True, slots=True)
class RecordingWay:
    """A way to record the attention of some layers."""

    # Name, as in "seen as ...".
    name: str
    # Function that files the calls of a model's layers while its context is entered.
    watch: Callable[[nn.Module, Note], AbstractContextManager[None]]


_INTERFACE = RecordingWay("the library's attention interface", recording_by_interface.watch)
_AS_LOADED = (
    RecordingWay("calls of scaled_dot_product_attention", recording_by_calls.watch),
    RecordingWay("layers of torch and probes", recording_by_layers.watch),
)
# The passes in their order. A later pass runs only if the earlier ones missed a site. The second
# pass is for models whose outputs with plain attention differ from those with the fused attention
# that they use.
PASSES: tuple[tuple[RecordingWay, ...], ...] = (
    (_INTERFACE, *_AS_LOADED),
    _AS_LOADED,
    (RecordingWay("the weights that the model returns", recording_by_outputs.watch),),
)
# Maximum difference of outputs relative to the largest output, by the bytes of a number.
_AGREE = {2: 0.05, 4: 1e-3, 8: 1e-6}
# Number of values that are compared at once.
_PIECE = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """The record of a run."""

    # Outputs of the plain pass.
    outputs: Any
    # Heads of every layer by site.
    found: Found
    # Details for users on how the layers were recorded, and on layers that were not recorded.
    details: Mapping[str, str] = field(default_factory=dict)
    # Names of each site's layers, or of the parts that returned the weights.
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


def record_attention(
    model: nn.Module,
    run: Callable[[], Any],
    site_of: SiteOf,
    wanted: Wanted,
    needed: Sequence[str] = (),
    probes: Mapping[nn.Module, Probe] | None = None,
) -> RecordedRun:
    """Run a model without recording, then with recording until every site was seen.

    Args:
        model: Model to run.
        run: Function that runs the model, in the same way each time.
        site_of: Function that returns the site of a call.
        wanted: Layers, heads and sites to keep, and the example.
        needed: Sites that have to be seen, such as "encoder self" or "decoder self or text self";
            () for any.
        probes: Layers that functions of the user read.

    Raises:
        InputError: The model fails on its input, or a recorded pass gives other outputs than the
            plain one, so its attention would belong to another computation.
    """
    recorder = Recorder(model, site_of, wanted, probes or {})
    plain, used, differs = None, [], False
    for ways in PASSES:
        if ways is _AS_LOADED and not differs:
            # The previous pass recorded everything that this pass would record.
            continue
        outputs, failed = None, False
        with ExitStack() as stack:
            for way in ways:
                stack.enter_context(way.watch(model, recorder.begin(way.name)))
            try:
                # Recording comes before the plain pass, because the recorder checks the size at the
                # first layer.
                outputs = _run_with_seed(run)
            except (InputError, BackendError):
                raise
            except Exception:
                # The model itself may fail on its input. The plain pass then reports the reason.
                failed = True
        if plain is None:
            plain = run_or_refuse(model, lambda: _run_with_seed(run))
        if failed or compute_output_difference(plain, outputs) > 1:
            differs = True
            recorder.drop()
            continue
        used += recorder.keep()
        if recorder.complete(needed):
            break
    if not recorder.found and differs:
        raise InputErrorWithAdvice(
            "This model gives other outputs while its attention is recorded, so the record"
            " would not show what it does",
            "probe",
        )
    details = {"attention": f"seen as {' and '.join(used)}"} if used else {}
    for site in recorder.missing(needed):
        details[site] = "not shown: no layer of it gave weights of its items over all others"
    return RecordedRun(plain, recorder.found, details | recorder.details(), recorder.names())


def compute_output_difference(plain: Any, watched: Any) -> float:
    """Return the difference of outputs, as a multiple of what rounding explains, or 0 if equal."""
    largest = 0.0
    befores, afters = _list_tensors(plain), _list_tensors(watched)
    if len(befores) != len(afters):
        return torch.inf
    for before, after in zip(befores, afters, strict=True):
        if before.shape != after.shape:
            return torch.inf
        if not before.numel():
            continue
        apart, size = 0.0, 0.0
        # Outputs are compared in pieces, because the scores of a large vocabulary take much memory.
        parts = before.flatten().split(_PIECE), after.flatten().split(_PIECE)
        for one, other in zip(*parts, strict=True):
            finite = one.isfinite()
            if not torch.equal(finite, other.isfinite()):
                return torch.inf
            if bool(finite.any()):
                apart = max(apart, float((one - other)[finite].abs().max()))
                size = max(size, float(one[finite].abs().max()))
        allowed = _AGREE[before.element_size()] * max(size, 1e-3)
        largest = max(largest, apart / allowed)
    return largest


def _list_tensors(outputs: Any) -> list[Tensor]:
    """Return the tensors of a model's outputs, without by-products if the outputs are a mapping."""
    if isinstance(outputs, Tensor):
        return [outputs] if outputs.is_floating_point() else []
    if isinstance(outputs, Mapping):
        kept = [value for name, value in outputs.items() if not _is_by_product(name)]
        return [tensor for value in kept for tensor in _list_tensors(value)]
    if isinstance(outputs, list | tuple):
        return [tensor for value in outputs for tensor in _list_tensors(value)]
    return []


def _is_by_product(name: str) -> bool:
    """Return whether an output exists only on request or differs between runs in its form."""
    return any(part in name for part in ("attentions", "hidden_states", "past_key", "mems"))


def _run_with_seed(run: Callable[[], Any]) -> Any:
    """Run with fixed randomness, such as that of a random mask."""
    with torch.random.fork_rng(devices=[]), InOrder():
        torch.manual_seed(0)
        return run()


class InOrder(TorchFunctionMode):
    """A mode in which drawing a whole set without replacement returns it in order.

    Models that shuffle their items, as ViLT does with the cells of a picture, then keep them in the
    expected places. This order is as likely as any other order.
    """

    def __torch_function__(
        self, function: Any, types: Any, given: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        result = function(*given, **named)
        if function is torch.multinomial and not named.get("replacement", len(given) > 2):
            [*_, count] = result.shape
            if count == given[0].shape[-1]:
                return torch.arange(count, device=result.device).expand(result.shape)
        return result
