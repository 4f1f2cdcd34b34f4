"""View that explains an area's weight by q · k of its items and by the terms of its logit.

It explains one area of one head and query, and can compare it with another area of that query.
"""

from __future__ import annotations

import math

from areaviz.draw.labels import Ticks, show_invisibles, truncate
from areaviz.draw.marks import Axis, Bars, Key, Panel, Plot
from areaviz.draw.select import fits_map
from areaviz.draw.theme import ACCENT, SECOND
from areaviz.draw.view import Row, Table, View, view_of_marks
from areaviz.trace import derived as parts_of
from areaviz.trace.derived import Logits
from areaviz.views.weight_explanation_parts import (
    Question,
    WeightExplanation,
    explain,
    format_signed,
)

COLOURS, BESIDE = (ACCENT, SECOND), "#A9A9A9"
"""Colours of the two areas, and of items outside both."""
_BROAD = 0.75
"""Width of a bar, or of the bars of a term, as a share of their distance."""
LONG_TERMS = {
    parts_of.MEAN: "mean of q · k",
    parts_of.START: "start of the first item",
    parts_of.END: "end of the last item",
    parts_of.SHAPE: "shape",
    parts_of.SIZE: "size bias",
    parts_of.CHANGED: "logarithm of the change's factor",
}
"""Names of the terms of a logit."""


def plot(drawn: WeightExplanation) -> Plot:
    """Draw the items on the left, and the terms and logit of both areas on the right."""
    names = [*drawn.parts, "logit"]
    width = _BROAD / len(drawn.asked)
    terms = []
    for number, (one, colour) in enumerate(zip(drawn.asked, COLOURS, strict=False)):
        shift = (number - (len(drawn.asked) - 1) / 2) * width
        values = one.values(drawn.parts)
        bars = Bars(
            [place + shift for place in range(len(names))],
            values,
            colour,
            width,
            hovers=[f"{name} {value:+.3f}" for name, value in zip(names, values, strict=True)],
            name=truncate(one.name, 34),
        )
        terms.append(bars)
    items = Panel(
        marks=[_make_item_bars(drawn)],
        across=Axis(title=drawn.across, labels=drawn.labels, room=(380, 220)),
        down=Axis(title=drawn.unit, has_grid=True),
        columns=(0, 0.58),
    )
    parts = Panel(
        marks=terms,
        across=Axis(
            title="parts of the logit",
            ends=(-0.5, len(names) - 0.5),
            ticks=Ticks(tuple(range(len(names))), tuple(names)),
        ),
        down=Axis(has_grid=True),
        columns=(0.68, 1),
    )
    return Plot(
        drawing=drawn,
        panels=[items, parts],
        height=(170, 1.9),
        above=26,
        below=34,
        key=Key("above"),
    )


def _make_item_bars(drawn: WeightExplanation) -> Bars:
    hovers = []
    for item, label, score in zip(drawn.items, drawn.labels, drawn.scores, strict=True):
        said = f"{drawn.unit} {format_signed(score)}" if math.isfinite(score) else "may not be seen"
        hovers.append(f"{show_invisibles(label)} (item {item + 1})\n{said}")
    places = list(range(len(drawn.items)))
    return Bars(
        places,
        drawn.heights,
        _list_colours(drawn),
        _BROAD,
        hovers=hovers,
    )


def _list_colours(drawn: WeightExplanation) -> list[str]:
    """Return the colour of each item, which is the colour of the first area that contains it."""
    holders = [drawn.holder(item) for item in drawn.items]
    return [BESIDE if holder is None else COLOURS[holder] for holder in holders]


def tabulate(drawn: WeightExplanation) -> Table:
    """Return a table of each area's logit terms, logit and weight, followed by the items."""
    rows: list[Row] = []
    for one in drawn.asked:
        name = show_invisibles(one.name)
        for part, value in one.parts.items():
            rows.append((name, LONG_TERMS[part], value))
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


def make_weight_view(logits: Logits, question: Question) -> View:
    """Build the view of one question from the terms of the logits."""
    return view_of_marks(
        "why",
        "Why this weight",
        "Why does this area have its weight?",
        fits_map,
        lambda trace, focus: explain(trace, focus, logits, question),
        plot,
        tabulate,
        how_to_read=HOW_TO_READ,
    )
