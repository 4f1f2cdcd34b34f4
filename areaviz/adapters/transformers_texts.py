"""`transformers` models that read text alone: encoders such as BERT and decoders such as GPT-2.

Shapes: N tokens, V vocabulary, C classes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads
from areaviz.adapters.interface import watched
from areaviz.adapters.model_run import Site, Story, most_probable, output_of
from areaviz.adapters.options import Options
from areaviz.adapters.texts import Texts, Tokens
from areaviz.adapters.transformers_sites import DECODER, sites_of
from areaviz.trace.errors import InputError
from areaviz.trace.record import Field


def one_stack(model: Any, inputs: object, options: Options) -> Story:
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
    with watched(model) as record:
        outputs = model(input_ids=ids_1N, attention_mask=torch.ones_like(ids_1N), **asking(model))
    found = sites_of(model, record, outputs)
    logits = outputs.get("logits")
    if DECODER in found:
        return _decoder(tokens, found[DECODER], logits, texts)
    return _encoder(model, tokens, found, logits, texts)


def row(ids: Sequence[int], model: Any) -> Tensor:
    """Token ids as a batch of one, where the model lies; refuses what it has no embedding or no
    place for.
    """
    longest = getattr(model.config, "max_position_embeddings", None)
    if longest and len(ids) > longest:
        raise InputError(
            f"The input has {len(ids):,} tokens but the model takes at most {longest:,};"
            " shorten it."
        )
    embedding = model.get_input_embeddings()
    size = getattr(embedding, "num_embeddings", None)
    if size is not None and not 0 <= min(ids) <= max(ids) < size:
        raise InputError(
            f"Token ids must lie between 0 and {size - 1}; the tokenizer belongs to another model."
        )
    return torch.tensor([list(ids)], device=model.device)


def asking(model: Any) -> dict[str, bool]:
    """Models that do not look up their attention function are asked to return the weights."""
    return {} if model._can_set_attn_implementation() else {"output_attentions": True}


def _encoder(
    model: Any, tokens: Tokens, found: dict[str, list[Heads]], logits: Tensor | None, texts: Texts
) -> Story:
    source, count = tokens.named("source"), len(tokens.ids)
    sites = [Site(site, "source", "source", (1, count), layers) for site, layers in found.items()]
    if logits is None:
        return Story([source], sites, source.raw)
    logits_TV = logits[0] if logits.dim() == 3 else logits
    writes = logits_TV.shape[-1] == getattr(model.config, "vocab_size", None)
    field, output = most_probable(logits_TV, texts.label if writes else classes(model))
    return Story([source, field], sites, source.raw, output=output)


def classes(model: Any) -> Callable[[int], str]:
    """What the classes of a model are called."""
    names = getattr(model.config, "id2label", None) or {}
    return lambda index: str(names.get(index, index))


def _decoder(tokens: Tokens, layers: Sequence[Heads], logits: Tensor | None, texts: Texts) -> Story:
    history, count = tokens.named("history"), len(tokens.ids)
    if logits is None:
        return Story(
            [history], [Site(DECODER, "history", "history", (1, count), layers)], history.raw
        )
    following = [*tokens.ids[1:], int(logits[0, -1].argmax())]
    target = _following(history, texts.label(following[-1]))
    output = output_of("target", logits[0], following, texts.label)
    site = Site(DECODER, "target", "history", (1, count), layers)
    return Story(
        [target, history], [site], history.raw, output=output, details={"decoding": "given text"}
    )


def _following(history: Field, label: str) -> Field:
    """What follows each item of a history: the items behind the first, then one more."""
    end = len(history.raw)
    anchors = np.vstack([history.anchors[1:], [[end, end + len(label)]]])
    return Field("target", "text", history.raw + label, (*history.labels[1:], label), anchors)
