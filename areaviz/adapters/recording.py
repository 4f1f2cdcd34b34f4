"""Recording of attention layers during a run, in any of four ways.

Each way has a section. Read the last section first. It chooses among the ways and has a drawing
of the process.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

from areaviz.adapters.heads import (
    CROSS,
    DECODER,
    ENCODER,
    Call,
    Found,
    Note,
    Probe,
    Recorder,
    SiteOf,
    Wanted,
    compute_softmax_weights,
    mask_to_bias,
    to_map_tensor,
)
from areaviz.adapters.loading import run_or_refuse
from areaviz.trace.errors import BackendError, InputError, InputErrorWithAdvice

# Reading of attention from the arguments and projections of `nn.MultiheadAttention`.
#
# Shapes: B examples, H heads, Q queries, N memory items, W model width, D width of a head.


_MULTIHEAD_ARGUMENTS = (
    "query",
    "key",
    "value",
    "key_padding_mask",
    "need_weights",
    "attn_mask",
    "average_attn_weights",
)


def read_multihead_heads(
    module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]
) -> Call:
    """Return the heads of an `nn.MultiheadAttention` call.

    Its projections are computed again, so this works even if the layer did not return weights.

    Raises:
        InputError: The layer adds its own items to the memory (`bias_k`, `add_zero_attn`).
    """
    assert isinstance(module, nn.MultiheadAttention)
    if module.bias_k is not None or module.add_zero_attn:
        raise InputError(
            "This attention layer adds items to its memory (add_bias_kv or add_zero_attn),"
            " which have no label. Give a probe of your own."
        )
    asked = _name_arguments(given, named)
    sides = (_add_batch(asked[side], module.batch_first) for side in ("query", "key"))
    query_BHQD, key_BHND = (_split(x, module.num_heads) for x in _project(module, *sides))
    bias = _make_multihead_bias(module, asked)
    scale = query_BHQD.shape[-1] ** -0.5
    weights = compute_softmax_weights(query_BHQD, key_BHND, scale, bias)
    return Call(weights, query_BHQD, key_BHND, scale, bias)


def is_cross_attention(module: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether an `nn.MultiheadAttention` attended to a memory other than its queries."""
    asked = _name_arguments(given, named)
    return isinstance(module, nn.MultiheadAttention) and asked["query"] is not asked["key"]


def _name_arguments(given: tuple[Any, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call by name."""
    return dict(zip(_MULTIHEAD_ARGUMENTS, given, strict=False)) | dict(named)


def _add_batch(x: Tensor, batch_first: bool) -> Tensor:
    """Return a tensor as [B, Q, W]."""
    if x.dim() == 2:
        return x[None]
    return x if batch_first else x.transpose(0, 1)


def _project(
    module: nn.MultiheadAttention, query_BQW: Tensor, key_BNW: Tensor
) -> tuple[Tensor, Tensor]:
    if module.in_proj_weight is not None:
        query_weight, key_weight, _ = module.in_proj_weight.chunk(3)
    else:
        query_weight, key_weight = module.q_proj_weight, module.k_proj_weight
    query_BQW, key_BNW = F.linear(query_BQW, query_weight), F.linear(key_BNW, key_weight)
    if module.in_proj_bias is not None:
        query_bias, key_bias, _ = module.in_proj_bias.chunk(3)
        query_BQW, key_BNW = query_BQW + query_bias, key_BNW + key_bias
    return query_BQW, key_BNW


def _split(x_BNW: Tensor, heads: int) -> Tensor:
    split: Tensor = to_map_tensor(x_BNW).unflatten(-1, (heads, -1)).transpose(1, 2)
    return split


def _make_multihead_bias(module: nn.MultiheadAttention, asked: Mapping[str, Any]) -> Tensor | None:
    """Return the masks as a bias [B, H, Q, N], with 1 for axes they share.

    In this layer's masks, True means hidden.
    """
    mask, padding = asked.get("attn_mask"), asked.get("key_padding_mask")
    parts = []
    if mask is not None:
        each = mask[None, None] if mask.dim() == 2 else mask.unflatten(0, (-1, module.num_heads))
        parts.append(_make_hiding_bias(each))
    if padding is not None:
        parts.append(
            _make_hiding_bias(padding if padding.dim() == 2 else padding[None])[:, None, None]
        )
    return sum(parts[1:], parts[0]) if parts else None


def _make_hiding_bias(mask: Tensor) -> Tensor:
    return mask_to_bias(~mask if mask.dtype == torch.bool else mask)


# The first way, for `transformers` models whose layers look up their attention function by name.
#
# Fused functions compute no weights. For one pass, the name is therefore that of our own
# function. It runs the plain ("eager") function of the model's own file, and files weights, queries
# and keys. Between passes, only its registered name remains.
#
# Shapes: B examples, H heads, Q queries, N items, D width of a head.


NAME = "areaviz"
# Function that changes a layer's output and weights, given the layer, its weights, values and
# output.
Change = Callable[[nn.Module, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
_NOTE: ContextVar[Note | None] = ContextVar("areaviz_note", default=None)
_CHANGE: ContextVar[Change | None] = ContextVar("areaviz_change", default=None)


@contextmanager
def watch_interface(model: nn.Module, note: Note) -> Iterator[None]:
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
        note(module, _make_interface_call(query, key, weights, attention_mask, scaling, options))
    return output, weights


def _make_interface_call(
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


# The second way, for layers that call torch's `scaled_dot_product_attention` themselves.
#
# The call runs unchanged. Its queries, keys and mask are filed with the softmax that they give.
# This softmax times the values must equal the result of the call, so other computations are never
# filed.
#
# Shapes: B examples, H heads, Q queries, N items, D width of a head.


_DOT_PRODUCT_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
# Maximum difference of contexts or outputs relative to the largest one, by the bytes of a number.
_AGREE = {2: 0.05, 4: 1e-3, 8: 1e-6}
_TORCH_LAYERS = (nn.MultiheadAttention, nn.TransformerEncoderLayer)


@contextmanager
def watch_calls(model: nn.Module, note: Note) -> Iterator[None]:
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
                asked = dict(zip(_DOT_PRODUCT_ARGUMENTS, given, strict=False)) | dict(named or {})
                call = _make_dot_product_call(
                    asked, result, getattr(self.running[-1], "num_heads", 1)
                )
                if call is not None:
                    self.note(self.running[-1], call)
        return result


def _make_dot_product_call(asked: Mapping[str, Any], result: Tensor, heads: Any) -> Call | None:
    """Return the recorded call, or None if it is not a softmax of these queries and keys."""
    query, key, value = (_to_four_axes(asked[name], heads) for name in ("query", "key", "value"))
    if key.shape[-3] != query.shape[-3]:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    bias = _make_dot_product_bias(asked, query, key, heads)
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


def _make_dot_product_bias(
    asked: Mapping[str, Any], query: Tensor, key: Tensor, heads: Any
) -> Tensor | None:
    """Return the bias of the scores: [B, H, Q, N], where B and H may be 1."""
    mask = asked.get("attn_mask")
    if mask is not None:
        return _to_four_axes(mask_to_bias(mask).to(query.device), heads)
    if not asked.get("is_causal"):
        return None
    queries, items = query.shape[-2], key.shape[-2]
    earlier = torch.ones(queries, items, dtype=torch.bool).tril()
    return mask_to_bias(earlier).to(query.device)[None, None]


# The way for layers that are read directly: `nn.MultiheadAttention` and probed layers.


@contextmanager
def watch_layers(model: nn.Module, note: Note) -> Iterator[None]:
    """Read layers after they have run: probed layers or, without probes, torch's layers."""
    with ExitStack() as undo:
        for module in model.modules():
            if module in note.probes:
                read = _make_probe_hook
            elif isinstance(module, nn.MultiheadAttention) and not note.probes:
                read = _make_torch_hook
            else:
                continue
            hook = read(note)
            undo.callback(module.register_forward_hook(hook, with_kwargs=True).remove)
        yield


def _make_torch_hook(note: Note) -> Any:
    def hook(layer: Any, given: tuple[Any, ...], named: Mapping[str, Any], output: Any) -> None:
        site = CROSS if is_cross_attention(layer, given, named) else ""
        note(layer, read_multihead_heads(layer, given, named), site)

    return hook


def _make_probe_hook(note: Note) -> Any:
    def hook(
        layer: nn.Module, given: tuple[Any, ...], named: Mapping[str, Any], output: Any
    ) -> None:
        note.heads(layer, note.probes[layer](layer, given, named, output))

    return hook


# Expansion of weights that a model returns only for the neighbours of each item.
#
# Shapes: B examples, H heads, N items, K columns, G items that attend to all items, L items of a
# block.


def expand_to_all_items(
    part: nn.Module, outputs: Mapping[str, Any], key: str, layer: int, weights: Tensor
) -> Tensor | None:
    """Return the weights of a layer as [B, H, Q, N], or None if that is not possible.

    Args:
        part: Module that returned the weights.
        outputs: All outputs of the module.
        key: Name of the weights in the outputs.
        layer: Number of the layer.
        weights: The weights as returned.
    """
    config = getattr(part, "config", None)
    windows = getattr(config, "attention_window", None)
    banded = key in ("attentions", "encoder_attentions") and weights.dim() == 4
    if windows is not None and banded and weights.shape[-1] != weights.shape[-2]:
        window = windows if isinstance(windows, int) else windows[layer]
        every = outputs.get(key.replace("attentions", "global_attentions"))
        return _expand_windows(weights, window, None if every is None else every[layer])
    if weights.dim() == 5 and weights.shape[-1] == 3 * weights.shape[-2]:
        items = outputs["last_hidden_state"].shape[1]
        return _expand_blocks(weights, items)
    return weights if weights.dim() == 4 else None


def _expand_windows(weights: Tensor, window: int, every: Tensor | None) -> Tensor:
    """Expand windows around each item, as in Longformer: [B, H, N, G + window + 1].

    Args:
        weights: Weights of the layer. The columns of items that all items attend to come first.
        window: Number of items in the window in addition to its middle.
        every: Weights of the items that attend to all items, [B, H, N, G].
    """
    batch, heads, items, columns = weights.shape
    count = columns - (window + 1)
    row_N1 = torch.arange(items, device=weights.device)[:, None]
    place_NK = row_N1 + torch.arange(window + 1, device=weights.device) - window // 2
    whole = _scatter(weights[..., count:], place_NK, items)
    if count and every is not None:
        # The rows of items that attend to all items are empty in `weights`. They are in `every`.
        [globals_G] = torch.nonzero(weights[0].sum((0, 2)) == 0, as_tuple=True)
        whole[..., globals_G] += weights[..., :count]
        whole[:, :, globals_G] = every.transpose(-1, -2)[:, :, : len(globals_G)]
    return whole


def _expand_blocks(weights: Tensor, items: int) -> Tensor:
    """Expand each block and its two neighbours, as in LongT5: [B, blocks, H, L, 3 L]."""
    _, blocks, _, length, _ = weights.shape
    rows = weights.transpose(1, 2).flatten(2, 3)
    block_N1 = torch.arange(blocks, device=weights.device).repeat_interleave(length)[:, None]
    place_NK = (block_N1 - 1) * length + torch.arange(3 * length, device=weights.device)
    return _scatter(rows[:, :, :items], place_NK[:items], items)


def _scatter(weights: Tensor, place_NK: Tensor, items: int) -> Tensor:
    """Return weights [B, H, N, K] at their places among all items, without those outside."""
    inside = (place_NK >= 0) & (place_NK < items)
    place = place_NK.clamp(0, items - 1).expand(weights.shape)
    whole = weights.new_zeros((*weights.shape[:3], items))
    return whole.scatter_add_(-1, place, weights * inside)


# The last way, for `transformers` models that return their attention on request.
#
# The weights come without queries and keys. The outputs of every part that belongs to the library
# are read, because the whole model may not pass on what its parts return.


# Outputs with attention and their sites. For "", name and mask determine the site.
RETURNED = {
    "encoder_attentions": ENCODER,
    "decoder_attentions": DECODER,
    "attentions": "",
    "cross_attentions": CROSS,
}


@contextmanager
def watch_outputs(model: nn.Module, note: Note) -> Iterator[None]:
    """Make the parts of a module return their attention, and file it."""
    asked = list_layer_configs(model, any_way=True)
    before = [(config, config._attn_implementation) for config in asked]
    with ExitStack() as undo:
        for config in asked:
            undo.callback(setattr, config, "_output_attentions", config._output_attentions)
        undo.callback(set_attention_functions, before)
        set_attention_functions((config, "eager") for config in asked)
        for config in asked:
            config._output_attentions = True
        undo.callback(_forget, model, _list_hooks(model))
        noted: list[Tensor] = []
        for part in model.modules():
            if _is_of_library(part):
                hook = part.register_forward_hook(_make_reader_hook(note, noted), with_kwargs=True)
                undo.callback(hook.remove)
        yield


def _make_reader_hook(note: Note, noted: list[Tensor]) -> Callable[..., None]:
    """Return a hook that files a part's attention, unless an inner part has already done so."""

    def hook(part: nn.Module, given: Any, named: Any, outputs: Any) -> None:
        if not isinstance(outputs, Mapping):
            return
        for key, site in RETURNED.items():
            for layer, weights in enumerate(outputs.get(key) or ()):
                if not isinstance(weights, Tensor) or any(weights is one for one in noted):
                    continue
                noted.append(weights)
                whole = expand_to_all_items(part, outputs, key, layer, weights)
                if whole is not None:
                    note(part, Call(whole), site)

    return hook


def _is_of_library(part: nn.Module) -> bool:
    kinds = type(part).__mro__
    return any(kind.__module__ == "transformers.modeling_utils" for kind in kinds)


def _list_hooks(model: nn.Module) -> dict[nn.Module, set[int]]:
    return {module: set(module._forward_hooks) for module in model.modules()}


def _forget(model: nn.Module, before: Mapping[nn.Module, set[int]]) -> None:
    """Remove the hooks that the library leaves on a model whose attention was captured."""
    for module in model.modules():
        for hook in set(module._forward_hooks) - before[module]:
            del module._forward_hooks[hook]
        if hasattr(module, "_output_capturing_hooks_installed"):
            setattr(module, "_output_capturing_hooks_installed", False)  # noqa: B010


# Recording of every attention layer during a model's run, in any way that works for the layer.
#
#     the model as it is ──────────── plain pass ───► outputs ──┐ they agree, or
#     the model watched by PASSES ─── pass by pass ─► outputs ──┘ the pass is not used
#                                        │ note(module, call)
#                                        ▼
#                                    Recorder: by site, the requested layers
#
# A way is a function such as `watch_interface`, and `PASSES` lists the ways. The ways of one pass
# record different kinds of layers, which are layers that look up their attention function, layers
# that call torch's, and layers of torch itself or with a probe. If these ways miss sites, a
# separate pass asks the model to return its attention.


@dataclass(frozen=True, slots=True)
class RecordingWay:
    """A way to record the attention of some layers."""

    # Name, as in "seen as ...".
    name: str
    # Function that files the calls of a model's layers while its context is entered.
    watch: Callable[[nn.Module, Note], AbstractContextManager[None]]


_INTERFACE = RecordingWay("the library's attention interface", watch_interface)
_AS_LOADED = (
    RecordingWay("calls of scaled_dot_product_attention", watch_calls),
    RecordingWay("layers of torch and probes", watch_layers),
)
# The passes in their order. A later pass runs only if the earlier ones missed a site. The second
# pass is for models whose outputs with plain attention differ from those with the fused attention
# that they use.
PASSES: tuple[tuple[RecordingWay, ...], ...] = (
    (_INTERFACE, *_AS_LOADED),
    _AS_LOADED,
    (RecordingWay("the weights that the model returns", watch_outputs),),
)
# Number of values that are compared at once.
_PIECE = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class RecordedRun:
    """The record of a run."""

    # Outputs of the plain pass.
    outputs: Any
    # Heads of every layer by site.
    found: Found
    # Details for users on how the layers were recorded, and on layers that were not recorded.
    details: Mapping[str, str] = field(default_factory=dict)
    # Names of each site's layers, or of the parts that returned the weights.
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)


def record_attention(
    model: nn.Module,
    run: Callable[[], Any],
    site_of: SiteOf,
    wanted: Wanted,
    needed: Sequence[str] = (),
    probes: Mapping[nn.Module, Probe] | None = None,
) -> RecordedRun:
    """Run a model without recording, then with recording until every site was seen.

    Args:
        model: Model to run.
        run: Function that runs the model, in the same way each time.
        site_of: Function that returns the site of a call.
        wanted: Layers, heads and sites to keep, and the example.
        needed: Sites that have to be seen, such as "encoder self" or "decoder self or text self";
            () for any.
        probes: Layers that functions of the user read.

    Raises:
        InputError: The model fails on its input, or a recorded pass gives other outputs than the
            plain one, so its attention would belong to another computation.
    """
    recorder = Recorder(model, site_of, wanted, probes or {})
    plain, used, differs = None, [], False
    for ways in PASSES:
        if ways is _AS_LOADED and not differs:
            # The previous pass recorded everything that this pass would record.
            continue
        outputs, failed = None, False
        with ExitStack() as stack:
            for way in ways:
                stack.enter_context(way.watch(model, recorder.begin(way.name)))
            try:
                # Recording comes before the plain pass, because the recorder checks the size at the
                # first layer.
                outputs = _run_with_seed(run)
            except (InputError, BackendError):
                raise
            except Exception:
                # The model itself may fail on its input. The plain pass then reports the reason.
                failed = True
        if plain is None:
            plain = run_or_refuse(model, lambda: _run_with_seed(run))
        if failed or compute_output_difference(plain, outputs) > 1:
            differs = True
            recorder.drop()
            continue
        used += recorder.keep()
        if recorder.complete(needed):
            break
    if not recorder.found and differs:
        raise InputErrorWithAdvice(
            "This model gives other outputs while its attention is recorded, so the record"
            " would not show what it does",
            "probe",
        )
    details = {"attention": f"seen as {' and '.join(used)}"} if used else {}
    for site in recorder.missing(needed):
        details[site] = "not shown: no layer of it gave weights of its items over all others"
    return RecordedRun(plain, recorder.found, details | recorder.details(), recorder.names())


def compute_output_difference(plain: Any, watched: Any) -> float:
    """Return the difference of outputs, as a multiple of what rounding explains, or 0 if equal."""
    largest = 0.0
    befores, afters = _list_tensors(plain), _list_tensors(watched)
    if len(befores) != len(afters):
        return torch.inf
    for before, after in zip(befores, afters, strict=True):
        if before.shape != after.shape:
            return torch.inf
        if not before.numel():
            continue
        apart, size = 0.0, 0.0
        # Outputs are compared in pieces, because the scores of a large vocabulary take much memory.
        parts = before.flatten().split(_PIECE), after.flatten().split(_PIECE)
        for one, other in zip(*parts, strict=True):
            finite = one.isfinite()
            if not torch.equal(finite, other.isfinite()):
                return torch.inf
            if bool(finite.any()):
                apart = max(apart, float((one - other)[finite].abs().max()))
                size = max(size, float(one[finite].abs().max()))
        allowed = _AGREE[before.element_size()] * max(size, 1e-3)
        largest = max(largest, apart / allowed)
    return largest


def _list_tensors(outputs: Any) -> list[Tensor]:
    """Return the tensors of a model's outputs, without by-products if the outputs are a mapping."""
    if isinstance(outputs, Tensor):
        return [outputs] if outputs.is_floating_point() else []
    if isinstance(outputs, Mapping):
        kept = [value for name, value in outputs.items() if not _is_by_product(name)]
        return [tensor for value in kept for tensor in _list_tensors(value)]
    if isinstance(outputs, list | tuple):
        return [tensor for value in outputs for tensor in _list_tensors(value)]
    return []


def _is_by_product(name: str) -> bool:
    """Return whether an output exists only on request or differs between runs in its form."""
    return any(part in name for part in ("attentions", "hidden_states", "past_key", "mems"))


def _run_with_seed(run: Callable[[], Any]) -> Any:
    """Run with fixed randomness, such as that of a random mask."""
    with torch.random.fork_rng(devices=[]), InOrder():
        torch.manual_seed(0)
        return run()


class InOrder(TorchFunctionMode):
    """A mode in which drawing a whole set without replacement returns it in order.

    Models that shuffle their items, as ViLT does with the cells of a picture, then keep them in the
    expected places. This order is as likely as any other order.
    """

    def __torch_function__(
        self, function: Any, types: Any, given: Any = (), named: Any = None
    ) -> Any:
        named = named or {}
        result = function(*given, **named)
        if function is torch.multinomial and not named.get("replacement", len(given) > 2):
            [*_, count] = result.shape
            if count == given[0].shape[-1]:
                return torch.arange(count, device=result.device).expand(result.shape)
        return result
