"""Alignment error rate, which compares the links of attention with manual links (Och & Ney 2003).

A link (i, j) joins word i of the source with word j of the target, both counted from 0. Shapes: S
source words, T target words.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import nan
from typing import Literal

from areaviz.metrics.word_areas import compute_word_attention
from areaviz.trace.areas import FloatArray
from areaviz.trace.query import item_shares
from areaviz.trace.record import Trace

Links = Set[tuple[int, int]]
Direction = Literal["target", "source"]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of links. The counts of several sentences are added with `+`.

    The metrics are in 0..1, or NaN if their denominator is 0.
    """

    # Links that a system made (A), and links that annotators are sure of (S).
    made: int = 0
    sure: int = 0
    # Links made that are sure, and links made that are possible (P, which includes S).
    made_sure: int = 0
    made_possible: int = 0

    def __add__(self, other: LinkCounts) -> LinkCounts:
        return LinkCounts(
            self.made + other.made,
            self.sure + other.sure,
            self.made_sure + other.made_sure,
            self.made_possible + other.made_possible,
        )

    @property
    def precision(self) -> float:
        """The share of the links made that are possible: |A and P| / |A|."""
        return self.made_possible / self.made if self.made else nan

    @property
    def recall(self) -> float:
        """The share of the sure links that were made: |A and S| / |S|."""
        return self.made_sure / self.sure if self.sure else nan

    @property
    def error_rate(self) -> float:
        """The alignment error rate: 1 - (|A and S| + |A and P|) / (|A| + |S|). 0 is best."""
        total = self.made + self.sure
        return 1 - (self.made_sure + self.made_possible) / total if total else nan


def count_links(made: Links, sure: Links, possible: Links) -> LinkCounts:
    """Count the links of one sentence. Sure links always count as possible."""
    return LinkCounts(len(made), len(sure), len(made & sure), len(made & (sure | possible)))


def find_strongest_links(
    attention_TS: FloatArray, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """Link each word to the word with which it has the greatest attention, as (source, target).

    Words without attention get no link. Ties are resolved in favour of the first word. The links
    that both directions choose are fewer and more reliable.

    Args:
        attention_TS: Attention of target words to source words.
        choosing: The side whose words choose: "target", which is the direction of attention, or
            "source".
    """
    weights = attention_TS if choosing == "target" else attention_TS.T
    found = set()
    if weights.size:
        for word, other in enumerate(weights.argmax(1).tolist()):
            if weights[word, other] > 0:
                found.add((other, word) if choosing == "target" else (word, other))
    return frozenset(found)


def find_attention_links(
    trace: Trace, layer: int, head: int | None = None, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """Return the links between source and target words in a head's encoder-decoder attention.

    Area weights become item shares. They are summed over the items of a source word and averaged
    over those of a target word, which gives the attention between words. `find_strongest_links`
    then selects the links. Without a head, the mean of all heads is used.
    """
    attention = trace.maps["encoder-decoder"]
    shares_QN = item_shares(attention, layer, head)
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    return find_strongest_links(compute_word_attention(shares_QN, target, source), choosing)
