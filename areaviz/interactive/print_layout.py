"""Layout of printed ribbons and grids: texts as rows of chips, and legend lines of heads.

A chip is a coloured box with a word. All lengths are in pt unless a comment says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties
from matplotlib.patches import FancyBboxPatch, Rectangle
from matplotlib.textpath import text_to_path

from areaviz.draw.labels import prepare_for_print, prepare_words_for_print
from areaviz.draw.theme import HEAD_COLOURS, get_head_colour
from areaviz.trace.query import find_words
from areaviz.trace.record import Field

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
    axes: Axes,
    text: PlacedText,
    members: Sequence[int],
    colours: Mapping[int, tuple[str, str]],
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
