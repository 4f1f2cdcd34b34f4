"""Text in figures: printed numbers, labels that fit and can be read, and safe HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.ft2font import FT2Font

# Numbers in print: a minus sign instead of a hyphen, and a dash for a missing number.


NONE = "–"


def number_text(value: float, form: str) -> str:
    """Format a number with a minus sign, or as a dash if it is not finite.

    Args:
        value: the number.
        form: a format specification of Python, such as "+.2f".
    """
    return format(value, form).replace("-", "−") if isfinite(value) else NONE


def format_three_digits(value: float) -> str:
    """Format a number with three digits, or a whole number with all of its digits.

    A number that is not finite becomes a dash.
    """
    return number_text(value, ",.0f" if isfinite(value) and value == round(value) else ".3g")


# Readable labels: visible names of invisible characters, escaped markup, and labels that fit.


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
# A single space between two visible characters.
_BETWEEN = re.compile(r"(?<=\S) (?=\S)")


MAX_LABEL_CHARACTERS = 16
"""Default maximum number of characters of an axis label."""


def show_invisibles(label: str) -> str:
    """Return a label with spaces, control characters, direction marks and combining marks visible.

    A combining mark at the start gets a dotted circle as its base.
    """
    text = "".join(map(_show_character, label))
    # A combining mark needs a base character.
    if text and unicodedata.category(text[0]).startswith("M"):
        return f"◌{text}"
    return text


def _show_character(character: str) -> str:
    if character in _MARKS:
        return _MARKS[character]
    is_selector = 0xFE00 <= ord(character) <= 0xFE0F
    # Control, format, surrogate, private-use and unassigned code points, and separators.
    hidden = is_selector or unicodedata.category(character)[0] in "CZ"
    return _format_code_point(character) if hidden else character


def _format_code_point(character: str) -> str:
    return f"⟨U+{ord(character):04X}⟩"


def escape_controls(text: str) -> str:
    """Replace direction marks, zero-width and control characters by codes such as ⟨U+200B⟩.

    Spaces and line breaks are kept. So are zero-width joiners between characters, because emoji and
    several scripts use them.
    """
    return _UNSEEN.sub(_name_character, text)


def _name_character(found: re.Match[str]) -> str:
    character, start = found.group(), found.start()
    if character == "\u200d" and start > 0 and ord(found.string[start - 1]) > 127:
        return character
    return _format_code_point(character)


def truncate(label: str, length: int = MAX_LABEL_CHARACTERS) -> str:
    """Return `label` with at most `length` characters. A cut label ends with an ellipsis."""
    return label if len(label) <= length else label[: length - 1] + "…"


def pluralise(count: int, noun: str) -> str:
    """Return a number with its noun, such as "1 item" or "3 items"."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def escape(text: str) -> str:
    """Escape text for Plotly: as HTML, and without dollar signs, which could start a formula."""
    return html.escape(text, quote=False).replace("$", "&#36;")


def join_lines(texts: Sequence[str]) -> str:
    """Escape texts for Plotly and join them by line breaks."""
    return "<br>".join(map(escape, texts))


def replace_undrawable(text: str) -> str:
    """Replace characters that the print font lacks by their code points."""
    return "".join(map(_replace_undrawable_character, text))


def _replace_undrawable_character(character: str) -> str:
    known = character == "\n" or _print_font().get_char_index(ord(character))
    return character if known else _format_code_point(character)


@cache
def _print_font() -> FT2Font:
    # Imported here, because commands that draw nothing need labels, too.
    from matplotlib import font_manager

    return font_manager.get_font(font_manager.findfont("DejaVu Sans"))


def prepare_for_print(label: str) -> str:
    """Return a label with only visible characters that the print font can draw."""
    return replace_undrawable(show_invisibles(label))


def prepare_words_for_print(label: str) -> str:
    """Return `prepare_for_print` of a label, but keep single spaces between visible characters."""
    return " ".join(map(prepare_for_print, _BETWEEN.split(label)))


@dataclass(frozen=True, slots=True)
class Ticks:
    """The labels that an axis shows."""

    # Positions on the axis. They are the 0-based indices of the items, unless they were moved.
    positions: tuple[float, ...]
    # Visible texts, one per position.
    texts: tuple[str, ...]
    # Angle of the labels in degrees, 0 or 45.
    angle: int = 0


def choose_ticks(
    labels: Sequence[str],
    room: float,
    font: float,
    upright: bool = False,
    longest: int = MAX_LABEL_CHARACTERS,
) -> Ticks:
    """Choose as many visible labels as fit along an axis without overlap.

    If far fewer labels fit than there are items, numbers from 1 replace the labels.

    Args:
        labels: visible labels of all items.
        room: length of the axis, in the unit of `font`.
        font: font size.
        upright: whether the axis is vertical, so that a label needs room for its height.
        longest: maximum number of characters of a label.
    """
    texts = [truncate(label, longest) for label in labels]
    pitch = room / max(len(texts), 1)
    if pitch < 0.5 * font:
        return _number_positions(len(texts), room, font, upright)
    if upright:
        return _thin_labels(texts, [1.3 * font] * len(texts), pitch)
    extents = [(_estimate_text_width(text) + 0.2) * font for text in texts]
    if _find_usual_extent(extents) <= max(pitch, 2.2 * font):
        return _thin_labels(texts, extents, pitch)
    return _thin_labels(texts, [1.9 * font] * len(texts), pitch, angle=45)


def _find_usual_extent(extents: Sequence[float]) -> float:
    """Return the 80th percentile of the extents."""
    return sorted(extents)[int(0.8 * (len(extents) - 1))]


def _thin_labels(
    texts: Sequence[str], extents: Sequence[float], pitch: float, angle: int = 0
) -> Ticks:
    """Return every s-th label, for the smallest s with which most labels fit.

    Labels that would still touch the label before them are left out.
    """
    # Subtract a small number. Otherwise a rounding error could drop labels that fit exactly.
    stride = max(1, ceil(_find_usual_extent(extents) / pitch - 1e-9))
    chosen: list[int] = []
    for i in range(0, len(texts), stride):
        if not chosen or (i - chosen[-1]) * pitch >= (extents[i] + extents[chosen[-1]]) / 2:
            chosen.append(i)
    return Ticks(tuple(chosen), tuple(texts[i] for i in chosen), angle)


def _number_positions(count: int, room: float, font: float, upright: bool) -> Ticks:
    """Return numbers from 1 at a round step, such as every 10, 20 or 50 items."""
    ems = 1.5 if upright else 0.6 * len(str(count)) + 1.5
    step = round_up(ems * font * count / room)
    chosen = [*range(int(step), count + 1, int(step))] or [1]
    return Ticks(tuple(n - 1 for n in chosen), tuple(map(str, chosen)))


def round_up(value: float, slack: float = 0) -> float:
    """Return the smallest number of the form 1, 2 or 5 times 10^n that is at least `value`.

    The result may be less than `value` by the share `slack`.
    """
    power = 10.0 ** floor(log10(value))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= value * (1 - slack))


def _estimate_text_width(text: str) -> float:
    """Estimate the width of a text in units of the font size."""
    return sum(map(_estimate_character_width, text))


def _estimate_character_width(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in ("W", "F"):
        return 1.2
    if character in "iljtfrI.,:;'!|()[]⟨⟩ ":
        return 0.42
    if character in "mwMW…—%@␣⏎":
        return 0.98
    return 0.72 if character.isupper() else 0.64


# HTML that is safe because of its type, and standalone pages that load nothing.
#
# `Markup` is HTML, and a plain `str` is text. `escape_markup` converts text to markup, and
# `make_element` escapes every argument that is not `Markup`.


_VOID = ("img", "input", "meta")


class Markup(str):
    """HTML that is inserted without escaping. A plain `str` is text."""

    __slots__ = ()


def escape_markup(text: str) -> Markup:
    """Return text as escaped markup, with codes in place of control characters."""
    return Markup(html.escape(escape_controls(text)))


def join_markup(parts: Iterable[str]) -> Markup:
    """Concatenate texts and markup, escaping the texts."""
    return Markup(
        "".join(part if isinstance(part, Markup) else escape_markup(part) for part in parts)
    )


def make_element(tag: str, /, *content: str, **attributes: str) -> Markup:
    """Return an element that contains texts and markup.

    Args:
        tag: name of the element.
        content: texts, which are escaped, and markup.
        attributes: attributes. `class_` and `data_x` become "class" and "data-x".
    """
    start = f"<{tag}"
    for key, value in attributes.items():
        start += f' {key.strip("_").replace("_", "-")}="{escape_markup(value)}"'
    return Markup(f"{start}>" if tag in _VOID else f"{start}>{join_markup(content)}</{tag}>")


def make_raw_element(tag: str, content: str, /, **attributes: str) -> Markup:
    """Return a style sheet or script, whose content is inserted without escaping.

    Raises:
        ValueError: the content would end the element, or browsers would parse it differently.
    """
    if f"</{tag}" in content.lower() or "<!--" in content or "\r" in content or "\0" in content:
        raise ValueError(f"The content of a {tag} element must not contain its end or a comment.")
    return make_element(tag, Markup(content), **attributes)


def make_data_block(content: object, /, **attributes: str) -> Markup:
    """Return a script element with values as JSON, which the page's script reads."""
    # Without "<", the text cannot contain the end of the element or a comment.
    text = json.dumps(content, separators=(",", ":")).replace("<", "\\u003c")
    return make_raw_element("script", text, type="application/json", **attributes)


def hash_of(content: str) -> str:
    """Return the source expression of an inline style or script in a content security policy."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def make_document(
    title: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    body: Iterable[Markup],
    policy: Sequence[str] = (),
    tags: Sequence[Markup] = (),
    language: str = "en",
) -> Markup:
    """Return a page that loads nothing and runs only its own scripts.

    Args:
        title: title of the tab.
        styles: style sheets. The first one is added to the head. The others must be in the body.
        scripts: modules in the body.
        body: content of the page.
        policy: further directives of the page's security policy.
        tags: further elements of the head.
        language: the code of the page's language, for the attribute `lang`.
    """
    # Only styles and scripts with these hashes are allowed.
    allowed = " ".join(map(hash_of, scripts)) or "'none'"
    directives = [
        "default-src 'none'",
        f"style-src {' '.join(map(hash_of, styles))}",
        f"script-src {allowed}",
        "img-src data:",
        "media-src data:",
        "base-uri 'none'",
        "form-action 'none'",
        *policy,
    ]
    head = make_element(
        "head",
        make_element("meta", charset="utf-8"),
        make_element("meta", http_equiv="Content-Security-Policy", content="; ".join(directives)),
        make_element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        make_element("meta", name="referrer", content="no-referrer"),
        make_element("title", title),
        *tags,
        make_raw_element("style", styles[0]),
    )
    page = make_element("html", head, make_element("body", *body), lang=language)
    return Markup(f"<!doctype html>\n{page}\n")
