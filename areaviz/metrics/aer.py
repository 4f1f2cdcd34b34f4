"""Alignment error rate: how far attention's links are from those made by hand (Och & Ney 2003).

A link (i, j) joins word i of the source with word j of the target, both 0-based. Shapes: S source
words, T target words.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from math import nan
from typing import Literal

from areaviz.metrics.words import word_attention
from areaviz.trace.query import item_shares
from areaviz.trace.record import FloatArray, Trace

Links = Set[tuple[int, int]]
Direction = Literal["target", "source"]


@dataclass(frozen=True, slots=True)
class LinkCounts:
    """Counts of links; those of sentences add up with `+`.

    The measures are 0..1, and NaN where there is nothing to divide by.
    """

    # Links that a system made (A), and links that people are sure of (S).
    made: int = 0
    sure: int = 0
    # Links made that are sure, and links made that are possible (P, which holds S).
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
        """What share of the links made is allowed: |A and P| / |A|."""
        return self.made_possible / self.made if self.made else nan

    @property
    def recall(self) -> float:
        """What share of the sure links was made: |A and S| / |S|."""
        return self.made_sure / self.sure if self.sure else nan

    @property
    def error_rate(self) -> float:
        """1 - (|A and S| + |A and P|) / (|A| + |S|); 0 is best."""
        total = self.made + self.sure
        return 1 - (self.made_sure + self.made_possible) / total if total else nan


def count_links(made: Links, sure: Links, possible: Links) -> LinkCounts:
    """The counts of one sentence; sure links count as possible, repeated or not."""
    return LinkCounts(len(made), len(sure), len(made & sure), len(made & (sure | possible)))


def strongest_links(
    attention_TS: FloatArray, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """For each word a link, (source, target), to the word it has the greatest attention with.

    Words without any attention get no link; of equals the first is taken. The intersection of both
    choices gives fewer, surer links.

    Args:
        attention_TS: attention of target words to source words.
        choosing: the side whose words choose: "target", the way attention points, or "source".
    """
    weights = attention_TS if choosing == "target" else attention_TS.T
    found = set()
    if weights.size:
        for word, other in enumerate(weights.argmax(1).tolist()):
            if weights[word, other] > 0:
                found.add((other, word) if choosing == "target" else (word, other))
    return frozenset(found)


def attention_links(
    trace: Trace, layer: int, head: int | None = None, choosing: Direction = "target"
) -> frozenset[tuple[int, int]]:
    """The links between words of source and target in a head's encoder-decoder attention.

    Area weights become shares of items, these become attention between words (summed over the items
    of a source word, averaged over those of a target word), of which `strongest_links` are taken.
    Without a head the mean of all heads is used.
    """
    attention = trace.maps["encoder-decoder"]
    shares_QN = item_shares(attention, layer, head)
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    return strongest_links(word_attention(shares_QN, target, source), choosing)
