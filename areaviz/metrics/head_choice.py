"""Names for heads by their behaviour over a dataset, and the choice of the best head for spans.

Both read the figures of a site as cards and tables store them: for each metric, the values by layer
and head, with None for an undefined value (`areaviz.metrics.heads.HeadCounts.figures`). Layers and
heads are counted from 0.
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
"""Wanted figures by site: the minimum share of queries with a multi-item top area in one head, and
the minimum lift of these areas for being exactly a word. A lift is a rate divided by its chance.
The head must depend on its query more than any head of the untrained network.
"""
HALF = 0.5
"""Share of queries, or of the mean map, from which a head gets a name."""
EDGES = 2.0
"""Lift of top areas that begin or end a word from which a head gets a name."""


@dataclass(frozen=True, slots=True)
class SpanHead:
    """The head of a site that comes closest to the wanted figures, see `WANTED`."""

    # Counted from 0.
    layer: int
    head: int
    # Share of queries whose top area has two or more items.
    multi_share: float
    # Rate at which these areas are exactly a word, divided by its chance.
    exact_lift: float


@dataclass(frozen=True, slots=True)
class HeadName:
    """A name for a head's behaviour."""

    name: str
    # Text for users with the figure on which the name is based.
    earned_by: str

    def __str__(self) -> str:
        return f"{self.name} ({self.earned_by})"


def choose_span_head(
    figures: Figures, floor: float, wanted: tuple[float, float], words: bool = True
) -> SpanHead | None:
    """Return the head closest to the wanted figures, among those that depend on their query.

    A ratio is the head's share or lift divided by the wanted one. Closeness is the smaller ratio.

    Args:
        figures: Figures of a site.
        floor: Minimum dependence of a head in bits, that of untrained heads.
        wanted: An entry of `WANTED`.
        words: Whether the lift is used. It is not if items are parts of words, because spans are
            then phrases.

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
    """Return the names of a head, the most informative first.

    - sink: one item has more than half of the mean map.
    - previous item: the top item is the preceding one in at least half of the queries.
    - position: the top item is at the same distance in at least half of the queries.
    - alignment: the alignment error rate against manual links is below that of the diagonal.
    - word edge: the top area begins or ends a word at least twice as often as by chance.

    Args:
        figures: Figures of the site. Missing metrics give no names.
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
