"""The view "Why this weight": the terms of an area's logit, and their drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from areaviz.draw.labels import Ticks, number_text, show_invisibles, truncate
from areaviz.draw.marks import Axis, Bars, Key, Panel, Plot
from areaviz.draw.select import describe_area, fits_map, quote_items
from areaviz.draw.theme import ACCENT, SECOND, Drawing
from areaviz.draw.view import Row, Table, View, figure_caption, view_of_marks
from areaviz.trace import derived
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.derived import CHANGED, Logits, change_part
from areaviz.trace.errors import InputError
from areaviz.trace.query import find_smallest_area_size, top_areas
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# Data of the view "Why this weight": two areas of a query, and the terms of their logits.
#
# A trace does not contain the terms of its logits. The caller gets them from a backend, or from the
# logarithms of an external model's weights (`areaviz.trace.derived`).


CHOICES = 8
"""Number of top areas of a query that users can choose from."""
NEIGHBOURS, MOST_ITEMS = 3, 40
"""Number of items drawn on each side of an area in a text, and maximum number of drawn items."""
_OFF = 0.05
"""Tolerance for the logarithm of a ratio of weights, which are stored in half precision."""


@dataclass(frozen=True, slots=True)
class Question:
    """The head, query and area to explain, and the area to compare it with, or None."""

    head: int
    query: int
    area: Area
    beside: Area | None = None


@dataclass(frozen=True, slots=True, eq=False)
class AreaTerms:
    """One of the two areas with its weight and logit."""

    name: str
    items: tuple[int, ...]
    weight: float
    # Terms by name. Their sum is the logit.
    parts: Mapping[str, float]

    @property
    def logit(self) -> float:
        """The logit, which is the input of the softmax."""
        return sum(self.parts.values())

    def values(self, parts: Sequence[str]) -> list[float]:
        """Return the value of each given term, and the logit. Terms that the area lacks are 0."""
        return [self.parts.get(part, 0.0) for part in parts] + [self.logit]


@dataclass(frozen=True, slots=True, eq=False)
class WeightExplanation(Drawing):
    """The values to draw."""

    # The area to explain, then the area to compare it with.
    asked: tuple[AreaTerms, ...]
    # The drawn items, 0-based, their labels, and q · k of each.
    items: tuple[int, ...]
    labels: tuple[str, ...]
    scores: tuple[float, ...]
    # Titles of the axis of scores and of the axis of items.
    unit: str
    across: str

    @property
    def parts(self) -> list[str]:
        """Names of the terms that any of the areas has, in their order."""
        return list(dict.fromkeys(name for one in self.asked for name in one.parts))

    @property
    def heights(self) -> list[float]:
        """The scores, with 0 for items that are masked."""
        return [score if math.isfinite(score) else 0.0 for score in self.scores]

    def holder(self, item: int) -> int | None:
        """Return the index of the first area that contains an item, or None if there is none."""
        return next((n for n, one in enumerate(self.asked) if item in one.items), None)


def list_candidates(
    trace: Trace, focus: Focus, head: int, query: int, min_size: int = 1
) -> dict[Area, str]:
    """Return the areas that a user can ask about, with their names.

    They are the top areas of a head's query, including overlapping ones.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    found = top_areas(attention, focus.layer, head, query, CHOICES, 1.0, min_size)
    return {one.area: f"{describe_area(memory, grid, one.area)}, {one.weight:.0%}" for one in found}


def find_heaviest_head(trace: Trace, focus: Focus, query: int) -> int:
    """Return the focused head, or the head with the largest weight of any area, from 0."""
    if focus.head is not None:
        return focus.head
    return int(trace.maps[focus.site].weights[focus.layer][:, query].max(-1).argmax())


def find_first_question(trace: Trace, focus: Focus) -> Question | None:
    """Return the default question, which compares the two top areas of the first focused query.

    Returns:
        The question, or None if no query is focused or the query attends to nothing.
    """
    if focus.side != "query" or not focus.items:
        return None
    query = focus.items[0]
    head = find_heaviest_head(trace, focus, query)
    least = find_smallest_area_size(trace.maps[focus.site], focus)
    areas = list(list_candidates(trace, focus, head, query, least))
    if not areas:
        return None
    others = [area for area in list_candidates(trace, focus, head, query) if area != areas[0]]
    return Question(head, query, areas[0], others[0] if others else None)


def explain(trace: Trace, focus: Focus, logits: Logits, question: Question) -> WeightExplanation:
    """Find the terms of the logits of the areas in the question.

    Raises:
        InputError: the logits do not produce the weights of the trace.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    areas = [question.area] + ([] if question.beside is None else [question.beside])
    asked = tuple(_find_terms(trace, focus, logits, question, area) for area in areas)
    _check(asked)
    items = _list_items_around(asked, grid)
    head = f" of head {question.head + 1}" if attention.heads > 1 else ""
    whose = quote_items(trace.fields[attention.query], [question.query])
    unit = "logarithm of the item's share" if logits.is_shifted else "q · k of the item"
    return WeightExplanation(
        title=_make_title(asked),
        note=f"{whose}{head}: {_describe_differences(asked)}",
        caption=figure_caption(trace, replace(focus, head=question.head)),
        asked=asked,
        items=items,
        labels=tuple(_make_label(memory, grid, item) for item in items),
        scores=tuple(logits.item[question.head, question.query, list(items)].tolist()),
        unit=unit,
        across="cells (row, column)" if grid.height > 1 else "items",
    )


def _find_terms(
    trace: Trace, focus: Focus, logits: Logits, question: Question, area: Area
) -> AreaTerms:
    attention = trace.maps[focus.site]
    head, query = question.head, question.query
    try:
        parts = logits.parts(head, query, area)
    except ValueError as error:
        raise InputError(
            "This layer does not attend to areas of that size. Choose a smaller area."
        ) from error
    changed = change_part(trace, focus.site, focus.layer, head, query, area)
    if changed:
        parts[CHANGED] = changed
    weight = float(attention.weights[focus.layer, head, query][attention.grid.index(area)])
    memory = trace.fields[attention.memory]
    name = describe_area(memory, attention.grid, area)
    return AreaTerms(name, attention.grid.items_of(area), weight, parts)


def _check(asked: Sequence[AreaTerms]) -> None:
    """Check that the logits produce the weights of the trace.

    Raises:
        InputError: they produce different weights.
    """
    first, *rest = asked
    for other in rest:
        if min(first.weight, other.weight) < 1e-5:
            continue
        ratio = math.log(first.weight / other.weight)
        if not abs(first.logit - other.logit - ratio) < _OFF:
            raise InputError(
                "The installed model gives other weights than this trace, so it cannot"
                " explain them. Run the model again."
            )


def _list_items_around(asked: Sequence[AreaTerms], grid: AreaGrid) -> tuple[int, ...]:
    """Return the items of all areas. In a text, some items around the first area are added."""
    items = set[int]()
    for one in asked:
        items.update(one.items)
    if grid.height == 1:
        first, last = asked[0].items[0], asked[0].items[-1]
        items.update(range(max(0, first - NEIGHBOURS), min(grid.items, last + 1 + NEIGHBOURS)))
    return tuple(sorted(items))[:MOST_ITEMS]


def _make_label(memory: Field, grid: AreaGrid, item: int) -> str:
    """Return the axis label of an item: its text, or the row and column of a cell."""
    if grid.height == 1:
        return show_invisibles(memory.labels[item])
    row, column = divmod(item, grid.width)
    return f"{row + 1}, {column + 1}"


def _make_title(asked: Sequence[AreaTerms]) -> str:
    first = asked[0]
    # Capitalise the name. It starts the sentence, and the name of a picture's area has no quotes.
    title = f"{first.name[:1].upper()}{first.name[1:]} has {first.weight:.0%} of the attention"
    if len(asked) == 1 or not asked[1].weight:
        return title
    ratio = first.weight / asked[1].weight
    times = f"{ratio:.3g} times" if ratio < 1000 else "over 1,000 times"
    return f"{title}, {times} as much as {asked[1].name}"


def _describe_differences(asked: Sequence[AreaTerms]) -> str:
    """Describe the terms of the first area's logit, minus those of the second if there is one."""
    first, *rest = asked
    more = dict(first.parts)
    for other in rest:
        for name, value in other.parts.items():
            more[name] = more.get(name, 0.0) - value
    parts = ", ".join(f"{name} {format_signed(value)}" for name, value in more.items())
    total = sum(more.values())
    if not rest:
        return f"its logit is {format_signed(total)} ({parts})"
    return f"its logit is {abs(total):.2f} {'lower' if total < 0 else 'higher'} ({parts})"


def format_signed(value: float) -> str:
    """Format a number with its sign and two decimals."""
    return number_text(value, "+.2f")


# View that explains an area's weight by q · k of its items and by the terms of its logit.
#
# It explains one area of one head and query, and can compare it with another area of that query.


COLOURS, BESIDE = (ACCENT, SECOND), "#A9A9A9"
"""Colours of the two areas, and of items outside both."""
_BROAD = 0.75
"""Width of a bar, or of the bars of a term, as a share of their distance."""
LONG_TERMS = {
    derived.MEAN: "mean of q · k",
    derived.START: "start of the first item",
    derived.END: "end of the last item",
    derived.SHAPE: "shape",
    derived.SIZE: "size bias",
    derived.CHANGED: "logarithm of the change's factor",
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
    return Bars(places, drawn.heights, _list_colours(drawn), _BROAD, hovers=hovers)


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
