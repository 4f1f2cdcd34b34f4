"""Vision transformers of the `timm` library.

Its attention layers have a fused way and a plain one; for one pass the plain one is taken, and read
by hooks: the weights as they enter the dropout, queries and keys as they leave their norms. Shapes:
B batch, H heads, N items.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from areaviz.adapters.heads import Heads, plain
from areaviz.adapters.model_run import Story, most_probable, told
from areaviz.adapters.options import Options
from areaviz.adapters.pixels import (
    MEAN,
    STD,
    Patches,
    left_out,
    picture_fields,
    picture_sites,
    pixels,
)
from areaviz.adapters.record_attention import at_rest
from areaviz.trace.errors import InputError
from areaviz.trace.record import Trace


def fits(model: nn.Module) -> bool:
    """Whether a model is one of `timm`, which need not be imported to tell."""
    return any(kind.__module__.startswith("timm.") for kind in type(model).__mro__)


def attend(model: Any, inputs: object, options: Options) -> Trace:
    """See `areaviz.attend`; the processor has no part in it, as the model says its size, mean and
    deviation itself.
    """
    grid = getattr(getattr(model, "patch_embed", None), "grid_size", None)
    if grid is None:
        raise InputError(
            "This model does not cut the picture into cells; give a probe (see"
            " docs/your_models.md)."
        )
    said = getattr(model, "pretrained_cfg", None) or {}
    size = tuple(model.patch_embed.img_size)
    seen = pixels(inputs, size, mean=said.get("mean") or MEAN, std=said.get("std") or STD)
    with at_rest(model), watched(model) as layers:
        logits = model(seen.values.to(next(model.parameters()).device))
    if not layers:
        raise InputError(
            "No plain attention was seen in this model; give a probe (see docs/your_models.md)."
        )
    cut = Patches(grid[0], grid[1], int(getattr(model, "num_prefix_tokens", 0)))
    fields, output = picture_fields(seen.picture, cut), None
    if getattr(model, "num_classes", 0) and logits.dim() == 2:
        field, output = most_probable(logits, "class {}".format)
        fields.append(field)
    story = Story(
        fields, picture_sites(layers, cut), "", seen.picture, output, left_out(layers, cut)
    )
    return told(story, options.name or type(model).__name__, options.area_size)


@contextmanager
def watched(model: nn.Module) -> Iterator[list[Heads]]:
    """Record what the attention layers do; afterwards each takes its fused way again, or not, as
    before.
    """
    layers: list[Heads] = []
    found = [module for module in model.modules() if _attends(module)]
    before = [module.fused_attn for module in found]
    hooks = [hook for module in found for hook in _hooks(module, layers)]
    try:
        for module in found:
            module.fused_attn = False  # type: ignore[assignment]
        yield layers
    finally:
        for hook in hooks:
            hook.remove()
        for module, fused in zip(found, before, strict=True):
            module.fused_attn = fused


def _attends(module: nn.Module) -> bool:
    return all(
        hasattr(module, part) for part in ("fused_attn", "attn_drop", "q_norm", "k_norm", "scale")
    )


def _hooks(module: Any, layers: list[Heads]) -> list[Any]:
    """Hooks of one layer: its queries and keys are kept until its weights come."""
    kept: dict[str, Any] = {}

    def keep(name: str) -> Any:
        return lambda _, given, output: kept.update({name: output})

    def weights(_: nn.Module, given: tuple[Any, ...]) -> None:
        query, key = (plain(kept.pop(name))[0] for name in ("query", "key"))
        layers.append(Heads(plain(given[0])[0], query, key, float(module.scale)))

    return [
        module.q_norm.register_forward_hook(keep("query")),
        module.k_norm.register_forward_hook(keep("key")),
        module.attn_drop.register_forward_pre_hook(weights),
    ]
