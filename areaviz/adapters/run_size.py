"""Prediction of the size of a run's attention before the run.

The caller gives the number of queries and the memory. The model's configuration gives the numbers
of layers and heads. A size that is unknown before the run is checked at the first layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from torch import Tensor, nn

from areaviz.adapters.call_records import CROSS, DECODER
from areaviz.adapters.model_run import Options
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError, check_attended

# Names of the number of layers and of the number of heads in configurations.
_LAYERS = ("num_hidden_layers", "encoder_layers", "n_layer", "num_layers", "n_layers")
_HEADS = ("num_attention_heads", "encoder_attention_heads", "n_head", "num_heads", "n_heads")


@dataclass(frozen=True, slots=True)
class Stack:
    """The number of attention layers of a model, and of heads per layer, or None if unknown."""

    layers: int | None
    heads: int | None


def predict_stack(model: nn.Module, decoder: bool | None = None) -> Stack:
    """Return the size from the configuration of a model or of a part, or else from its modules.

    Args:
        model: Model of `transformers` or `timm`, or any module around one.
        decoder: Whether to return the size of the decoder of an encoder-decoder.
    """
    for part in model.modules():
        config: Any = getattr(part, "config", None)
        if hasattr(config, "get_text_config"):
            said = config.get_text_config(decoder=decoder)
            return Stack(_get_first(said, _LAYERS), _get_first(said, _HEADS))
    found = [getattr(part, "num_heads", None) for part in model.modules()]
    counts = [count for count in found if isinstance(count, int)]
    # The stages of a multi-stage model differ in their heads and items.
    return Stack(len(counts), counts[0]) if len(set(counts)) == 1 else Stack(None, None)


def _get_first(config: Any, names: Sequence[str]) -> int | None:
    found = next((getattr(config, name) for name in names if hasattr(config, name)), None)
    return found if isinstance(found, int) else None


def predict_cells(model: nn.Module, values: Tensor) -> tuple[int, int] | None:
    """Return rows and columns of a picture's cells before a model has read it, or None if unknown.

    They follow from the only convolution that reads colours, if its windows do not overlap. The
    result is None for other models, and for multi-stage models, which merge cells.

    Args:
        model: Model that reads the picture.
        values: Pixel values [B, C, H, W].
    """
    if values.dim() != 4 or len(values) != 1 or predict_stack(model).heads is None:
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
    """Check before a run that its attention is not too large.

    Args:
        model: Model whose layers attend. For an encoder-decoder, pass the part with these layers.
        shape: Rows and columns of the memory, (1, N) for a text. None if unknown.
        options: Options with the requested layers, heads, areas and sites.
        site: Site of the layers, if known.
        queries: Number of queries. None if the items attend to each other.

    Raises:
        InputError: A layer over areas, or all layers over items, are too large, or the input is so
            short that there are no items.
    """
    if shape is not None and min(shape) < 1:
        raise InputError("The input is too short for this model. Give a longer one.")
    if shape is None or (site and options.sites is not None and site not in options.sites):
        return
    stack, items = predict_stack(model, site in (DECODER, CROSS) or None), prod(shape)
    areas = AreaGrid.clamped(shape, (options.area_size, options.area_size)).count
    layers, heads = (
        _count_kept(stack.layers, options.layers),
        _count_kept(stack.heads, options.heads),
    )
    check_attended(layers, heads, items if queries is None else queries, items, areas)


def _count_kept(count: int | None, chosen: Sequence[int] | None) -> int:
    """Return the smallest possible number of kept parts, or 1 if the model's number is unknown."""
    return min(count or 1, count or 1 if chosen is None else len(chosen))
