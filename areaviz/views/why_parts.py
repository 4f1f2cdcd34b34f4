"""What is found for the view "Why this weight": two areas of a query, and their logits' parts.

What the logits are made of stands in no trace: whoever asks has it from a backend, or from the
logarithms of a model of others (`areaviz.trace.logits`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from areaviz.drawing.base import caption
from areaviz.drawing.labels import visible
from areaviz.drawing.numbers import number_text
from areaviz.drawing.select import area_words, quote
from areaviz.drawing.theme import Drawing
from areaviz.trace.areas import Area, AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.logits import CHANGED, Logits, change_part
from areaviz.trace.query import smallest_area, top_areas
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

CHOICES = 8
"""Areas that one can ask about, the heaviest of a query."""
AROUND, MOST_ITEMS = 3, 40
"""Items of a text drawn on each side of an area, and in all."""
_OFF = 0.05
"""How far the logarithm of a ratio may be off; stored weights are in half precision."""


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked about, and beside what, if there is another area."""

    head: int
    query: int
    area: Area
    beside: Area | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """One of the two areas."""

    name: str
    items: tuple[int, ...]
    weight: float
    # By name; they add up to the logit.
    parts: Mapping[str, float]

    @property
    def logit(self) -> float:
        """What the softmax was taken of."""
        return sum(self.parts.values())

    def values(self, parts: Sequence[str]) -> list[float]:
        """The height of each of these parts and of the logit; 0 for a part that it has not."""
        return [self.parts.get(part, 0.0) for part in parts] + [self.logit]


@dataclass(frozen=True, slots=True, eq=False)
class Why(Drawing):
    """The numbers drawn."""

    # The area that is asked about, then the other one.
    asked: tuple[Asked, ...]
    # The items drawn, 0-based, what they are called, and q . k of each.
    items: tuple[int, ...]
    labels: tuple[str, ...]
    scores: tuple[float, ...]
    # What `scores` are, and what they are of.
    unit: str
    across: str

    @property
    def parts(self) -> list[str]:
        """The names of the parts that any of the areas has, in their order."""
        return list(dict.fromkeys(name for one in self.asked for name in one.parts))

    @property
    def heights(self) -> list[float]:
        """`scores`, 0 where an item may not be seen."""
        return [score if math.isfinite(score) else 0.0 for score in self.scores]

    def holder(self, item: int) -> int | None:
        """Which of the areas holds an item, the first of them; None for an item beside them."""
        return next((n for n, one in enumerate(self.asked) if item in one.items), None)


def candidates(
    trace: Trace, focus: Focus, head: int, query: int, min_size: int = 1
) -> dict[Area, str]:
    """The areas that one can ask about, with their names: the heaviest of a head's query, also
    where they overlap.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    found = top_areas(attention, focus.layer, head, query, CHOICES, 1.0, min_size)
    return {one.area: f"{area_words(memory, grid, one.area)}, {one.weight:.0%}" for one in found}


def heaviest_head(trace: Trace, focus: Focus, query: int) -> int:
    """The focused head, else the one that gives one area more than any other does, 0-based."""
    if focus.head is not None:
        return focus.head
    return int(trace.maps[focus.site].weights[focus.layer][:, query].max(-1).argmax())


def first_question(trace: Trace, focus: Focus) -> Question | None:
    """What one would ask first of a focus: its first query's heaviest area beside the next one.

    None where no query is locked, or it attends to nothing.
    """
    if focus.side != "query" or not focus.items:
        return None
    query = focus.items[0]
    head = heaviest_head(trace, focus, query)
    least = smallest_area(trace.maps[focus.site], focus)
    areas = list(candidates(trace, focus, head, query, least))
    if not areas:
        return None
    others = [area for area in candidates(trace, focus, head, query) if area != areas[0]]
    return Question(head, query, areas[0], others[0] if others else None)


def explain(trace: Trace, focus: Focus, logits: Logits, question: Question) -> Why:
    """The parts of the logits of the areas that are asked about.

    Raises:
        InputError: the logits are not those that the weights of the trace follow from.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    areas = [question.area] + ([] if question.beside is None else [question.beside])
    asked = tuple(_asked(trace, focus, logits, question, area) for area in areas)
    _check(asked)
    items = _around(asked, grid)
    head = f" of head {question.head + 1}" if attention.heads > 1 else ""
    whose = quote(trace.fields[attention.query], [question.query])
    unit = "logarithm of the item's share" if logits.is_shifted else "q · k of the item"
    return Why(
        title=_title(asked),
        note=f"{whose}{head}: {_differences(asked)}",
        caption=caption(trace, replace(focus, head=question.head)),
        asked=asked,
        items=items,
        labels=tuple(_label(memory, grid, item) for item in items),
        scores=tuple(logits.item[question.head, question.query, list(items)].tolist()),
        unit=unit,
        across="cells (row, column)" if grid.height > 1 else "items",
    )


def _asked(trace: Trace, focus: Focus, logits: Logits, question: Question, area: Area) -> Asked:
    attention = trace.maps[focus.site]
    head, query = question.head, question.query
    try:
        parts = logits.parts(head, query, area)
    except ValueError as error:
        raise InputError(
            "This layer does not attend to areas of that size; choose a smaller one."
        ) from error
    changed = change_part(trace, focus.site, focus.layer, head, query, area)
    if changed:
        parts[CHANGED] = changed
    weight = float(attention.weights[focus.layer, head, query][attention.grid.index(area)])
    memory = trace.fields[attention.memory]
    name = area_words(memory, attention.grid, area)
    return Asked(name, attention.grid.items_of(area), weight, parts)


def _check(asked: Sequence[Asked]) -> None:
    """Refuse to explain weights by logits that give others."""
    first, *rest = asked
    for other in rest:
        if min(first.weight, other.weight) < 1e-5:
            continue
        ratio = math.log(first.weight / other.weight)
        if not abs(first.logit - other.logit - ratio) < _OFF:
            raise InputError(
                "The model that is here gives other weights than this trace has, so it cannot say"
                " where they come from; run it again."
            )


def _around(asked: Sequence[Asked], grid: AreaGrid) -> tuple[int, ...]:
    """The items of all areas and, in a row, some on both sides of the first."""
    items = set[int]()
    for one in asked:
        items.update(one.items)
    if grid.height == 1:
        first, last = asked[0].items[0], asked[0].items[-1]
        items.update(range(max(0, first - AROUND), min(grid.items, last + 1 + AROUND)))
    return tuple(sorted(items))[:MOST_ITEMS]


def _label(memory: Field, grid: AreaGrid, item: int) -> str:
    """An item on the axis: a cell of a picture by its row and column."""
    if grid.height == 1:
        return visible(memory.labels[item])
    row, column = divmod(item, grid.width)
    return f"{row + 1}, {column + 1}"


def _title(asked: Sequence[Asked]) -> str:
    first = asked[0]
    # An area of a picture is no quotation and begins the sentence.
    title = f"{first.name[:1].upper()}{first.name[1:]} has {first.weight:.0%} of the attention"
    if len(asked) == 1 or not asked[1].weight:
        return title
    ratio = first.weight / asked[1].weight
    times = f"{ratio:.3g} times" if ratio < 1000 else "over 1,000 times"
    return f"{title}, {times} as much as {asked[1].name}"


def _differences(asked: Sequence[Asked]) -> str:
    """An area's logit, or what it has over the other one's, part by part."""
    first, *rest = asked
    more = dict(first.parts)
    for other in rest:
        for name, value in other.parts.items():
            more[name] = more.get(name, 0.0) - value
    parts = ", ".join(f"{name} {signed(value)}" for name, value in more.items())
    total = sum(more.values())
    if not rest:
        return f"its logit is {signed(total)} ({parts})"
    return f"its logit is {abs(total):.2f} {'lower' if total < 0 else 'higher'} ({parts})"


def signed(value: float) -> str:
    return number_text(value, "+.2f")
