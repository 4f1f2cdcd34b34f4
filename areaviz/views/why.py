"""Why an area has its weight: q · k of its items as bars, and the terms of its logit.

The view explains one area of one head and query, and optionally compares it with another area of
that query.
"""

from __future__ import annotations

import math

from matplotlib.figure import Figure as PrintFigure
from plotly.graph_objects import Bar, Figure

from areaviz.drawing.axes import (
    depth,
    legend,
    print_labels,
    print_ticks,
    print_titles,
    screen_labels,
    screen_ticks,
)
from areaviz.drawing.base import Row, Table, View, view
from areaviz.drawing.labels import escape, for_print, for_screen, show_invisibles, truncate
from areaviz.drawing.select import fits_map
from areaviz.drawing.theme import (
    ACCENT,
    EDGE,
    PRINT_FONT,
    PRINT_RULE,
    SECOND,
    axis,
    plain_axes,
    print_figure,
    screen_figure,
)
from areaviz.trace import logits as parts_of
from areaviz.trace.logits import Logits
from areaviz.views.why_parts import Question, Why, explain, signed

COLOURS, BESIDE = (ACCENT, SECOND), "#A9A9A9"
"""Colours of the two areas, and of items outside both."""
LONG = {
    parts_of.MEAN: "mean of q · k",
    parts_of.START: "start of the first item",
    parts_of.END: "end of the last item",
    parts_of.SHAPE: "shape",
    parts_of.SIZE: "size bias",
    parts_of.CHANGED: "logarithm of the change's factor",
}
"""Names of the terms of a logit."""


def figure(drawn: Why) -> Figure:
    """Draw the items on the left, and the terms and logit of both areas on the right."""
    across = screen_labels(drawn.labels, room=380)
    rules = {"showgrid": True, "nticks": 5, "zeroline": True, "zerolinecolor": EDGE}
    result = screen_figure(
        drawn,
        170,
        above=26,
        below=depth(across) + 34,
        across=axis(drawn.across, domain=[0, 0.58], **screen_ticks(across)),
        down=axis(drawn.unit) | rules,
        xaxis2=axis("parts of the logit", domain=[0.68, 1], anchor="y2"),
        yaxis2=axis(anchor="x2") | rules,
        barmode="group",
        bargap=0.25,
        showlegend=True,
        legend=legend(1, itemclick=False, itemdoubleclick=False),
    )
    result.add_trace(_item_bars(drawn))
    for one, colour in zip(drawn.asked, COLOURS, strict=False):
        result.add_trace(
            Bar(
                x=[*drawn.parts, "logit"],
                y=one.values(drawn.parts),
                xaxis="x2",
                yaxis="y2",
                marker_color=colour,
                marker_line_width=0,
                name=escape(truncate(one.name, 34)),
                hovertemplate="%{x} %{y:+.3f}<extra></extra>",
            )
        )
    return result


def _item_bars(drawn: Why) -> Bar:
    hovers = []
    for item, label, score in zip(drawn.items, drawn.labels, drawn.scores, strict=True):
        said = f"{drawn.unit} {signed(score)}" if math.isfinite(score) else "may not be seen"
        hovers.append(f"{for_screen(label)} (item {item + 1})<br>{said}")
    return Bar(
        x=list(range(len(drawn.items))),
        y=drawn.heights,
        marker_color=_colours(drawn),
        marker_line_width=0,
        hovertext=hovers,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _colours(drawn: Why) -> list[str]:
    """Return the colour of each item: that of the area containing it."""
    holders = [drawn.holder(item) for item in drawn.items]
    return [BESIDE if holder is None else COLOURS[holder] for holder in holders]


def paper(drawn: Why) -> PrintFigure:
    """Draw the figure for print."""
    result, whole = print_figure(drawn, 1.9)
    place = whole.get_subplotspec()
    assert place is not None
    whole.remove()
    cells = place.subgridspec(1, 2, width_ratios=(3, 2))
    left, right = result.add_subplot(cells[0]), result.add_subplot(cells[1])
    for axes in (left, right):
        plain_axes(axes)
        axes.grid(axis="y", color=PRINT_RULE, linewidth=0.6)
        axes.set_axisbelow(True)
    left.bar(range(len(drawn.items)), drawn.heights, 0.8, color=_colours(drawn))
    print_ticks(left, print_labels(drawn.labels, room=220))
    print_titles(left, drawn.across, drawn.unit)
    broad = 0.8 / len(drawn.asked)
    for number, (one, colour) in enumerate(zip(drawn.asked, COLOURS, strict=False)):
        heights = one.values(drawn.parts)
        shift = (number - (len(drawn.asked) - 1) / 2) * broad
        places = [place + shift for place in range(len(heights))]
        right.bar(places, heights, broad, color=colour, label=for_print(truncate(one.name, 30)))
    right.set_xticks(range(len(drawn.parts) + 1), [*drawn.parts, "logit"])
    print_titles(right, "parts of the logit")
    result.legend(
        *right.get_legend_handles_labels(),
        loc="outside upper left",
        ncols=2,
        frameon=False,
        fontsize=PRINT_FONT,
    )
    return result


def table(drawn: Why) -> Table:
    """Tabulate the terms of each area's logit, their sum and the weight; then the items."""
    rows: list[Row] = []
    for one in drawn.asked:
        name = show_invisibles(one.name)
        for part, value in one.parts.items():
            rows.append((name, LONG[part], value))
        rows += [(name, "logit", one.logit), (name, "weight", one.weight)]
    for item, label, score in zip(drawn.items, drawn.labels, drawn.scores, strict=True):
        if math.isfinite(score):
            rows.append((f"item {item + 1}, {label}", drawn.unit, score))
    return Table(("where", "what", "value"), rows)


HOW_TO_READ = (
    "Left: how well each item matches the query. Blue items are in the area, orange ones only"
    " in the other area, grey ones in neither. The mean over an area is the first part of its"
    " logit. Right: all parts, which add up to the logit. A logit that is 0.69 higher doubles"
    " the weight."
)


def why_view(logits: Logits, question: Question) -> View:
    """Build the view of one question from the terms of the logits."""
    return view(
        "why",
        "Why this weight",
        "Why does this area have its weight?",
        fits_map,
        lambda trace, focus: explain(trace, focus, logits, question),
        figure,
        table,
        paper,
        how_to_read=HOW_TO_READ,
    )
