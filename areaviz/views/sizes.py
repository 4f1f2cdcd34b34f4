"""View of the share of each head's attention to areas of each size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from areaviz.drawing.base import Table, figure_caption, view_of_marks
from areaviz.drawing.labels import Ticks
from areaviz.drawing.marks import Axis, Bars, Panel, Plot, Stroke
from areaviz.drawing.select import fits_map, get_noun
from areaviz.drawing.theme import EDGE, Drawing, get_head_colour
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

_BROAD = 0.86


@dataclass(frozen=True, slots=True, eq=False)
class Histogram(Drawing):
    """Groups of bars, with one group per head and one bar per area size."""

    # Area sizes in items, in ascending order.
    sizes: tuple[int, ...]
    # Shares for K sizes, float32 [H, K]. The shares of a head sum to 1.
    shares: FloatArray
    # The focused head, or None for all.
    head: int | None
    # Unit of the sizes.
    noun: str = "item"

    @property
    def across(self) -> str:
        """Title of the horizontal axis."""
        return f"area size ({self.noun}s)"

    def x(self, head: int) -> FloatArray:
        """Return the positions of a head's bars, with a gap between heads."""
        count = len(self.sizes)
        pitch = count + max(1.0, 0.3 * count)
        return (head * pitch + np.arange(count)).astype(np.float32)

    def opacity(self, head: int) -> float:
        """Return the opacity of a head's bars. If a head is focused, only its bars are opaque."""
        return 1.0 if self.head in (None, head) else 0.35

    def ticks(self) -> Ticks:
        """Return positions and texts of the ticks: sizes below bars, the head below each group.

        If there are many bars, only some sizes are written.
        """
        stride = 1
        if self.shares.size > 40:
            stride = 4 if self.shares.size <= 120 else len(self.sizes)
        word = "head " if len(self.shares) <= 6 else "H"
        places: list[float] = []
        texts: list[str] = []
        for head in range(len(self.shares)):
            x = self.x(head)
            named = dict(zip(x[::stride].tolist(), map(str, self.sizes[::stride]), strict=True))
            middle = float(x.mean())
            named[middle] = f"{named.get(middle, '')}\n{word}{head + 1}"
            places += named.keys()
            texts += named.values()
        return Ticks(tuple(places), tuple(texts))


def compute_histogram(trace: Trace, focus: Focus) -> Histogram:
    """Return the shares over all queries, because only the average shows what a head prefers."""
    attention = trace.maps[focus.site]
    unit = get_noun(trace.fields[attention.memory])
    rows, means = [], []
    for head in range(attention.heads):
        shares = query.area_size_shares(attention, focus.layer, head)
        rows.append(list(shares.values()))
        means.append(sum(size * share for size, share in shares.items()))
    return Histogram(
        title="Share of the attention by area size",
        note=(
            "over all queries; the bars of a head sum to 100%; mean area size"
            f" {min(means):.1f} to {max(means):.1f} {unit}s"
        ),
        caption=figure_caption(trace, replace(focus, head=None)),
        sizes=tuple(shares),
        shares=np.array(rows, dtype=np.float32),
        head=focus.head,
        noun=unit,
    )


def plot(drawn: Histogram) -> Plot:
    """Draw bars in the heads' colours. If a head is focused, the other heads are pale."""
    marks = []
    for head, shares in enumerate(drawn.shares):
        hovers = []
        for size, share in zip(drawn.sizes, shares.tolist(), strict=True):
            hovers.append(f"head {head + 1}, area size {size}\n{share:.1%} of the attention")
        bars = Bars(
            drawn.x(head),
            shares,
            get_head_colour(head),
            _BROAD,
            opacity=drawn.opacity(head),
            edge=Stroke(EDGE, (0.5, 0.4)),
            hovers=hovers,
        )
        marks.append(bars)
    across = Axis(title=drawn.across, ticks=drawn.ticks())
    down = Axis(title="share of attention", has_grid=True, is_share=True)
    panel = Panel(marks=marks, across=across, down=down)
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(240, 1.9),
        above=8,
        below=66,
    )


def tabulate(drawn: Histogram) -> Table:
    """Return a table with a row per head and area size."""
    rows = []
    for head, shares in enumerate(drawn.shares.tolist(), 1):
        rows += [(head, size, share) for size, share in zip(drawn.sizes, shares, strict=True)]
    return Table(("head", "area size", "share"), rows)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Return whether there is more than one area size."""
    if not fits_map(trace, focus):
        return False
    grid = trace.maps[focus.site].grid
    return max(grid.max_height, grid.max_width) > 1


VIEW = view_of_marks(
    "sizes",
    "Area sizes",
    "Does a head attend to single items or to longer areas?",
    _fits,
    compute_histogram,
    plot,
    tabulate,
    how_to_read=(
        "Each bar shows how much of a head's attention goes to areas of one size. The leftmost bar "
        "is for single items. If it holds everything, the head attends to single items only."
    ),
)
