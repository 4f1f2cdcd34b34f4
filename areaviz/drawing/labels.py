"""Labels a reader can see: invisible characters named, markup escaped, as many as there is room."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, log10

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

_MARKS = {
    " ": "␣",
    "\n": "⏎",
    "\r": "␍",
    "\t": "⇥",
    "\u00a0": "⍽",
    "\u200b": "⟨ZWSP⟩",
    "\u200d": "⟨ZWJ⟩",
}
_UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff"
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
# A single blank between two characters that can be seen.
_BETWEEN = re.compile(r"(?<=\S) (?=\S)")


LONGEST = 16
"""Characters of an axis label, where nothing else is said."""


def visible(label: str) -> str:
    """`label` with blanks, controls, direction marks and lone combining marks made visible."""
    text = "".join(map(_visible_character, label))
    # A combining mark needs something to stand on.
    if text and unicodedata.category(text[0]).startswith("M"):
        return f"◌{text}"
    return text


def _visible_character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    is_selector = 0xFE00 <= ord(character) <= 0xFE0F
    # Controls, formats, surrogates, private and unassigned code points, and separators.
    hidden = is_selector or unicodedata.category(character)[0] in "CZ"
    return _code_point(character) if hidden else character


def _code_point(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def readable(text: str) -> str:
    """Running text with direction marks, zero-width and control characters as codes: ⟨U+200B⟩.

    Blanks and line breaks stay as they are, and so does the zero-width joiner where it joins: emoji
    and several scripts are written with it.
    """
    return _UNSEEN.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    character, start = found.group(), found.start()
    if character == "\u200d" and start > 0 and ord(found.string[start - 1]) > 127:
        return character
    return _code_point(character)


def clip(label: str, length: int = LONGEST) -> str:
    """`label` cut to `length` characters, the last one an ellipsis where something was cut."""
    return label if len(label) <= length else label[: length - 1] + "…"


def counted(count: int, noun: str) -> str:
    """A number and its noun: "1 item", "3 items"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def escape(text: str) -> str:
    """Text as plotly takes it: HTML escaped, and no dollar sign that could start a formula."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def lines(texts: Sequence[str]) -> str:
    """Texts escaped for plotly, one below the other."""
    return "<br>".join(map(escape, texts))


def drawable(text: str) -> str:
    """Text as the print font can draw it: a character it lacks is written as its code point."""
    return "".join(map(_drawable_character, text))


def _drawable_character(character: str) -> str:
    known = character == "\n" or _print_font().get_char_index(ord(character))
    return character if known else _code_point(character)


@cache
def _print_font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont("DejaVu Sans"))


def for_screen(label: str) -> str:
    """A label made visible and escaped for plotly."""
    return escape(visible(label))


def for_print(label: str) -> str:
    """A label made visible and drawable in print."""
    return drawable(visible(label))


def words_for_print(label: str) -> str:
    """The same, but one blank between what can be seen stays a blank: it shows as the gap it is."""
    return " ".join(map(for_print, _BETWEEN.split(label)))


@dataclass(frozen=True, slots=True)
class Ticks:
    """Which labels an axis shows."""

    # 0-based items, unless moved.
    positions: tuple[float, ...]
    # Visible, one for each position.
    texts: tuple[str, ...]
    # In degrees: 0 or 45.
    angle: int = 0


def ticks(
    labels: Sequence[str],
    room: float,
    font: float,
    upright: bool = False,
    longest: int = LONGEST,
) -> Ticks:
    """As many visible labels as fit along an axis without overlap.

    Where there are far more items than letters fit, positions (counted from 1) take their place.

    Args:
        room: length of the axis, in the unit of `font`.
        font: size of the letters.
        upright: the axis is vertical, so that a label takes up its height.
        longest: characters of a label.
    """
    texts = [clip(label, longest) for label in labels]
    pitch = room / max(len(texts), 1)
    if pitch < 0.5 * font:
        return _numbers(len(texts), room, font, upright)
    if upright:
        return _greedy(texts, [1.3 * font] * len(texts), pitch)
    extents = [(_ems(text) + 0.2) * font for text in texts]
    if _usual(extents) <= max(pitch, 2.2 * font):
        return _greedy(texts, extents, pitch)
    return _greedy(texts, [1.9 * font] * len(texts), pitch, angle=45)


def _usual(extents: Sequence[float]) -> float:
    """The extent that four of five labels stay below."""
    return sorted(extents)[int(0.8 * (len(extents) - 1))]


def _greedy(
    texts: Sequence[str],
    extents: Sequence[float],
    pitch: float,
    angle: int = 0,
) -> Ticks:
    """Every s-th label for the smallest s most of them fit, less those that would still touch."""
    # The small number keeps labels that fit exactly from being thinned by a rounding error.
    stride = max(1, ceil(_usual(extents) / pitch - 1e-9))
    chosen: list[int] = []
    for i in range(0, len(texts), stride):
        if not chosen or (i - chosen[-1]) * pitch >= (extents[i] + extents[chosen[-1]]) / 2:
            chosen.append(i)
    return Ticks(tuple(chosen), tuple(texts[i] for i in chosen), angle)


def _numbers(
    count: int,
    room: float,
    font: float,
    upright: bool,
) -> Ticks:
    """Positions at a round step: 1, then every 10, 20, 50 ... items."""
    ems = 1.5 if upright else 0.6 * len(str(count)) + 1.5
    step = round_up(ems * font * count / room)
    chosen = [*range(int(step), count + 1, int(step))] or [1]
    return Ticks(tuple(n - 1 for n in chosen), tuple(map(str, chosen)))


def round_up(value: float, slack: float = 0) -> float:
    """The smallest 1, 2 or 5 times a power of ten that reaches `value`, less a share of `slack`."""
    power = 10.0 ** floor(log10(value))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - slack))


def _ems(text: str) -> float:
    """About how wide a text is, in units of the font size."""
    return sum(map(_em, text))


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.2
    if character in "iljtfrI.,:;'!|()[]⟨⟩ ":
        return 0.42
    if character in "mwMW…—%@␣⏎":
        return 0.98
    return 0.72 if character.isupper() else 0.64
