"""Attribution beside attention: what an output depends on, asked in two other ways.

Attention says what a head reads, and not what comes of it (Jain and Wallace 2019). Rollout
(`areaviz.trace.rollout`) follows it through all layers; gradient times input asks the network
itself how an output changes with an item. Both are maps of a trace like others, over single items
and with one head, and say that they are no attention; how far they agree with a map of attention is
a number.

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

# What the site of a map ends in that was made of gradients.
GRADIENT = " gradient"
FROM_GRADIENT = (
    "from the gradient of each output's log-probability, times the input: attribution, not"
    " attention"
)
# By the ending of a site, how it was attributed, for people.
WAYS: Mapping[str, str] = {ROLLOUT: "rollout", GRADIENT: "gradient × input"}
# Items that are compared at the top, at most.
TOP = 3
FloatQ = npt.NDArray[np.float64]


def gradient_map(attention: AttentionMap, products_QN: FloatArray, query: str = "") -> AttentionMap:
    """Gradient times input as a map beside one of attention, of one layer.

    An item's weight is the size of its product as a share of the sizes of all:

        w_qn = |x_n . d log p_q / d x_n| / sum_m |x_m . d log p_q / d x_m|

    (Shrikumar et al. 2016, section 3; the sign, for or against the output, is not shown).

    Args:
        attention: beside which it stands, over whose memory.
        products_QN: x_n . d log p_q / d x_n.
        query: the field that is asked about, where it is not the one that attends.
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


def gradient_maps(
    maps: Mapping[str, AttentionMap], output: str, products: Mapping[str, FloatArray]
) -> list[AttentionMap]:
    """Gradient times input beside the attention of a run.

    Args:
        maps: of its attention.
        output: the field whose items are asked about.
        products: by field, see `gradient_map`; those of a field that nothing attends to are left
            out.
    """
    found = []
    for memory, products_QN in products.items():
        sites = [one for one in maps.values() if one.memory == memory and not one.derived]
        if not sites:
            continue
        # Queries that are the output, else as many, such as a class token, else the output alone.
        attend = [one for one in sites if one.query == output]
        attend += [one for one in sites if one.weights.shape[2] == len(products_QN)]
        if attend:
            found.append(gradient_map(attend[0], products_QN))
        else:
            found.append(gradient_map(sites[0], products_QN, output))
    return found


def attributed_site(site: str) -> tuple[str, str]:
    """A site and the ending it was attributed by: ("encoder self", " rollout"), or "" for none."""
    ending = next((ending for ending in WAYS if site.endswith(ending)), "")
    return site.removesuffix(ending), ending


def beside(
    maps: Mapping[str, AttentionMap], site: str, layer: int
) -> dict[str, tuple[AttentionMap, int]]:
    """The attributions beside a layer of a site, by their endings, each with the layer to compare.

    Only those are there whose queries are the same items.
    """
    found = {}
    for ending in WAYS:
        other, base = maps.get(site + ending), maps[site]
        if other is not None and other.query == base.query:
            found[ending] = other, min(layer, other.layers - 1)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """How far two maps over the same items agree, query by query; NaN where it means nothing.

    Only the items count that either gives any weight: those that a mask hides from both would else
    be agreed on for nothing.
    """

    # Spearman's rank correlation, -1..1; it takes three items, and both maps must differ in them.
    correlation: FloatQ
    # The share of the k items of most weight that both have in common, 0..1; it takes more than k.
    common: FloatQ
    # The same of items drawn by chance: k / N.
    chance: FloatQ


def agreement(
    attention: AttentionMap,
    layer: int,
    head: int | None,
    other: AttentionMap,
    other_layer: int,
    top: int = TOP,
) -> Agreement:
    """How far a layer and head (None: their mean) agree with an attribution, by shares of items."""
    ours_QN = item_shares(attention, layer, head)
    theirs_QN = item_shares(other, other_layer, None)
    rows = [_agreement(*row, top) for row in zip(ours_QN, theirs_QN, strict=True)]
    return Agreement(*np.array(rows, np.float64).reshape(-1, 3).T)


def agreements(
    maps: Mapping[str, AttentionMap],
    site: str,
    layer: int,
    head: int | None,
    queries: Sequence[int],
) -> dict[str, tuple[float, float, float]]:
    """How far each attribution beside a layer and head agrees with it, by the name of its way.

    Means over some queries of the correlation, the share in common, and the same by chance; see
    `Agreement`.
    """
    means, chosen = {}, list(queries)
    for ending, (other, other_layer) in beside(maps, site, layer).items():
        found = agreement(maps[site], layer, head, other, other_layer)
        parts = found.correlation, found.common, found.chance
        correlation, common, chance = (mean_of(part[chosen]) for part in parts)
        means[WAYS[ending]] = correlation, common, chance
    return means


def mean_of(values_Q: FloatQ) -> float:
    """The mean over the queries that have a value; NaN where none has."""
    known = values_Q[~np.isnan(values_Q)]
    return float(known.mean()) if len(known) else np.nan


def _agreement(ours_N: FloatArray, theirs_N: FloatArray, top: int) -> tuple[float, float, float]:
    """Correlation, share in common and chance of one query."""
    seen_N = (ours_N > 0) | (theirs_N > 0)
    ours, theirs = ours_N[seen_N], theirs_N[seen_N]
    common = chance = np.nan
    if len(ours) > top:
        first, second = (set(np.argsort(-one, kind="stable")[:top]) for one in (ours, theirs))
        common, chance = len(first & second) / top, top / len(ours)
    return _correlation(_ranks(ours), _ranks(theirs)), common, chance


def _ranks(values_N: FloatArray) -> FloatQ:
    """Ranks from 0; equal values get the mean of theirs."""
    _, place_N, counts = np.unique(values_N, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    middle: FloatQ = (last - (counts + 1) / 2)[place_N]
    return middle


def _correlation(one_N: FloatQ, other_N: FloatQ) -> float:
    """Pearson's correlation of ranks."""
    if len(one_N) < 3:
        return np.nan
    one_N, other_N = one_N - one_N.mean(), other_N - other_N.mean()
    size = np.sqrt((one_N**2).sum() * (other_N**2).sum())
    return float((one_N * other_N).sum() / size) if size else np.nan
