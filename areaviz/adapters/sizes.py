"""How large the attention of a run will be, as far as that is known before the run.

Whoever runs a model says how many queries attend to which memory; how many layers and heads there
are, a model says itself. What is not known beforehand is checked when the first layer is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import Tensor, nn

from areaviz.adapters.calls import CROSS, DECODER
from areaviz.adapters.model_run import Options
from areaviz.trace.areas import AreaGrid
from areaviz.trace.limits import check_attended

# What configurations call a number of layers, and of heads.
_LAYERS = ("num_hidden_layers", "encoder_layers", "n_layer", "num_layers", "n_layers")
_HEADS = ("num_attention_heads", "encoder_attention_heads", "n_head", "num_heads", "n_heads")


@dataclass(frozen=True, slots=True)
class Stack:
    """How many layers of attention a model has, and how many heads each; None if not known."""

    layers: int | None
    heads: int | None


def stack_of(model: nn.Module, decoder: bool | None = None) -> Stack:
    """What the configuration of a model, or of one within it, says; else what its parts are.

    Args:
        model: of `transformers` or `timm`, or any module around one.
        decoder: whether the decoder of a pair is meant.
    """
    for part in model.modules():
        config: Any = getattr(part, "config", None)
        if hasattr(config, "get_text_config"):
            said = config.get_text_config(decoder=decoder)
            return Stack(_first(said, _LAYERS), _first(said, _HEADS))
    found = [getattr(part, "num_heads", None) for part in model.modules()]
    counts = [count for count in found if isinstance(count, int)]
    # Stages of a model differ in their heads, and then in their items.
    return Stack(len(counts), counts[0]) if len(set(counts)) == 1 else Stack(None, None)


def _first(config: Any, names: Sequence[str]) -> int | None:
    found = next((getattr(config, name) for name in names if hasattr(config, name)), None)
    return found if isinstance(found, int) else None


def cells_before(model: nn.Module, values: Tensor) -> tuple[int, int] | None:
    """Rows and columns of the cells of a picture, before a model has seen it.

    They are those of the one convolution that reads colours, if its windows do not overlap; None
    for other models, and for those of several stages, which merge cells.

    Args:
        model: what sees the picture.
        values: [B, C, H, W], the pixels that it is given.
    """
    if values.dim() != 4 or len(values) != 1 or stack_of(model).heads is None:
        return None
    _, colours, *sides = values.shape
    windows = set()
    for part in model.modules():
        if isinstance(part, nn.Conv2d) and part.in_channels == colours:
            windows.add((part.stride, part.kernel_size))
    if len(windows) != 1:
        return None
    [((high, wide), size)] = windows
    if (high, wide) != size:
        return None
    return sides[0] // high, sides[1] // wide


def check_size(
    model: nn.Module,
    shape: tuple[int, int] | None,
    options: Options,
    site: str = "",
    queries: int | None = None,
) -> None:
    """Refuse, before anything runs, a run whose attention is too large to be read.

    Args:
        model: whose layers attend; of an encoder-decoder the part that does.
        shape: rows and columns of the memory, (1, N) for a text; None where it is not known.
        options: the layers, heads, areas and sites that are asked for.
        site: where the layers attend, if that is known.
        queries: how many attend; None where the items attend to each other.

    Raises:
        InputError: a layer over areas, or all layers over items, are too large.
    """
    if shape is None or (site and options.sites is not None and site not in options.sites):
        return
    stack, items = stack_of(model, site in (DECODER, CROSS) or None), prod(shape)
    areas = AreaGrid.clamped(shape, (options.area_size, options.area_size)).count
    layers, heads = _kept(stack.layers, options.layers), _kept(stack.heads, options.heads)
    check_attended(layers, heads, items if queries is None else queries, items, areas)


def _kept(count: int | None, chosen: Sequence[int] | None) -> int:
    """How many are kept, at least; one where a model does not say how many it has."""
    return min(count or 1, count or 1 if chosen is None else len(chosen))
