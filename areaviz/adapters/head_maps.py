"""The attention maps that are derived from the layers of an external model.

Maps that fit in memory are arrays. Other maps are read one layer at a time. They are computed from
queries and keys whenever a layer or a head is used, or read from weights in a temporary file.

Shapes: L layers, H heads, Q queries, N memory items, A areas.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from torch import Tensor

from areaviz.adapters.heads import Heads
from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.derived import AreaSoftmax, make_areas_map, make_sums_map
from areaviz.trace.errors import InputError, check_attended, has_room
from areaviz.trace.query import predict_bytes
from areaviz.trace.record import AttentionMap, LayeredWeights

OVER_ITEMS, IN_HALF = "softmax over items", "softmax over items, kept in half precision"


def make_site_maps(
    site: str,
    query: str,
    memory: str,
    shape: tuple[int, int],
    layers: Sequence[Heads],
    area_size: int,
    taken: int = 0,
) -> list[AttentionMap]:
    """Return the map of a site, and the two derived maps if areas have more than one item.

    The area distribution is left out if the weights do not follow from known queries and keys. If
    weights in single precision do not fit in memory, the map uses their logarithms in half
    precision. If those do not fit either, layers are read one at a time.

    Args:
        site: Name of the site.
        query: Name of the field that attends.
        memory: Name of the field that is attended to.
        shape: Rows and columns of the memory, (1, N) for a text.
        layers: Heads of each layer.
        area_size: Largest number of items in an area, or of rows and columns.
        taken: Size in bytes of the maps of other sites and of all layers.

    Raises:
        InputError: Layers differ in their heads or items, a weight is not finite, or a layer is too
            large to be read at once.
    """
    check_layers(site, layers)
    items, grid = AreaGrid(*shape, 1, 1), AreaGrid.clamped(shape, (area_size, area_size))
    heads, query_count, count = layers[0].shape
    check_attended(len(layers), heads, query_count, count, grid.count)
    single = predict_bytes(len(layers), heads, query_count, items)
    derived, summed = grid != items, OVER_ITEMS
    if not has_room(taken + single // 2):
        weights_LHQN, logs_LHQN = _read_by_layer(layers, items)
    else:
        logs_LHQN = _compute_explained_logs(layers) if derived else None
        taken += 0 if logs_LHQN is None else logs_LHQN.nbytes
        if has_room(taken + single):
            weights_LHQN = _convert_to_single(layers)
        else:
            half_LHQN = _convert_to_half(layers) if logs_LHQN is None else logs_LHQN
            weights_LHQN, summed = cast(FloatArray, AreaSoftmax(half_LHQN, items)), IN_HALF
    attended = AttentionMap(site, query, memory, items, weights_LHQN, summed)
    maps = [attended]
    if derived and logs_LHQN is not None:
        maps.append(make_areas_map(attended, logs_LHQN, (area_size, area_size)))
    if derived:
        maps.append(make_sums_map(attended, (area_size, area_size)))
    return maps


def _compute_explained_logs(layers: Sequence[Heads]) -> FloatArray | None:
    """Return the logarithms [L, H, Q, N] of all layers' weights, or None.

    The result is None if queries and keys do not determine all weights.
    """
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
    """Return the weights [L, H, Q, N] and their logarithms, if queries and keys give them all.

    Both objects behave like arrays. They take no memory beyond what the layers keep.
    """
    shape, kept = (len(layers), *layers[0].shape), sum(layer.nbytes for layer in layers)

    def weights(layer: int, first: int, last: int) -> FloatArray:
        return _normalise_rows(layers[layer].select_heads(range(first, last)).weights)

    def logs(layer: int, first: int, last: int) -> FloatArray:
        found_HQN = layers[layer].select_heads(range(first, last)).logs()
        assert found_HQN is not None
        return found_HQN.astype(np.float32)

    def all_heads(layer: int) -> FloatArray:
        return read(layer, 0, shape[1])

    is_explained = all(layer.are_given or layer.logs() is not None for layer in layers)
    read = logs if is_explained else weights
    found = cast(FloatArray, LayeredWeights(shape, all_heads, read, kept=kept))
    if is_explained:
        return cast(FloatArray, AreaSoftmax(found, items)), found
    return found, None


def _convert_to_single(layers: Sequence[Heads]) -> FloatArray:
    """Return the weights [L, H, Q, N] in single precision."""
    weights_LHQN = np.empty((len(layers), *layers[0].shape), np.float32)
    for place, layer in zip(weights_LHQN, layers, strict=True):
        place[...] = _normalise_rows(layer.weights)
    return weights_LHQN


def _convert_to_half(layers: Sequence[Heads]) -> FloatArray:
    """Return the logarithms [L, H, Q, N] of the weights in half precision."""
    logs_LHQN = cast(FloatArray, np.empty((len(layers), *layers[0].shape), np.float16))
    for place, layer in zip(logs_LHQN, layers, strict=True):
        place[...] = torch.from_numpy(_normalise_rows(layer.weights)).log().half().numpy()
    return logs_LHQN


def check_layers(site: str, layers: Sequence[Heads]) -> None:
    """Check that layers can be shown in one map.

    Raises:
        InputError: Their heads, queries or items differ, or weights are not finite.
    """
    shapes = {layer.shape for layer in layers}
    if len(shapes) > 1:
        found = ", ".join(" x ".join(map(str, shape)) for shape in sorted(shapes))
        raise InputError(
            f'The layers of "{site}" differ in heads x queries x items ({found}) and cannot'
            " be shown together. Give one part of the model."
        )
    # If queries and keys replace the weights, an earlier check has shown that the weights are
    # finite.
    if not all(layer.are_given or bool(layer.weights.isfinite().all()) for layer in layers):
        raise InputError(
            f'Attention weights of "{site}" are not finite. Check the model and its input.'
        )


def _normalise_rows(weights_HQN: Tensor) -> FloatArray:
    """Return rows divided by their sum, because half precision rounds the rows of some models."""
    total = weights_HQN.sum(-1, keepdim=True)
    return torch.where(total > 0.5, weights_HQN / total, torch.zeros_like(weights_HQN)).numpy()
