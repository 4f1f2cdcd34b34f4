"""What a change did to an output: the probability of every item of one and the same output, before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.trace.record import Field, FloatArray, Trace
from areaviz.views import raster, theme
from areaviz.views.axes import depth, print_labels, print_ticks, screen_labels, screen_ticks
from areaviz.views.base import Table, View, changes_words
from areaviz.views.labels import for_screen, visible
from areaviz.views.select import name, shown

_LEGEND = "rings: before the change; bars: after it"
_TITLE = "Probability of the original output, item by item"


@dataclass(frozen=True, slots=True, eq=False)
class Shift:
    """before, after: float32 [B], the probability of the same items, in blocks of `block` items."""

    field: Field
    before: FloatArray
    after: FloatArray
    block: int
    title: str
    caption: str

    @property
    def x(self) -> FloatArray:
        """The middle of every block, in items."""
        starts = np.arange(0, len(self.field), self.block)
        ends = np.minimum(starts + self.block, len(self.field))
        return ((starts + ends - 1) / 2).astype(np.float32)


def fits(before: Trace, after: Trace) -> bool:
    """Whether the second has read the whole output of the first; it may have an end that the first did not come to."""
    one, two = (trace.fields[trace.output.field].labels for trace in (before, after))
    return bool(one) and one == two[: len(one)]


def against(before: Trace) -> View:
    """The view of a changed run over the output of `before`."""
    return View(
        name="change",
        title="Change of probability",
        question="What does the changed model think of the original output?",
        fits=lambda after, focus: fits(before, after),
        figure=lambda after, focus: figure(before, after),
        table=lambda after, focus: table(before, after),
        print=lambda after, focus: paper(before, after),
    )


def shift(before: Trace, after: Trace) -> Shift:
    """The numbers drawn; more items than a picture has pixels for are averaged, which the title says."""
    field = before.fields[before.output.field]
    block, items = raster.block(len(field)), len(field)
    both = (trace.output.probabilities[None, :items] for trace in (before, after))
    one, two = (raster.average(values, 1, block)[0] for values in both)
    caption = f"{after.request.model}{changes_words(after.request)} · probability of each {name(field)} item"
    title = _TITLE + (f" · averaged {block} items to a bar" if block > 1 else "")
    return Shift(field, one, two, block, title, caption)


def figure(before: Trace, after: Trace) -> Figure:
    """A bar for every item after the change, a ring where it was before."""
    drawn = shift(before, after)
    across = screen_labels(shown(drawn.field))
    picture = theme.screen(drawn.title, _LEGEND, drawn.caption, 170, above=8, below=depth(across) + 28)
    bars = Bar(
        x=drawn.x,
        y=drawn.after,
        width=0.8 * drawn.block,
        marker={"color": theme.ACCENT, "line": {"width": 0}},
        hovertext=_hover(drawn),
        hovertemplate="%{hovertext}<extra></extra>",
    )
    ring = {
        "color": theme.CLEAR,
        "size": 6 if len(drawn.field) <= raster.CELLS else 3,
        "line": {"color": theme.SECOND, "width": 1.5},
    }
    rings = Scatter(x=drawn.x, y=drawn.before, mode="markers", marker=ring, hoverinfo="skip")
    picture.add_traces([bars, rings])
    picture.update_xaxes(screen_ticks(across), range=[-0.6, len(drawn.field) - 0.4], title_text="original output")
    picture.update_yaxes(showgrid=True, range=[0, 1.04], tickformat=".0%", nticks=5, title_text="probability")
    return picture


def table(before: Trace, after: Trace) -> Table:
    """One line an item: its probability before and after, and the difference."""
    labels = before.fields[before.output.field].labels
    after_T = after.output.probabilities[: len(labels)]
    pairs = zip(labels, before.output.probabilities.tolist(), after_T.tolist(), strict=True)
    lines = [(t, visible(label), one, two, two - one) for t, (label, one, two) in enumerate(pairs, 1)]
    return Table(("position", "item", "before", "after", "change"), lines)


def paper(before: Trace, after: Trace) -> PrintFigure:
    """The same picture for paper."""
    drawn = shift(before, after)
    result, axes = theme.paper(drawn.title, _LEGEND, drawn.caption, 1.7)
    axes.grid(axis="y", color=theme.PRINT_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.bar(drawn.x, drawn.after, 0.8 * drawn.block, color=theme.ACCENT)
    axes.scatter(drawn.x, drawn.before, 9, facecolors="none", edgecolors=theme.SECOND, linewidths=0.9, zorder=3)
    axes.set(xlim=(-0.6, len(drawn.field) - 0.4), ylim=(0, 1.04))
    print_ticks(axes, print_labels(shown(drawn.field)))
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("original output", fontsize=8)
    axes.set_ylabel("probability", fontsize=8)
    return theme.finish(result)


def _hover(drawn: Shift) -> list[str]:
    if drawn.block > 1:
        starts = range(0, len(drawn.field), drawn.block)
        heads = [f"items {i + 1}-{min(i + drawn.block, len(drawn.field))}" for i in starts]
    else:
        heads = [f"{for_screen(label)} (item {t})" for t, label in enumerate(drawn.field.labels, 1)]
    both = zip(heads, drawn.before.tolist(), drawn.after.tolist(), strict=True)
    return [f"{head}<br>before {one:.1%}, after {two:.1%}" for head, one, two in both]
