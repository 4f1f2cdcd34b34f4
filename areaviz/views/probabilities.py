"""Output probabilities: how sure the model was of every item it produced, and what it would have said instead."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure as PrintFigure
from matplotlib.ticker import PercentFormatter
from plotly.graph_objects import Bar, Figure, Scatter

from areaviz.trace.record import Field, FloatArray, Output, Trace
from areaviz.trace.request import Focus
from areaviz.views import raster, theme
from areaviz.views.axes import depth, print_labels, print_ticks, screen_labels, screen_ticks
from areaviz.views.base import Table, View, model_words
from areaviz.views.labels import for_screen, visible
from areaviz.views.select import name, shown

_TITLE = "Probability of every produced item"
_LEGEND = "bars: the item produced; rings: the likeliest other item"


@dataclass(frozen=True, slots=True, eq=False)
class Certainty:
    """chosen, other: float32 [B], of the produced item and of the likeliest other one, in blocks of `block` items."""

    field: Field
    output: Output
    chosen: FloatArray
    other: FloatArray
    block: int
    title: str
    caption: str

    @property
    def x(self) -> FloatArray:
        """The middle of every block, in items."""
        starts = np.arange(0, len(self.field), self.block)
        ends = np.minimum(starts + self.block, len(self.field))
        return ((starts + ends - 1) / 2).astype(np.float32)


def certainty(trace: Trace) -> Certainty:
    """The numbers drawn; more items than a picture has pixels for are averaged, which the title says."""
    output, field = trace.output, trace.fields[trace.output.field]
    other = np.array([_runner_up(output, field, t) for t in range(len(field))], dtype=np.float32)
    block = raster.block(len(field))
    chosen, other = (raster.average(values[None], 1, block)[0] for values in (output.probabilities, other))
    title = _TITLE + (f" · averaged {block} items to a bar" if block > 1 else "")
    return Certainty(field, output, chosen, other, block, title, _caption(trace, field))


def _caption(trace: Trace, field: Field) -> str:
    """Without a history the items are no text written one after the other, but what was made of each look."""
    request = trace.request
    if "history" not in trace.fields:
        return f"{request.model} · probability of each {name(field)} item, given what was seen until then"
    return f"{model_words(trace)} · probability of each {name(field)} item given the items before it"


def _runner_up(output: Output, field: Field, t: int) -> float:
    """Probability of the likeliest alternative that is not what was produced."""
    return max((p for label, p in output.alternatives[t] if label != field.labels[t]), default=0.0)


def _hover(drawn: Certainty) -> list[str]:
    if drawn.block > 1:
        starts = range(0, len(drawn.field), drawn.block)
        return [f"items {i + 1}-{min(i + drawn.block, len(drawn.field))}" for i in starts]
    others = ["<br>".join(f"{p:.1%} {for_screen(o)}" for o, p in best[:5]) for best in drawn.output.alternatives]
    labels = map(for_screen, drawn.field.labels)
    return [f"{label} (item {t})<br>{other}" for t, (label, other) in enumerate(zip(labels, others, strict=True), 1)]


def figure(trace: Trace, focus: Focus) -> Figure:
    """A bar for every produced item, a ring at the likeliest other; alternatives on pointing."""
    drawn = certainty(trace)
    across = screen_labels(shown(drawn.field))
    picture = theme.screen(drawn.title, _LEGEND, drawn.caption, 200, above=8, below=depth(across) + 28)
    bars = Bar(
        x=drawn.x,
        y=drawn.chosen,
        width=0.8 * drawn.block,
        marker={"color": theme.ACCENT, "line": {"width": 0}},
        hovertext=_hover(drawn),
        hovertemplate="%{hovertext}<br>produced at %{y:.1%}<extra></extra>",
    )
    ring = {
        "color": theme.CLEAR,
        "size": 6 if len(drawn.field) <= raster.CELLS else 3,
        "line": {"color": theme.SECOND, "width": 1.5},
    }
    rings = Scatter(x=drawn.x, y=drawn.other, mode="markers", marker=ring, hoverinfo="skip")
    picture.add_traces([bars, rings])
    ends = [-0.6, len(drawn.field) - 0.4]
    picture.update_xaxes(screen_ticks(across), range=ends, title_text=f"{name(drawn.field)} items")
    picture.update_yaxes(showgrid=True, range=[0, 1.02], tickformat=".0%", nticks=5, title_text="probability")
    return picture


def table(trace: Trace, focus: Focus) -> Table:
    """One line a produced item: its probability and its alternatives, best first."""
    output, field = trace.output, trace.fields[trace.output.field]
    most = max((len(options) for options in output.alternatives), default=0)
    columns = tuple(f"{what} {k + 1}" for k in range(most) for what in ("alternative", "probability of alternative"))
    lines: list[tuple[str | int | float, ...]] = []
    for t, (label, p, options) in enumerate(zip(field.labels, output.probabilities, output.alternatives, strict=True)):
        cells = [cell for other, q in options for cell in (visible(other), float(q))]
        lines.append((t + 1, visible(label), float(p), *cells, *[""] * (2 * most - len(cells))))
    return Table(("position", "item", "probability", *columns), lines)


def paper(trace: Trace, focus: Focus) -> PrintFigure:
    """The same picture for paper."""
    drawn = certainty(trace)
    result, axes = theme.paper(drawn.title, _LEGEND, drawn.caption, 1.7)
    axes.grid(axis="y", color=theme.PRINT_RULE, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.bar(drawn.x, drawn.chosen, 0.8 * drawn.block, color=theme.ACCENT)
    axes.scatter(drawn.x, drawn.other, 9, facecolors="none", edgecolors=theme.SECOND, linewidths=0.9, zorder=3)
    axes.set(xlim=(-0.6, len(drawn.field) - 0.4), ylim=(0, 1.02))
    print_ticks(axes, print_labels(shown(drawn.field)))
    axes.yaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel(f"{name(drawn.field)} items", fontsize=8)
    axes.set_ylabel("probability", fontsize=8)
    return theme.finish(result)


def _fits(trace: Trace, focus: Focus) -> bool:
    """Whatever is focused, an output has probabilities."""
    return len(trace.output.probabilities) > 0


VIEW = View(
    name="probabilities",
    title="Output probabilities",
    question="How sure was the model, and what would it have said instead?",
    fits=_fits,
    figure=figure,
    table=table,
    print=paper,
)
