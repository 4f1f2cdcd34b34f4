"""Which site of a `transformers` model each recorded call belongs to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from areaviz.adapters.heads import Heads, plain
from areaviz.adapters.record_attention import Record, Seen

ENCODER, DECODER, CROSS = "encoder self", "decoder self", "encoder-decoder"
_CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)
_RETURNED = {
    "encoder_attentions": ENCODER,
    "attentions": "",
    "decoder_attentions": DECODER,
    "cross_attentions": CROSS,
}
"""What a model returns when it is asked for attentions, and of which site; "" by what is masked."""


def sites_of(model: Any, record: Record, outputs: Any) -> dict[str, list[Heads]]:
    """The heads of every layer, by site, in the order of the layers.

    A model whose layers do not go through the library's interface is read from the attentions it
    returned, which come without queries and keys.
    """
    encoder = _encoder_name(model)
    pairs = [(_site(call, encoder), call.heads) for call in record.calls]
    if not pairs:
        pairs = list(_returned(outputs))
    found: dict[str, list[Heads]] = {}
    for site, heads in pairs:
        found.setdefault(site, []).append(heads)
    return found


def _encoder_name(model: Any) -> str | None:
    """Where the encoder of an encoder-decoder stands, None of other models."""
    if not getattr(model.config, "is_encoder_decoder", False):
        return None
    encoder = model.get_encoder()
    return next((name for name, module in model.named_modules() if module is encoder), None)


def _site(call: Seen, encoder: str | None) -> str:
    """Cross attention is told by the layer's name; else a decoder is what cannot look ahead."""
    if encoder is not None and call.name.startswith(f"{encoder}."):
        return ENCODER
    own = call.name if encoder is None else call.name.removeprefix(encoder)
    if _CROSS.search(own):
        return CROSS
    if encoder is not None:
        return DECODER
    return (
        DECODER
        if looks_back(call.heads, bool(getattr(call.module, "is_causal", False)))
        else ENCODER
    )


def looks_back(heads: Heads, alone: bool = False) -> bool:
    """Whether no query attends to a later item; alone: the answer where there is one item only."""
    weights = heads.weights
    if weights.shape[-1] < 2 or weights.shape[-2] < 2:
        return alone
    return not bool(torch.triu(weights, 1).any())


def _returned(outputs: Mapping[str, Any]) -> Iterable[tuple[str, Heads]]:
    for key, site in _RETURNED.items():
        layers: Sequence[Any] = outputs.get(key) or ()
        for weights in layers:
            if weights is not None:
                heads = Heads(plain(weights)[0])
                yield site or (DECODER if looks_back(heads) else ENCODER), heads
