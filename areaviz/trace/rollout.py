"""Attention rollout: how much of an item is left in what later layers attend with.

Abnar and Zuidema 2020, section 3: a layer hands on half of what it was given and half of what its
heads gathered, so with A_l the mean of its heads' maps,

    R_0 = I,   R_l = (A_l + I) / 2 R_{l-1}

and row q of R_l says what query q is made of after l layers, as shares of the input's items. They
roll one stack. A decoder that also attends to other memories is rolled here in the same way, each
of its two kinds of attention as a layer of its own; what it reads of a memory is what that
memory's own stack has made of its items.

Shapes: L layers, Q queries, N and M items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.limits import check_map_bytes
from areaviz.trace.query import SAME_TEXT, item_shares, predicted_bytes
from areaviz.trace.record import AttentionMap
from areaviz.trace.weights import divide_by_sums

# What the site of a rolled map ends in.
ROLLOUT = " rollout"
FROM_LAYERS = (
    "from all heads of this layer and those before it, by rollout: attribution, not attention"
)


def rolled(shares_LNN: FloatArray) -> FloatArray:
    """R_0 to R_L of a stack that attends within: float32 [L + 1, N, N], each row sums to 1.

    Args:
        shares_LNN: what each query attends to, the mean of a layer's heads; a row of 0, which
            attends to nothing, keeps what it was given.
    """
    layers, items, _ = shares_LNN.shape
    found_LNN = np.empty((layers + 1, items, items), np.float32)
    found_LNN[0] = np.eye(items)
    for layer, shares_NN in enumerate(shares_LNN):
        found_LNN[layer + 1] = _kept(shares_NN) @ found_LNN[layer]
    return found_LNN


@dataclass(frozen=True, slots=True, eq=False)
class Across:
    """Attention from one stack to the items of another."""

    # [L, Q, M], what each query attends to.
    shares: FloatArray
    # [L, M, M] or [1, M, M]: what the items are made of that each layer, or every layer, reads.
    made_of: FloatArray


def rolled_across(shares_LQN: FloatArray | None, others: Sequence[Across]) -> list[FloatArray]:
    """What queries are made of after each layer that attends within, then to other memories.

    Where there are several memories, they share the half of what a layer gathers.

    Args:
        shares_LQN: of the queries' attention to items of their own; None where they have none,
            as the class token that reads a picture.
        others: the memories.

    Returns:
        For the queries' own items, if there are any, and then for each memory, float32 [L, Q, N];
        a row sums to 1, or to 0 where nothing of that memory has been read.
    """
    layers, queries, _ = (others[0].shares if shares_LQN is None else shares_LQN).shape
    states: list[FloatArray] = []
    if shares_LQN is not None:
        states.append(np.eye(queries, dtype=np.float32))
    states += [np.zeros(other.shares.shape[1:], np.float32) for other in others]
    found = [np.empty((layers, *state.shape), np.float32) for state in states]
    for layer in range(layers):
        if shares_LQN is not None:
            kept_QQ = _kept(shares_LQN[layer])
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


def rollout_maps(maps: Mapping[str, AttentionMap]) -> list[AttentionMap]:
    """The rolled map of every site in which there is something to roll.

    Each has the layers of its site and one head. A site is left out where neither its queries nor
    its memory attend within, so that its rollout were the map itself, or where the layers of the
    sites that belong together differ in number.

    Raises:
        InputError: the maps would take too much memory.
    """
    whole = [one for one in maps.values() if not one.derived]
    check_map_bytes(sum(_bytes(one) for one in whole))
    within = {one.query: one for one in whole if attends_within(one)}
    found = []
    for query in dict.fromkeys(one.query for one in whole):
        own = within.get(query)
        others = [one for one in whole if one.query == query and one is not own]
        rolls = own is not None or any(one.memory in within for one in others)
        sites = ([] if own is None else [own]) + others
        if rolls and len({one.layers for one in sites}) == 1:
            shares = None if own is None else _shares(own)
            across = [_across(one, within, follows=own is None) for one in others]
            rows = rolled_across(shares, across)
            found += [_map(one, each) for one, each in zip(sites, rows, strict=True)]
    return found


def attends_within(attention: AttentionMap) -> bool:
    """Whether queries and memory are the same items; a history is its target, one place later."""
    sides = attention.query, attention.memory
    return attention.query == attention.memory or sides == SAME_TEXT


def _across(attention: AttentionMap, within: Mapping[str, AttentionMap], follows: bool) -> Across:
    """What a site reads; `follows`: layer by layer as its memory is made, else when it is whole."""
    shares_LQM, stack = _shares(attention), within.get(attention.memory)
    if stack is None:
        return Across(shares_LQM, np.eye(attention.grid.items, dtype=np.float32)[None])
    made_LMM = rolled(_shares(stack))
    if follows and stack.layers == attention.layers:
        return Across(shares_LQM, made_LMM[:-1])
    return Across(shares_LQM, made_LMM[-1:])


def _shares(attention: AttentionMap) -> FloatArray:
    """The shares of single items, the mean of each layer's heads: float32 [L, Q, N]."""
    return np.stack([item_shares(attention, layer, None) for layer in range(attention.layers)])


def _kept(shares_NN: FloatArray) -> FloatArray:
    """(A + I) / 2, with rows that sum to 1 also where a query attends to nothing."""
    mixed_NN = shares_NN + np.eye(len(shares_NN), dtype=np.float32)
    divide_by_sums(mixed_NN)
    return mixed_NN


def _map(attention: AttentionMap, rows_LQN: FloatArray) -> AttentionMap:
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


def _bytes(attention: AttentionMap) -> int:
    """What the rolled map of a site and its parts take, at most."""
    items = AreaGrid(attention.grid.height, attention.grid.width, 1, 1)
    return 3 * predicted_bytes(attention.layers + 1, 1, attention.weights.shape[2], items)
