"""What a head is called for what it does over a set, and which head shows spans best.

Both read the figures of a site as cards and tables keep them: measure -> its value by layer and
head, as `areaviz.metrics.heads.HeadCounts.figures` has them, None where there is nothing to divide
by. Layers and heads are counted from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Figures = Mapping[str, Any]

WANTED: Mapping[str, tuple[float, float]] = {
    "encoder self": (0.6, 4.0),
    "encoder-decoder": (0.2, 2.0),
}
"""By site: the share of queries with a span on top that one head should reach, and how much more
often than by chance these spans should be exactly a word, in a head that depends on its query more
than any of the network untrained.
"""
HALF = 0.5
"""The share of queries, or of the mean map, that earns a name."""
EDGES = 2.0
"""How much more often than by chance a heaviest area begins or ends a word, to earn a name."""


@dataclass(frozen=True, slots=True)
class SpanHead:
    """The head of a site that comes nearest to what is wanted."""

    # 0-based
    layer: int
    head: int
    # share of queries whose heaviest area has two or more items
    multi_share: float
    # how much more often than by chance these are exactly a word
    exact_lift: float


@dataclass(frozen=True, slots=True)
class HeadName:
    """A name that a head has earned."""

    name: str
    # what earned it, in words
    earned_by: str

    def __str__(self) -> str:
        return f"{self.name} ({self.earned_by})"


def span_head(
    figures: Figures, floor: float, wanted: tuple[float, float], words: bool = True
) -> SpanHead | None:
    """The head nearest to what is wanted, of those that use their query more than untrained ones.

    Nearest is where the smaller of the two parts that were reached, share and lift, is largest.

    Args:
        figures: of a site.
        floor: the dependence that a head has to exceed, in bits.
        wanted: an entry of `WANTED`.
        words: whether the lift counts; where items are pieces of words, spans are phrases.

    Returns:
        None where no such head ever has a span on top.
    """
    share_wanted, lift_wanted = wanted
    lifts = figures.get("long_exact_lift")
    found: list[tuple[float, SpanHead]] = []
    for layer, row in enumerate(figures["multi_share"]):
        for head, share in enumerate(row):
            lift = lifts[layer][head] if lifts else None
            depends = figures["dependence"][layer][head] > floor
            if not (share and depends) or (words and lift is None):
                continue
            lift = float(lift or 0.0)
            reached = share / share_wanted
            if words:
                reached = min(reached, lift / lift_wanted)
            found.append((reached, SpanHead(layer, head, share, lift)))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def largest(figures: Figures, measure: str) -> float:
    """The largest value of a measure at a site; 0 where there is none."""
    values = [value for row in figures.get(measure, ()) for value in row if value is not None]
    return max(values, default=0.0)


def head_names(figures: Figures, site: str, layer: int, head: int) -> Sequence[HeadName]:
    """The names a head has earned, what says most first; none where it does nothing by itself.

    sink: one item has more than half of the mean map. previous item: the heaviest item is the one
    before in half of the queries. position: it lies at the same distance in half of them.
    alignment: the alignment error rate against links made by hand is below the diagonal's. word
    edge: the heaviest area begins or ends a word twice as often as by chance.

    Args:
        figures: of the site; measures that are missing earn nothing.
        site: its name; only within one text is there a previous item.
        layer: of the head.
        head: its number in the layer.
    """

    def of(measure: str) -> float | None:
        rows = figures.get(measure)
        value = rows[layer][head] if rows else None
        return None if value is None else float(value)

    names = []
    error, diagonal = of("aer"), figures.get("aer_diagonal")
    if error is not None and diagonal is not None and error < diagonal:
        names.append(HeadName("alignment", f"error {error:.0%}, the diagonal's {diagonal:.0%}"))
    sink = of("cell") if "cell" in figures else of("sink")
    if (sink or 0.0) > HALF:
        names.append(HeadName("sink", f"one item has {sink:.0%} of the mean map"))
    share, previous = of("offset_share") or 0.0, of("previous") or 0.0
    if previous >= HALF and site.endswith("self"):
        names.append(HeadName("previous item", f"{previous:.0%} of queries"))
    elif share >= HALF:
        names.append(HeadName("position", f"{_offset(of('offset'))} in {share:.0%} of queries"))
    lift = of("edge_lift")
    if lift is not None and lift >= EDGES:
        names.append(HeadName("word edge", f"{lift:.1f} times chance"))
    return names


def _offset(offset: float | None) -> str:
    """A distance from query to item in words."""
    count = int(offset or 0)
    if not count:
        return "the same place"
    noun = "item" if abs(count) == 1 else "items"
    return f"{abs(count)} {noun} {'before' if count < 0 else 'after'}"
