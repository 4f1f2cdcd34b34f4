"""Labels a reader can see: invisible characters named, markup escaped, and as many as there is room
for.
"""

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
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")
_DOTTED_CIRCLE = "◌"
_UNSEEN = re.compile(
    "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)


def visible(label: str) -> str:
    """`label` with everything invisible made visible: blanks, controls, direction marks, lone
    combining marks.
    """
    text = "".join(_MARKS.get(c) or (f"⟨U+{ord(c):04X}⟩" if _hidden(c) else c) for c in label)
    return _DOTTED_CIRCLE + text if text and unicodedata.category(text[0]).startswith("M") else text


def _hidden(character: str) -> bool:
    return unicodedata.category(character) in _HIDDEN or 0xFE00 <= ord(character) <= 0xFE0F


def readable(text: str) -> str:
    """Running text with direction marks, zero-width and control characters replaced by their code,
    such as ⟨U+200B⟩.

    Blanks and line breaks stay as they are, and so does the zero-width joiner where it joins: emoji
    and several scripts are written with it.
    """
    return _UNSEEN.sub(_named, text)


def _named(found: re.Match[str]) -> str:
    character = found.group()
    joins = (
        character == "\u200d" and found.start() > 0 and ord(found.string[found.start() - 1]) > 127
    )
    return character if joins else f"⟨U+{ord(character):04X}⟩"


def clip(label: str, length: int = 16) -> str:
    """`label` cut to `length` characters, the last one an ellipsis where something was cut."""
    return label if len(label) <= length else label[: length - 1] + "…"


def escape(text: str) -> str:
    """Text as plotly takes it: its HTML subset escaped, and no dollar sign that could start
    mathematics.
    """
    return html.escape(text, quote=False).replace("$", "&#36;")


def drawable(text: str) -> str:
    """Text as the print font can draw it: a character it lacks is written as its code point."""
    return "".join(c if c == "\n" or _in_print_font(c) else f"⟨U+{ord(c):04X}⟩" for c in text)


def for_screen(label: str) -> str:
    """A label made visible and escaped for plotly."""
    return escape(visible(label))


def for_print(label: str) -> str:
    """A label made visible and drawable in print."""
    return drawable(visible(label))


@dataclass(frozen=True, slots=True)
class Ticks:
    """Which labels are drawn: positions (0-based items unless moved), visible texts, angle in
    degrees (0 or 45).
    """

    positions: tuple[float, ...]
    texts: tuple[str, ...]
    angle: int = 0


def ticks(labels: Sequence[str], room: float, font: float, upright: bool = False) -> Ticks:
    """As many visible labels along an axis of `room` as fit without overlap, `room` and `font` size
    in one unit.

    upright: the axis is vertical, so that a label takes up its height. Where there are far more
    items than letters fit, positions (counted from 1) take the labels' place.
    """
    shown = [clip(label) for label in labels]
    pitch = room / max(len(shown), 1)
    if pitch < 0.5 * font:
        return _numbers(len(shown), room, font, upright)
    if upright:
        return _greedy(shown, [1.3 * font] * len(shown), pitch)
    extents = [(_ems(text) + 0.2) * font for text in shown]
    if sorted(extents)[int(0.8 * (len(extents) - 1))] <= max(pitch, 2.2 * font):
        return _greedy(shown, extents, pitch)
    return _greedy(shown, [1.9 * font] * len(shown), pitch, angle=45)


def _greedy(texts: Sequence[str], extents: Sequence[float], pitch: float, angle: int = 0) -> Ticks:
    """Every s-th label for the smallest s most of them fit, less those that would still touch the
    one before.
    """
    stride = max(1, ceil(sorted(extents)[int(0.8 * (len(extents) - 1))] / pitch - 1e-9))
    chosen: list[int] = []
    for i in range(0, len(texts), stride):
        if not chosen or (i - chosen[-1]) * pitch >= (extents[i] + extents[chosen[-1]]) / 2:
            chosen.append(i)
    return Ticks(tuple(chosen), tuple(texts[i] for i in chosen), angle)


def _numbers(count: int, room: float, font: float, upright: bool) -> Ticks:
    """Positions at a round step: 1, then every 10, 20, 50 ... items."""
    extent = 1.5 * font if upright else (0.6 * len(str(count)) + 1.5) * font
    least = extent * count / room
    power = 10 ** floor(log10(least))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= least)
    chosen = [n for n in range(0, count + 1, step) if n] or [1]
    return Ticks(tuple(n - 1 for n in chosen), tuple(str(n) for n in chosen))


def _ems(text: str) -> float:
    """About how wide a text is, in units of the font size."""
    return sum(_em(c) for c in text)


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.2
    if character in "iljtfrI.,:;'!|()[]⟨⟩ ":
        return 0.42
    return 0.98 if character in "mwMW…—%@␣⏎" else 0.72 if character.isupper() else 0.64


@cache
def _print_font() -> FT2Font:
    return font_manager.get_font(font_manager.findfont("DejaVu Sans"))


def _in_print_font(character: str) -> bool:
    return bool(_print_font().get_char_index(ord(character)))
