"""A model's run, watched: what every attention layer did, by whichever way shows it.

    the model as it is ──────────── plain pass ───► outputs ──┐ they agree, or
    the same, watched by PASSES ─── pass by pass ─► outputs ──┘ the pass is not used
                                       │ note(module, call)
                                       ▼
                                   Recorder: by site, the layers that were asked for

A way is a file with a function `watch` and a line in `PASSES`. Ways of one pass see different
layers: those that look their attention function up, those that call torch's, and layers of torch
itself or with a probe. What they all miss, the model is asked to return, in a pass of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from areaviz.adapters import way_calls, way_interface, way_layers, way_returned
from areaviz.adapters.calls import Found, Note, Probe, Recorder, SiteOf, Wanted
from areaviz.adapters.failures import run_or_refuse
from areaviz.trace.errors import Advised, BackendError, InputError


@dataclass(frozen=True, slots=True)
class Way:
    """How the attention of some layers becomes seen."""

    # As in "seen as ...".
    name: str
    # Notes what layers of a model do while it is entered.
    watch: Callable[[nn.Module, Note], AbstractContextManager[None]]


_INTERFACE = Way("the library's attention interface", way_interface.watch)
_AS_LOADED = (
    Way("calls of scaled_dot_product_attention", way_calls.watch),
    Way("layers of torch and probes", way_layers.watch),
)
# In this order: a later pass is made only where those before did not see every site. The second
# is for models whose plain attention gives other outputs than the fused one that they run.
PASSES: tuple[tuple[Way, ...], ...] = (
    (_INTERFACE, *_AS_LOADED),
    _AS_LOADED,
    (Way("the weights that the model returns", way_returned.watch),),
)
# Largest difference of outputs, as a share of the largest output, by the bytes of a number.
_AGREE = {2: 0.05, 4: 1e-3, 8: 1e-6}
# How many numbers are compared at once.
_PIECE = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class Watched:
    """What was seen of a run."""

    # Of the plain pass.
    outputs: Any
    # The heads of every layer by site.
    found: Found
    # For the reader: how they were seen, and what was not.
    details: Mapping[str, str] = field(default_factory=dict)
    # The names of each site's layers; where parts returned the weights, of these parts.
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


def see(
    model: nn.Module,
    run: Callable[[], Any],
    site_of: SiteOf,
    wanted: Wanted,
    needed: Sequence[str] = (),
    probes: Mapping[nn.Module, Probe] | None = None,
) -> Watched:
    """Run a model plainly, then watched until every site was seen.

    Args:
        model: what is run.
        run: runs it, the same each time.
        site_of: names the site of a call.
        wanted: which layers, heads and sites are kept, and of which example.
        needed: sites that have to be there, such as "encoder self" or "decoder self or text self";
            () for any.
        probes: layers that are read by functions of the reader's own.

    Raises:
        InputError: the model fails on its input, or a watched pass gives other outputs than the
            plain one, so its attention would be that of another computation.
    """
    recorder = Recorder(model, site_of, wanted, probes or {})
    plain, used, differs = None, [], False
    for ways in PASSES:
        if ways is _AS_LOADED and not differs:
            # The pass before was the same, and more.
            continue
        outputs, failed = None, False
        with ExitStack() as stack:
            for way in ways:
                stack.enter_context(way.watch(model, recorder.begin(way.name)))
            try:
                # Before the plain pass: its first layer refuses what is too large.
                outputs = _seeded(run)
            except (InputError, BackendError):
                raise
            except Exception:
                # The model itself may fail on its input; the plain pass then says why.
                failed = True
        if plain is None:
            plain = run_or_refuse(model, lambda: _seeded(run))
        if failed or difference(plain, outputs) > 1:
            differs = True
            recorder.drop()
            continue
        used += recorder.keep()
        if recorder.complete(needed):
            break
    if not recorder.found and differs:
        raise Advised(
            "This model gives other outputs when its attention is watched, so what was seen is not"
            " what it does",
            "probe",
        )
    details = {"attention": f"seen as {' and '.join(used)}"} if used else {}
    for site in recorder.missing(needed):
        details[site] = "not shown: no layer of it gave weights of its items over all others"
    return Watched(plain, recorder.found, details | recorder.details(), recorder.names())


def difference(plain: Any, watched: Any) -> float:
    """How far outputs are apart, as a multiple of what rounding explains: 0 for the same."""
    largest = 0.0
    befores, afters = _numbers(plain), _numbers(watched)
    if len(befores) != len(afters):
        return torch.inf
    for before, after in zip(befores, afters, strict=True):
        if before.shape != after.shape:
            return torch.inf
        if not before.numel():
            continue
        apart, size = 0.0, 0.0
        # Piece by piece: the scores of a large vocabulary take as much as the model.
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


def _numbers(outputs: Any) -> list[Tensor]:
    """The tensors of a model's result: of a mapping those that are no by-products."""
    if isinstance(outputs, Tensor):
        return [outputs] if outputs.is_floating_point() else []
    if isinstance(outputs, Mapping):
        kept = [value for name, value in outputs.items() if not _by_product(name)]
        return [tensor for value in kept for tensor in _numbers(value)]
    if isinstance(outputs, list | tuple):
        return [tensor for value in outputs for tensor in _numbers(value)]
    return []


def _by_product(name: str) -> bool:
    """Whether an output is there only because it was asked for, or differs in its form."""
    return any(part in name for part in ("attentions", "hidden_states", "past_key", "mems"))


def _seeded(run: Callable[[], Any]) -> Any:
    """A run in which chance, such as that of a random mask, falls the same way each time."""
    with torch.random.fork_rng(devices=[]), InOrder():
        torch.manual_seed(0)
        return run()


class InOrder(TorchFunctionMode):
    """Draws of all of a set, without replacement, come in its order.

    So the items of models that shuffle what they read, as ViLT does with the cells of a picture,
    stand where they are looked for; any order is as likely.
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
