"""Ribbon in print: the selected items, and each head's spans as bands below the other text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt

from matplotlib.axes import Axes
from matplotlib.figure import Figure as PrintFigure
from matplotlib.font_manager import FontProperties
from matplotlib.patches import Rectangle
from matplotlib.textpath import text_to_path

from areaviz.drawing.base import caption
from areaviz.drawing.labels import clip, for_print, words_for_print
from areaviz.drawing.select import field_name, heads_of, sides
from areaviz.drawing.theme import PRINT_EDGE, PRINT_FONT, Drawing, finish, head_colour, print_figure
from areaviz.interactive.ribbon_table import TOP, Span, amount, found_words, items_text, spans_of
from areaviz.trace.query import smallest_area
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# In pt: width of a line, and font size of the text.
_MEASURE, _SIZE = 455.0, 9.0
# Maximum number of lines of text.
_ROWS = 10
# In inches: height of a line of text, and of one head's band.
_LINE, _BAND = 0.24, 0.052
# Height of the legend's lines in inches, and number of entries per line.
_LEGEND, _COLUMNS = 0.17, 3
_BLANKS = for_print(" ") + for_print("\n")


@dataclass(frozen=True, slots=True)
class Placed:
    """Position of an item."""

    row: int
    # Left edge and width in pt.
    x: float
    width: float
    text: str


def ribbon_print(trace: Trace, focus: Focus) -> PrintFigure:
    """Draw the spans of the selected items: one band per head, with the top span solid.

    By default the first query is selected. For a long text, only the lines with the heaviest spans
    are drawn.
    """
    if not focus.items:
        focus = replace(focus, side="query", items=(0,))
    attention = trace.maps[focus.site]
    own, other = sides(trace, focus.site)
    spans, verb = spans_of(trace, focus), "attends to"
    if focus.side == "memory":
        own, other, verb = other, own, "is attended to by"
        spans = [replace(span, start=span.queries[0], length=len(span.queries)) for span in spans]
    placed = _places(other)
    rows = _rows_with(placed, spans)
    heads = heads_of(attention, focus.head)
    pitch = _LINE + _BAND * len(heads) + 0.1
    legend_lines = -(-len(heads) // _COLUMNS)
    height = pitch * len(rows) + 0.34 + _LEGEND * legend_lines
    chosen = clip(words_for_print(items_text(own, focus.items)), 60)
    complete = len(rows) == placed[-1].row + 1
    lines = "all lines" if complete else f"the {len(rows)} lines with the heaviest spans"
    is_plain = focus.reading == "heaviest" and focus.against == "nothing"
    which = " of two or more items" if is_plain and smallest_area(attention, focus) > 1 else ""
    drawing = Drawing(
        title=f"What the {field_name(own)} “{chosen}” {verb}",
        note=(
            f"Bands: {found_words(focus, 'spans')}{which} of each head, at most {TOP}, the"
            f" strongest solid; height and depth by weight; {lines}."
        ),
        caption=caption(trace, focus),
    )
    figure, axes = print_figure(drawing, height)
    axes.set(
        xlim=(-4, _MEASURE + 4),
        ylim=(height, 0),
        xticks=[],
        yticks=[],
    )
    tops = {row: number * pitch for number, row in enumerate(rows)}
    _draw_spans(axes, placed, spans, tops, heads)
    for place in placed:
        if place.row in tops:
            middle = place.x + place.width / 2
            _write(
                axes,
                middle,
                tops[place.row] + _LINE / 2,
                place.text,
                _SIZE,
                "center",
            )
    _draw_legend(
        axes,
        heads,
        {span: amount(focus, span.weight) for span in spans},
        other,
        pitch * len(rows) + 0.2,
    )
    return finish(figure)


def _places(field: Field) -> list[Placed]:
    """Arrange items in lines of equal width, broken at spaces if possible."""
    placed: list[Placed] = []
    row, x = 0, 0.0
    # Characters of a text are set close together; words and subwords are set apart.
    apart = 5.0 if (field.anchors[:, 1] - field.anchors[:, 0] > 1).any() else 0.5
    for item, label in enumerate(field.labels):
        text = words_for_print(label)
        width = _width(text)
        if len(text) > 1:
            width += 4
        needed = width if label.isspace() else max(width, _word(field, item))
        if x > 0 and x + needed > _MEASURE:
            row, x = row + 1, 0.0
        placed.append(Placed(row, x, width, text))
        x += width + apart
    return placed


def _word(field: Field, item: int) -> float:
    """Return the width up to the next space if the item starts a word, else 0."""
    if item and not field.labels[item - 1].isspace():
        return 0.0
    width = 0.0
    for label in field.labels[item:]:
        if label.isspace() or width > _MEASURE / 2:
            break
        width += _width(for_print(label)) + 0.5
    return width


def _width(text: str) -> float:
    """Return the width of a text in pt."""
    font = FontProperties(size=_SIZE)
    return float(text_to_path.get_text_width_height_descent(text, font, ismath=False)[0])


def _rows_with(placed: Sequence[Placed], spans: Sequence[Span]) -> Sequence[int]:
    """Return all lines of a short text, or the lines of a long text with the heaviest spans."""
    count = placed[-1].row + 1
    if count <= _ROWS:
        return range(count)
    heaviest = sorted(spans, key=lambda span: -span.weight)
    rows = list(dict.fromkeys(placed[span.start].row for span in heaviest))
    return sorted(rows[:_ROWS]) or range(_ROWS)


def _draw_spans(
    axes: Axes,
    placed: Sequence[Placed],
    spans: Sequence[Span],
    tops: dict[int, float],
    heads: Sequence[int],
) -> None:
    """Draw a band for every span; each head's first span is its strongest and tints its text.

    Rectangles are added with `add_artist`, because the limits of the axes are already set.
    `add_patch` would compute them again, which takes a third of the drawing time.
    """
    seen: set[int] = set()
    for span in spans:
        strongest = span.head not in seen
        seen.add(span.head)
        strength = sqrt(min(span.weight, 1))
        colour, alpha = head_colour(span.head), 0.3 + 0.5 * strength
        thick = _BAND * (0.25 + 0.4 * strength)
        if strongest:
            thick, alpha = _BAND * 0.8, 1
        for row, left, right in _pieces(placed, span):
            if row not in tops:
                continue
            top, width = tops[row], right - left
            y = top + _LINE + _BAND * heads.index(span.head) + (_BAND - thick) / 2
            band = (left + 0.5, y), max(width - 1, 1), thick
            axes.add_artist(
                Rectangle(
                    *band,
                    facecolor=colour,
                    alpha=alpha,
                    linewidth=0,
                )
            )
            if strongest:
                axes.add_artist(
                    Rectangle(
                        *band,
                        fill=False,
                        edgecolor=PRINT_EDGE,
                        linewidth=0.3,
                    )
                )
                tint = (left, top + 0.02), width, _LINE - 0.04
                alpha_tint = 0.1 + 0.14 * strength
                axes.add_artist(
                    Rectangle(
                        *tint,
                        color=colour,
                        alpha=alpha_tint,
                        linewidth=0,
                    )
                )


def _pieces(placed: Sequence[Placed], span: Span) -> Iterator[tuple[int, float, float]]:
    """Yield line, left and right of each piece of a span, one piece per line."""
    items = placed[span.start : span.start + span.length]
    for row in range(items[0].row, items[-1].row + 1):
        here = [place for place in items if place.row == row]
        yield row, here[0].x, here[-1].x + here[-1].width


def _draw_legend(
    axes: Axes, heads: Sequence[int], spans: Mapping[Span, str], field: Field, top: float
) -> None:
    """Write the top span of every head and its weight."""
    for number, head in enumerate(heads):
        text = "nothing"
        span = next((span for span in spans if span.head == head), None)
        if span:
            label = clip(words_for_print(items_text(field, span.items)), 16)
            text = f"“{label}” {spans[span]}"
        row, column = divmod(number, _COLUMNS)
        x, y = column * _MEASURE / _COLUMNS, top + _LEGEND * row
        box = (x, y + 0.035), 6, 0.09
        axes.add_artist(Rectangle(*box, color=head_colour(head), linewidth=0))
        _write(
            axes,
            x + 11,
            y + 0.08,
            f"head {head + 1}  {text}",
            PRINT_FONT,
            "left",
        )


def _write(
    axes: Axes,
    x: float,
    y: float,
    text: str,
    size: float,
    side: str,
) -> None:
    """Write a text; marks of spaces are pale."""
    axes.text(
        x,
        y,
        text,
        ha=side,
        va="center_baseline",
        fontsize=size,
        color="#B0B0B0" if text in _BLANKS else "black",
    )
