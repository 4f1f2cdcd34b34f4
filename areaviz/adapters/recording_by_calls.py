"""The second way, for layers that call torch's `scaled_dot_product_attention` themselves.

The call runs unchanged. Its queries, keys and mask are filed with the softmax that they give. This
softmax times the values must equal the result of the call, so other computations are never filed.

Shapes: B examples, H heads, Q queries, N items, D width of a head.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from areaviz.adapters.call_records import Call, Note
from areaviz.adapters.heads import compute_softmax_weights, mask_to_bias
from areaviz.adapters.recording_by_interface import get_scale

_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
# Maximum difference of contexts relative to the largest value, by the bytes of a number.
_AGREE = {2: 0.05, 4: 1e-3, 8: 1e-6}
_TORCH_LAYERS = (nn.MultiheadAttention, nn.TransformerEncoderLayer)


@contextmanager
def watch(model: nn.Module, note: Note) -> Iterator[None]:
    """File every call of `scaled_dot_product_attention` with the layer that makes it."""
    running: list[nn.Module] = []
    with ExitStack() as undo:
        for module in model.modules():
            _follow(module, running, undo)
            if hasattr(module, "fused_attn"):
                # timm's layers call torch's function only if this attribute is set.
                undo.callback(setattr, module, "fused_attn", module.fused_attn)
                setattr(module, "fused_attn", True)  # noqa: B010
        undo.enter_context(_CallPatch(running, note))
        yield


def _follow(module: nn.Module, running: list[nn.Module], undo: ExitStack) -> None:
    """Track the running layers. The innermost layer is the last one."""

    def enter(module: nn.Module, given: tuple[Any, ...]) -> None:
        running.append(module)

    def leave(module: nn.Module, given: tuple[Any, ...], output: Any) -> None:
        # A layer whose own hook fails before it runs was never entered.
        if running[-1:] == [module]:
            running.pop()

    undo.callback(module.register_forward_pre_hook(enter).remove)
    undo.callback(module.register_forward_hook(leave, always_call=True).remove)


class _CallPatch(TorchFunctionMode):
    """A mode that observes every function of torch while it is entered."""

    def __init__(self, running: Sequence[nn.Module], note: Note) -> None:
        super().__init__()
        self.running, self.note = running, note

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Any,
        given: Sequence[Any] = (),
        named: Mapping[str, Any] | None = None,
    ) -> Any:
        result = function(*given, **(named or {}))
        if function is F.scaled_dot_product_attention and self.running:
            # Layers of torch and layers with a probe are recorded in their own way.
            read = [module in self.note.probes for module in self.running]
            if not any(read) and not isinstance(self.running[-1], _TORCH_LAYERS):
                asked = dict(zip(_ARGUMENTS, given, strict=False)) | dict(named or {})
                call = _make_call(asked, result, getattr(self.running[-1], "num_heads", 1))
                if call is not None:
                    self.note(self.running[-1], call)
        return result


def _make_call(asked: Mapping[str, Any], result: Tensor, heads: Any) -> Call | None:
    """Return the recorded call, or None if it is not a softmax of these queries and keys."""
    query, key, value = (_to_four_axes(asked[name], heads) for name in ("query", "key", "value"))
    if key.shape[-3] != query.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    bias = _make_bias(asked, query, key, heads)
    scale = get_scale(query, asked.get("scale"))
    weights = compute_softmax_weights(query.float(), key.float(), scale, bias)
    context = weights @ value.float()
    apart = (context - _to_four_axes(result, heads).float()).abs().max()
    allowed = _AGREE[result.element_size()] * value.abs().max().float().clamp_min(1e-3)
    if not bool(apart <= allowed):
        return None
    return Call(weights, query, key, scale, bias)


def _to_four_axes(x: Tensor, heads: Any) -> Tensor:
    """Return [B, H, N, D] from a tensor that may have one head, no batch, or windows of an example.

    A single leading axis counts the examples, or the examples and heads together.
    """
    if x.dim() == 2:
        return x[None, None]
    if x.dim() == 3:
        merged = isinstance(heads, int) and heads > 1 and len(x) % heads == 0
        return x.unflatten(0, (-1, heads)) if merged else x[:, None]
    return x.flatten(0, -4)


def _make_bias(asked: Mapping[str, Any], query: Tensor, key: Tensor, heads: Any) -> Tensor | None:
    """Return the bias of the scores: [B, H, Q, N], where B and H may be 1."""
    mask = asked.get("attn_mask")
    if mask is not None:
        return _to_four_axes(mask_to_bias(mask).to(query.device), heads)
    if not asked.get("is_causal"):
        return None
    queries, items = query.shape[-2], key.shape[-2]
    earlier = torch.ones(queries, items, dtype=torch.bool).tril()
    return mask_to_bias(earlier).to(query.device)[None, None]
