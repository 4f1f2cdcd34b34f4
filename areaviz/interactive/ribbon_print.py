"""Ribbon in print: both texts as chips, each head's bar at its span, and threads to the selection.

All lengths are in pt unless a comment says otherwise. The axes are in pt from the top left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.lines import Line2D

from areaviz.draw.labels import prepare_words_for_print, truncate
from areaviz.draw.select import get_sides, group_items, list_heads, name_field
from areaviz.draw.theme import PRINT_FONT, Drawing, finish_figure, print_figure
from areaviz.draw.view import figure_caption
from areaviz.interactive.default_focus import choose_first_item
from areaviz.interactive.print_layout import (
    CHIP,
    Placed,
    PlacedText,
    draw_chips,
    draw_key,
    place_text,
)
from areaviz.interactive.ribbon_bars import (
    ACCENT,
    Bar,
    choose_bar_tints,
    choose_bars,
    compute_bands_height,
    draw_bars,
    draw_threads,
)
from areaviz.interactive.ribbon_sentence import has_sentence, make_sentence
from areaviz.interactive.ribbon_table import (
    TOP,
    Span,
    describe_found,
    find_spans,
    format_amount,
    join_items,
    list_unsure_items,
)
from areaviz.trace.query import find_smallest_area_size
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# Width of a line, maximum number of lines of the text with bars, and of the text with the
# selection.
_MEASURE, _ROWS, _OWN_ROWS = 455.0, 10, 3
# Distance between rows of a text, between both texts without bars, and above the legend.
_ROW_GAP, _MIDDLE, _ABOVE_LEGEND = 6.0, 24.0, 12.0
# Height of a line of the legend, and number of entries per line.
_LEGEND, _COLUMNS = 12.5, 3


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The content of a printed ribbon."""

    focus: Focus
    # The text with the selection, and the text with bars.
    own: Field
    other: Field
    heads: Sequence[int]
    # Spans of `other`, heaviest first within each head.
    spans: Sequence[Span]
    bars: Sequence[Bar]
    # Selected items of `own`.
    chosen: Sequence[int]

    @property
    def is_below(self) -> bool:
        """Whether the text with bars is the lower one.

        The text that attends is always on top.
        """
        return self.focus.side == "query"


@dataclass(frozen=True, slots=True, eq=False)
class Stack:
    """The positions of both texts on paper."""

    own: PlacedText
    other: PlacedText
    # Lower edge of the lower text.
    bottom: float


def draw_ribbon(trace: Trace, focus: Focus) -> PrintFigure:
    """Draw the spans of the selected items as the ribbon shows them on the screen.

    Without a selection, the print shows the item that the ribbon first shows. Only the lines of a
    long text with the heaviest spans are drawn.
    """
    attention = trace.maps[focus.site]
    if not focus.items:
        items = choose_first_item(attention, focus.layer, trace.fields[attention.query]) or (0,)
        focus = replace(focus, side="query", items=items)
    scene = _make_scene(trace, focus)
    stack = _stack_texts(scene)
    legend = stack.bottom + _ABOVE_LEGEND
    height = legend + _LEGEND * -(-len(scene.heads) // _COLUMNS)
    figure, axes = print_figure(_make_drawing(trace, scene, stack), height / 72)
    axes.set(xlim=(-4, _MEASURE + 4), ylim=(height, 0), xticks=[], yticks=[])
    draw_threads(axes, stack.own, stack.other, scene.chosen, scene.bars, scene.is_below)
    draw_bars(axes, stack.other, scene.bars, scene.is_below)
    draw_chips(axes, stack.own, dict.fromkeys(scene.chosen, (ACCENT, "white")))
    draw_chips(axes, stack.other, choose_bar_tints(scene.bars))
    for field, text in ((scene.own, stack.own), (scene.other, stack.other)):
        _draw_underline(axes, text, list_unsure_items(trace, field.name))
    _draw_legend(axes, scene, legend)
    return finish_figure(figure)


def _draw_underline(axes: Axes, text: PlacedText, items: Sequence[int]) -> None:
    """Draw a dotted line under each of the items."""
    for item in items:
        for left, top, right in text.boxes(item, 1):
            line = Line2D([left + 1, right - 1], [top + CHIP - 1] * 2, color="black", lw=0.8)
            line.set_linestyle(":")
            axes.add_artist(line)


def _make_scene(trace: Trace, focus: Focus) -> Scene:
    """Return the content of a print. On the memory side, its spans are queries that attend."""
    own, other = get_sides(trace, focus.site)
    spans = find_spans(trace, focus)
    if focus.side == "memory":
        own, other = other, own
        spans = [replace(span, start=span.queries[0], length=len(span.queries)) for span in spans]
    heads = list_heads(trace.maps[focus.site], focus.head)
    bars = choose_bars(spans, heads, focus)
    return Scene(focus, own, other, heads, spans, bars, _list_chosen(own, focus))


def _list_chosen(field: Field, focus: Focus) -> list[int]:
    """Return the selected items, or the items of the selected words."""
    items = set(focus.items)
    runs = [range(*run) for run in group_items(field, focus.unit)]
    return [item for run in runs if not items.isdisjoint(run) for item in run]


def _make_drawing(trace: Trace, scene: Scene, stack: Stack) -> Drawing:
    """Return the title, the caption, and a note on the bars, the threads and omitted lines."""
    focus = scene.focus
    chosen = truncate(prepare_words_for_print(join_items(scene.own, focus.items)), 60)
    verb = "attends to" if focus.side == "query" else "is attended to by"
    is_plain = focus.reading == "heaviest" and focus.against == "nothing"
    is_larger = is_plain and find_smallest_area_size(trace.maps[focus.site], focus) > 1
    which = " of two or more items" if is_larger else ""
    drawn = len({bar.span.head for bar in scene.bars})
    is_left_out = drawn < len({span.head for span in scene.spans})
    whose = f"the {drawn} heads with the heaviest spans" if is_left_out else "each head"
    shown = len(stack.other.tops)
    complete = shown == _count_rows(stack.other.items)
    lines = "all lines" if complete else f"the {shown} lines with the heaviest spans"
    pale = ", the lighter ones paler" if any(bar.is_pale for bar in scene.bars) else ""
    spans = f"{describe_found(focus, 'spans')}{which} of {whose}, at most {TOP}{pale}"
    note = f"Bars: {spans}; threads: as"
    title = f"What the {name_field(scene.own)} “{chosen}” {verb}"
    if has_sentence(trace, focus):
        title = make_sentence(trace, focus, scene.spans)
    return Drawing(
        title=title,
        note=f"{note} thick as the weight; {lines}{_explain_dotted_lines(trace, scene)}.",
        caption=figure_caption(trace, focus),
    )


def _explain_dotted_lines(trace: Trace, scene: Scene) -> str:
    """Return an explanation of dotted lines, or "" if there are none."""
    unsure = [list_unsure_items(trace, field.name) for field in (scene.own, scene.other)]
    return "; dotted: less than half sure" if any(unsure) else ""


def _count_rows(placed: Sequence[Placed]) -> int:
    return placed[-1].row + 1 if placed else 0


def _own_rows(placed: Sequence[Placed], chosen: Sequence[int]) -> Sequence[int]:
    """Return the indices of the lines to draw of the text with the selection.

    They are all lines of a short text, or the first lines of a long text that have selected items.
    """
    count = _count_rows(placed)
    if count <= _OWN_ROWS:
        return range(count)
    return sorted({placed[item].row for item in chosen})[:_OWN_ROWS]


def _list_rows_with(placed: Sequence[Placed], spans: Sequence[Span]) -> Sequence[int]:
    """Return the indices of the lines to draw of the text with bars.

    They are all lines of a short text, or the lines of a long text with the heaviest spans.
    """
    count = _count_rows(placed)
    if count <= _ROWS:
        return range(count)
    kept: set[int] = set()
    for span in sorted(spans, key=lambda each: -each.weight):
        kept.add(placed[span.start].row)
        if len(kept) == _ROWS:
            break
    return sorted(kept)


def _stack_texts(scene: Scene) -> Stack:
    """Return the positions of both texts, with the text that attends on top and bars between."""
    own, other = place_text(scene.own, _MEASURE), place_text(scene.other, _MEASURE)
    own_rows, rows = _own_rows(own, scene.chosen), _list_rows_with(other, scene.spans)
    bands = compute_bands_height(scene.bars)
    if scene.is_below:
        mine, edge = _with_tops(own, own_rows, 0, 0)
        theirs, bottom = _with_tops(other, rows, edge + _MIDDLE + bands, bands)
    else:
        theirs, edge = _with_tops(other, rows, 0, bands)
        mine, bottom = _with_tops(own, own_rows, edge + _MIDDLE + bands, 0)
    return Stack(mine, theirs, bottom)


def _with_tops(
    items: Sequence[Placed], rows: Sequence[int], start: float, bands: float
) -> tuple[PlacedText, float]:
    """Return a text with the positions of its drawn rows, and their lower edge.

    Args:
        items: the text.
        rows: the indices of the rows to draw.
        start: the upper edge of the first row.
        bands: the height of the bars between two rows.
    """
    pitch = CHIP + bands + _ROW_GAP
    tops = {row: start + number * pitch for number, row in enumerate(rows)}
    return PlacedText(items, tops), max(tops.values(), default=start) + CHIP


def _draw_legend(axes: Axes, scene: Scene, top: float) -> None:
    """Write the top span of every head and its weight. A head without bars has a hollow square."""
    drawn = {bar.span.head for bar in scene.bars}
    for number, head in enumerate(scene.heads):
        text = "nothing"
        span = next((span for span in scene.spans if span.head == head), None)
        if span:
            label = truncate(prepare_words_for_print(join_items(scene.other, span.items)), 16)
            text = f"“{label}” {format_amount(scene.focus, span.weight)}"
        row, column = divmod(number, _COLUMNS)
        place = column * _MEASURE / _COLUMNS + 3, top + _LEGEND * (row + 0.5)
        key = f"head {head + 1}  {text}"
        draw_key(axes, place, head, key, PRINT_FONT, is_hollow=head not in drawn)
