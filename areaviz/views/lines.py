"""View with lines between queries and attended items. Line width is proportional to attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from areaviz.draw.labels import show_invisibles
from areaviz.draw.marks import Axis, Key, Mark, Panel, Path, Plot, Stroke
from areaviz.draw.select import (
    FocusedMap,
    describe_positions,
    fits_text,
    get_noun,
    list_visible_labels,
    name_field,
    quote_items,
    select,
)
from areaviz.draw.theme import (
    STEPS,
    Drawing,
    count_decimals,
    ease_in_out,
    get_head_colour,
    round_up_scale,
)
from areaviz.draw.view import Table, figure_caption, view_of_marks
from areaviz.trace import query
from areaviz.trace.areas import FloatArray
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

MAX_LINES = 150
"""Maximum number of lines."""
_WIDEST_PX, _WIDEST_PT = 9.0, 6.0
_OPACITY = 0.7


@dataclass(frozen=True, slots=True)
class Line:
    """A line from a query to a memory item."""

    # All three indices are 0-based.
    head: int
    query: int
    item: int
    # Share of the query's attention.
    share: float


@dataclass(frozen=True, slots=True, eq=False)
class Lines(Drawing):
    """All lines of one map that are drawn."""

    chosen: FocusedMap
    # Strongest first.
    lines: Sequence[Line]
    # The share that the widest line represents.
    widest: float

    def path(self, line: Line) -> tuple[FloatArray, FloatArray]:
        """Return x and y of the curve from the memory item (y = 1) to the query (y = 0)."""
        top = (line.item + 0.5) / len(self.chosen.memory)
        bottom = (line.query + 0.5) / len(self.chosen.query)
        return ease_in_out(top, bottom), (1 - STEPS).astype(np.float32)


def find_lines(trace: Trace, focus: Focus) -> Lines:
    """Find the strongest lines of the focused items, or of all items if none is focused."""
    chosen = select(trace, focus)
    found: list[Line] = []
    for head in chosen.heads:
        shares_QN = query.item_shares(chosen.attention, chosen.layer, head)
        found += _find_strongest(
            head, np.where(_mask_drawable_pairs(shares_QN.shape, focus), shares_QN, 0)
        )
    kept = sorted(found, key=lambda line: -line.share)[:MAX_LINES]
    widest = min(1.0, round_up_scale(kept[0].share)) if kept else 1.0
    full = f"{widest:.{count_decimals(widest)}%}"
    heads = "every head in its colour" if len(chosen.heads) > 1 else chosen.head_words
    return Lines(
        title=f"{_describe_subject(chosen, focus)}, {heads}",
        note=(
            f"{len(kept)} strongest lines; width: share of the {name_field(chosen.query)}"
            f" {get_noun(chosen.query)}'s"
            f" attention (full width: {full})"
        ),
        caption=figure_caption(trace, focus),
        chosen=chosen,
        lines=kept,
        widest=widest,
    )


def _describe_subject(chosen: FocusedMap, focus: Focus) -> str:
    if chosen.focused:
        return f"Lines from {chosen.subject[0].lower()}{chosen.subject[1:]}"
    if not focus.items:
        return "Strongest lines"
    items, memory = sorted(set(focus.items)), chosen.memory
    where = describe_positions(items, get_noun(memory))
    return f"Lines to {name_field(memory)} {where} {quote_items(memory, items)}"


def _mask_drawable_pairs(shape: tuple[int, ...], focus: Focus) -> npt.NDArray[np.bool_]:
    """Return which pairs of query and item may be drawn."""
    wanted = np.full(shape, not focus.items)
    if focus.side == "query":
        wanted[list(focus.items)] = True
    else:
        wanted[:, list(focus.items)] = True
    return wanted


def _find_strongest(head: int, shares_QN: FloatArray) -> list[Line]:
    """Return at most `MAX_LINES` lines of one head, for its largest positive shares."""
    flat = shares_QN.ravel()
    order = (
        np.argpartition(-flat, MAX_LINES)[:MAX_LINES]
        if flat.size > MAX_LINES
        else np.arange(flat.size)
    )
    found = []
    for place in order[flat[order] > 0].tolist():
        attends, item = divmod(place, shares_QN.shape[1])
        found.append(Line(head, attends, item, float(flat[place])))
    return found


def plot(drawn: Lines) -> Plot:
    """Draw the attended items at the top, the queries at the bottom, and lines between them."""
    heads = drawn.chosen.heads
    several = len(heads) > 1
    marks: list[Mark] = [_make_curve(drawn, line) for line in reversed(drawn.lines)]
    if several:
        for head in heads:
            marks.append(
                Path((), (), Stroke(get_head_colour(head), (4, 1.5)), name=f"head {head + 1}")
            )
    panel = Panel(
        marks=marks,
        across=_make_axis(drawn.chosen.query),
        down=Axis(ends=(0, 1), is_seen=False),
        upper=_make_axis(drawn.chosen.memory),
    )
    return Plot(
        drawing=drawn,
        panels=[panel],
        height=(250, 2.6),
        above=30,
        below=58 if several else 30,
        key=Key("below") if several else None,
    )


def _make_axis(field: Field) -> Axis:
    """Return an axis on which the items of a field fill the whole width."""
    title = f"{name_field(field)} {get_noun(field)}s"
    return Axis(title=title, ends=(0, 1), labels=list_visible_labels(field), is_spread=True)


def _make_curve(drawn: Lines, line: Line) -> Path:
    chosen, share = drawn.chosen, line.share / drawn.widest
    attends = show_invisibles(chosen.query.labels[line.query])
    attended = show_invisibles(chosen.memory.labels[line.item])
    one, other = get_noun(chosen.query), get_noun(chosen.memory)
    places = f"{one} {line.query + 1} → {other} {line.item + 1}, head {line.head + 1}"
    width = round(_WIDEST_PX * share, 2), _WIDEST_PT * share
    return Path(
        *drawn.path(line),
        Stroke(get_head_colour(line.head), width, opacity=_OPACITY),
        is_curve=True,
        hover=f"{attends} → {attended}\n{places}\n{line.share:.1%}",
    )


def tabulate(drawn: Lines) -> Table:
    """Tabulate one row per line, strongest first."""
    queries, memory = (
        list_visible_labels(drawn.chosen.query),
        list_visible_labels(drawn.chosen.memory),
    )
    rows = []
    for line in drawn.lines:
        attends = (line.query + 1, queries[line.query])
        attended = (line.item + 1, memory[line.item])
        rows.append((line.head + 1, *attends, *attended, line.share))
    columns = ("head", "query position", "query", "memory position", "memory", "share")
    return Table(columns, rows)


VIEW = view_of_marks(
    "lines",
    "Lines",
    "Which items does each item attend to, and how strongly?",
    fits_text,
    find_lines,
    plot,
    tabulate,
    how_to_read=(
        "Each line joins an item to one that it attends to. A thicker line means a larger"
        " weight. Each colour is one head."
    ),
)
