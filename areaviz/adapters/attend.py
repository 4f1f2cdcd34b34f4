"""The entry point `attend`, which runs any model on an input and returns a trace.

To support another kind of models, add it to `ADAPTERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from torch import nn

from areaviz.adapters import timm_models, torch_modules, transformers_models
from areaviz.adapters.call_records import Probe
from areaviz.adapters.chats import has_pictures, is_chat, make_chat_inputs
from areaviz.adapters.loading import load_model
from areaviz.adapters.model_run import Options
from areaviz.adapters.peft_models import is_adapted, is_prefixed
from areaviz.trace.arrays import AREA_SIZE
from areaviz.trace.errors import InputError, check_text
from areaviz.trace.record import Trace


@dataclass(frozen=True, slots=True)
class Adapter:
    """The functions for one kind of models."""

    # Function that returns whether a model is of this kind.
    fits: Callable[[nn.Module], bool]
    # Function that runs a model and returns its trace.
    attend: Callable[[Any, object, Options], Trace]


# The first adapter that fits is used. The last one fits every module.
ADAPTERS: tuple[Adapter, ...] = (
    Adapter(transformers_models.fits, transformers_models.attend),
    Adapter(timm_models.fits, timm_models.attend),
    Adapter(torch_modules.fits, torch_modules.attend),
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
