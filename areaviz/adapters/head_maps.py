"""The maps that follow from what the attention layers of another's model did.

Maps that have room in memory are arrays. Others are read a layer at a time: from queries and keys
whenever a layer or a head is looked at, or from the weights in a temporary file.

Shapes: L layers, H heads, Q queries, N memory items, A areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads
from areaviz.trace.areas import AreaGrid
from areaviz.trace.derived import AreasOf, areas_map, sums_map
from areaviz.trace.errors import InputError
from areaviz.trace.layered import LayeredWeights
from areaviz.trace.limits import check_attended, has_room
from areaviz.trace.query import predicted_bytes
from areaviz.trace.record import AttentionMap, FloatArray

OVER_ITEMS, IN_HALF = "softmax over items", "softmax over items, kept in half precision"


def site_maps(
    site: str,
    query: str,
    memory: str,
    shape: tuple[int, int],
    layers: Sequence[Heads],
    area_size: int,
    taken: int = 0,
) -> list[AttentionMap]:
    """The map of a site, then the two that follow from it where areas have more than one item.

    The area distribution is left out where the weights do not follow from queries and keys that are
    known. Where there is no room for weights in single precision, their logarithms in half
    precision stand for them, and where there is none for these, layers are read one at a time.

    Args:
        site: its name.
        query: name of the field that attends.
        memory: name of the field that is attended to.
        shape: rows and columns of the memory; (1, N) for a text.
        layers: what each did.
        area_size: most items of an area, or rows and columns of one.
        taken: bytes that the maps of other sites and all layers take.

    Raises:
        InputError: layers differ in their heads or items, a weight is not finite, or a layer is too
            large to be read at once.
    """
    check_layers(site, layers)
    items, grid = AreaGrid(*shape, 1, 1), AreaGrid.clamped(shape, (area_size, area_size))
    heads, query_count, count = layers[0].shape
    check_attended(len(layers), heads, query_count, count, grid.count)
    single = predicted_bytes(len(layers), heads, query_count, items)
    derived, summed = grid != items, OVER_ITEMS
    if not has_room(taken + single // 2):
        weights_LHQN, logs_LHQN = _read_by_layer(layers, items)
    else:
        logs_LHQN = _explained(layers) if derived else None
        taken += 0 if logs_LHQN is None else logs_LHQN.nbytes
        if has_room(taken + single):
            weights_LHQN = _in_single(layers)
        else:
            half_LHQN = _in_half(layers) if logs_LHQN is None else logs_LHQN
            weights_LHQN, summed = cast(FloatArray, AreasOf(half_LHQN, items)), IN_HALF
    attended = AttentionMap(site, query, memory, items, weights_LHQN, summed)
    maps = [attended]
    if derived and logs_LHQN is not None:
        maps.append(areas_map(attended, logs_LHQN, (area_size, area_size)))
    if derived:
        maps.append(sums_map(attended, (area_size, area_size)))
    return maps


def _explained(layers: Sequence[Heads]) -> FloatArray | None:
    """The logarithms [L, H, Q, N] of all layers' weights, if queries and keys give them all."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        logs_HQN = layer.logs()
        if logs_HQN is None:
            return None
        place[...] = logs_HQN
    return logs_LHQN


def _read_by_layer(
    layers: Sequence[Heads], items: AreaGrid
) -> tuple[FloatArray, FloatArray | None]:
    """The weights [L, H, Q, N] and, if queries and keys give them all, their logarithms.

    Both stand in for arrays: nothing but what the layers keep takes memory.
    """
    shape, kept = (len(layers), *layers[0].shape), sum(layer.nbytes for layer in layers)

    def weights(layer: int, first: int, last: int) -> FloatArray:
        return _shares(layers[layer].some_heads(range(first, last)).weights)

    def logs(layer: int, first: int, last: int) -> FloatArray:
        found_HQN = layers[layer].some_heads(range(first, last)).logs()
        assert found_HQN is not None
        return found_HQN.astype(np.float32)

    def all_heads(layer: int) -> FloatArray:
        return read(layer, 0, shape[1])

    is_explained = all(layer.are_given or layer.logs() is not None for layer in layers)
    read = logs if is_explained else weights
    found = cast(FloatArray, LayeredWeights(shape, all_heads, read, kept=kept))
    if is_explained:
        return cast(FloatArray, AreasOf(found, items)), found
    return found, None


def _in_single(layers: Sequence[Heads]) -> FloatArray:
    """The weights [L, H, Q, N] as they are."""
    weights_LHQN = np.empty((len(layers), *layers[0].shape), np.float32)
    for place, layer in zip(weights_LHQN, layers, strict=True):
        place[...] = _shares(layer.weights)
    return weights_LHQN


def _in_half(layers: Sequence[Heads]) -> FloatArray:
    """The logarithms [L, H, Q, N] of the weights as they are, in half precision."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        place[...] = torch.from_numpy(_shares(layer.weights)).log().half().numpy()
    return logs_LHQN


def check_layers(site: str, layers: Sequence[Heads]) -> None:
    """Check that layers can stand in one map.

    Raises:
        InputError: their heads, queries or items differ, or weights are no shares.
    """
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        found = ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(
            f'The layers of "{site}" differ in heads x queries x items ({found}) and cannot be'
            " shown together; give the part of the model that you mean."
        )
    # What queries and keys stand for was seen to be finite.
    if not all(layer.are_given or bool(layer.weights.isfinite().all()) for layer in layers):
        raise InputError(
            f'Attention weights of "{site}" are not finite; check the model and its input.'
        )


def _shares(weights_HQN: Tensor) -> FloatArray:
    """Rows divided by their sum again, for models that computed them in half precision."""
    total = weights_HQN.sum(-1, keepdim=True)
    return torch.where(total > 0.5, weights_HQN / total, torch.zeros_like(weights_HQN)).numpy()
