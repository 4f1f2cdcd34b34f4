"""An attention function for `transformers` that also tells what it did.

Models of that library look their attention function up by name for every call. Fused functions
compute no weights, so
for one pass the name is that of the function here: it runs the plain ("eager") function of the
model's own file and hands weights, queries and keys to the record of the pass. Between passes
nothing is kept but the registered name.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from areaviz.adapters.heads import Heads, hidden, plain
from areaviz.adapters.record_attention import Record
from areaviz.trace.errors import InputError

NAME = "areaviz"
_RECORD: ContextVar[Record | None] = ContextVar("areaviz_record", default=None)
_Attend = Callable[..., tuple[Tensor, Tensor | None]]


@contextmanager
def watched(model: Any) -> Iterator[Record]:
    """Record what the attention layers of a `transformers.PreTrainedModel` do in this thread.

    Afterwards the model has the attention function that it had before, part by part.
    """
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import eager_mask

    AttentionInterface.register(NAME, _attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    before = [(config, config._attn_implementation) for config in _configs(model)]
    record = Record.of(model)
    token = _RECORD.set(record)
    try:
        _choose([(config, NAME) for config, _ in before])
        yield record
    finally:
        _RECORD.reset(token)
        _choose(before)


def _configs(model: Any) -> list[Any]:
    """Every configuration that a layer looks at, of which a composed model may have copies; none of
    older models.
    """
    if not model._can_set_attn_implementation():
        return []
    found = {id(part.config): part.config for part in model.modules() if hasattr(part, "config")}
    return [config for config in found.values() if hasattr(config, "_attn_implementation_internal")]


def _choose(functions: Iterable[tuple[Any, str | None]]) -> None:
    """Name the attention function of each configuration, past its setter, which would pass it on to
    the parts.
    """
    for config, name in functions:
        config._attn_implementation_internal = name


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **options: Any,
) -> tuple[Tensor, Tensor | None]:
    """The model's own plain attention: queries [B, H, Q, D], keys and values [B, H or
    fewer, N, D].
    """
    output, weights = _own(module)(module, query, key, value, attention_mask, **options)
    record = _RECORD.get()
    if record is not None and weights is not None:
        record.add(module, _heads(query, key, weights, attention_mask, options))
    return output, weights


def _heads(
    query: Tensor, key: Tensor, weights: Tensor, mask: Tensor | None, options: Mapping[str, Any]
) -> Heads:
    """What the heads did to the one example there is."""
    if len(weights) != 1:
        raise InputError(
            "This model attends within windows, so its items have no one memory; give its weights"
            " by Trace.from_arrays."
        )
    keys = plain(key[0]).repeat_interleave(query.shape[1] // key.shape[1], 0)
    scale = options.get("scaling")
    scaling = query.shape[-1] ** -0.5 if scale is None else float(scale)
    added = [hidden(part[0]) for part in (mask, options.get("position_bias")) if part is not None]
    return Heads(
        plain(weights[0]),
        plain(query[0]),
        keys,
        scaling,
        sum(added[1:], added[0]) if added else None,
    )


def _own(module: nn.Module) -> _Attend:
    """The plain attention function that stands in the file of the model, else the usual one."""
    found: _Attend = getattr(
        sys.modules[type(module).__module__], "eager_attention_forward", _usual
    )
    return found


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
    scores = (
        query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    )
    for added in (position_bias, attention_mask):
        if added is not None:
            scores = scores + (added if added.dtype != torch.bool else hidden(added).to(scores))
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ value).transpose(1, 2).contiguous(), weights
