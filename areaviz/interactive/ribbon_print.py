"""Ribbon in print: both texts as chips, each head's bar over its span, and threads to the selection.

All lengths are in pt unless a comment says otherwise; the axes are in pt from the top left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from areaviz.drawing.base import caption
from areaviz.drawing.labels import clip, words_for_print
from areaviz.drawing.select import field_name, groups, heads_of, sides
from areaviz.drawing.theme import PRINT_EDGE, PRINT_FONT, Drawing, finish, head_colour, print_figure
from areaviz.interactive.first_look import first_item
from areaviz.interactive.print_layout import (
    CHIP,
    TILE,
    Placed,
    PlacedText,
    draw_chips,
    draw_key,
    place_text,
)
from areaviz.interactive.ribbon_table import TOP, Span, amount, found_words, items_text, spans_of
from areaviz.trace.query import smallest_area
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# Width of a line, and maximum number of lines of the text with bars and of the selection's text.
_MEASURE, _ROWS, _OWN_ROWS = 455.0, 10, 3
# From one head's bar to the next, thickness of a bar, and from a chip to its nearest bar.
_PITCH, _BAR, _FROM_CHIP = 4.6, 2.8, 4.0
_ROW_GAP, _MIDDLE = 6.0, 24.0
# Thickness of threads: the thinnest one, and one with a weight of 1.
_THINNEST, _THICKEST = 1.2, 7.0
# Maximum number of heads with bars; of more heads, the three with the heaviest spans are drawn.
_MOST_BARS, _DRAWN_OF_MANY = 4, 3
# Height of a line of the legend, and number of entries per line.
_LEGEND, _COLUMNS = 12.5, 3
_ACCENT, _ON_ACCENT = "#0F6466", "white"


@dataclass(frozen=True, slots=True)
class Bar:
    """A span of the text with bars; the first one of a lane has a thread."""

    span: Span
    lane: int
    is_first: bool


def ribbon_print(trace: Trace, focus: Focus) -> PrintFigure:
    """Draw the spans of the selected items as the ribbon shows them on the screen.

    Without a selection, the item is selected that the ribbon opens with. Of a long text, only the
    lines with the heaviest spans are drawn.
    """
    attention = trace.maps[focus.site]
    if not focus.items:
        items = first_item(attention, focus.layer, trace.fields[attention.query]) or (0,)
        focus = replace(focus, side="query", items=items)
    own, other = sides(trace, focus.site)
    spans, verb = spans_of(trace, focus), "attends to"
    if focus.side == "memory":
        own, other, verb = other, own, "is attended to by"
        spans = [replace(span, start=span.queries[0], length=len(span.queries)) for span in spans]
    chosen = _chosen(own, focus)
    heads = heads_of(attention, focus.head)
    bars = _bars(spans, heads, focus)
    mine, theirs = place_text(own, _MEASURE), place_text(other, _MEASURE)
    rows = _rows_with(theirs, spans)
    bands = _FROM_CHIP + _PITCH * (max((bar.lane for bar in bars), default=0) + 1)
    above, below, bottom = _stacked(mine, theirs, _own_rows(mine, chosen), rows, bands, focus.side)
    legend_lines = -(-len(heads) // _COLUMNS)
    height = bottom + 12 + _LEGEND * legend_lines
    drawing = Drawing(
        title=f"What the {field_name(own)} “{_shortened(own, focus.items)}” {verb}",
        note=_note(trace, focus, bars, len(heads), rows, theirs),
        caption=caption(trace, focus),
    )
    figure, axes = print_figure(drawing, height / 72)
    axes.set(xlim=(-4, _MEASURE + 4), ylim=(height, 0), xticks=[], yticks=[])
    mine_text, their_text = (above, below) if focus.side == "query" else (below, above)
    _draw_threads(axes, mine_text, their_text, chosen, bars, focus.side == "query")
    _draw_bars(axes, their_text, bars, focus.side == "query")
    draw_chips(axes, mine_text, dict.fromkeys(chosen, (_ACCENT, _ON_ACCENT)))
    draw_chips(axes, their_text, _tints(bars, focus))
    _draw_legend(axes, heads, spans, other, focus, bottom + 12)
    return finish(figure)


def _shortened(field: Field, items: Sequence[int]) -> str:
    return clip(words_for_print(items_text(field, items)), 60)


def _note(
    trace: Trace,
    focus: Focus,
    bars: Sequence[Bar],
    heads: int,
    rows: Sequence[int],
    placed: Sequence[Placed],
) -> str:
    """Explain bars and threads, and what is left out."""
    is_plain = focus.reading == "heaviest" and focus.against == "nothing"
    is_larger = is_plain and smallest_area(trace.maps[focus.site], focus) > 1
    which = " of two or more items" if is_larger else ""
    drawn = len({bar.span.head for bar in bars})
    whose = f"the {drawn} heads with the heaviest spans" if drawn < heads else "each head"
    complete = len(rows) == placed[-1].row + 1
    lines = "all lines" if complete else f"the {len(rows)} lines with the heaviest spans"
    return (
        f"Bars: {found_words(focus, 'spans')}{which} of {whose}, at most {TOP}; threads: as thick"
        f" as the weight; {lines}."
    )


def _chosen(field: Field, focus: Focus) -> list[int]:
    """Return the selected items, or the items of the selected words."""
    items = set(focus.items)
    runs = [range(*run) for run in groups(field, focus.unit)]
    return [item for run in runs if not items.isdisjoint(run) for item in run]


def _bars(spans: Sequence[Span], heads: Sequence[int], focus: Focus) -> list[Bar]:
    """Choose the bars: a lane per head, or a lane per span of a single head."""
    own = {head: [span for span in spans if span.head == head][:TOP] for head in heads}
    drawn = [head for head in heads if own[head]]
    if len(drawn) > _MOST_BARS:
        drawn = sorted(sorted(drawn, key=lambda head: -own[head][0].weight)[:_DRAWN_OF_MANY])
    if len(drawn) == 1:
        return [Bar(span, lane, True) for lane, span in enumerate(own[drawn[0]])]
    shown = 1 if focus.reading == "heaviest" and focus.against == "nothing" else TOP
    return [
        Bar(span, lane, rank == 0)
        for lane, head in enumerate(drawn)
        for rank, span in enumerate(own[head][:shown])
    ]


def _own_rows(placed: Sequence[Placed], chosen: Iterable[int]) -> Sequence[int]:
    """Return all lines of a short text, or the first lines with selected items of a long one."""
    count = placed[-1].row + 1
    return (
        range(count) if count <= _OWN_ROWS else sorted({placed[i].row for i in chosen})[:_OWN_ROWS]
    )


def _rows_with(placed: Sequence[Placed], spans: Sequence[Span]) -> Sequence[int]:
    """Return all lines of a short text, or the lines of a long text with the heaviest spans."""
    count = placed[-1].row + 1
    if count <= _ROWS:
        return range(count)
    kept: set[int] = set()
    for span in sorted(spans, key=lambda each: -each.weight):
        kept.add(placed[span.start].row)
        if len(kept) == _ROWS:
            break
    return sorted(kept)


def _stacked(
    mine: Sequence[Placed],
    theirs: Sequence[Placed],
    own_rows: Sequence[int],
    rows: Sequence[int],
    bands: float,
    side: str,
) -> tuple[PlacedText, PlacedText, float]:
    """Put the text that attends above the other one, with room for bars where they are drawn.

    Returns:
        The upper and the lower text, and the lower edge of both.
    """
    (upper, upper_rows), (lower, lower_rows) = (mine, own_rows), (theirs, rows)
    over, under = 0.0, bands
    if side == "memory":
        (upper, upper_rows), (lower, lower_rows) = (theirs, rows), (mine, own_rows)
        over, under = bands, 0.0
    pitch = CHIP + over + _ROW_GAP
    tops = {row: number * pitch for number, row in enumerate(upper_rows)}
    start = pitch * len(tops) - _ROW_GAP + _MIDDLE + under
    pitch = CHIP + under + _ROW_GAP
    lower_tops = {row: start + number * pitch for number, row in enumerate(lower_rows)}
    bottom = start + pitch * (len(lower_tops) - 1) + CHIP
    return PlacedText(upper, tops), PlacedText(lower, lower_tops), bottom


def _height(top: float, lane: int, is_below: bool) -> float:
    """Return the middle of a lane: above the chips of the lower text, below those of the upper."""
    step = _FROM_CHIP + _PITCH * lane
    return top - step if is_below else top + CHIP + step


def _draw_bars(axes: Axes, text: PlacedText, bars: Sequence[Bar], is_below: bool) -> None:
    """Draw the bars, the first one of a lane thick and on top."""
    for bar in sorted(bars, key=lambda each: each.is_first):
        for left, top, right in text.boxes(bar.span.start, bar.span.length):
            y = _height(top, bar.lane, is_below)
            ends = [left + _BAR / 2, right - _BAR / 2], [y, y]
            width = _BAR if bar.is_first else _BAR / 2
            layers = [(width + 0.6, PRINT_EDGE), (width, head_colour(bar.span.head))]
            for thick, colour in layers if bar.is_first else layers[1:]:
                axes.add_artist(Line2D(*ends, color=colour, lw=thick, solid_capstyle="round"))


def _draw_threads(
    axes: Axes,
    mine: PlacedText,
    theirs: PlacedText,
    chosen: Sequence[int],
    bars: Sequence[Bar],
    is_below: bool,
) -> None:
    """Draw a thread from the middle of each first bar to the selection, side by side there."""
    here = next((box for item in chosen for box in mine.boxes(item, 1)), None)
    if here is None:
        return
    run = [box for box in mine.boxes(chosen[0], chosen[-1] - chosen[0] + 1) if box[1] == here[1]]
    left, top, right = run[0]
    end_y = top + CHIP if is_below else top
    begun = []
    for bar in bars:
        box = next(theirs.boxes(bar.span.start, bar.span.length), None)
        if bar.is_first and box:
            begun.append((bar, (box[0] + box[2]) / 2, _height(box[1], bar.lane, is_below)))
    begun.sort(key=lambda each: (each[1], each[0].lane))
    thick = [max(_THINNEST, _THICKEST * min(bar.span.weight, 1)) for bar, _, _ in begun]
    ends = _side_by_side((left + right) / 2, thick)
    starts = [x for _, x, _ in begun]
    for x in set(starts):
        same = [number for number, start in enumerate(starts) if start == x]
        apart = _side_by_side(x, [thick[number] for number in same])
        for number, moved in zip(same, apart, strict=True):
            starts[number] = moved
    for (bar, _, y), x, to, width in zip(begun, starts, ends, thick, strict=True):
        bend = (y + end_y) / 2
        curve = Path(
            [(x, y), (x, bend), (to, bend), (to, end_y)], [Path.MOVETO, *[Path.CURVE4] * 3]
        )
        alpha = 0.35 + 0.5 * min(bar.span.weight, 1)
        colour = head_colour(bar.span.head)
        axes.add_artist(PathPatch(curve, fill=False, edgecolor=colour, lw=width, alpha=alpha))


def _side_by_side(middle: float, widths: Sequence[float]) -> list[float]:
    """Return the middles of threads of these widths next to each other, around `middle`."""
    places, left = [], middle - (sum(widths) + len(widths) - 1) / 2
    for width in widths:
        places.append(left + width / 2)
        left += width + 1
    return places


def _tints(bars: Sequence[Bar], focus: Focus) -> dict[int, tuple[str, str]]:
    """Colour the items below bars by the mean weight of the bars over heads, as on the screen."""
    received: dict[int, float] = {}
    firsts = [bar.span for bar in bars if bar.is_first]
    for span in firsts:
        for item in span.items:
            weight = min(span.weight, 1) / len(firsts)
            received[item] = received.get(item, 0) + weight
    return {item: (_mixed(0.08 + 0.26 * weight), "black") for item, weight in received.items()}


def _mixed(part: float) -> str:
    """Return the ground of chips with a part of the accent colour in it."""
    pairs = zip(to_rgb(_ACCENT), to_rgb(TILE), strict=True)
    return to_hex([part * accent + (1 - part) * tile for accent, tile in pairs])


def _draw_legend(
    axes: Axes,
    heads: Sequence[int],
    spans: Sequence[Span],
    field: Field,
    focus: Focus,
    top: float,
) -> None:
    """Write the top span of every head and its weight."""
    for number, head in enumerate(heads):
        text = "nothing"
        span = next((span for span in spans if span.head == head), None)
        if span:
            label = clip(words_for_print(items_text(field, span.items)), 16)
            text = f"“{label}” {amount(focus, span.weight)}"
        row, column = divmod(number, _COLUMNS)
        place = column * _MEASURE / _COLUMNS + 3, top + _LEGEND * (row + 0.5)
        draw_key(axes, place, head, f"head {head + 1}  {text}", PRINT_FONT)
