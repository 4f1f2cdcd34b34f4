"""`transformers` models of one stack: encoders such as BERT and ViT, decoders such as GPT-2.

Shapes: N tokens, V vocabulary or classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import ModelRun, Options, Site, most_probable, output_of
from areaviz.adapters.pixels import Patches, Pixels, patches, picture_run, pixels
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_record import DECODER, ENCODER, Found, run
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field


def read_text(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of an encoder or a decoder over one text.

    An encoder has the field "source"; "target" is the class it chose, or what it would write at
    each place. A decoder has "history", what it was fed, and "target", what follows each item of
    it: the next item given and, at the end, the most probable one.

    Raises:
        InputError: the input does not fit, or a target is given, which only an encoder-decoder
            takes.
    """
    if options.target is not None:
        raise InputError(
            "Only an encoder-decoder takes a target; put what a decoder should write behind its"
            " input."
        )
    texts = Texts(options.tokenizer)
    tokens = texts.read(inputs, options.labels)
    ids_1N = row(tokens.ids, model)
    outputs, found = run(model, input_ids=ids_1N, attention_mask=torch.ones_like(ids_1N))
    logits = outputs.get("logits")
    if DECODER in found:
        return _decoder(tokens, found[DECODER], logits, texts)
    return _encoder(model, tokens, found, logits, texts)


def read_picture(model: Any, inputs: object, options: Options) -> ModelRun:
    """A run of a model over one picture; "target" is the class it chose."""
    seen = picture_of(model.config, inputs, options)
    outputs, found = run(model, pixel_values=seen.values.to(model.device))
    layers = found.get(ENCODER, [])
    cut = cells_of(model.config, seen, layers)
    return picture_run(seen, cut, layers, outputs.get("logits"), classes(model))


def picture_of(config: Any, inputs: object, options: Options) -> Pixels:
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
    if patch is None or len({heads.weights.shape for heads in layers}) != 1:
        raise InputError(
            "This model does not cut the picture into cells that attend to all others; give its"
            " weights by areaviz.from_arrays."
        )
    return patches(seen.values, patch, layers[0].weights.shape[-1])


def row(ids: Sequence[int], model: Any) -> Tensor:
    """Token ids as a batch of one, where the model lies.

    Raises:
        InputError: the model has no place, or no embedding, for one of them.
    """
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest and len(ids) > longest:
        raise InputError(
            f"The input has {len(ids):,} tokens but the model takes at most {longest:,};"
            " shorten it."
        )
    size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    if size is not None and not 0 <= min(ids) <= max(ids) < size:
        raise InputError(
            f"Token ids must lie between 0 and {size - 1}; the tokenizer belongs to another model."
        )
    return torch.tensor([list(ids)], device=model.device)


def classes(model: Any) -> Callable[[int], str]:
    """What the classes of a model are called."""
    names = getattr(model.config, "id2label", None) or {}
    return lambda index: str(names.get(index, index))


def _encoder(
    model: Any, tokens: Tokens, found: Found, logits: Tensor | None, texts: Texts
) -> ModelRun:
    source, shape = tokens.named("source"), (1, len(tokens.ids))
    sites = [Site(site, "source", "source", shape, layers) for site, layers in found.items()]
    if logits is None:
        return ModelRun([source], sites, source.raw)
    logits_TV = logits[0] if logits.dim() == 3 else logits
    writes = logits_TV.shape[-1] == getattr(model.config, "vocab_size", None)
    field, output = most_probable(logits_TV, texts.label if writes else classes(model))
    return ModelRun([source, field], sites, source.raw, output=output)


def _decoder(
    tokens: Tokens, layers: Sequence[Heads], logits: Tensor | None, texts: Texts
) -> ModelRun:
    history, shape = tokens.named("history"), (1, len(tokens.ids))
    if logits is None:
        site = Site(DECODER, "history", "history", shape, layers)
        return ModelRun([history], [site], history.raw)
    following = [*tokens.ids[1:], int(logits[0, -1].argmax())]
    # The target is what follows each item: the items behind the first, then one more.
    label, end = texts.label(following[-1]), len(history.raw)
    anchors = np.vstack([history.anchors[1:], [[end, end + len(label)]]])
    target = Field("target", "text", history.raw + label, (*history.labels[1:], label), anchors)
    return ModelRun(
        [target, history],
        [Site(DECODER, "target", "history", shape, layers)],
        history.raw,
        output=output_of(logits[0], following, texts.label),
        details={"decoding": "given text"},
    )
