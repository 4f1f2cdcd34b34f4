"""What a run of somebody else's model gives, and the trace that is made of it.

Shapes: T target items, V vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.attributed import NO_SCORES, Attributed
from areaviz.adapters.calls import Probe, Wanted
from areaviz.adapters.head_maps import site_maps
from areaviz.adapters.sinks import NO_SHARES, NOTHING_SAID, Site, are_shares, with_nothing
from areaviz.adapters.watching import Watched
from areaviz.trace.arrays import AREA_SIZE, NO_OUTPUT, nothing, text_of
from areaviz.trace.attribution import GRADIENT, WAYS, gradient_maps
from areaviz.trace.check import validate
from areaviz.trace.derived import AS_AREAS
from areaviz.trace.errors import Advised, InputError
from areaviz.trace.interventions import Change
from areaviz.trace.limits import AREA_SIZES, check_range
from areaviz.trace.picture import Picture
from areaviz.trace.record import AttentionMap, Field, Output, Trace, held_bytes
from areaviz.trace.request import Request, check_options
from areaviz.trace.rollout import ROLLOUT, rollout_maps

ALTERNATIVES = 5
# The detail that says that some layers mix items without weights.
NOT_ALL_LAYERS = "not all layers"
NOT_DERIVED = (
    "left out where queries and keys are not known, or do not give the weights by themselves"
)


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is run and shown; `areaviz.attend` says what each means."""

    target: object = None
    steps: int = 64
    tokenizer: Any = None
    labels: Sequence[str] | None = None
    area_size: int = AREA_SIZE
    name: str = ""
    processor: Any = None
    probes: Mapping[str, Probe] | None = None
    layers: Sequence[int] | None = None
    heads: Sequence[int] | None = None
    sites: Sequence[str] | None = None
    example: int = 0
    attribution: bool = False
    # How many candidates are followed at once where a text is written.
    beams: int = 1
    # Called while a text is written, with the tokens done and the most there can be.
    on_step: Callable[[int, int], None] | None = None
    # What is done otherwise in the run.
    changes: Sequence[Change] = ()
    # Called with what was seen of the run.
    on_seen: Callable[[Watched], None] | None = None

    def __post_init__(self) -> None:
        check_range("area_size", self.area_size, AREA_SIZES)
        check_range("steps", self.steps, (1, 1024))
        for chosen in (self.layers, self.heads, self.sites):
            if chosen is not None and not len(chosen):
                raise InputError("No layer, head or site is left; choose at least one of each.")

    def wanted(self, batches: Sequence[int] = (1,)) -> Wanted:
        """Which part of what a model does is kept, where a batch may have so many examples."""
        return Wanted(self.layers, self.heads, self.sites, self.example, batches)

    def of_batch(self, details: Mapping[str, str], batch: int) -> dict[str, str]:
        """Details that say which example was read, where a batch has several."""
        example = f"{self.example + 1} of a batch of {batch}"
        return {**details, "example": example} if batch > 1 else dict(details)


@dataclass(frozen=True, slots=True, eq=False)
class ModelRun:
    """One run of a model; fields and sites are those of the trace."""

    fields: Sequence[Field]
    sites: Sequence[Site]
    # The input.
    text: str = ""
    picture: Picture | None = None
    # None where the model gave none.
    output: Output | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    # What the output depends on, where that was asked for.
    attributed: Attributed = Attributed()


def to_trace(run: ModelRun, model: object, options: Options) -> Trace:
    """The trace of a run of a model.

    Raises:
        InputError: there is no attention in it, layers of a site differ or are not finite, or its
            maps would take too much memory.
    """
    if not run.sites:
        hidden = run.details.get("not shown")
        seen = f"Only {hidden} were" if hidden else "No attention was"
        raise Advised(f"{seen} seen in this model", "probe", "arrays")
    # A request may have fewer signs than the name of a class, a folder or a hub's model.
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", options.name or type(model).__name__)
    request = Request(
        name.strip("-._")[:100] or "model",
        run.text,
        picture=run.picture,
        attribution=options.attribution,
    )
    check_options(request)
    maps: dict[str, AttentionMap] = {}
    details = dict(run.details)
    # Layers are held while maps are made of them, and as long as these where they are read later.
    in_layers = sum(heads.nbytes for site in run.sites for heads in site.layers)
    fields = {item.name: item for item in run.fields}
    for given in run.sites:
        if not are_shares(given.layers):
            details[given.name] = NO_SHARES
            continue
        site, fields = with_nothing(given, fields)
        if site.memory != given.memory:
            details["sinks"] = NOTHING_SAID
        sides = site.query, site.memory, site.shape
        taken = in_layers + held_bytes(maps.values())
        for attention in site_maps(site.name, *sides, site.layers, options.area_size, taken):
            maps[attention.site] = attention
        if options.area_size > 1 and site.name + AS_AREAS not in maps and prod(site.shape) > 1:
            details["as areas"] = NOT_DERIVED
    if not maps:
        raise InputError(f"The attention of this model is {NO_SHARES}.")
    if options.attribution:
        beside, said = _attribution(maps, run, options)
        maps |= beside
        details |= said
    if run.output is None:
        fields[NO_OUTPUT.field] = nothing()
    trace = Trace(request, fields, run.output or NO_OUTPUT, maps, details)
    validate(trace)
    return trace


def _attribution(
    maps: Mapping[str, AttentionMap], run: ModelRun, options: Options
) -> tuple[dict[str, AttentionMap], dict[str, str]]:
    """The maps that stand beside attention, and for the reader why some do not."""
    found, details = gradient_maps(maps, "target", run.attributed.rows), dict[str, str]()
    if not run.attributed.rows:
        details[WAYS[GRADIENT]] = run.attributed.why or NO_SCORES
    chosen = (options.layers, options.heads, options.sites)
    if any(part is not None for part in chosen) or NOT_ALL_LAYERS in run.details:
        details[WAYS[ROLLOUT]] = "left out: it follows attention through every layer and head"
    else:
        found = [*rollout_maps(maps), *found]
    return {one.site: one for one in found}, details


@contextmanager
def frozen(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout and gradients, and leave every part in its mode of before."""
    training = {module: module.training for module in model.modules()}
    compiled = any(module._compiled_call_impl is not None for module in training)
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if compiled:
            # What was compiled cannot be watched, and has to run as it is written.
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            model.eval()
            yield
        finally:
            for module, before in training.items():
                module.training = before


def most_probable(logits_TV: Tensor, label: Callable[[int], str]) -> tuple[Field, Output]:
    """The field "target" of the most probable class or token at each place, and their output."""
    chosen = logits_TV.argmax(-1).tolist()
    return text_of("target", [label(index) for index in chosen]), output_of(
        logits_TV, chosen, label
    )


def output_of(logits_TV: Tensor, chosen: Sequence[int], label: Callable[[int], str]) -> Output:
    """Probabilities of what was chosen for the field "target", and the best alternatives.

    Args:
        logits_TV: of every class or token at each place.
        chosen: one at each place.
        label: what a class or token shows.
    """
    likely_TV = logits_TV.detach().float().cpu().softmax(-1)
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[-1]))
    alternatives = []
    for tokens, shares in zip(
        best.indices.tolist(), best.values.clamp_max(1).tolist(), strict=True
    ):
        alternatives.append(tuple(zip(map(label, tokens), shares, strict=True)))
    probabilities = likely_TV[torch.arange(len(chosen)), torch.tensor(chosen)]
    return Output("target", probabilities.numpy().astype(np.float32), tuple(alternatives))
