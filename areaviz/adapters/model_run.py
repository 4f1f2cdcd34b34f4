"""What a run of somebody else's model comes to, and the trace that is made of it.

Shapes: T target items, V vocabulary, L layers, H heads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads, site_maps
from areaviz.trace.arrays import NO_OUTPUT, nothing, text_of
from areaviz.trace.check import validate
from areaviz.trace.errors import InputError
from areaviz.trace.picture import Picture
from areaviz.trace.record import Field, Output, Trace
from areaviz.trace.request import Request, check_options

ALTERNATIVES = 5


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One place where a model attends: names of its fields, rows and columns of the memory, and
    every layer's heads.
    """

    name: str
    query: str
    memory: str
    shape: tuple[int, int]
    layers: Sequence[Heads]


@dataclass(frozen=True, slots=True, eq=False)
class Story:
    """fields, sites: as in the trace. text, picture: what was asked. output: None where the model
    gave none.
    """

    fields: Sequence[Field]
    sites: Sequence[Site]
    text: str = ""
    picture: Picture | None = None
    output: Output | None = None
    details: Mapping[str, str] = field(default_factory=dict)


def told(story: Story, name: str, area_size: int) -> Trace:
    """The trace of a run; name: what the model is called.

    Raises:
        InputError: there is no attention in it, layers of a site differ, or its maps would take too
            much memory.
    """
    if not story.sites:
        raise InputError(
            "No attention was seen in this model; give a probe for its attention layers (see"
            " docs/your_models.md)."
        )
    request = Request(named(name), story.text, picture=story.picture)
    check_options(request)
    maps = [
        attention
        for site in story.sites
        for attention in site_maps(
            site.name, site.query, site.memory, site.shape, site.layers, area_size
        )
    ]
    fields = [*story.fields, *([] if story.output else [nothing()])]
    trace = Trace(
        request,
        {item.name: item for item in fields},
        story.output or NO_OUTPUT,
        {attention.site: attention for attention in maps},
        story.details,
    )
    validate(trace)
    return trace


def named(name: str) -> str:
    """A name that a request may have: of a class, a folder or a hub's model."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-._")[:100] or "model"


def most_probable(logits_TV: Tensor, label: Callable[[int], str]) -> tuple[Field, Output]:
    """The field "target" of the most probable class or token at each place, and their
    probabilities.
    """
    chosen = logits_TV.argmax(-1).tolist()
    return text_of("target", [label(index) for index in chosen]), output_of(
        "target", logits_TV, chosen, label
    )


def output_of(
    field: str, logits_TV: Tensor, chosen: Sequence[int], label: Callable[[int], str]
) -> Output:
    """Probabilities of what was chosen, with the most probable alternatives; label: what a class or
    token shows.
    """
    likely_TV = logits_TV.detach().float().cpu().softmax(-1)
    best = likely_TV.topk(min(ALTERNATIVES, likely_TV.shape[-1]))
    alternatives = tuple(
        tuple((label(token), min(likely, 1.0)) for token, likely in zip(*row, strict=True))
        for row in zip(best.indices.tolist(), best.values.tolist(), strict=True)
    )
    probabilities = likely_TV[torch.arange(len(chosen)), torch.tensor(list(chosen))]
    return Output(field, probabilities.numpy().astype(np.float32), alternatives)
