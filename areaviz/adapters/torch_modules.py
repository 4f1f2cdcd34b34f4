"""Attention of any `nn.Module`, which is recorded in every supported way or by probes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters.attention_recording import record_attention
from areaviz.adapters.call_records import (
    CROSS,
    DECODER,
    ENCODER,
    Found,
    Probe,
    is_causal,
    names_cross_attention,
)
from areaviz.adapters.head_maps import check_layers
from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import ModelRun, Options, inference_mode, to_trace
from areaviz.adapters.run_size import check_size
from areaviz.adapters.sinks import Site
from areaviz.adapters.texts import Texts
from areaviz.trace.arrays import make_text_field
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field, Trace

_DECODER = re.compile(r"(^|[._])(decoder|dec)(?=[._]|$)")


def fits(model: nn.Module) -> bool:
    """Return whether the model is a module, which is always the case."""
    return isinstance(model, nn.Module)


def attend(model: nn.Module, inputs: object, options: Options) -> Trace:
    """Run a module and record it, see `areaviz.attend`.

    A layer has cross-attention if its name or its numbers of items indicate it, otherwise
    self-attention. It counts as a decoder layer if its name indicates it or if no query sees a
    later item. Fields are "source" and, for the queries of cross-attention, "target".

    For a text, the size of the attention is known before the model runs. For other inputs, only the
    layers know the number of items, so the first layer checks the size.
    """
    source = None
    if options.tokenizer is not None and isinstance(inputs, str | tuple) and _is_text_input(inputs):
        # Modules around a model of `transformers` may take a text.
        tokens = Texts(options.tokenizer).read(inputs, options.labels)
        check_size(model, (1, len(tokens.ids)), options)
        ids_1N = torch.tensor([tokens.ids])
        inputs = {"input_ids": ids_1N, "attention_mask": torch.ones_like(ids_1N), **tokens.more}
        source = tokens.named("source")
    given, named = _split_arguments(inputs)
    probes = _match_probes(model, options.probes)
    wanted = options.wanted(_list_batch_sizes([*given, *named.values()]))
    with inference_mode(model):
        seen = record_attention(
            model, lambda: model(*given, **named), _name_site, wanted, probes=probes
        )
    found = seen.found
    sites = []
    for site, layers in found.items():
        check_layers(site, layers)
        shape = (1, layers[0].shape[-1])
        sites.append(Site(site, *_name_sides(site, found), shape, layers))
    fields = _make_fields(found, options, source)
    text = source.raw if source is not None else ""
    return to_trace(ModelRun(fields, sites, text, details=seen.details), model, options)


def _is_text_input(inputs: str | tuple[Any, ...]) -> bool:
    return isinstance(inputs, str) or all(isinstance(one, str) for one in inputs)


def _split_arguments(inputs: object) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a call of the module."""
    if isinstance(inputs, Mapping):
        return (), dict(inputs)
    return (inputs if isinstance(inputs, tuple) else (inputs,)), {}


def _list_batch_sizes(given: Sequence[Any]) -> tuple[int, ...]:
    """Return possible batch sizes of an input. Its batch axis may be the first or the second."""
    for one in given:
        if isinstance(one, Tensor) and one.dim() >= 2:
            if one.dim() == 2:
                return (1,) if one.is_floating_point() else (len(one),)
            return tuple(one.shape[:2]) if one.dim() == 3 else (len(one),)
    return (1,)


def _name_site(name: str, module: nn.Module, heads: Heads, said: str) -> str:
    _, queries, items = heads.shape
    if said or queries != items or names_cross_attention(name):
        return said or CROSS
    return DECODER if is_causal(heads) or _DECODER.search(name) else ENCODER


def _match_probes(model: nn.Module, probes: Mapping[str, Probe] | None) -> dict[nn.Module, Probe]:
    """Return the layers that the user's probes read, with their probes."""
    found: dict[nn.Module, Probe] = {}
    for pattern, probe in (probes or {}).items():
        named = [
            module for name, module in model.named_modules() if _matches_pattern(name, pattern)
        ]
        if not named:
            raise InputError(
                f'No part of the model is called "{pattern}". model.named_modules() lists the'
                " names."
            )
        found |= dict.fromkeys(named, probe)
    return found


def _matches_pattern(name: str, pattern: str) -> bool:
    """Return whether a layer matches. "*" matches one part of the name, and "" the model itself."""
    parts, wanted = name.split("."), pattern.split(".")
    same = bool(name) == bool(pattern) and len(parts) == len(wanted)
    return same and all(map(fnmatchcase, parts, wanted))


def _name_sides(site: str, found: Found) -> tuple[str, str]:
    """Return the names of the fields that attend and are attended to."""
    if site == CROSS:
        return "target", "source"
    within = "target" if site == DECODER and CROSS in found else "source"
    return within, within


def _make_fields(found: Found, options: Options, source: Field | None) -> list[Field]:
    """Return a field for each side, with the given labels.

    Raises:
        InputError: Two sites have different numbers of items on one side, or labels do not fit.
    """
    sizes: dict[str, int] = {}
    for site, layers in found.items():
        for name, size in zip(_name_sides(site, found), layers[0].shape[1:], strict=True):
            if sizes.setdefault(name, size) != size:
                raise InputError(
                    f"Layers of this model see {sizes[name]:,} and {size:,} items of its"
                    f" {name} and cannot be shown together. Give probes for the layers that"
                    " you want to see."
                )
    if source is not None and sizes.get("source") == len(source):
        return [
            source,
            *(_make_field(name, size, None) for name, size in sizes.items() if name != "source"),
        ]
    labels = {"source": options.labels, "target": options.target}
    return [_make_field(name, size, labels[name]) for name, size in sizes.items()]


def _make_field(name: str, size: int, labels: object) -> Field:
    if labels is None:
        return make_text_field(name, [str(item) for item in range(1, size + 1)])
    if not isinstance(labels, Sequence) or isinstance(labels, str) or len(labels) != size:
        raise InputError(f"The {name} has {size:,} items. Give a sequence with one label for each.")
    return make_text_field(name, [str(label) for label in labels])
