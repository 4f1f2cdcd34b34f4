"""The ribbon on paper: what is chosen, and under the other text every head's spans as bands
(matplotlib).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from areaviz.drawing.base import caption
from areaviz.drawing.labels import clip, for_print
from areaviz.drawing.select import NAMES
from areaviz.drawing.theme import PRINT_EDGE, PRINT_FONT, finish, head_colour, paper
from areaviz.interactive.ribbon_table import TOP, Span, items_text, spans_of
from areaviz.trace.query import smallest_area
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

MEASURE = 455.0  # pt, width of a line
SIZE = 9.0  # pt, of the text's letters
BLANKS = for_print(" ") + for_print("\n")
ROWS = 10  # at most so many lines of the text are drawn
LINE, BAND = 0.24, 0.052  # inches: height of the letters' line, and of one head's band


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an item stands: its line, its left edge and its width in pt."""

    row: int
    x: float
    width: float
    text: str


def ribbon_print(trace: Trace, focus: Focus) -> PrintFigure:
    """The chosen items' spans under the other text, one band a head, the strongest span of a head
    solid.

    Without a choice the first query is shown. Of a long text only the lines with the heaviest spans
    are drawn.
    """
    focus = focus if focus.items else replace(focus, side="query", items=(0,))
    attention = trace.maps[focus.site]
    own, other = trace.fields[attention.query], trace.fields[attention.memory]
    spans = spans_of(trace, focus)
    if focus.side == "memory":
        own, other = other, own
        spans = [replace(span, start=span.queries[0], length=len(span.queries)) for span in spans]
    placed = _places(other)
    rows = _rows_with(placed, spans)
    heads = range(attention.heads) if focus.head is None else [focus.head]
    pitch = LINE + BAND * len(heads) + 0.1
    height = pitch * len(rows) + 0.34 + 0.17 * len(_legend(heads, spans, other))
    verb = "attends to" if focus.side == "query" else "is attended to by"
    chosen = clip(for_print(items_text(own, focus.items)), 60)
    title = f"What the {NAMES.get(own.name, own.name)} “{chosen}” {verb}"
    shown = (
        "all lines"
        if len(rows) == placed[-1].row + 1
        else f"the {len(rows)} lines with the heaviest spans"
    )
    which = " of two or more items" * (smallest_area(attention, focus) > 1)
    note = (
        f"Bands: the {TOP} heaviest spans{which} of each head, the strongest solid; height and"
        " depth by weight"
    )
    figure, axes = paper(title, f"{note}; {shown}.", caption(trace, focus), height)
    axes.set(xlim=(-4, MEASURE + 4), ylim=(height, 0), xticks=[], yticks=[])
    tops = {row: n * pitch for n, row in enumerate(rows)}
    _draw_spans(axes, placed, spans, tops, list(heads))
    for place in placed:
        if place.row in tops:
            _write(
                axes,
                place.x + place.width / 2,
                tops[place.row] + LINE / 2,
                place.text,
                SIZE,
                centred=True,
            )
    _draw_legend(axes, _legend(heads, spans, other), pitch * len(rows) + 0.2)
    return finish(figure)


def _places(field: Field) -> list[Placed]:
    """Items in lines of one measure; a line ends at a blank where it can."""
    placed: list[Placed] = []
    row, x = 0, 0.0
    apart = 5.0 if any(end - start > 1 for start, end in field.anchors.tolist()) else 0.5
    for item, label in enumerate(field.labels):
        text = for_print(label)
        width = _width(text) + (4 if len(text) > 1 else 0)
        blank = label.isspace()
        if x > 0 and (x + width > MEASURE or (not blank and x + _word(field, item) > MEASURE)):
            row, x = row + 1, 0.0
        placed.append(Placed(row, x, width, text))
        x += width + apart
    return placed


def _word(field: Field, item: int) -> float:
    """The width up to the next blank, if the item begins a word; else nothing."""
    if item and not field.labels[item - 1].isspace():
        return 0.0
    width = 0.0
    for label in field.labels[item:]:
        if label.isspace() or width > MEASURE / 2:
            break
        width += _width(for_print(label)) + 0.5
    return width


def _width(text: str) -> float:
    """How wide a text is drawn, in pt."""
    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=SIZE), ismath=False
    )
    return float(width)


def _rows_with(placed: Sequence[Placed], spans: Sequence[Span]) -> list[int]:
    """All lines of a short text; of a long one those with the heaviest spans."""
    count = placed[-1].row + 1
    if count <= ROWS:
        return list(range(count))
    heavy = dict.fromkeys(
        placed[span.start].row for span in sorted(spans, key=lambda span: -span.weight)
    )
    return sorted(list(heavy)[:ROWS]) or list(range(ROWS))


def _draw_spans(
    axes: Axes,
    placed: Sequence[Placed],
    spans: Sequence[Span],
    tops: dict[int, float],
    heads: Sequence[int],
) -> None:
    seen: set[int] = set()
    for span in spans:
        strongest = span.head not in seen
        seen.add(span.head)
        strength = sqrt(min(span.weight, 1))
        for row, left, right in _pieces(placed, span):
            if row not in tops:
                continue
            y = tops[row] + LINE + BAND * heads.index(span.head)
            thick = BAND * (0.8 if strongest else 0.25 + 0.4 * strength)
            colour, alpha = head_colour(span.head), 1 if strongest else 0.3 + 0.5 * strength
            box = (left + 0.5, y + (BAND - thick) / 2), max(right - left - 1, 1), thick
            axes.add_patch(Rectangle(*box, facecolor=colour, alpha=alpha, linewidth=0))
            if strongest:
                axes.add_patch(Rectangle(*box, fill=False, edgecolor=PRINT_EDGE, linewidth=0.3))
                tint = (left, tops[row] + 0.02), right - left, LINE - 0.04
                axes.add_patch(
                    Rectangle(*tint, color=colour, alpha=0.1 + 0.14 * strength, linewidth=0)
                )


def _pieces(placed: Sequence[Placed], span: Span) -> list[tuple[int, float, float]]:
    """(line, left, right) of a span, one piece a line."""
    items = placed[span.start : span.start + span.length]
    rows = sorted({place.row for place in items})
    pieces = []
    for row in rows:
        here = [place for place in items if place.row == row]
        pieces.append((row, here[0].x, here[-1].x + here[-1].width))
    return pieces


def _legend(
    heads: Sequence[int] | range, spans: Sequence[Span], field: Field
) -> list[list[tuple[int, str]]]:
    """(head, what it says), three entries a line."""
    entries = []
    for head in heads:
        top = next((span for span in spans if span.head == head), None)
        text = "nothing"
        if top:
            label = clip(for_print(items_text(field, range(top.start, top.start + top.length))), 16)
            text = f"“{label}” {top.weight:.0%}"
        entries.append((head, f"head {head + 1}  {text}"))
    return [entries[i : i + 3] for i in range(0, len(entries), 3)]


def _draw_legend(axes: Axes, lines: Sequence[Sequence[tuple[int, str]]], top: float) -> None:
    for n, line in enumerate(lines):
        for column, (head, text) in enumerate(line):
            x, y = column * MEASURE / 3, top + 0.17 * n
            axes.add_patch(Rectangle((x, y + 0.035), 6, 0.09, color=head_colour(head), linewidth=0))
            _write(axes, x + 11, y + 0.08, text, PRINT_FONT)


def _write(axes: Axes, x: float, y: float, text: str, size: float, centred: bool = False) -> None:
    align, colour = ("center" if centred else "left"), ("#B0B0B0" if text in BLANKS else "black")
    axes.text(
        x, y, text, ha=align, va="center_baseline", fontsize=size, color=colour, parse_math=False
    )
