"""Data of the view "Why this weight": two areas of a query, and the terms of their logits.

A trace does not contain the terms of its logits. The caller gets them from a backend, or from the
logarithms of an external model's weights (`areaviz.trace.derived`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from areaviz.draw.labels import number_text, show_invisibles
from areaviz.draw.select import describe_area, quote_items
from areaviz.draw.theme import Drawing
from areaviz.draw.view import figure_caption
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.derived import CHANGED, Logits, change_part
from areaviz.trace.errors import InputError
from areaviz.trace.query import find_smallest_area_size, top_areas
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

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
