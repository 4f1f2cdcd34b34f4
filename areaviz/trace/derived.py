"""Maps that are computed from a trace, not recorded from its model.

In this order: areas from single items, attention rollout, maps of attribution, the best
alignment of several heads, and the parts of an area's logit. Each section can be read alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import (
    Area,
    AreaGrid,
    FloatArray,
    apply_in_chunks,
    area_sums,
    divide_by_sums,
)
from areaviz.trace.changes import Weigh, compute_area_factors, list_changes_by_site
from areaviz.trace.errors import check_map_bytes
from areaviz.trace.query import SAME_TEXT, item_shares, predict_bytes
from areaviz.trace.record import AttentionMap, LayeredWeights, Trace

# Attention to single items, shown as attention to areas.
#
# Derived maps are computed from the weights of a model and marked as derived
# (`AttentionMap.derived`). The model itself never attended to these areas. A layer is computed when
# it is first viewed and is not stored, because the weights of the items, or their logarithms,
# contain all the information.
#
# Shapes: L layers, H heads, Q queries, N items, A areas, R rows.


# Suffixes of the sites of derived maps. The first has the area distribution of a head's queries and
# keys, the second the sums of its weights.
AS_AREAS, SUMS = " as areas", " sums"

FROM_KEYS = (
    "from the queries and keys of regular heads; an area's key is the mean of its items' keys"
)
FROM_WEIGHTS = "from the weights of regular heads"

# Size in bytes of the cache for the latest layers of a map. The latest layer is always cached.
KEPT_BYTES = 32 * 2**20
# A function that makes rows over areas [..., A] from rows over items [..., N].
Make = Callable[[FloatArray, AreaGrid], FloatArray]


class LazyAreaWeights(LayeredWeights):
    """Weights over areas that are computed from values of single items, one layer at a time.

    Args:
        items: Values of the items, [L, H, Q, N].
        grid: The areas.
        make: Function that makes rows over areas from rows over items.
    """

    made_of: FloatArray

    def __init__(self, items: FloatArray, grid: AreaGrid, make: Make) -> None:
        layers, heads, queries, count = items.shape
        if count != grid.items:
            raise ValueError(f"{count} items are not those of {grid}")
        shape = layers, heads, queries, grid.count
        # If reading the items takes no memory, then the areas are not cached either.
        on_disk = isinstance(items, LayeredWeights) and not items.cached_bytes
        super().__init__(
            shape,
            partial(_derive_layer, items, grid, make),
            partial(_derive_heads, items, grid, make) if on_disk else None,
            most=max(1, KEPT_BYTES // (4 * prod(shape[1:]))),
        )
        self.made_of = items


class AreaSums(LazyAreaWeights):
    """The sums of a map's weights over areas.

    Args:
        attention: The map of single items.
        grid: The areas of the same memory.

    Raises:
        ValueError: The map attends to larger areas, or the grid belongs to another memory.
    """

    def __init__(self, attention: AttentionMap, grid: AreaGrid) -> None:
        if attention.grid != AreaGrid(grid.height, grid.width, 1, 1):
            raise ValueError(f'"{attention.site}" has no single items to be summed over {grid}')
        super().__init__(attention.weights, grid, compute_shared_sums)


class AreaSoftmax(LazyAreaWeights):
    """The attention of heads if their memory consisted of areas: a softmax over the areas' logits.

    The logit of an area with a mean key is the mean of its items' logits. The logarithm of an
    item's weight equals its logit, up to a constant per row. The logarithms are therefore
    sufficient, and half precision is enough for them: a weight is off by at most 2e-4. With areas
    of one item, the result is the weights that the logarithms were computed from.

    Args:
        logs: Natural logarithms of the items' weights, float16 [L, H, Q, N], -inf where an item is
            masked. A stand-in for the array is also accepted.
        grid: The areas of these items.

    Raises:
        ValueError: The grid belongs to another memory, or a number is not the logarithm of a share.
    """

    def __init__(self, logs: FloatArray, grid: AreaGrid) -> None:
        # Arrays that are stored elsewhere are checked by the code that fetches them.
        if not isinstance(logs, LayeredWeights):
            check_logs(logs, "A derived map")
        super().__init__(logs, grid, compute_shares_of_logs)


def check_logs(logs: FloatArray, called: str) -> None:
    """Check that numbers [..., N] are logarithms of shares, at most 0, or -inf for a share of 0.

    Raises:
        ValueError: A number is not floating-point, is above 0, or is NaN.
    """
    if logs.dtype.kind != "f":
        raise ValueError(f"{called} has logarithms of type {logs.dtype}.")
    if not logs.max() <= 0:
        raise ValueError(f"{called} has logarithms above 0 or not a number.")


def make_sums_map(attention: AttentionMap, max_area: tuple[int, int]) -> AttentionMap:
    """Return a map of single items as a map of areas of up to `max_area` (rows, columns) items.

    The weight of an area is the sum of its items' weights, divided by the total over all areas of
    the query. Every row therefore sums to 1, as in any map, and an area never has less weight than
    an area inside it.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    return AttentionMap(
        attention.site + SUMS,
        attention.query,
        attention.memory,
        grid,
        cast(FloatArray, AreaSums(attention, grid)),
        normalisation="sums of item weights, divided by their total",
        derived=FROM_WEIGHTS,
    )


def make_areas_map(
    attention: AttentionMap, logs_LHQN: FloatArray, max_area: tuple[int, int]
) -> AttentionMap:
    """Return the area distribution of a map of single items, from their logarithms.

    See `AreaSoftmax`. Areas have up to `max_area` (rows, columns) items.
    """
    grid = AreaGrid.clamped((attention.grid.height, attention.grid.width), max_area)
    weights = cast(FloatArray, AreaSoftmax(logs_LHQN, grid))
    site = attention.site + AS_AREAS
    return AttentionMap(site, attention.query, attention.memory, grid, weights, derived=FROM_KEYS)


def compute_shared_sums(weights: FloatArray, grid: AreaGrid) -> FloatArray:
    """Return the items' weights summed over areas, divided by their total: [..., N] -> [..., A]."""
    sums = area_sums(weights, grid)
    divide_by_sums(sums)
    return sums


def compute_shares_of_logs(logs: FloatArray, grid: AreaGrid) -> FloatArray:
    """Compute the softmax over areas of their items' mean logits: [..., N] -> float32 [..., A].

    Logits may be off by a constant per row. An area with an item of -inf gets 0. A row in which all
    areas get 0 is all 0.
    """
    return apply_in_chunks(partial(_softmax_over_areas, grid=grid), logs, grid.count, np.float32)


def can_be_rederived(attention: AttentionMap, maps: Mapping[str, AttentionMap]) -> bool:
    """Return whether a file can omit the weights of a map because another map determines them."""
    base = maps.get(split_derived_site(attention.site)[0])
    weights = attention.weights
    return base is not None and isinstance(weights, AreaSums) and weights.made_of is base.weights


def split_derived_site(site: str) -> tuple[str, str]:
    """Split a site into its base and its derived suffix, such as ("encoder self", " sums").

    The suffix is "" if the site is not derived.
    """
    ending = next((ending for ending in (AS_AREAS, SUMS) if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def _softmax_over_areas(logs_RN: FloatArray, grid: AreaGrid) -> FloatArray:
    shares_RA = area_sums(logs_RN.astype(np.float32), grid)
    shares_RA /= grid.sizes()
    largest_R1 = shares_RA.max(-1, keepdims=True)
    # Limit the maximum: where everything is masked, -inf - (-inf) would be NaN.
    shares_RA -= np.maximum(largest_R1, np.finfo(np.float32).min)
    np.exp(shares_RA, out=shares_RA)
    divide_by_sums(shares_RA)
    return shares_RA


def _derive_layer(items: FloatArray, grid: AreaGrid, make: Make, layer: int) -> FloatArray:
    return make(items[layer], grid)


def _derive_heads(
    items: FloatArray, grid: AreaGrid, make: Make, layer: int, first: int, last: int
) -> FloatArray:
    return make(items[layer, first:last], grid)


# Attention rollout: how much of each input item remains in the vectors of later layers.
#
# Abnar and Zuidema 2020, section 3: a layer passes on half of its input and half of what its heads
# gathered. With A_l the mean of its heads' maps,
#
#     R_0 = I,   R_l = (A_l + I) / 2 R_{l-1}
#
# Row q of R_l gives the composition of query q after l layers, as shares of the input items. The
# paper rolls out one stack of self-attention. A decoder that also attends to other memories is
# rolled out here as if each of its two kinds of attention were a separate layer. Its
# cross-attention is multiplied by the rollout of the attended memory's own stack.
#
# Shapes: L layers, Q queries, N and M items.


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


# Attribution next to attention: what an output depends on, measured in two other ways.
#
# Attention says what a head reads, not what that contributes to the output (Jain and Wallace 2019).
# Rollout follows attention through all layers. Gradient times input
# measures how an output changes with an item. Both are maps of a trace over single items, with one
# head, and are marked as not being attention. Their agreement with an attention map is a number.
#
# Shapes: L layers, Q queries, N items.


# Suffix of the site of a map that was made from gradients.
GRADIENT = " gradient"
FROM_GRADIENT = (
    "from the gradient of each output's log-probability, times the input: attribution, not"
    " attention"
)
# Names of the attribution methods for users, by the suffix of the site.
WAYS: Mapping[str, str] = {ROLLOUT: "rollout", GRADIENT: "gradient × input"}
# Maximum number of top items to compare.
TOP = 3
FloatQ = npt.NDArray[np.float64]


def make_gradient_map(
    attention: AttentionMap, products_QN: FloatArray, query: str = ""
) -> AttentionMap:
    """Return gradient times input as a one-layer map that goes with a map of attention.

    The weight of an item is the magnitude of its product as a share of the sum of all magnitudes:

        w_qn = |x_n . d log p_q / d x_n| / sum_m |x_m . d log p_q / d x_m|

    (Shrikumar et al. 2016, section 3). The sign, for or against the output, is not shown.

    Args:
        attention: The map of attention, which has the same memory.
        products_QN: x_n . d log p_q / d x_n.
        query: Field of the outputs, if it is not the field that attends.
    """
    shares_QN = np.abs(products_QN).astype(np.float32)
    divide_by_sums(shares_QN)
    return AttentionMap(
        attention.site + GRADIENT,
        query or attention.query,
        attention.memory,
        AreaGrid(attention.grid.height, attention.grid.width, 1, 1),
        shares_QN[None, None],
        normalisation="sizes of gradient × input, divided by their total",
        derived=FROM_GRADIENT,
    )


def make_gradient_maps(
    maps: Mapping[str, AttentionMap], output: str, products: Mapping[str, FloatArray]
) -> list[AttentionMap]:
    """Return gradient times input for the attention maps of a run.

    Args:
        maps: Attention maps of the run, by site.
        output: Field whose items are explained.
        products: Products by field, see `make_gradient_map`. Fields that are the memory of no map
        are
            left out.
    """
    found = []
    for memory, products_QN in products.items():
        sites = [one for one in maps.values() if one.memory == memory and not one.derived]
        if not sites:
            continue
        # Prefer a site whose queries are the output. Otherwise take one with as many queries as
        # there are outputs, such as a class token. If there is none, the output field becomes the
        # query.
        attend = [one for one in sites if one.query == output]
        attend += [one for one in sites if one.weights.shape[2] == len(products_QN)]
        if attend:
            found.append(make_gradient_map(attend[0], products_QN))
        else:
            found.append(make_gradient_map(sites[0], products_QN, output))
    return found


def split_attributed_site(site: str) -> tuple[str, str]:
    """Split a site into its base and its attribution suffix, such as ("encoder self", " rollout").

    The suffix is "" if the site is not an attribution.
    """
    ending = next((ending for ending in WAYS if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def find_attributions_of_layer(
    maps: Mapping[str, AttentionMap], site: str, layer: int
) -> dict[str, tuple[AttentionMap, int]]:
    """Return the attributions that go with a layer of a site, each with the layer to compare.

    Keys are the suffixes of their sites. Attributions with other queries are left out.
    """
    found = {}
    for ending in WAYS:
        other, base = maps.get(site + ending), maps[site]
        if other is not None and other.query == base.query:
            found[ending] = other, min(layer, other.layers - 1)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """Agreement of two maps over the same items, per query. A value is NaN if it is undefined.

    Only items with weight in at least one of the maps count. Otherwise items masked in both maps
    would increase the agreement.
    """

    # Spearman's rank correlation, -1..1. It needs three items, and neither map may be constant.
    correlation: FloatQ
    # Share of the top k items that both maps have in common, 0..1. It needs more than k items.
    common: FloatQ
    # The expected share in common for items drawn at random: k / N.
    chance: FloatQ


def compare_attribution(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    other: AttentionMap,
    other_layer: int,
    top: int = TOP,
) -> Agreement:
    """Compare a head (None: the mean head) with an attribution, by normalised coverage."""
    ours_QN = item_shares(attention, layer, head)
    theirs_QN = item_shares(other, other_layer, None)
    rows = [_measure_agreement(*row, top) for row in zip(ours_QN, theirs_QN, strict=True)]
    return Agreement(*np.array(rows, np.float64).reshape(-1, 3).T)


def compare_attributions(
    maps: Mapping[str, AttentionMap],
    site: str,
    layer: int,
    head: int | None,
    queries: Sequence[int],
) -> dict[str, tuple[float, float, float]]:
    """Compare a layer and head with each of its attributions, by the name of the method.

    Returns:
        For each method, the means over the given queries of the correlation, the share in common,
        and the share expected by chance. See `Agreement`.
    """
    means, chosen = {}, list(queries)
    for ending, (other, other_layer) in find_attributions_of_layer(maps, site, layer).items():
        found = compare_attribution(maps[site], layer, head, other, other_layer)
        parts = found.correlation, found.common, found.chance
        correlation, common, chance = (mean_of(part[chosen]) for part in parts)
        means[WAYS[ending]] = correlation, common, chance
    return means


def mean_of(values_Q: FloatQ) -> float:
    """Return the mean over the queries that have a value, or NaN if none has."""
    known = values_Q[~np.isnan(values_Q)]
    return float(known.mean()) if len(known) else np.nan


def _measure_agreement(
    ours_N: FloatArray, theirs_N: FloatArray, top: int
) -> tuple[float, float, float]:
    """Return correlation, share in common and chance for one query."""
    seen_N = (ours_N > 0) | (theirs_N > 0)
    ours, theirs = ours_N[seen_N], theirs_N[seen_N]
    common = chance = np.nan
    if len(ours) > top:
        first, second = (set(np.argsort(-one, kind="stable")[:top]) for one in (ours, theirs))
        common, chance = len(first & second) / top, top / len(ours)
    return _compute_correlation(_compute_ranks(ours), _compute_ranks(theirs)), common, chance


def _compute_ranks(values_N: FloatArray) -> FloatQ:
    """Return ranks from 0. Equal values share their mean rank."""
    _, place_N, counts = np.unique(values_N, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: FloatQ = (last - (counts + 1) / 2)[place_N]
    return middle


def _compute_correlation(one_N: FloatQ, other_N: FloatQ) -> float:
    """Return Pearson's correlation of two rows of ranks, or NaN if it is undefined."""
    if len(one_N) < 3:
        return np.nan
    one_N, other_N = one_N - one_N.mean(), other_N - other_N.mean()
    size = np.sqrt((one_N**2).sum() * (other_N**2).sum())
    return float((one_N * other_N).sum() / size) if size else np.nan


# The best alignment of a model: several heads, each at one decoding step, drawn as one map.
#
# Heads and steps are chosen on validation examples whose alignments or boxes are known. Step 0
# reads the row of the decoding step that writes an item. Step 1 reads the row of the next decoding
# step, whose input is that item. The map of a query is the mean of the chosen rows.
#
# Shapes: Q queries, A areas.


BEST = " best"
"""Suffix of the site of a best alignment."""
STEPS = (0, 1)
"""Allowed steps of a head: the decoding step that writes the item (0), or the next one (1)."""
MOST_HEADS = 5
"""Largest number of heads in a best alignment."""

Choice = tuple[int, int, int]
"""Layer and head, counted from 0, and a step from `STEPS`."""


@dataclass(frozen=True, slots=True)
class BestAlignment:
    """The heads that validation chose, and how well they did there."""

    heads: tuple[Choice, ...]
    # Number and name of the examples that chose the heads, such as 20 "validation captions".
    examples: int
    chosen_on: str
    # Share of wrong alignments, or of words whose pointing is wrong, on these examples, 0..1.
    # `error` is that of the chosen heads, `error_single` that of the best single head at its own
    # step.
    error: float
    error_single: float
    # True if pages show it first, because its model has no areas to show and it beats the single
    # head.
    opens: bool = False

    @property
    def sentence(self) -> str:
        """A sentence for users that says what the map is and on how many examples it was chosen."""
        found, were = f"{describe_heads(self.heads)}.", "It was"
        if len(self.heads) > 1:
            of = "these heads" if len({place[:2] for place in self.heads}) > 1 else "both rows"
            found, were = f"{found} This map is the mean of {of}.", "They were"
        return f"{found} {were} chosen on {self.examples:,} {self.chosen_on}."

    @property
    def entries(self) -> dict[str, Any]:
        """Its entry in card.json, in which layers and heads count from 0."""
        return {
            "heads": [list(one) for one in self.heads],
            "examples": self.examples,
            "chosen_on": self.chosen_on,
            "error": self.error,
            "error_single": self.error_single,
            "opens": self.opens,
        }


def read_best_alignment(entry: Any) -> BestAlignment:
    """Return the best alignment of a card's entry.

    Raises:
        ValueError: An entry is missing or has the wrong type.
    """
    names = {"heads", "examples", "chosen_on", "error", "error_single", "opens"}
    if not isinstance(entry, dict) or entry.keys() != names:
        raise ValueError(f"best is not an object with {', '.join(sorted(names))}")
    heads = entry["heads"]
    if not isinstance(heads, list) or not 1 <= len(heads) <= MOST_HEADS:
        raise ValueError(f"best: heads is not a list of 1 to {MOST_HEADS} heads")
    for one in heads:
        is_choice = isinstance(one, list) and len(one) == 3 and all(type(n) is int for n in one)
        if not is_choice or min(one) < 0 or one[2] not in STEPS:
            raise ValueError("best: a head is not a list of layer, head and step")
    if type(entry["examples"]) is not int or not isinstance(entry["chosen_on"], str):
        raise ValueError("best: examples is not a whole number, or chosen_on is not a text")
    error, single = entry["error"], entry["error_single"]
    if any(type(one) not in (int, float) for one in (error, single)):
        raise ValueError("best: error or error_single is not a number")
    if type(entry["opens"]) is not bool:
        raise ValueError("best: opens is neither true nor false")
    chosen = tuple((one[0], one[1], one[2]) for one in heads)
    return BestAlignment(
        chosen, entry["examples"], entry["chosen_on"], error, single, entry["opens"]
    )


def describe_heads(heads: Sequence[Choice]) -> str:
    """Return heads in words, counted from 1: “Heads 1.2 (at the next step) and 4.1”."""
    steps: dict[str, set[int]] = {}
    for layer, head, step in heads:
        steps.setdefault(f"{layer + 1}.{head + 1}", set()).add(step)
    said = {(0,): "", (1,): " (at the next step)", (0, 1): " (also at the next step)"}
    names = [f"{name}{said[tuple(sorted(own))]}" for name, own in steps.items()]
    if len(names) < 2:
        return f"Head {names[0]}"
    return f"Heads {', '.join(names[:-1])} and {names[-1]}"


def shift_by_step(rows_QX: FloatArray, step: int) -> FloatArray:
    """Return each row moved up by `step` rows. The last rows repeat the final row."""
    if not step:
        return rows_QX
    later_Q = np.minimum(np.arange(len(rows_QX)) + step, len(rows_QX) - 1)
    moved: FloatArray = rows_QX[later_Q]
    return moved


def average_weights(attention: AttentionMap, heads: Sequence[Choice]) -> FloatArray:
    """Return the mean of the weights of heads, each at its step: float32 [Q, A]."""
    rows = [shift_by_step(attention.weights[layer, head], step) for layer, head, step in heads]
    mean_QA: FloatArray = np.mean(rows, axis=0, dtype=np.float32)
    return mean_QA


def make_best_map(attention: AttentionMap, best: BestAlignment) -> AttentionMap:
    """Return the best alignment of a site as a map of one layer with one head."""
    return replace(
        attention,
        site=attention.site + BEST,
        weights=average_weights(attention, best.heads)[None, None],
        chosen=None,
        strength=None,
        derived=best.sentence,
    )


def add_best(trace: Trace, bests: Mapping[str, BestAlignment]) -> Trace:
    """Return a trace with the best alignments that `bests` gives for its sites.

    A best alignment that the trace already has is computed again, because its heads may be
    outdated. A trace without these sites or heads is returned unchanged. A map whose weights are
    fetched layer by layer gets no best alignment, because the chosen heads may be in any layer.
    """
    maps = dict(trace.maps)
    for site, best in bests.items():
        attention = trace.maps.get(site)
        if attention is None or not isinstance(attention.weights, np.ndarray):
            continue
        layers, heads = attention.weights.shape[:2]
        if all(layer < layers and head < heads for layer, head, _ in best.heads):
            maps[site + BEST] = make_best_map(attention, best)
    return replace(trace, maps=maps) if bests else trace


def remove_best(trace: Trace) -> Trace:
    """Return a trace without best alignments, which its other maps and a card determine."""
    maps = {site: one for site, one in trace.maps.items() if not site.endswith(BEST)}
    return replace(trace, maps=maps)


def split_best_site(site: str) -> tuple[str, str]:
    """Split a site into its base and `BEST`. The second part is "" for other sites."""
    ending = BEST if site.endswith(BEST) else ""
    return site.removesuffix(ending), ending


# The parts of an area's logit, which explain its weight.
#
#     logit(area) = mean of q . k over its items
#                 + start of its first item + end of its last + shape + size bias
#
# The weights of a query are a softmax of these logits. The logarithm of the ratio of two weights is
# therefore the sum of the differences of the parts of the two logits. The first item of an area is
# in its top left corner, the last in its bottom right corner.
#
# Shapes: H heads, Q queries, N items, S area shapes in the order of `AreaGrid.shapes`.


MEAN, START, END, SHAPE, SIZE, CHANGED = "mean", "start", "end", "shape", "size", "changed"
"""The names of the parts. "changed" is the logarithm of an intervention's factor."""


@dataclass(frozen=True, slots=True, eq=False)
class Logits:
    """The numbers that determine the logits of all areas of one layer.

    A part is None if the keys of the layer do not have it.
    """

    # The areas that the layer attends to. The grid of its map may have larger areas.
    grid: AreaGrid
    # q . k of every item, including the softmax scale, float32 [H, Q, N]. -inf where an item is
    # masked.
    item: FloatArray
    # Bias of an item as the first and as the last item of an area, [H, Q, N] each.
    start: FloatArray | None = None
    end: FloatArray | None = None
    # Logit of the key of each shape, [H, Q, S], and learned bias of each size per head, [H, 1, S].
    shape: FloatArray | None = None
    size: FloatArray | None = None
    # True if `item` equals q . k only up to a constant per query.
    is_shifted: bool = False

    def parts(self, head: int, query: int, area: Area) -> dict[str, float]:
        """Return the parts of an area's logit in the order of the equation. Their sum is the logit.

        Raises:
            ValueError: The layer has no such area.
        """
        grid = self.grid
        grid.index(area)
        item_GM = self.item[head, query].reshape(grid.height, grid.width)
        bottom, right = area.top + area.height, area.left + area.width
        # Use double precision, because the app shows differences of such sums.
        inside = item_GM[area.top : bottom, area.left : right].astype(np.float64)
        found = {MEAN: float(inside.mean())}
        first = area.top * grid.width + area.left
        last = (bottom - 1) * grid.width + right - 1
        shape = (area.height - 1) * grid.max_width + area.width - 1
        for name, values, place in (
            (START, self.start, first),
            (END, self.end, last),
            (SHAPE, self.shape, shape),
            (SIZE, self.size, shape),
        ):
            if values is not None:
                found[name] = float(values[head, min(query, values.shape[1] - 1), place])
        return found

    @property
    def nbytes(self) -> int:
        """The size of all arrays in bytes."""
        arrays = (self.item, self.start, self.end, self.shape, self.size)
        return sum(array.nbytes for array in arrays if array is not None)


def has_logits(trace: Trace, site: str) -> bool:
    """Return whether a trace itself contains the parts of a site's logits."""
    return _find_own_weights(trace, site) is not None


def find_known_logits(trace: Trace, site: str, layer: int) -> Logits | None:
    """Return the logits of a layer that can be computed from the trace alone, or None.

    They exist for heads of external models whose queries and keys were recorded. Such a trace
    stores the logarithms of the item weights in half precision. They equal q . k up to a constant
    per query.
    """
    seen = _find_own_weights(trace, site)
    if seen is None:
        return None
    return Logits(trace.maps[site].grid, seen.made_of[layer], is_shifted=True)


def _find_own_weights(trace: Trace, site: str) -> AreaSoftmax | None:
    """Return a site's weights over areas if they were made from logarithms, else None."""
    base, ending = split_derived_site(site)
    if ending not in ("", AS_AREAS):
        return None
    found = trace.maps.get(base + AS_AREAS, trace.maps.get(site))
    return found.weights if found is not None and isinstance(found.weights, AreaSoftmax) else None


def change_part(trace: Trace, site: str, layer: int, head: int, query: int, area: Area) -> float:
    """Return the term that interventions add to an area's logit: log f, or 0 for none."""
    sites = {name: (one.query, one.memory) for name, one in trace.maps.items()}
    found = []
    for change in list_changes_by_site(trace.request.changes, sites):
        if isinstance(change, Weigh) and change.site == site and change.layer in (None, layer):
            found.append(change)
    if not found:
        return 0.0
    attention = trace.maps[site]
    table_14 = np.array([[area.top, area.left, area.height, area.width]], np.int64)
    queries = attention.weights.shape[2]
    factors_HQ1 = compute_area_factors(
        found, table_14, attention.grid.width, attention.heads, queries
    )
    factor = float(factors_HQ1[head, min(query, factors_HQ1.shape[1] - 1), 0])
    return float(np.log(factor)) if factor else -np.inf
