"""Runs of external models: their options, their results, and the conversion to a trace.

Shapes: T target items, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from areaviz.adapters.attention_recording import RecordedRun
from areaviz.adapters.call_records import CROSS, DECODER, ENCODER, Probe, Wanted
from areaviz.adapters.gradient_attribution import NO_SCORES, Attribution
from areaviz.adapters.head_maps import make_site_maps
from areaviz.adapters.option_checks import (
    MAX_EXAMPLE,
    check_reader,
    check_whole,
)
from areaviz.adapters.sinks import NO_SHARES, NOTHING_SAID, Site, are_shares, with_nothing
from areaviz.trace.arrays import AREA_SIZE, NO_OUTPUT, make_empty_output, make_text_field
from areaviz.trace.changes import Change
from areaviz.trace.derived import (
    AS_AREAS,
    GRADIENT,
    ROLLOUT,
    WAYS,
    make_gradient_maps,
    make_rollout_maps,
)
from areaviz.trace.document import validate
from areaviz.trace.errors import AREA_SIZES, InputError, InputErrorWithAdvice, check_chosen
from areaviz.trace.record import AttentionMap, Field, Output, Trace, count_held_bytes
from areaviz.trace.request import Picture, Request, check_options, make_model_name

ALTERNATIVES = 5
MOST_NAMED = 4
"""Maximum number of tokens without a place that a detail names."""
CLASS_TOKEN = "class token"
# Detail that says that some layers mix items without weights.
NOT_ALL_LAYERS = "not all layers"
NOT_DERIVED = (
    "left out where queries and keys are not known, or do not give the weights by themselves"
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options for running and showing a model, see `areaviz.attend`."""

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
    # True if the user chose the example.
    is_chosen: bool = True
    # Beam width while a text is written. None uses the number in the model's configuration.
    beams: int | None = None
    # Function that is called while a text is written, with the number of tokens so far and the
    # maximum number.
    on_step: Callable[[int, int], None] | None = None
    # Changes to apply in the run.
    changes: Sequence[Change] = ()
    # Function that is called with the record of the run.
    on_seen: Callable[[RecordedRun], None] | None = None

    def __post_init__(self) -> None:
        check_whole("area_size", self.area_size, AREA_SIZES)
        check_whole("steps", self.steps, (1, 1024))
        check_whole("example", self.example, (0, MAX_EXAMPLE))
        check_chosen("layers", self.layers, int)
        check_chosen("heads", self.heads, int)
        check_chosen("sites", self.sites, str)
        check_reader("tokenizer", self.tokenizer)
        check_reader("processor", self.processor)

    def wanted(self, batches: Sequence[int] = (1,)) -> Wanted:
        """Return the parts of a run to keep.

        Args:
            batches: Allowed numbers of examples in a batch.
        """
        # Other sites, such as that of the class token, are parts of one of these three sites.
        is_known = self.sites is not None and set(self.sites) <= {ENCODER, DECODER, CROSS}
        sites = self.sites if is_known else None
        return Wanted(self.layers, self.heads, sites, self.example, batches)

    def of_batch(self, details: Mapping[str, str], batch: int) -> dict[str, str]:
        """Return details with the number of the read example, if the batch has several examples."""
        example = f"{self.example + 1} of a batch of {batch}"
        return {**details, "example": example} if batch > 1 else dict(details)


@dataclass(frozen=True, slots=True, eq=False)
class ModelRun:
    """One run of a model. Fields and sites are those of the trace."""

    fields: Sequence[Field]
    sites: Sequence[Site]
    # The input.
    text: str = ""
    picture: Picture | None = None
    # The output, or None if the model has none.
    output: Output | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    # Attribution of the output, if requested.
    attributed: Attribution = Attribution()


def to_trace(run: ModelRun, model: object, options: Options) -> Trace:
    """Return the trace of a run of a model.

    Raises:
        InputError: The run has no attention, layers of a site differ or are not finite, or its maps
            would take too much memory.
    """
    run = _choose_sites(run, options)
    if not run.sites:
        hidden = run.details.get("not shown")
        seen = f"Only {hidden} were" if hidden else "No attention was"
        raise InputErrorWithAdvice(f"{seen} seen in this model", "probe", "arrays")
    request = Request(
        make_model_name(options.name or type(model).__name__),
        run.text,
        picture=run.picture,
        attribution=options.attribution,
    )
    check_options(request)
    maps: dict[str, AttentionMap] = {}
    details = dict(run.details)
    # Layers stay in memory while maps are made. They stay longer if maps are computed from them
    # later.
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
        taken = in_layers + count_held_bytes(maps.values())
        for attention in make_site_maps(site.name, *sides, site.layers, options.area_size, taken):
            maps[attention.site] = attention
        if options.area_size > 1 and site.name + AS_AREAS not in maps and prod(site.shape) > 1:
            details["as areas"] = NOT_DERIVED
    if not maps:
        raise InputError(f"The attention of this model is {NO_SHARES}.")
    if options.attribution:
        beside, said = _make_attribution(maps, run, options)
        maps |= beside
        details |= said
    if run.output is None:
        fields[NO_OUTPUT.field] = make_empty_output()
    details |= _describe_tokens_without_place(fields.values())
    trace = Trace(request, fields, run.output or NO_OUTPUT, maps, details)
    validate(trace)
    return trace


def _describe_tokens_without_place(fields: Iterable[Field]) -> dict[str, str]:
    """Return details that name the tokens without characters in the text, such as the end token."""
    said = {}
    for item in fields:
        if not item.is_text or not item.raw:
            continue
        is_empty = item.anchors[:, 0] == item.anchors[:, 1]
        names = [label for label, empty in zip(item.labels, is_empty, strict=True) if empty]
        if names:
            which = ", ".join(dict.fromkeys(names[:MOST_NAMED]))
            more = " and others" if len(names) > MOST_NAMED else ""
            count = f"{len(names):,} of {len(item):,} tokens"
            said[f"{item.name} places"] = f"no place in the text for {count}: {which}{more}"
    return said


def _choose_sites(run: ModelRun, options: Options) -> ModelRun:
    """Return the run with only the requested sites.

    A site includes the sites for single pictures. "encoder self" also selects "encoder self patches
    2".

    Raises:
        InputError: The run has none of them.
    """
    if options.sites is None:
        return run
    asked = ", ".join(f'"{name}"' for name in options.sites)
    if not run.sites and "not shown" not in run.details:
        raise InputError(
            f"No layer of this model has the site {asked}. Leave out sites= to list the sites."
        )
    if not run.sites:
        return run
    kept = []
    for site in run.sites:
        if any(site.name == name or site.name.startswith(f"{name} ") for name in options.sites):
            kept.append(site)
    if not kept:
        found = ", ".join(f'"{site.name}"' for site in run.sites)
        raise InputError(f"This model has no site {asked}. Its sites are: {found}.")
    used = {name for site in kept for name in (site.query, site.memory)}
    used |= {run.output.field} if run.output is not None else set()
    fields = [field for field in run.fields if field.name in used or field.name == "target"]
    return replace(run, sites=kept, fields=fields)


def _make_attribution(
    maps: Mapping[str, AttentionMap], run: ModelRun, options: Options
) -> tuple[dict[str, AttentionMap], dict[str, str]]:
    """Return the attribution maps, and details on why some are missing."""
    found, details = make_gradient_maps(maps, "target", run.attributed.rows), dict[str, str]()
    if not run.attributed.rows:
        details[WAYS[GRADIENT]] = run.attributed.why or NO_SCORES
    chosen = (options.layers, options.heads, options.sites)
    if any(part is not None for part in chosen) or NOT_ALL_LAYERS in run.details:
        details[WAYS[ROLLOUT]] = "left out: it follows attention through every layer and head"
    else:
        found = [*make_rollout_maps(maps), *found]
    return {one.site: one for one in found}, details


@contextmanager
def inference_mode(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout and gradients, and restore the mode of every part afterwards."""
    training = {module: module.training for module in model.modules()}
    compiled = any(module._compiled_call_impl is not None for module in training)
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        if compiled:
            # Compiled code cannot be recorded, so the model runs without compilation.
            stack.enter_context(torch.compiler.set_stance("force_eager"))
        try:
            model.eval()
            yield
        finally:
            for module, before in training.items():
                module.training = before


def make_most_probable(logits_TV: Tensor, label: Callable[[int], str]) -> tuple[Field, Output]:
    """Return the most probable class or token per place as the field "target", and the output."""
    chosen = logits_TV.argmax(-1).tolist()
    return make_text_field("target", [label(index) for index in chosen]), make_output(
        logits_TV, chosen, label
    )


def make_output(logits_TV: Tensor, chosen: Sequence[int], label: Callable[[int], str]) -> Output:
    """Return the probabilities of the chosen items for the field "target", and alternatives.

    Args:
        logits_TV: Scores of every class or token at each place.
        chosen: One class or token at each place.
        label: Returns the label of a class or token.

    Raises:
        InputError: A score is not finite.
    """
    likely_TV = logits_TV.detach().float().cpu().softmax(-1)
    if not bool(likely_TV.isfinite().all()):
        raise InputError(
            "The model's scores of its outputs are not finite. Check its weights for NaN, and"
            " the input."
        )
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[-1]))
    alternatives = []
    for tokens, shares in zip(
        best.indices.tolist(), best.values.clamp_max(1).tolist(), strict=True
    ):
        alternatives.append(tuple(zip(map(label, tokens), shares, strict=True)))
    probabilities = likely_TV[torch.arange(len(chosen)), torch.tensor(chosen)]
    return Output("target", probabilities.numpy().astype(np.float32), tuple(alternatives))
