"""Attribution next to attention: what an output depends on, measured in two other ways.

Attention says what a head reads, not what that contributes to the output (Jain and Wallace 2019).
Rollout (`areaviz.trace.rollout`) follows attention through all layers. Gradient times input
measures how an output changes with an item. Both are maps of a trace over single items, with one
head, and are marked as not being attention. Their agreement with an attention map is a number.

Shapes: L layers, Q queries, N items.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import AreaGrid, FloatArray
from areaviz.trace.query import item_shares
from areaviz.trace.record import AttentionMap
from areaviz.trace.rollout import ROLLOUT
from areaviz.trace.weights import divide_by_sums

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
