"""The errors of a request, and the limits beyond which a request is refused."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from copy import copy
from itertools import groupby
from numbers import Integral, Real
from typing import Any, Literal

# The two kinds of errors of a request. Each message says in short sentences what users can do.


# Names of the changes that users can make to an input that cannot be used.
Way = Literal["input", "layers", "heads", "areas", "part", "probe", "arrays", "tokenizer", "target"]
# Wording of the advice for callers of this package's Python functions.
IN_PYTHON: Mapping[Way, str] = {
    "input": "give a shorter text or a smaller picture",
    "layers": "keep fewer layers (layers=)",
    "heads": "keep fewer heads (heads=)",
    "areas": "use smaller areas (area_size=)",
    "part": "give fewer heads and items",
    "probe": "give a probe for its attention layers (see docs/your_models.md)",
    "arrays": "give its weights to areaviz.from_arrays",
    "tokenizer": "give one (tokenizer=), or token ids instead of the text",
    "target": "give the text that it should write (target=)",
}


class InputError(ValueError):
    """The input cannot be used. The message says what is wrong, the limit, and what to do."""


class InputErrorWithAdvice(InputError):
    """An input error whose advice is worded for each interface. `str` gives the wording for Python.

    Args:
        what: What cannot be done, and the limit, as a sentence without its full stop.
        ways: Names of the changes that users can make.
    """

    def __init__(self, what: str, *ways: Way) -> None:
        super().__init__(what, *ways)
        self.what, self.ways = what, ways

    def __str__(self) -> str:
        return self.said(IN_PYTHON)

    def said(self, words: Mapping[Way, str], otherwise: str = "") -> str:
        """Return the whole sentence.

        Args:
            words: Wording of the advice for an interface. Ways without a wording are left out.
            otherwise: Advice that always applies.
        """
        clauses = [words[way] for way in self.ways if way in words]
        clauses += [otherwise] if otherwise else []
        *others, last = clauses
        advice = f"{', '.join(others)}{' or ' if others else ''}{last}"
        return f"{self.what}. {advice[:1].upper()}{advice[1:]}."


def without_traceback(error: InputError) -> InputError:
    """Return a copy of an error to keep or to raise again.

    An error that was raised refers to the frames that it passed, and so to a file that was just
    refused. A kept error would hold the file's bytes in memory for as long as it is kept.
    """
    return copy(error)


class BackendError(RuntimeError):
    """The input is valid but the work failed.

    Examples are a damaged checkpoint and lack of memory. The message says what to do.
    """


class BackendBusy(BackendError):
    """The work was not started because too much work is waiting. Repeat the request in a moment."""


# The limits of requests, and the error messages for values beyond them.


MAX_CODE_POINTS = 4096
MAX_COMBINING_MARKS = 30
MAX_POSITION = 65_536
METHODS = ("greedy", "beam")
SIDES = ("query", "memory")
UNITS = ("item", "word")
AREAS = ("any", "several")
# The displays of a map: the areas that the softmax chose, the coverage of the items, and the
# smallest area that holds most of the attention.
READINGS = ("heaviest", "coverage", "densest")
MASSES = (30, 90)
AGAINST = ("nothing", "average")
BEAMS = (1, 16)
AREA_SIZES = (1, 16)
SEEDS = (0, 2**32 - 1)
FACTORS = (0, 100)
# The largest product of overlapping factors. The squares of such numbers still fit into float32.
MAX_PRODUCT = 1e12
# Maximum number of changes in a request, and of items and areas that they name together.
MAX_CHANGES, MAX_CHANGED = 1024, 131_072
# Maximum size of the weights of all maps of a trace together, and of one layer of a derived map.
# The second limit is for maps of external models and equals the maximum size of a file.
MAX_MAP_BYTES, MAX_ATTENDED_BYTES = 256 * 2**20, 512 * 2**20
# Maximum size of the item weights of all layers of an external model, if layers are read one at a
# time.
MAX_BY_LAYER_BYTES = 16 * 2**30
# Maximum size of a layer of weights that stay in the caller's memory and are read on demand.
MAX_LAYER_BYTES = 2**30
# Maximum size of an uploaded file. .streamlit/config.toml sets the same limit for the server.
# Individual upload fields may have lower limits.
MAX_UPLOAD_MEGABYTES = 50


def check_text(text: str) -> None:
    """Check the length and the characters of a text. An empty text is valid.

    Raises:
        InputError: The text is too long, or has too many combining marks in a row or half a
            surrogate pair.
    """
    if len(text) > MAX_CODE_POINTS:
        raise InputError(
            f"The text has {len(text):,} characters, but the limit is {MAX_CODE_POINTS:,}, and"
            f" lower for most models. Shorten it by {len(text) - MAX_CODE_POINTS:,}."
        )
    start, run = _find_longest_marks(text)
    if run > MAX_COMBINING_MARKS:
        raise InputError(
            f"The text has {run:,} combining marks in a row after character {start:,}, but the"
            f" limit is {MAX_COMBINING_MARKS}. Remove some of them."
        )
    for place, character in enumerate(text, start=1):
        if "\ud800" <= character <= "\udfff":
            raise InputError(
                f"Character {place:,} of the text is broken (half a surrogate pair). Delete"
                " it or type it again."
            )


def check_range(name: str, value: float, limits: tuple[float, float]) -> None:
    """Check that a number is between two limits, both included.

    Raises:
        InputError: The value is out of range or not a number.
    """
    low, high = limits
    if isinstance(value, bool) or not isinstance(value, Real):
        raise InputError(
            f'"{name}" is {describe_value(value)} but must be a number between {low} and {high}.'
            " Give a number."
        )
    if not low <= value <= high:
        raise InputError(
            f'"{name}" is {value} but must be between {low} and {high}. Choose a number in'
            " that range."
        )


def check_chosen(name: str, chosen: Any, kind: type) -> None:
    """Check a choice of layers, heads or sites. None chooses all.

    Raises:
        InputError: The choice is empty, or its items are not numbers or names.
    """
    if chosen is None:
        return
    what = "whole numbers" if kind is int else "names"
    if isinstance(chosen, str) or not isinstance(chosen, Sequence | range):
        raise InputError(f"The option {name}= must list {what} but is {describe_value(chosen)}.")
    if not len(chosen):
        raise InputError(f"The option {name}= selects no layer, head or site. Choose at least one.")
    for one in chosen:
        is_right = isinstance(one, Integral) and not isinstance(one, bool)
        if not (is_right if kind is int else isinstance(one, str)):
            raise InputError(f"The option {name}= must list {what} but has {describe_value(one)}.")


def check_map_bytes(size: int, most: int = MAX_MAP_BYTES) -> None:
    """Raise an InputError for maps of more than `most` bytes."""
    if size > most:
        raise InputError(
            f"The attention would take {size / 2**20:,.0f} MiB, but the limit is {most // 2**20}"
            " MiB. Use fewer layers, fewer items or smaller areas."
        )


def has_room(size: int) -> bool:
    """Return whether `size` bytes of an external model may be held in memory at once."""
    return size <= MAX_ATTENDED_BYTES


def check_attended(layers: int, heads: int, queries: int, items: int, areas: int) -> None:
    """Refuse attention of an external model that is too large to be read one layer at a time.

    Args:
        layers: Number of layers of one site.
        heads: Number of heads per layer.
        queries: Number of queries.
        items: Number of items of the memory.
        areas: Number of areas of the memory.

    Raises:
        InputError: One layer over areas, or all layers over items, are too large.
    """
    a_layer, whole = 4 * heads * queries * areas, 4 * layers * heads * queries * items
    if not has_room(a_layer):
        raise InputErrorWithAdvice(
            f"A layer of the attention ({heads:,} heads, {queries:,} queries, {areas:,}"
            f" areas) would take {a_layer / 2**20:,.0f} MiB, but the limit is"
            f" {MAX_ATTENDED_BYTES // 2**20:,} MiB",
            "input",
            "heads",
            "areas",
        )
    if whole > MAX_BY_LAYER_BYTES:
        raise InputErrorWithAdvice(
            f"The attention of {layers:,} layers ({heads:,} heads, {queries:,} queries,"
            f" {items:,} items) would take {whole / 2**20:,.0f} MiB, but the limit is"
            f" {MAX_BY_LAYER_BYTES // 2**20:,} MiB",
            "layers",
            "input",
        )


def check_layer_bytes(size: int) -> None:
    """Raise an InputError for a layer that is too large to be read at once."""
    if size > MAX_LAYER_BYTES:
        raise InputErrorWithAdvice(
            f"A layer of the attention would take {size / 2**20:,.0f} MiB, but the limit is"
            f" {MAX_LAYER_BYTES // 2**20:,} MiB",
            "part",
            "areas",
        )


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of the choices.

    Raises:
        InputError: The value is not one of the choices.
    """
    if value not in choices:
        raise InputError(
            f'"{name}" is "{shorten(value)}" but must be one of: {", ".join(choices)}. Choose'
            " one of them."
        )
    return value


def describe_value(value: object) -> str:
    """Describe a wrong value in an error message: a number or text itself, else the type."""
    if value is None or isinstance(value, str | int | float):
        return shorten(repr(value))
    return f"of type {type(value).__name__}"


def shorten(value: str) -> str:
    """Shorten a given value to at most 40 characters."""
    return value if len(value) <= 40 else value[:39] + "…"


def _find_longest_marks(text: str) -> tuple[int, int]:
    """Return the position and length of the longest run of combining marks."""
    position, longest = 0, (0, 0)
    kinds = [unicodedata.category(character)[0] for character in text]
    for kind, group in groupby(kinds, "M".__eq__):
        length = len(list(group))
        if kind and length > longest[1]:
            longest = (position, length)
        position += length
    return longest
