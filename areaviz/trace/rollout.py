"""Attention rollout: how much of each input item remains in the vectors of later layers.

Abnar and Zuidema 2020, section 3: a layer passes on half of its input and half of what its heads
gathered. With A_l the mean of its heads' maps,

    R_0 = I,   R_l = (A_l + I) / 2 R_{l-1}

Row q of R_l gives the composition of query q after l layers, as shares of the input items. The
paper rolls out one stack of self-attention. A decoder that also attends to other memories is rolled
out here as if each of its two kinds of attention were a separate layer. Its cross-attention is
multiplied by the rollout of the attended memory's own stack.

Shapes: L layers, Q queries, N and M items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.limits import check_map_bytes
from areaviz.trace.query import SAME_TEXT, item_shares, predict_bytes
from areaviz.trace.record import AttentionMap
from areaviz.trace.weights import divide_by_sums

# Suffix of the site of a rollout map.
ROLLOUT = " rollout"
FROM_LAYERS = (
    "from all heads of this layer and those before it, by rollout: attribution, not attention"
)


def attention_rollout(shares_LNN: FloatArray) -> FloatArray:
    """Return R_0 to R_L of a stack of self-attention: float32 [L + 1, N, N]. Each row sums to 1.

    Args:
        shares_LNN: Attention of each query, averaged over a layer's heads. A row of 0 attends to
            nothing and keeps its input.
    """
    layers, items, _ = shares_LNN.shape
    found_LNN = np.empty((layers + 1, items, items), np.float32)
    found_LNN[0] = np.eye(items)
    for layer, shares_NN in enumerate(shares_LNN):
        found_LNN[layer + 1] = _add_residual(shares_NN) @ found_LNN[layer]
    return found_LNN


@dataclass(frozen=True, slots=True, eq=False)
class Across:
    """Attention from one stack to the items of another."""

    # Attention of each query, [L, Q, M].
    shares: FloatArray
    # Composition of the attended items as shares of their stack's input. [L, M, M] with one matrix
    # for each layer, or [1, M, M] with one matrix for all layers.
    made_of: FloatArray


def compute_rollout_across(
    shares_LQN: FloatArray | None, others: Sequence[Across]
) -> list[FloatArray]:
    """Return the composition of queries after each layer of self-attention, then cross-attention.

    If there are several memories, they share the half that a layer gathers.

    Args:
        shares_LQN: Self-attention of the queries. None if they have none, such as the class token
            that reads a picture.
        others: The attention to each other memory.

    Returns:
        Shares for the queries' own items, if any, and then for each memory, float32 [L, Q, N]. Each
        row sums to 1, or to 0 if nothing of that memory has been read.
    """
    layers, queries, _ = (others[0].shares if shares_LQN is None else shares_LQN).shape
    states: list[FloatArray] = []
    if shares_LQN is not None:
        states.append(np.eye(queries, dtype=np.float32))
    states += [np.zeros(other.shares.shape[1:], np.float32) for other in others]
    found = [np.empty((layers, *state.shape), np.float32) for state in states]
    for layer in range(layers):
        if shares_LQN is not None:
            kept_QQ = _add_residual(shares_LQN[layer])
            states = [kept_QQ @ state for state in states]
        if others:
            states = [np.divide(state, 2, dtype=np.float32) for state in states]
        for place, other in enumerate(others, start=len(states) - len(others)):
            read_QM = other.shares[layer] @ other.made_of[min(layer, len(other.made_of) - 1)]
            states[place] = states[place] + read_QM / (2 * len(others))
        for whole, state in zip(found, states, strict=True):
            whole[layer] = state
            divide_by_sums(whole[layer])
    return found


def make_rollout_maps(maps: Mapping[str, AttentionMap]) -> list[AttentionMap]:
    """Return the rollout map of every site that rollout changes.

    Each has the layers of its site and one head. A site is left out in two cases: neither its
    queries nor its memory have self-attention, so that its rollout would equal the map itself, or
    the sites that belong together differ in their number of layers.

    Raises:
        InputError: The maps would take too much memory.
    """
    whole = [one for one in maps.values() if not one.derived]
    check_map_bytes(sum(_count_bytes(one) for one in whole))
    within = {one.query: one for one in whole if attends_within(one)}
    found = []
    for query in dict.fromkeys(one.query for one in whole):
        own = within.get(query)
        others = [one for one in whole if one.query == query and one is not own]
        rolls = own is not None or any(one.memory in within for one in others)
        sites = ([] if own is None else [own]) + others
        if rolls and len({one.layers for one in sites}) == 1:
            shares = None if own is None else _average_shares(own)
            across = [_make_across(one, within, follows=own is None) for one in others]
            rows = compute_rollout_across(shares, across)
            found += [_make_map(one, each) for one, each in zip(sites, rows, strict=True)]
    return found


def attends_within(attention: AttentionMap) -> bool:
    """Return whether queries and memory are the same items.

    A history counts as its target, shifted by one position.
    """
    sides = attention.query, attention.memory
    return attention.query == attention.memory or sides == SAME_TEXT


def _make_across(
    attention: AttentionMap, within: Mapping[str, AttentionMap], follows: bool
) -> Across:
    """Return what a site reads, layer by layer if `follows`, else from the finished memory.

    With `follows`, each layer reads the memory as its own stack has made it up to that layer.
    """
    shares_LQM, stack = _average_shares(attention), within.get(attention.memory)
    if stack is None:
        return Across(shares_LQM, np.eye(attention.grid.items, dtype=np.float32)[None])
    made_LMM = attention_rollout(_average_shares(stack))
    if follows and stack.layers == attention.layers:
        return Across(shares_LQM, made_LMM[:-1])
    return Across(shares_LQM, made_LMM[-1:])


def _average_shares(attention: AttentionMap) -> FloatArray:
    """Return the item shares, averaged over each layer's heads: float32 [L, Q, N]."""
    return np.stack([item_shares(attention, layer, None) for layer in range(attention.layers)])


def _add_residual(shares_NN: FloatArray) -> FloatArray:
    """Return (A + I) / 2. Rows sum to 1 even if a query attends to nothing."""
    mixed_NN = shares_NN + np.eye(len(shares_NN), dtype=np.float32)
    divide_by_sums(mixed_NN)
    return mixed_NN


def _make_map(attention: AttentionMap, rows_LQN: FloatArray) -> AttentionMap:
    grid = AreaGrid(attention.grid.height, attention.grid.width, 1, 1)
    return AttentionMap(
        attention.site + ROLLOUT,
        attention.query,
        attention.memory,
        grid,
        rows_LQN[:, None],
        normalisation="rollout over items",
        derived=FROM_LAYERS,
    )


def _count_bytes(attention: AttentionMap) -> int:
    """Return the maximum memory in bytes of a site's rollout map and its parts."""
    items = AreaGrid(attention.grid.height, attention.grid.width, 1, 1)
    return 3 * predict_bytes(attention.layers + 1, 1, attention.weights.shape[2], items)
