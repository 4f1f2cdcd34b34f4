"""One pass of a `transformers` model, and what its attention layers did in it, by site.

Models of that library look their attention function up by name for every call. Fused functions
compute no weights, so for one pass the name is that of the function here: it runs the plain
("eager") function of the model's own file and records weights, queries and keys. Between passes
nothing stays but the registered name.

Shapes: B batch, H heads, Q queries, N items, D width of a head.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters.heads import Heads, hidden
from areaviz.trace.errors import InputError

ENCODER, DECODER, CROSS = "encoder self", "decoder self", "encoder-decoder"
NAME = "areaviz"
Found = dict[str, list[Heads]]
# The calls of a model's attention layers, in the order they came.
Calls = list[tuple[nn.Module, Heads]]
_CALLS: ContextVar[Calls | None] = ContextVar("areaviz_calls", default=None)
_CROSS = re.compile(r"cross|encoder_attn|encdec", re.IGNORECASE)
# What a model returns when it is asked for attentions, and of which site; "" by what is masked.
_RETURNED = {
    "encoder_attentions": ENCODER,
    "attentions": "",
    "decoder_attentions": DECODER,
    "cross_attentions": CROSS,
}


def run(model: Any, **given: Tensor) -> tuple[Any, Found]:
    """A model's outputs, and the heads of every layer, by site, in the order of the layers.

    A model whose layers do not go through the library's interface is asked to return its
    attentions, which come without queries and keys.
    """
    asked = {} if model._can_set_attn_implementation() else {"output_attentions": True}
    with record(model) as calls:
        outputs = model(**given, **asked)
    found: Found = {}
    for site, heads in _sites(model, calls) if calls else _returned(outputs):
        found.setdefault(site, []).append(heads)
    return outputs, found


@contextmanager
def record(model: Any) -> Iterator[Calls]:
    """Record what the attention layers of a `transformers.PreTrainedModel` do in this thread.

    Afterwards the model has the attention function that it had before, part by part.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    before = [(config, config._attn_implementation) for config in _configs(model)]
    calls: Calls = []
    token = _CALLS.set(calls)
    try:
        _choose((config, NAME) for config, _ in before)
        yield calls
    finally:
        _CALLS.reset(token)
        _choose(before)


def looks_back(heads: Heads, alone: bool = False) -> bool:
    """Whether no query attends to a later item; `alone` where there is one item only."""
    if min(heads.weights.shape[-2:]) < 2:
        return alone
    return not bool(torch.triu(heads.weights, 1).any())


def _sites(model: Any, calls: Calls) -> Iterator[tuple[str, Heads]]:
    """The site of each call: cross attention by the layer's name, a decoder by what it sees."""
    encoder = model.get_encoder() if getattr(model.config, "is_encoder_decoder", False) else None
    names = {module: name for name, module in model.named_modules()}
    prefix = names.get(encoder, "")
    for module, heads in calls:
        name = names.get(module, "")
        causal = looks_back(heads, bool(getattr(module, "is_causal", False)))
        if prefix and name.startswith(f"{prefix}."):
            yield ENCODER, heads
        elif _CROSS.search(name.removeprefix(prefix)):
            yield CROSS, heads
        else:
            yield DECODER if prefix or causal else ENCODER, heads


def _returned(outputs: Mapping[str, Any]) -> Iterator[tuple[str, Heads]]:
    for key, site in _RETURNED.items():
        for weights in outputs.get(key) or ():
            if weights is not None:
                heads = Heads(weights[0]).plain()
                yield site or (DECODER if looks_back(heads) else ENCODER), heads


def _configs(model: Any) -> list[Any]:
    """Every configuration that a layer looks at; a composed model may have copies.

    Older models have none.
    """
    if not model._can_set_attn_implementation():
        return []
    found = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    return [config for config in found.values() if hasattr(config, "_attn_implementation_internal")]


def _choose(functions: Iterable[tuple[Any, str | None]]) -> None:
    """Name the attention function of each configuration."""
    for config, name in functions:
        # Past its setter, which would pass it on to the parts.
        config._attn_implementation_internal = name


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The model's plain attention: queries [B, H, Q, D], keys and values [B, H or fewer, N, D]."""
    file = sys.modules[type(module).__module__]
    own: Callable[..., tuple[Tensor, Tensor | None]]
    own = getattr(file, "eager_attention_forward", _usual)
    output, weights = own(module, query, key, value, attention_mask, **options)
    calls = _CALLS.get()
    if calls is not None and weights is not None:
        calls.append((module, _heads(query, key, weights, attention_mask, options)))
    return output, weights


def _heads(
    query: Tensor, key: Tensor, weights: Tensor, mask: Tensor | None, options: Mapping[str, Any]
) -> Heads:
    """What the heads did to the one example there is."""
    if len(weights) != 1:
        raise InputError(
            "This model attends within windows, so its items have no one memory; give its weights"
            " by areaviz.from_arrays."
        )
    keys = key[0].repeat_interleave(query.shape[1] // key.shape[1], 0)
    added = [hidden(part[0]) for part in (mask, options.get("position_bias")) if part is not None]
    bias = sum(added[1:], added[0]) if added else None
    return Heads(weights[0], query[0], keys, _scale(query, options.get("scaling")), bias).plain()


def _scale(query: Tensor, given: float | None) -> float:
    return float(query.shape[-1] ** -0.5 if given is None else given)


def _usual(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """softmax(scale * q . k + mask) v, for files that have no plain function of their own."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-1, -2) * _scale(query, scaling)
    for added in (position_bias, attention_mask):
        if added is not None:
            scores = scores + (hidden(added).to(scores) if added.dtype == torch.bool else added)
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights
