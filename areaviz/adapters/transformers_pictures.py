"""`transformers` models that read a picture, such as ViT."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from areaviz.adapters.heads import Heads
from areaviz.adapters.interface import watched
from areaviz.adapters.model_run import Story, most_probable
from areaviz.adapters.options import Options
from areaviz.adapters.pixels import (
    Patches,
    Pixels,
    left_out,
    patches,
    picture_fields,
    picture_sites,
    pixels,
)
from areaviz.adapters.transformers_sites import ENCODER, sites_of
from areaviz.adapters.transformers_texts import asking, classes
from areaviz.trace.errors import InputError


def pictured(model: Any, inputs: object, options: Options) -> Story:
    """A run of a model over one picture; "target" is the class it chose."""
    seen = read(model.config, inputs, options)
    with watched(model) as record:
        outputs = model(pixel_values=seen.values.to(model.device), **asking(model))
    layers = sites_of(model, record, outputs).get(ENCODER, [])
    cut = cells_of(model.config, seen, layers)
    fields = picture_fields(seen.picture, cut)
    output = None
    if outputs.get("logits") is not None and outputs["logits"].dim() == 2:
        field, output = most_probable(outputs["logits"], classes(model))
        fields.append(field)
    return Story(
        fields, picture_sites(layers, cut), "", seen.picture, output, left_out(layers, cut)
    )


def read(config: Any, inputs: object, options: Options) -> Pixels:
    """The picture as a model of this configuration takes it."""
    side = getattr(config, "image_size", 224)
    size = (side, side) if isinstance(side, int) else tuple(side)
    return pixels(inputs, size, options.processor)


def cells_of(config: Any, seen: Pixels, layers: Sequence[Heads]) -> Patches:
    """How the items of a model of this configuration lie in the picture.

    Raises:
        InputError: it says no size of patches, or attends within windows, so that its items have no
            one place.
    """
    patch = getattr(config, "patch_size", None)
    if patch is None or not layers or len({heads.weights.shape for heads in layers}) > 1:
        raise InputError(
            "This model does not cut the picture into cells that attend to all others; give its"
            " weights by Trace.from_arrays."
        )
    return patches(seen.values, patch, layers[0].weights.shape[-1])
