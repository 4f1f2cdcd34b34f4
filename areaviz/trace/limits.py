"""The limits of what can be asked, and the sentences that refuse what goes beyond them."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from itertools import groupby
from numbers import Real

from areaviz.trace.errors import Advised, InputError

MAX_CODE_POINTS = 4096
MAX_COMBINING_MARKS = 30
MAX_POSITION = 65_536
METHODS = ("greedy", "beam")
SIDES = ("query", "memory")
UNITS = ("item", "word")
AREAS = ("any", "several")
# Ways of reading a map: the areas that the softmax chose, what items received, where most of it
# lies.
READINGS = ("heaviest", "coverage", "densest")
MASSES = (30, 90)
AGAINST = ("nothing", "average")
BEAMS = (1, 16)
AREA_SIZES = (1, 16)
SEEDS = (0, 2**32 - 1)
FACTORS = (0, 100)
# The largest product of factors that meet: the squares of such numbers still fit into float32.
MAX_PRODUCT = 1e12
# Changes of one request, and the items and areas that all of them name.
MAX_CHANGES, MAX_CHANGED = 1024, 131_072
# Of the weights of all maps of a trace together, and of a layer of a map that is derived when it is
# looked at. Maps of another's model may take as much as a file may have.
MAX_MAP_BYTES, MAX_ATTENDED_BYTES = 256 * 2**20, 512 * 2**20
# Of the item weights of all layers of another's model, where these are read one at a time.
MAX_BY_LAYER_BYTES = 16 * 2**30
# Of a layer of weights that stay in the reader's own memory and are read when looked at.
MAX_LAYER_BYTES = 2**30
# Of one file that a reader hands in; .streamlit/config.toml says the same to the server. Uploaders
# may say less.
MAX_UPLOAD_MEGABYTES = 50


def check_text(text: str) -> None:
    """Size and well-formedness; an empty text passes.

    Raises:
        InputError: when the text is too long, has too many combining marks in a row or half a
            surrogate pair.
    """
    if len(text) > MAX_CODE_POINTS:
        raise InputError(
            f"The text has {len(text):,} characters but at most {MAX_CODE_POINTS:,} are possible, "
            f"and fewer for most models; shorten it by {len(text) - MAX_CODE_POINTS:,}."
        )
    start, run = _longest_marks(text)
    if run > MAX_COMBINING_MARKS:
        raise InputError(
            f"The text has {run:,} combining marks in a row after character {start:,} but at most "
            f"{MAX_COMBINING_MARKS} are possible; remove some of them."
        )
    for place, character in enumerate(text, start=1):
        if "\ud800" <= character <= "\udfff":
            raise InputError(
                f"Character {place:,} of the text is broken (half a surrogate pair); delete it or"
                " type it anew."
            )


def check_range(name: str, value: float, limits: tuple[float, float]) -> None:
    """Check that a number lies between two limits, both included.

    Raises:
        InputError: it does not, or is no number.
    """
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f'"{name}" is {described(value)} but must be a number between {low} and {high}; give'
            " a number."
        )
    if not low <= value <= high:
        raise InputError(
            f'"{name}" is {value} but must lie between {low} and {high}; choose a number in that'
            " range."
        )


def check_map_bytes(size: int, most: int = MAX_MAP_BYTES) -> None:
    """Refuse maps of more than `most` bytes with an InputError."""
    if size > most:
        raise InputError(
            f"The attention would take {size / 2**20:,.0f} MiB but at most {most // 2**20} MiB are"
            " possible; take fewer layers, fewer items or smaller areas."
        )


def has_room(size: int) -> bool:
    """Whether so many bytes of another's model may be held in memory at once."""
    return size <= MAX_ATTENDED_BYTES


def check_attended(layers: int, heads: int, queries: int, items: int, areas: int) -> None:
    """Refuse attention of another's model that is too large to be read a layer at a time.

    Args:
        layers: of one site.
        heads: of a layer.
        queries: that attend.
        items: that are attended to.
        areas: of these items.

    Raises:
        InputError: a layer over areas, or all layers over items, are too large.
    """
    a_layer, whole = 4 * heads * queries * areas, 4 * layers * heads * queries * items
    if not has_room(a_layer):
        raise Advised(
            f"A layer of the attention ({heads:,} heads, {queries:,} queries, {areas:,} areas)"
            f" would take {a_layer / 2**20:,.0f} MiB but at most"
            f" {MAX_ATTENDED_BYTES // 2**20:,} MiB are possible",
            "input",
            "heads",
            "areas",
        )
    if whole > MAX_BY_LAYER_BYTES:
        raise Advised(
            f"The attention of {layers:,} layers ({heads:,} heads, {queries:,} queries, {items:,}"
            f" items) would take {whole / 2**20:,.0f} MiB but at most"
            f" {MAX_BY_LAYER_BYTES // 2**20:,} MiB are possible",
            "layers",
            "input",
        )


def check_layer_bytes(size: int) -> None:
    """Refuse a layer that is too large to be read at once with an InputError."""
    if size > MAX_LAYER_BYTES:
        raise Advised(
            f"A layer of the attention would take {size / 2**20:,.0f} MiB but at most"
            f" {MAX_LAYER_BYTES // 2**20:,} MiB are possible",
            "part",
            "areas",
        )


def choice(name: str, value: str, choices: Sequence[str]) -> str:
    """The value if it is one of the choices; else InputError."""
    if value not in choices:
        raise InputError(
            f'"{name}" is "{shown(value)}" but must be one of: {", ".join(choices)}; choose one of'
            " them."
        )
    return value


def described(value: object) -> str:
    """Return a wrong value for a sentence: numbers and texts as they are, else the type."""
    if value is None or isinstance(value, str | int | float):
        return shown(repr(value))
    return f"of type {type(value).__name__}"


def shown(value: str) -> str:
    """At most 40 characters of what was given."""
    return value if len(value) <= 40 else value[:39] + "…"


def _longest_marks(text: str) -> tuple[int, int]:
    """The longest run of combining marks: (how many characters stand before it, its length)."""
    position, longest = 0, (0, 0)
    kinds = [unicodedata.category(character)[0] for character in text]
    for kind, group in groupby(kinds, "M".__eq__):
        length = len(list(group))
        if kind and length > longest[1]:
            longest = (position, length)
        position += length
    return longest
