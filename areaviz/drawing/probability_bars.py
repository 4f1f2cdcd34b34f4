"""Two probabilities of every item of an output, one as a bar and one as a ring, on screen and on
paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.drawing import raster, theme
from areaviz.drawing.axes import depth, print_labels, print_ticks, screen_labels, screen_ticks
from areaviz.drawing.labels import for_screen
from areaviz.drawing.select import shown
from areaviz.trace.record import Field, FloatArray

TOP = 1.04
"""Where the axis ends, so that a ring at 1 is whole."""


@dataclass(frozen=True, slots=True, eq=False)
class ProbabilityBars:
    """The numbers drawn. bars, rings: float32 [B], of items of the field, in 0..1, means of blocks
    of `block` items.

    legend: what bar and ring are. across: what the items are.
    """

    field: Field
    bars: FloatArray
    rings: FloatArray
    block: int
    title: str
    legend: str
    caption: str
    across: str

    @classmethod
    def of(
        cls,
        field: Field,
        bars_T: FloatArray,
        rings_T: FloatArray,
        title: str,
        legend: str,
        caption: str,
        across: str,
    ) -> Self:
        """Of float32 [T]; more items than a picture has pixels for are averaged, which the title
        says.
        """
        block = raster.block(len(field))
        bars, rings = (raster.average(values[None], 1, block)[0] for values in (bars_T, rings_T))
        title += f" · averaged {block} items to a bar" if block > 1 else ""
        return cls(field, bars, rings, block, title, legend, caption, across)

    @property
    def x(self) -> FloatArray:
        """The middle of every block, in items."""
        starts = np.arange(0, len(self.field), self.block)
        ends = np.minimum(starts + self.block, len(self.field))
        return ((starts + ends - 1) / 2).astype(np.float32)

    @property
    def names(self) -> list[str]:
        """The items of every bar, for the screen."""
        count = len(self.field)
        if self.block > 1:
            return [
                f"items {i + 1}-{min(i + self.block, count)}" for i in range(0, count, self.block)
            ]
        return [f"{for_screen(label)} (item {t})" for t, label in enumerate(self.field.labels, 1)]


def figure(drawn: ProbabilityBars, notes: Sequence[str], height: int) -> Figure:
    """Bars and rings; notes: what pointing at each bar tells below its items. height: of the plot,
    in pixels.
    """
    across = screen_labels(shown(drawn.field))
    picture = theme.screen(
        drawn.title, drawn.legend, drawn.caption, height, above=8, below=depth(across) + 28
    )
    bars = Bar(
        x=drawn.x,
        y=drawn.bars,
        width=0.8 * drawn.block,
        marker={"color": theme.ACCENT, "line": {"width": 0}},
        hovertext=[f"{name}<br>{note}" for name, note in zip(drawn.names, notes, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    ring = {
        "color": theme.CLEAR,
        "size": 6 if len(drawn.field) <= raster.CELLS else 3,
        "line": {"color": theme.SECOND, "width": 1.5},
    }
    rings = Scatter(x=drawn.x, y=drawn.rings, mode="markers", marker=ring, hoverinfo="skip")
    picture.add_traces([bars, rings])
    picture.update_xaxes(
        screen_ticks(across), range=[-0.6, len(drawn.field) - 0.4], title_text=drawn.across
    )
    picture.update_yaxes(
        showgrid=True, range=[0, TOP], tickformat=".0%", nticks=5, title_text="probability"
    )
    return picture


def paper(drawn: ProbabilityBars) -> PrintFigure:
    """The same picture for paper."""
    result, axes = theme.paper(drawn.title, drawn.legend, drawn.caption, 1.7)
    axes.grid(axis="y", color=theme.PRINT_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.bar(drawn.x, drawn.bars, 0.8 * drawn.block, color=theme.ACCENT)
    axes.scatter(
        drawn.x,
        drawn.rings,
        9,
        facecolors="none",
        edgecolors=theme.SECOND,
        linewidths=0.9,
        zorder=3,
    )
    axes.set(xlim=(-0.6, len(drawn.field) - 0.4), ylim=(0, TOP))
    print_ticks(axes, print_labels(shown(drawn.field)))
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel(drawn.across, fontsize=8)
    axes.set_ylabel("probability", fontsize=8)
    return theme.finish(result)
