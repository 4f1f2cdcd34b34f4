"""The first way, for `transformers` models whose layers look up their attention function by name.

Fused functions compute no weights. For one pass, the name is therefore that of a function of this
module. It runs the plain ("eager") function of the model's own file, and files weights, queries and
keys. Between passes, only its registered name remains.

Shapes: B examples, H heads, Q queries, N items, D width of a head.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters.call_records import Call, Note
from areaviz.adapters.heads import mask_to_bias

NAME = "areaviz"
# Function that changes a layer's output and weights, given the layer, its weights, values and
# output.
Change = Callable[[nn.Module, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
_NOTE: ContextVar[Note | None] = ContextVar("areaviz_note", default=None)
_CHANGE: ContextVar[Change | None] = ContextVar("areaviz_change", default=None)


@contextmanager
def watch(model: nn.Module, note: Note) -> Iterator[None]:
    """File the calls of `transformers` layers that this thread makes within a model.

    Afterwards each part has its previous attention function.
    """
    token = _NOTE.set(note)
    try:
        with _set_our_function(model):
            yield
    finally:
        _NOTE.reset(token)


@contextmanager
def route_attention(model: nn.Module, change: Change) -> Iterator[None]:
    """Route every layer of a model that looks up its attention through `change`."""
    token = _CHANGE.set(change)
    try:
        with _set_our_function(model):
            yield
    finally:
        _CHANGE.reset(token)


@contextmanager
def _set_our_function(model: nn.Module) -> Iterator[None]:
    """Set our attention function for every layer that looks one up. Restore the old one later."""
    before = [(config, config._attn_implementation) for config in list_layer_configs(model)]
    if not before:
        yield
        return
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    try:
        set_attention_functions((config, NAME) for config, _ in before)
        yield
    finally:
        set_attention_functions(before)


def list_layer_configs(model: nn.Module, any_way: bool = False) -> list[Any]:
    """Return every configuration that a layer reads. A composed model may have copies of one.

    Args:
        model: A module that may contain models of `transformers`.
        any_way: Whether to include configurations whose layers do not look up a function.
    """
    found, others = {}, set()
    for part in model.modules():
        config = getattr(part, "config", None)
        if not hasattr(config, "_attn_implementation_internal"):
            continue
        found[id(config)] = config
        settable = getattr(part, "_can_set_attn_implementation", None)
        if settable is not None and not settable():
            others.add(id(config))
    return [config for key, config in found.items() if any_way or key not in others]


def set_attention_functions(functions: Iterable[tuple[Any, str | None]]) -> None:
    """Set the attention function of each configuration."""
    for config, name in functions:
        # The setter would also change the parts of the model, so it is bypassed.
        config._attn_implementation_internal = name


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *more: Any,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """Compute the model's plain attention and file or change it.

    Queries are [B, H, Q, D], keys and values [B, H or fewer, N, D].
    """
    file = sys.modules[type(module).__module__]
    own: Callable[..., tuple[Tensor, Tensor | None]]
    own = getattr(file, "eager_attention_forward", _compute_usual_attention)
    if options.get("scaling", 1) is None:
        # Some plain functions, such as that of Llama 4's vision tower, have no default scale.
        own = _compute_usual_attention
    output, weights = own(module, query, key, value, attention_mask, *more, **options)
    note, change = _NOTE.get(), _CHANGE.get()
    if weights is None or weights.dim() != 4:
        return output, weights
    if change is not None:
        output, weights = change(module, weights, value, output)
    if note is not None and change is not None:
        # Changed weights do not follow from queries and keys.
        note(module, Call(weights))
    elif note is not None:
        scaling = more[0] if more else options.get("scaling")
        note(module, _make_call(query, key, weights, attention_mask, scaling, options))
    return output, weights


def _make_call(
    query: Tensor,
    key: Tensor,
    weights: Tensor,
    mask: Tensor | None,
    scaling: Any,
    options: Mapping[str, Any],
) -> Call:
    if key.shape[1] != query.shape[1]:
        key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    added = [
        mask_to_bias(part) for part in (mask, options.get("position_bias")) if part is not None
    ]
    bias = sum(added[1:], added[0]) if added else None
    fits = key.shape[-2] == weights.shape[-1] and query.shape[-2] == weights.shape[-2]
    if not fits:
        return Call(weights)
    return Call(weights, query, key, get_scale(query, scaling), bias)


def get_scale(query: Tensor, given: Any) -> float:
    """Return the factor on q . k, which is 1 / sqrt(D) by default."""
    return float(query.shape[-1] ** -0.5 if given is None else given)


def _compute_usual_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    position_bias: Tensor | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Compute softmax(scale * q . k + mask) v, for model files without a plain function."""
    groups = query.shape[1] // key.shape[1]
    key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    scores = query @ key.transpose(-1, -2) * get_scale(query, scaling)
    for added in (position_bias, attention_mask):
        if added is not None:
            scores = scores + (
                mask_to_bias(added).to(scores) if added.dtype == torch.bool else added
            )
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights
