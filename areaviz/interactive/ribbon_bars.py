"""Bars and threads of the printed ribbon: which spans get a bar, and how it is drawn.

A bar marks a span that a head attends to, and a thread connects it to the selection. The bars of a
head, or of a rank, have a common height, called a lane. All lengths are in pt, and the axes are in
pt from the top left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgb
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from areaviz.draw.theme import PRINT_EDGE, get_head_colour
from areaviz.interactive.other_readings import MAX_RATIO
from areaviz.interactive.print_layout import CHIP, TILE, PlacedText, is_again
from areaviz.interactive.ribbon_table import TOP, Span
from areaviz.trace.request import Focus

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
