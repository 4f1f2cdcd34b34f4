"""Names for heads by their behaviour over a dataset, and the choice of the best head for spans.

Both read the figures of a site as cards and tables store them: metric -> value by layer and head,
see `areaviz.metrics.heads.HeadCounts.figures`, with None for an undefined value. Layers and heads
are counted from 0.
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
"""By site: the share of queries with a multi-item top area that one head should reach, and how much
more often than by chance these spans should be exactly a word. The head must depend on its query
more than any head of the untrained network.
"""
HALF = 0.5
"""The share of queries, or of the mean map, that earns a name."""
EDGES = 2.0
"""How much more often than by chance a top area must begin or end a word to earn a name."""


@dataclass(frozen=True, slots=True)
class SpanHead:
    """The head of a site that comes closest to the wanted figures."""

    # Counted from 0.
    layer: int
    head: int
    # Share of queries whose top area has two or more items.
    multi_share: float
    # How much more often than by chance these are exactly a word.
    exact_lift: float


@dataclass(frozen=True, slots=True)
class HeadName:
    """A name that a head has earned."""

    name: str
    # Text for users: the figure that earned the name.
    earned_by: str

    def __str__(self) -> str:
        return f"{self.name} ({self.earned_by})"


def choose_span_head(
    figures: Figures, floor: float, wanted: tuple[float, float], words: bool = True
) -> SpanHead | None:
    """Return the head closest to the wanted figures, among those that depend on their query.

    Closeness is the smaller of the two ratios reached, that of the share and that of the lift.

    Args:
        figures: Figures of a site.
        floor: Minimum dependence of a head in bits, that of untrained heads.
        wanted: An entry of `WANTED`.
        words: Whether the lift counts. If items are parts of words, spans are phrases and it does
            not.

    Returns:
        The head, or None if no such head ever has a span as its top area.
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


def find_largest(figures: Figures, measure: str) -> float:
    """Return the largest value of a metric at a site, or 0 if there is none."""
    values = [value for row in figures.get(measure, ()) for value in row if value is not None]
    return max(values, default=0.0)


def name_head(figures: Figures, site: str, layer: int, head: int) -> Sequence[HeadName]:
    """Return the names that a head has earned, most informative first.

    - sink: one item has more than half of the mean map.
    - previous item: the top item is the preceding one in at least half of the queries.
    - position: the top item is at the same distance in at least half of the queries.
    - alignment: the alignment error rate against manual links is below that of the diagonal.
    - word edge: the top area begins or ends a word at least twice as often as by chance.

    Args:
        figures: Figures of the site. Missing metrics earn nothing.
        site: Name of the site. Only self-attention has a previous item.
        layer: Layer of the head.
        head: Number of the head in the layer.
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
        names.append(
            HeadName("position", f"{_describe_offset(of('offset'))} in {share:.0%} of queries")
        )
    lift = of("edge_lift")
    if lift is not None and lift >= EDGES:
        names.append(HeadName("word edge", f"{lift:.1f} times chance"))
    return names


def _describe_offset(offset: float | None) -> str:
    """Describe a distance from query to item in words."""
    count = int(offset or 0)
    if not count:
        return "the same place"
    noun = "item" if abs(count) == 1 else "items"
    return f"{abs(count)} {noun} {'before' if count < 0 else 'after'}"
