"""Vision transformers of the `timm` library.

Its attention layers have a fused way and a plain one; for one pass the plain one is taken, and read
by hooks: the weights as they enter the dropout, queries and keys as they leave their norms.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from torch import Tensor, nn

from areaviz.adapters.heads import Heads
from areaviz.adapters.model_run import Options, frozen, to_trace
from areaviz.adapters.pixels import MEAN, STD, Patches, picture_run, pixels
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace

_PARTS = ("fused_attn", "attn_drop", "q_norm", "k_norm", "scale")


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `timm`, which need not be imported for that."""
    return any(kind.__module__.startswith("timm.") for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`; there is no processor: the model says its size, mean and deviation."""
    grid = getattr(getattr(model, "patch_embed", None), "grid_size", None)
    if grid is None:
        raise InputError(
            "This model does not cut the picture into cells; give a probe (see"
            " docs/your_models.md)."
        )
    config = getattr(model, "pretrained_cfg", None) or {}
    mean, std = config.get("mean") or MEAN, config.get("std") or STD
    seen = pixels(inputs, tuple(model.patch_embed.img_size), mean=mean, std=std)
    with frozen(model), record(model) as layers:
        logits = model(seen.values.to(next(model.parameters()).device))
    if not layers:
        raise InputError(
            "No plain attention was seen in this model; give a probe (see docs/your_models.md)."
        )
    cut = Patches(grid[0], grid[1], int(getattr(model, "num_prefix_tokens", 0)))
    classes = logits if getattr(model, "num_classes", 0) else None
    run = picture_run(seen, cut, layers, classes, "class {}".format)
    return to_trace(run, model, options)


@contextmanager
def record(model: nn.Module) -> Iterator[list[Heads]]:
    """Record what the attention layers do; afterwards each takes its fused way again, or not."""
    layers: list[Heads] = []
    with ExitStack() as undo:
        for module in model.modules():
            if all(hasattr(module, part) for part in _PARTS):
                _watch(module, layers, undo)
        yield layers


def _watch(module: Any, layers: list[Heads], undo: ExitStack) -> None:
    """Hooks on one layer: its queries and keys wait for its weights."""
    waiting: dict[str, Tensor] = {}

    def query(_: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        waiting["query"] = output[0]

    def key(_: nn.Module, given: tuple[Any, ...], output: Tensor) -> None:
        waiting["key"] = output[0]

    def weights(_: nn.Module, given: tuple[Any, ...]) -> None:
        layers.append(Heads(given[0][0], scale=float(module.scale), **waiting).plain())
        waiting.clear()

    undo.callback(setattr, module, "fused_attn", module.fused_attn)
    module.fused_attn = False
    undo.callback(module.q_norm.register_forward_hook(query).remove)
    undo.callback(module.k_norm.register_forward_hook(key).remove)
    undo.callback(module.attn_drop.register_forward_pre_hook(weights).remove)
