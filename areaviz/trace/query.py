"""Questions to a trace: which areas, with what weight?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from areaviz.trace.areas import Area
from areaviz.trace.record import AttentionMap, FloatArray


@dataclass(frozen=True, slots=True)
class Attended:
    """One attended area and its weight, 0..1."""

    area: Area
    weight: float


@dataclass(frozen=True, slots=True, eq=False)
class HeadSummary:
    """Statistics of every head, each float32 [L, H], averaged over queries.

    entropy: of the area weights, in bits. area_size: mean items an attended area holds. distance: mean
    items between query and area centre (NaN when query and memory differ in length by field).
    peak: mean weight of the top area.
    """

    entropy: FloatArray
    area_size: FloatArray
    distance: FloatArray
    peak: FloatArray


def top_areas(
    attention: AttentionMap, layer: int, head: int, query: int, k: int = 3, max_overlap: float = 0.5
) -> list[Attended]:
    """The k heaviest areas of a query, skipping those that overlap a heavier one by more than `max_overlap` (IoU)."""
    raise NotImplementedError


def coverage(attention: AttentionMap, layer: int, head: int) -> FloatArray:
    """How much attention every memory item receives, by areas that hold it: float32 [Q, N].

    A row sums to the mean attended area size (1 to the largest area), not to 1 (Eq. 4: values are sums).
    """
    raise NotImplementedError


def item_shares(attention: AttentionMap, layer: int, head: int) -> FloatArray:
    """Coverage with each row divided by its sum: float32 [Q, N], rows sum to 1 (0 where fully masked)."""
    raise NotImplementedError


def entropy(attention: AttentionMap, layer: int, head: int) -> FloatArray:
    """Entropy of the area weights of every query, in bits: float32 [Q]."""
    raise NotImplementedError


def area_size_shares(attention: AttentionMap, layer: int, head: int | None = None) -> dict[int, float]:
    """What share of the attention goes to areas of each size (in items); the shares sum to 1."""
    raise NotImplementedError


def head_summary(attention: AttentionMap) -> HeadSummary:
    """Entropy, mean area size, distance and peak of every head."""
    raise NotImplementedError
