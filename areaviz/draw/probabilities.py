"""Two views of the probabilities of output items. Each item has a bar and a ring.

The view "Output probabilities" shows how sure the model was of every item, and the best
alternative. The view "Change of probability" shows how a change affected the probabilities of an
unchanged output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.draw.labels import show_invisibles
from areaviz.draw.marks import Axis, Bars, Panel, Plot, Points, Stroke
from areaviz.draw.matplotlib import draw_in_print
from areaviz.draw.matrix import name_blocks
from areaviz.draw.pictures import CELLS, average_blocks, compute_block_size
from areaviz.draw.plotly import draw_on_screen
from areaviz.draw.select import get_display_field, list_visible_labels, name_field
from areaviz.draw.theme import ACCENT, CLEAR, SECOND, Drawing, finish_figure
from areaviz.draw.view import Row, Table, View, describe_changes, describe_model
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# Upper end of the axis. It is above 1, so that a ring at 1 is fully visible.
_TOP = 1.04


@dataclass(frozen=True, slots=True, eq=False)
class Probabilities(Drawing):
    """The values to draw. The note explains bars and rings."""

    field: Field
    # Mean probability of each block of items, 0..1: float32 [B].
    bars: FloatArray
    rings: FloatArray
    # Hover text of each bar, below the names of its items.
    hovers: Sequence[str]
    # Title of the axis of items.
    across: str
    # Height of the plot in px.
    height: int

    @property
    def block(self) -> int:
        """Number of items per bar."""
        return compute_block_size(len(self.field))

    @property
    def x(self) -> FloatArray:
        """Centre of every block, in items."""
        starts = np.arange(0, len(self.field), self.block)
        ends = np.minimum(starts + self.block, len(self.field))
        return ((starts + ends - 1) / 2).astype(np.float32)

    @property
    def names(self) -> list[str]:
        """Names of the items of every bar."""
        if self.block > 1:
            return [f"items {name}" for name in name_blocks(len(self.field), self.block)]
        return [
            f"{show_invisibles(label)} (item {t})" for t, label in enumerate(self.field.labels, 1)
        ]


def _average_blocks(probabilities_T: FloatArray) -> FloatArray:
    """Average blocks of items so that a figure has enough pixels for all bars: float32 [B]."""
    block = compute_block_size(len(probabilities_T))
    return average_blocks(probabilities_T[None], 1, block).reshape(-1)


def _make_title(title: str, items: int) -> str:
    """Return the title, with a note if items are averaged."""
    block = compute_block_size(items)
    return f"{title} · averaged {block} items to a bar" if block > 1 else title


def find_output_probabilities(trace: Trace) -> Probabilities:
    """Return bars for the produced items and rings for their best alternatives.

    Hover texts list up to five alternatives.
    """
    output, field = trace.output, get_display_field(trace, trace.output.field)
    name, other_T = name_field(field), np.zeros(len(field), np.float32)
    for t, (label, options) in enumerate(zip(field.labels, output.alternatives, strict=True)):
        other_T[t] = max((p for other, p in options if other != label), default=0.0)
    bars = _average_blocks(output.probabilities)
    hovers = [f"produced at {p:.1%}" for p in bars.tolist()]
    if len(bars) == len(field):
        for t, options in enumerate(output.alternatives):
            best = [f"{p:.1%} {show_invisibles(other)}" for other, p in options[:5]]
            hovers[t] = "\n".join([*best, hovers[t]])
    given = f" · probability of each {name} item given the items before it"
    # Without a history, the items are not a text that was written item by item.
    if "history" not in trace.fields:
        given = f" · probability of each {name} item, given what was seen until then"
    return Probabilities(
        title=_make_title("Probability of every produced item", len(field)),
        note="bars: the item produced; rings: the likeliest other item",
        caption=describe_model(trace) + given,
        field=field,
        bars=bars,
        rings=_average_blocks(other_T),
        hovers=hovers,
        across=f"{name} items",
        height=200,
    )


def find_probability_change(before: Trace, after: Trace) -> Probabilities:
    """Return bars for the probabilities after the change and rings for those before it."""
    field, request = get_display_field(before, before.output.field), after.request
    bars = _average_blocks(after.output.probabilities[: len(field)])
    rings = _average_blocks(before.output.probabilities[: len(field)])
    pairs = zip(rings.tolist(), bars.tolist(), strict=True)
    model = f"{request.model}{describe_changes(request)}"
    return Probabilities(
        title=_make_title("Probability of the original output, item by item", len(field)),
        note="rings: before the change; bars: after it",
        caption=f"{model} · probability of each {name_field(field)} item",
        field=field,
        bars=bars,
        rings=rings,
        hovers=[f"before {one:.1%}, after {two:.1%}" for one, two in pairs],
        across="original output",
        height=170,
    )


def plot_probabilities(drawn: Probabilities) -> Plot:
    """Draw bars and rings."""
    items = len(drawn.field)
    texts = [f"{name}\n{hover}" for name, hover in zip(drawn.names, drawn.hovers, strict=True)]
    ring = (6 if items <= CELLS else 3, 3)
    labels, ends = list_visible_labels(drawn.field), (-0.6, items - 0.4)
    panel = Panel(
        marks=[
            Bars(drawn.x, drawn.bars, ACCENT, 0.8 * drawn.block, hovers=texts),
            Points(drawn.x, drawn.rings, ring, CLEAR, Stroke(SECOND, (1.5, 0.9))),
        ],
        across=Axis(title=drawn.across, ends=ends, labels=labels),
        down=Axis(title="probability", ends=(0, _TOP), has_grid=True, is_share=True),
    )
    return Plot(drawing=drawn, panels=[panel], height=(drawn.height, 1.7), above=8, below=28)


def tabulate_probabilities(trace: Trace, focus: Focus) -> Table:
    """Return a table with a row per produced item: probability and alternatives, best first."""
    output, labels = trace.output, trace.fields[trace.output.field].labels
    others = []
    for label, options in zip(labels, output.alternatives, strict=True):
        others.append(tuple(option for option in options if option[0] != label))
    most = max(map(len, others), default=0)
    columns = ["position", "item", "probability"]
    for k in range(1, most + 1):
        columns += [f"alternative {k}", f"probability of alternative {k}"]
    rows = []
    for t, options in enumerate(others):
        row: Row = (t + 1, show_invisibles(labels[t]), float(output.probabilities[t]))
        for other, probability in options:
            row += (show_invisibles(other), float(probability))
        rows.append(row + ("",) * (len(columns) - len(row)))
    return Table(tuple(columns), rows)


def change_table(before: Trace, after: Trace) -> Table:
    """Tabulate one row per item: its probability before and after, and the difference."""
    labels = before.fields[before.output.field].labels
    one_T, two_T = before.output.probabilities.tolist(), after.output.probabilities.tolist()
    rows = []
    # The lists may differ in length, because the changed run may have an additional end symbol.
    for t, (label, one, two) in enumerate(zip(labels, one_T, two_T, strict=False), 1):
        rows.append((t, show_invisibles(label), one, two, two - one))
    return Table(("position", "item", "before", "after", "change"), rows)


def fits_change(before: Trace, after: Trace) -> bool:
    """Return whether the output of the second run starts with the whole output of the first."""
    one, two = (trace.fields[trace.output.field].labels for trace in (before, after))
    return bool(one) and one == two[: len(one)]


PROBABILITIES = View(
    name="probabilities",
    title="Output probabilities",
    question="How certain was the model, and what would it have written instead?",
    # The probabilities do not depend on the focus.
    fits=lambda trace, focus: len(trace.output.probabilities) > 0,
    figure=lambda trace, focus: draw_on_screen(
        plot_probabilities(find_output_probabilities(trace))
    ),
    table=tabulate_probabilities,
    print=lambda trace, focus: finish_figure(
        draw_in_print(plot_probabilities(find_output_probabilities(trace)))
    ),
    how_to_read=(
        "One bar per output item: its probability. At a low bar the model nearly wrote"
        " something else, and the table names it."
    ),
)


def make_probability_change_view(before: Trace) -> View:
    """Return the view that compares a changed run with the output of `before`."""
    return View(
        name="change",
        title="Change of probability",
        question="What does the changed model think of the original output?",
        fits=lambda after, focus: fits_change(before, after),
        figure=lambda after, focus: draw_on_screen(
            plot_probabilities(find_probability_change(before, after))
        ),
        table=lambda after, focus: change_table(before, after),
        print=lambda after, focus: finish_figure(
            draw_in_print(plot_probabilities(find_probability_change(before, after)))
        ),
    )
