"""The entry point `attend` for any model, and attention of any `nn.Module`.

Read the second section first. It chooses the adapter for a model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters import pictures
from areaviz.adapters.heads import (
    CROSS,
    DECODER,
    ENCODER,
    Found,
    Heads,
    Probe,
    Site,
    is_causal,
    names_cross_attention,
)
from areaviz.adapters.loading import is_adapted, is_prefixed, load_model
from areaviz.adapters.recording import record_attention
from areaviz.adapters.run import (
    ModelRun,
    Options,
    check_layers,
    check_size,
    inference_mode,
    to_trace,
)
from areaviz.adapters.texts import Texts, has_pictures, is_chat, make_chat_inputs
from areaviz.adapters.transformers_models import attend_transformers, fits_transformers
from areaviz.trace.arrays import AREA_SIZE, make_text_field
from areaviz.trace.errors import InputError, check_text
from areaviz.trace.record import Field, Trace

# Attention of any `nn.Module`, which is recorded in every supported way or by probes.


_DECODER = re.compile(r"(^|[._])(decoder|dec)(?=[._]|$)")


def fits_module(model: nn.Module) -> bool:
    """Return whether the model is a module, which is always the case."""
    return isinstance(model, nn.Module)


def attend_module(model: nn.Module, inputs: object, options: Options) -> Trace:
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


# The entry point `attend`, which runs any model on an input and returns a trace.
#
# To support another kind of models, add it to `ADAPTERS`.


@dataclass(frozen=True, slots=True)
class Adapter:
    """The functions for one kind of models."""

    # Function that returns whether a model is of this kind.
    fits: Callable[[nn.Module], bool]
    # Function that runs a model and returns its trace.
    attend: Callable[[Any, object, Options], Trace]


# The first adapter that fits is used. The last one fits every module.
ADAPTERS: tuple[Adapter, ...] = (
    Adapter(fits_transformers, attend_transformers),
    Adapter(pictures.fits_timm, pictures.attend_timm),
    Adapter(fits_module, attend_module),
)


def attend(
    model: nn.Module | str | Path,
    inputs: object,
    *,
    target: object = None,
    steps: int = 64,
    tokenizer: Any = None,
    labels: Sequence[str] | None = None,
    area_size: int = AREA_SIZE,
    name: str = "",
    processor: Any = None,
    probes: Mapping[str, Probe] | None = None,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
    sites: Sequence[str] | None = None,
    example: int | None = None,
    attribution: bool = False,
) -> Trace:
    """Record the attention of a `transformers` model, a `timm` ViT or any module with attention.

    Each head appears three times. The first map has its weights on single items. The other two are
    derived and labelled as derived: the area distribution of the head's own queries and keys ("...
    as areas"), and the sums of its weights over areas ("... sums"). The model runs without
    gradients and dropout, and is left unchanged.

    Args:
        model: The model itself, a local folder of a `transformers` model, or its name on the hub.
            Only safetensors are opened, and no code next to the model is run.
        inputs: A text, a pair of texts as a tuple, or token ids. It can also be a picture (uint8
            [height, width, 3], PIL or `Picture`), its pixel values, or a text and a picture as a
            tuple. A chat is a list of messages with a role and a content. A recording is a file,
            samples [N] or [channels, N], or a mapping with "array" and "sampling_rate". You can
            also give the mapping that a tokenizer or processor makes of these, including masks. For
            any other module, give its argument, or a tuple or mapping of its arguments.
        target: Output to force on an encoder-decoder, as a text or token ids. With None, the model
            writes its own output, greedily or with the beams of its configuration.
        steps: Largest number of tokens that the model writes, 1 to 1,024.
        tokenizer: Tokenizer of `transformers` if `inputs` is a text. By default that of the folder.
        labels: A text for each item of the input, if there is no tokenizer.
        area_size: Maximum number of items in an area, or of rows and columns in an area of a
            picture, 1 to 16. With 1 there are no areas.
        name: Name of the model. By default its class or folder.
        processor: Processor of `transformers`, which turns a picture into pixel values. By default
            that of the folder. Without one, the picture is resized to the model's size.
        probes: Functions that read the heads of layers, by layer name (with * for any part), see
            docs/your_models.md.
        layers: Layers of each site to keep, counted from 0. None keeps all.
        heads: Heads of each layer to keep, counted from 0. None keeps all.
        sites: Names of the sites to keep, such as "encoder self". None keeps all.
        example: Example of a batch to read, counted from 0. None reads the first one. A list of
            texts needs a choice.
        attribution: Whether the trace also shows what the output depends on, measured by methods
            other than attention: rollout over the layers ("... rollout") and gradient times input
            ("... gradient"). The second takes one backward pass per output.

    Raises:
        InputError: The input does not fit the model, no part of the model has attention, its
            outputs change during the recording, a layer over areas takes more than 512 MiB or all
            layers more than 16 GiB, or a folder has no safetensors.
        BackendError: The data does not fit in memory, and the disk has no room for it.
    """
    options = Options(
        target=target,
        steps=steps,
        tokenizer=tokenizer,
        labels=labels,
        area_size=area_size,
        name=name,
        processor=processor,
        probes=probes,
        layers=layers,
        heads=heads,
        sites=sites,
        example=0 if example is None else example,
        attribution=attribution,
        is_chosen=example is not None,
    )
    for text in (inputs, target):
        if isinstance(text, str):
            check_text(text)
    if isinstance(model, str | Path):
        loaded = load_model(model)
        model = loaded.model
        options = replace(
            options,
            tokenizer=tokenizer or loaded.tokenizer,
            processor=processor or loaded.processor,
            name=name or loaded.name,
        )
    if not isinstance(model, nn.Module):
        raise InputError(
            "The model must be a torch module, a folder or the name of a model on the hub."
        )
    model = unwrap_model(model)
    check_weights(model)
    adapter = next(adapter for adapter in ADAPTERS if adapter.fits(model))
    if is_chat(inputs) and has_pictures(inputs):
        inputs = make_chat_inputs(inputs, options.processor)
    return adapter.attend(model, inputs, options)


def unwrap_model(model: nn.Module) -> nn.Module:
    """Return the model inside wrappers that compile it, distribute it or adapt it by low rank.

    The layers of an adapter are part of the model. Virtual tokens, such as those of prefix tuning,
    are not. A wrapper that adds virtual tokens is therefore kept.
    """
    while True:
        if isinstance(model, nn.DataParallel | nn.parallel.DistributedDataParallel):
            model = model.module
        elif isinstance(inner := getattr(model, "_orig_mod", None), nn.Module):
            model = inner
        elif is_adapted(model) and not is_prefixed(model):
            model = model.get_base_model()  # type: ignore[operator]
        else:
            return model


def check_weights(model: nn.Module) -> None:
    """Check that the weights of a model have values.

    Raises:
        InputError: The weights are on the meta device, and no hook loads them when a layer runs.
    """
    if any(hasattr(part, "_hf_hook") for part in model.modules()):
        return
    if any(tensor.is_meta for tensor in model.parameters()):
        raise InputError(
            f"The weights of {type(model).__name__} are on the meta device, so they have no"
            " values. Load the model with its weights."
        )
