"""The token ribbon in print: its layout, its bars and threads, and the drawing.

All lengths are in pt unless a comment says otherwise. Read `draw_ribbon` first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from math import log2

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure as PrintFigure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Rectangle
from matplotlib.path import Path
from matplotlib.textpath import text_to_path

from areaviz.draw.labels import prepare_for_print, prepare_words_for_print, truncate
from areaviz.draw.select import get_sides, group_items, list_heads, name_field
from areaviz.draw.theme import (
    HEAD_COLOURS,
    PRINT_EDGE,
    PRINT_FONT,
    Drawing,
    finish_figure,
    get_head_colour,
    print_figure,
)
from areaviz.draw.view import figure_caption
from areaviz.trace.query import find_smallest_area_size, find_words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import choose_first_item
from areaviz.views.ribbon.table import (
    MAX_RATIO,
    TOP,
    Span,
    describe_found,
    find_spans,
    format_amount,
    has_sentence,
    join_items,
    list_unsure_items,
    make_sentence,
)

# Layout of printed ribbons and grids: texts as rows of chips, and legend lines of heads.
#
# A chip is a coloured box with a word.


SIZE, CHIP = 10.0, 19.0
"""Font size of a text, and height of its chips."""
TILE = "#EFECE4"
_PADDING, _GAP, _WIDEST_GAP = 4.5, 4.5, 20.0
_BLANK_MARK = "#B0B0B0"
_MARKS = prepare_for_print(" "), prepare_for_print("\n")


@dataclass(frozen=True, slots=True)
class Placed:
    """Position of an item."""

    row: int
    # Left edge and width.
    x: float
    width: float
    text: str
    # Number of the item's chip.
    chip: int


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A text in rows of chips. Only some of its rows may be drawn."""

    items: Sequence[Placed]
    # Upper edge of the chips of each row that is drawn.
    tops: dict[int, float]

    def boxes(self, start: int, length: int) -> Iterator[tuple[float, float, float]]:
        """Yield left, top and right of a run of items, one box per row that is drawn."""
        run = self.items[start : start + length]
        for row in range(run[0].row, run[-1].row + 1):
            here = [item for item in run if item.row == row]
            if row in self.tops and here:
                yield here[0].x, self.tops[row], here[-1].x + here[-1].width


def list_chips(field: Field) -> list[tuple[int, int]]:
    """Return the chips of a text as (start, end) of their items.

    A chip is a word, or an item of the punctuation at its ends.
    """
    chips: list[tuple[int, int]] = []
    for start, end in find_words(field):
        first, last = start, end
        while first < last and not _has_letter(field.labels[first]):
            first += 1
        if first == last:
            chips.append((start, end))
            continue
        while not _has_letter(field.labels[last - 1]):
            last -= 1
        chips += [(item, item + 1) for item in range(start, first)]
        chips.append((first, last))
        chips += [(item, item + 1) for item in range(last, end)]
    return chips


def _has_letter(label: str) -> bool:
    return any(map(str.isalnum, label))


def place_text(field: Field, measure: float) -> list[Placed]:
    """Arrange a text as chips in rows of width `measure`.

    A single row is spread over this width.
    """
    placed: list[Placed] = []
    row, x = 0, 0.0
    for number, (start, end) in enumerate(list_chips(field)):
        items = _place_chip_items(field, start, end, number)
        whole = sum(item.width for item in items)
        # A space stays at the end of its row.
        is_space = items[0].text in _MARKS
        if x > 0 and x + whole > measure and not is_space:
            row, x = row + 1, 0.0
        for item in items:
            if x > 0 and x + item.width > measure and not is_space:
                row, x = row + 1, 0.0
            placed.append(replace(item, row=row, x=x))
            x += item.width
        next_label = field.labels[end] if end < len(field.labels) else ""
        x += 0 if field.labels[start].isspace() or next_label.isspace() else _GAP
    return _justify_row(placed, measure) if row == 0 else placed


def _place_chip_items(field: Field, start: int, end: int, number: int) -> list[Placed]:
    """Return the items of a chip with their widths.

    The first and last include the chip's padding.
    """
    items = []
    for item in range(start, end):
        text = prepare_words_for_print(field.labels[item])
        padding = _PADDING * ((item == start) + (item == end - 1))
        items.append(Placed(0, 0.0, measure_text(text) + padding, text, number))
    return items


def _justify_row(placed: Sequence[Placed], measure: float) -> list[Placed]:
    """Return the items of a single row, with the free width distributed between its chips."""
    gaps = placed[-1].chip if placed else 0
    if not gaps:
        return list(placed)
    free = measure - placed[-1].x - placed[-1].width
    extra = min(max(free / gaps, 0), _WIDEST_GAP - _GAP)
    return [replace(item, x=item.x + extra * item.chip) for item in placed]


@lru_cache(maxsize=4096)
def measure_text(text: str) -> float:
    """Return the width of a text in the font of chips."""
    font = FontProperties(size=SIZE)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def draw_chips(axes: Axes, text: PlacedText, colours: Mapping[int, tuple[str, str]]) -> None:
    """Draw the rows of a text as chips.

    Args:
        axes: the axes.
        text: the text.
        colours: the colours of some items, by index: of their background and of their letters.
    """
    chips: dict[tuple[int, int], list[int]] = {}
    for item, place in enumerate(text.items):
        if place.row in text.tops:
            chips.setdefault((place.chip, place.row), []).append(item)
    for (_, row), members in chips.items():
        first, last = text.items[members[0]], text.items[members[-1]]
        is_blank = all(text.items[item].text in _MARKS for item in members)
        box = FancyBboxPatch(
            (first.x, text.tops[row]),
            last.x + last.width - first.x,
            CHIP,
            boxstyle="round,pad=0,rounding_size=3",
            facecolor="none" if is_blank else TILE,
            linewidth=0,
        )
        axes.add_artist(box)
        for item in members:
            if item in colours:
                _draw_ground(axes, text, item, box, colours[item][0])
        _draw_letters(axes, text, members, colours)


def _draw_ground(
    axes: Axes, text: PlacedText, item: int, chip: FancyBboxPatch, colour: str
) -> None:
    """Colour the part of a chip that belongs to an item."""
    place = text.items[item]
    ground = Rectangle(
        (place.x, text.tops[place.row]), place.width, CHIP, facecolor=colour, linewidth=0
    )
    axes.add_artist(ground)
    ground.set_clip_path(chip)


def _draw_letters(
    axes: Axes, text: PlacedText, members: Sequence[int], colours: Mapping[int, tuple[str, str]]
) -> None:
    """Write the items of a chip. Neighbours of one colour are one text, which keeps the kerning."""
    for ink, same in groupby(members, lambda item: _choose_ink(text, item, colours)):
        run = [text.items[item] for item in same]
        middle = (run[0].x + run[-1].x + run[-1].width) / 2
        letters = "".join(place.text for place in run)
        y = text.tops[run[0].row] + CHIP / 2
        write_text(axes, middle, y, letters, SIZE, side="center", colour=ink)


def _choose_ink(text: PlacedText, item: int, colours: Mapping[int, tuple[str, str]]) -> str:
    """Return the colour of an item's letters."""
    if text.items[item].text in _MARKS:
        return _BLANK_MARK
    return colours[item][1] if item in colours else "black"


def draw_key(
    axes: Axes,
    place: tuple[float, float],
    head: int,
    text: str,
    size: float,
    is_hollow: bool = False,
) -> None:
    """Write a line of a legend after a square in the head's colour.

    The axes may have any unit, because the square is drawn as a marker in pt. After the eighth head
    the colours repeat, and only half of the square is filled.

    Args:
        axes: the axes.
        place: the left edge and the vertical middle of the line, in the unit of the axes.
        head: the index of the head, from 0.
        text: the text of the line.
        size: the font size in pt.
        is_hollow: whether the square is only an outline, for a head that is not drawn.
    """
    x, y = place
    fill = "none" if is_hollow else "left" if is_again(head) else "full"
    square = axes.plot([x], [y], "s", markersize=size * 0.7, color=get_head_colour(head))[0]
    square.set(clip_on=False, fillstyle=fill, markerfacecoloralt="white")
    axes.annotate(
        text,
        (x, y),
        xytext=(size, 0),
        textcoords="offset points",
        va="center_baseline",
        fontsize=size,
        annotation_clip=False,
    )


def is_again(head: int) -> bool:
    """Return whether a head has the colour of an earlier head. It is then drawn with dashes."""
    return head >= len(HEAD_COLOURS)


def write_text(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    size: float,
    *,
    side: str = "left",
    colour: str = "black",
) -> None:
    """Write a text with its vertical middle at `y`, in the unit of the axes."""
    axes.text(x, y, text, ha=side, va="center_baseline", fontsize=size, color=colour)


# Bars and threads of the printed ribbon: which spans get a bar, and how it is drawn.
#
# A bar marks a span that a head attends to, and a thread connects it to the selection. The bars of
# a head, or of a rank, have a common height, called a lane. All lengths are in pt, and the axes are
# in pt from the top left.


ACCENT = "#0F6466"
"""Colour of selected items, and of the tint of items with attention."""
# Distance between two lanes, thickness of a bar, and distance from a chip to its nearest bar.
_PITCH, _BAR, _FROM_CHIP = 4.6, 2.8, 4.0
# Thickness of the thinnest thread, and of a thread with a weight of 1.
_THINNEST, _THICKEST = 1.2, 7.0
# Offset of the dashes, and the length of dashes and gaps as multiples of the thickness.
_DASHES = 0, (1.0, 0.4)
# Maximum number of heads with bars. If there are more heads, only the three with the heaviest spans
# are drawn.
_MOST_BARS, _DRAWN_OF_MANY = 4, 3


@dataclass(frozen=True, slots=True)
class Bar:
    """A span with a bar. The first bar of each lane also has a thread."""

    span: Span
    lane: int
    is_first: bool
    # Weight as a part of its scale, 0..1.
    share: float
    # Whether the bar is drawn paler, because its head has a heavier span.
    is_pale: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread from the middle of a bar to the selection."""

    bar: Bar
    # Middle of the bar.
    x: float
    y: float

    @property
    def thickness(self) -> float:
        """Thickness in pt. It is proportional to the bar's share, with a minimum."""
        return max(_THINNEST, _THICKEST * self.bar.share)


def choose_bars(spans: Sequence[Span], heads: Sequence[int], focus: Focus) -> list[Bar]:
    """Choose the bars to draw.

    Each head has its own lane. If only one head is drawn, each of its spans has its own lane.
    """
    own = {head: [span for span in spans if span.head == head][:TOP] for head in heads}
    drawn = [head for head in heads if own[head]]
    if len(drawn) > _MOST_BARS:
        drawn = sorted(sorted(drawn, key=lambda head: -own[head][0].weight)[:_DRAWN_OF_MANY])
    if len(drawn) == 1:
        singles = enumerate(own[drawn[0]])
        return [
            Bar(span, lane, True, _compute_share(span, focus), lane > 0) for lane, span in singles
        ]
    shown = 1 if focus.reading == "heaviest" and focus.against == "nothing" else TOP
    return [
        Bar(span, lane, rank == 0, _compute_share(span, focus), rank > 0)
        for lane, head in enumerate(drawn)
        for rank, span in enumerate(own[head][:shown])
    ]


def _compute_share(span: Span, focus: Focus) -> float:
    """Return a span's weight as a part of its scale, 0..1.

    A ratio to the average has a logarithmic scale.
    """
    if focus.side == "query" and focus.against == "average":
        return min(max(log2(span.weight) / MAX_RATIO, 0), 1)
    return min(span.weight, 1)


def compute_bands_height(bars: Sequence[Bar]) -> float:
    """Return the height that the lanes of bars need next to a row of chips, in pt."""
    return _FROM_CHIP + _PITCH * (max((bar.lane for bar in bars), default=0) + 1)


def choose_bar_tints(bars: Sequence[Bar]) -> dict[int, tuple[str, str]]:
    """Return the colours of background and letters for the items at bars, by index.

    As on the screen, the background is stronger for a larger mean weight over heads.
    """
    received: dict[int, float] = {}
    firsts = [bar for bar in bars if bar.is_first]
    for bar in firsts:
        for item in bar.span.items:
            received[item] = received.get(item, 0) + bar.share / len(firsts)
    return {item: (_mix_accent(0.08 + 0.26 * share), "black") for item, share in received.items()}


def _mix_accent(part: float) -> str:
    """Return a mixture of the chips' background with a part, 0..1, of the accent colour."""
    pairs = zip(to_rgb(ACCENT), to_rgb(TILE), strict=True)
    red, green, blue = (part * accent + (1 - part) * tile for accent, tile in pairs)
    return to_hex((red, green, blue))


def _compute_lane_middle(top: float, lane: int, is_below: bool) -> float:
    """Return the vertical middle of a lane, which lies between the two texts.

    Args:
        top: the upper edge of the row of chips.
        lane: the number of the lane, from 0 at the chips.
        is_below: whether the text with bars is the lower one. Its bars are above its chips.
    """
    step = _FROM_CHIP + _PITCH * lane
    return top - step if is_below else top + CHIP + step


def draw_bars(axes: Axes, text: PlacedText, bars: Sequence[Bar], is_below: bool) -> None:
    """Draw the bars of a text. The first bar of each lane is thicker and drawn over the others.

    Args:
        axes: the axes.
        text: the text with bars.
        bars: the bars.
        is_below: whether `text` is the lower one.
    """
    for bar in sorted(bars, key=lambda each: each.is_first):
        for left, top, right in text.boxes(bar.span.start, bar.span.length):
            y = _compute_lane_middle(top, bar.lane, is_below)
            ends = [left + _BAR / 2, right - _BAR / 2], [y, y]
            width = _BAR if bar.is_first else _BAR / 2
            layers = [(width + 0.6, PRINT_EDGE), (width, get_head_colour(bar.span.head))]
            alpha = 0.35 + 0.4 * bar.share if bar.is_pale else 1
            if is_again(bar.span.head):
                colour = get_head_colour(bar.span.head)
                axes.add_artist(Line2D(*ends, color=colour, lw=width, ls=_DASHES, alpha=alpha))
                continue
            for thickness, colour in layers[1:] if bar.is_pale else layers:
                line = Line2D(*ends, color=colour, lw=thickness, alpha=alpha)
                line.set_solid_capstyle("round")
                axes.add_artist(line)


def draw_threads(
    axes: Axes,
    own: PlacedText,
    other: PlacedText,
    chosen: Sequence[int],
    bars: Sequence[Bar],
    is_below: bool,
) -> None:
    """Draw threads from the middles of bars to the selection, in the order of the bars' positions.

    Args:
        axes: the axes.
        own: the text with the selection.
        other: the text with bars.
        chosen: the selected items. Threads lead to the first run of neighbouring items.
        bars: the bars.
        is_below: whether `other` is the lower text.
    """
    target = next(own.boxes(chosen[0], _run_length(chosen)), None)
    if target is None:
        return
    left, top, right = target
    end_y = top + CHIP if is_below else top
    threads = _make_threads(other, bars, is_below)
    starts = [0.0] * len(threads)
    for x in {thread.x for thread in threads}:
        same = [number for number, thread in enumerate(threads) if thread.x == x]
        widths = [threads[number].thickness for number in same]
        for number, moved in zip(same, _place_side_by_side(x, widths), strict=True):
            starts[number] = moved
    ends = _place_side_by_side((left + right) / 2, [thread.thickness for thread in threads])
    for thread, start, end in zip(threads, starts, ends, strict=True):
        _draw_thread(axes, thread, start, (end, end_y))


def _run_length(chosen: Sequence[int]) -> int:
    """Return the number of neighbouring items at the start of a selection."""
    length = 1
    while length < len(chosen) and chosen[length] == chosen[0] + length:
        length += 1
    return length


def _make_threads(other: PlacedText, bars: Sequence[Bar], is_below: bool) -> list[Thread]:
    """Return the threads of all first bars whose row is drawn, from left to right."""
    threads = []
    for bar in bars:
        box = next(other.boxes(bar.span.start, bar.span.length), None)
        if bar.is_first and box:
            left, top, right = box
            y = _compute_lane_middle(top, bar.lane, is_below)
            threads.append(Thread(bar, (left + right) / 2, y))
    return sorted(threads, key=lambda each: (each.x, each.bar.lane))


def _draw_thread(axes: Axes, thread: Thread, start: float, end: tuple[float, float]) -> None:
    """Draw a curve from a bar, at the horizontal position `start`, to `end`."""
    end_x, end_y = end
    bend = (thread.y + end_y) / 2
    points = [(start, thread.y), (start, bend), (end_x, bend), (end_x, end_y)]
    curve = PathPatch(
        Path(points, [Path.MOVETO, *[Path.CURVE4] * 3]),
        fill=False,
        edgecolor=get_head_colour(thread.bar.span.head),
        linewidth=thread.thickness,
        linestyle=_DASHES if is_again(thread.bar.span.head) else "solid",
        alpha=0.35 + 0.5 * thread.bar.share,
    )
    axes.add_artist(curve)


def _place_side_by_side(middle: float, widths: Sequence[float]) -> list[float]:
    """Return the middles of threads with the given widths, placed side by side around `middle`."""
    places, left = [], middle - (sum(widths) + len(widths) - 1) / 2
    for width in widths:
        places.append(left + width / 2)
        left += width + 1
    return places


# Ribbon in print: both texts as chips, each head's bar at its span, and threads to the selection.
#
# The axes are in pt from the top left.


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
