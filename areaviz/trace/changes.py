"""Changes to a run (interventions), and their form as text in links and files."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.trace.areas import Area, AreaGrid, IntArray
from areaviz.trace.errors import (
    FACTORS,
    MAX_CHANGED,
    MAX_CHANGES,
    MAX_POSITION,
    MAX_PRODUCT,
    InputError,
    shorten,
)

# Interventions: changes to a run, made to see their effect.
#
# An intervention changes the weights of areas, switches heads off, hides items, or changes how
# scores become weights. Layers, heads, queries and items count from 0.
#
# Shapes: H heads, Q queries, R areas, N items.


@dataclass(frozen=True, slots=True)
class Weigh:
    """A change that multiplies the weights of some areas by `factor` and renormalises the rows.

        w'_a = f_a w_a / sum_b f_b w_b

    This equals the softmax of the logits plus log f_a. A factor of 0 bans the areas. A query whose
    areas are all banned reads nothing: its weights are 0.
    """

    # Site of the attention.
    site: str
    # The changed areas: every area that contains one of `items`, and every area in `areas`.
    items: tuple[int, ...] = ()
    areas: tuple[Area, ...] = ()
    # 0..100.
    factor: float = 0.0
    # Layer, head and query to change. None means all of them. A change of one query of the output
    # requires that the request gives the output (`Request.target`).
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    # Change all other areas instead.
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """A change that multiplies the output of heads by `factor` before the heads are combined.

    A factor of 0 switches the heads off. The attention weights do not change.
    """

    # Site of the attention.
    site: str
    # Layer and head to change. None means all of them.
    layer: int | None = None
    head: int | None = None
    # 0..100.
    factor: float = 0.0


@dataclass(frozen=True, slots=True)
class Hide:
    """A change that hides items of an input from every layer, head and site, like padding.

    The positions remain, so a model still knows the number of items. Information that reached other
    items before any attention, such as the pixels in neighbouring cells of a picture, is not
    removed.
    """

    # "source" or "picture".
    field: str
    items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """A change of how scores become weights (Chorowski et al. 2015, section 2.3).

    Only some models support it.
    """

    # Site of the attention.
    site: str
    # Factor of the scores before the softmax, above 0 and up to 100. A factor above 1 sharpens the
    # distribution.
    factor: float = 1.0
    # Apply a sigmoid to each score and divide by the sum, instead of the softmax.
    smooth: bool = False
    # The attention may read this many items on each side of the centre of the previous weights. 0
    # allows all items.
    window: int = 0


Change = Weigh | Gate | Hide | Share
# The kinds of changes, by name.
CHANGE_KINDS: Mapping[str, type[Change]] = {
    "weigh": Weigh,
    "gate": Gate,
    "hide": Hide,
    "share": Share,
}


def name_kind(change: Change) -> str:
    """Return the kind of a change: "weigh", "gate", "hide" or "share"."""
    return next(name for name, kind in CHANGE_KINDS.items() if isinstance(change, kind))


def check_changes(changes: Sequence[Change]) -> None:
    """Check everything about changes that does not depend on the model.

    Raises:
        InputError: There are too many changes, a number is out of range, or a change names no item.
    """
    if len(changes) > MAX_CHANGES:
        raise InputError(
            f"{len(changes):,} changes were requested, but the limit is {MAX_CHANGES:,}. Remove"
            " some."
        )
    for change in changes:
        _check_numbers(change)
        # NaN is not in any range, so it is refused here as well.
        if not isinstance(change, Hide) and not FACTORS[0] <= change.factor <= FACTORS[1]:
            raise InputError(
                f"A change has the factor {change.factor:g} but factors are from {FACTORS[0]}"
                f" to {FACTORS[1]}. Choose one in that range."
            )
        if isinstance(change, Share):
            _check_share(change)
            continue
        items, areas = _list_named(change)
        if not (items or areas or isinstance(change, Gate)):
            raise InputError("A change selects no item and no area. Choose what to change.")
        if items and not 0 <= min(items) <= max(items) < MAX_POSITION:
            raise InputError(
                f"A change names an item outside 1 to {MAX_POSITION:,}. Choose another item."
            )
    check_total(changes)


def _check_numbers(change: Change) -> None:
    """Raise InputError if a script gives a value that is not a number of the right kind."""
    factor = getattr(change, "factor", 0.0)
    if not isinstance(factor, int | float) or abs(factor) > sys.float_info.max:
        raise InputError(
            f'A change has the factor "{str(factor)[:20]}", but factors are numbers from'
            f" {FACTORS[0]} to {FACTORS[1]}. Choose one in that range."
        )
    for item in getattr(change, "items", ()):
        if not isinstance(item, int | np.integer):
            raise InputError(
                f'A change names the item "{str(item)[:20]}", but items are whole numbers. Choose'
                " another item."
            )


def _check_share(change: Share) -> None:
    if not change.factor:
        raise InputError("The factor of a score must be above 0. Choose a larger factor.")
    if not 0 <= change.window <= MAX_POSITION:
        raise InputError(
            f"A window has {change.window:,} items, but 0 to {MAX_POSITION:,} are allowed. Choose"
            " another one."
        )


def check_total(changes: Sequence[Change]) -> None:
    """Raise InputError if all changes together name too many items."""
    named = sum(len(part) for change in changes for part in _list_named(change))
    if named > MAX_CHANGED:
        raise InputError(
            f"The changes name {named:,} items, but the limit is {MAX_CHANGED:,}. Remove some."
        )


def _list_named(change: Change) -> tuple[tuple[int, ...], tuple[Area, ...]]:
    """Return the items and areas that a change names."""
    return getattr(change, "items", ()), getattr(change, "areas", ())


@dataclass(frozen=True, slots=True)
class Places:
    """The positions in a model that can be changed for one input."""

    # The query field and memory field of every site.
    sites: Mapping[str, tuple[str, str]]
    # Number of layers and heads of every site.
    layers: int
    heads: int
    # Number of items of each field that is known before the model writes its output.
    lengths: Mapping[str, int]
    # Areas of the memory fields.
    grids: Mapping[str, AreaGrid]

    def check(self, changes: Sequence[Change]) -> None:
        """Check that the model has everything that the changes name.

        Raises:
            InputError: An item, site or position does not exist. The message names the first one.
        """
        if changes and not self.sites:
            raise InputError("This model has no attention to change. Choose another model.")
        for change in changes:
            if isinstance(change, Hide):
                self._check_field(change)
                continue
            if change.site not in self.sites:
                raise InputError(
                    f'This model has no site "{change.site}" to change. Choose one of:'
                    f" {', '.join(self.sites)}."
                )
            if isinstance(change, Share):
                continue
            _check_within("layer", change.layer, self.layers)
            _check_within("head", change.head, self.heads)
            if isinstance(change, Weigh):
                self._check_weigh(change)

    def _check_field(self, change: Hide) -> None:
        memories = [memory for _, memory in self.sites.values()]
        inputs = [name for name in self.lengths if name in memories]
        if change.field not in inputs:
            raise InputError(
                f'Items of "{change.field}" cannot be hidden. Choose items of: {", ".join(inputs)}.'
            )
        for item in change.items:
            _check_within("item", item, self.lengths[change.field])

    def _check_weigh(self, change: Weigh) -> None:
        query, memory = self.sites[change.site]
        if change.query is not None and query not in self.lengths:
            raise InputError(
                "A change of one query of the output requires a given output. Give the output,"
                " or change all queries."
            )
        if query in self.lengths:
            _check_within("query", change.query, self.lengths[query])
        if memory not in self.grids:
            return
        for item in change.items:
            _check_within("item", item, self.grids[memory].items)
        for area in change.areas:
            try:
                self.grids[memory].index(area)
            except ValueError:
                raise InputError(
                    f"There is no area of {area.height}x{area.width} items at item"
                    f' {area.left + 1} of the "{memory}". Choose one of the areas that this'
                    " model attends to."
                ) from None


def list_changes_by_site(
    changes: Sequence[Change], sites: Mapping[str, tuple[str, str]]
) -> list[Weigh | Gate]:
    """Return changes of areas and heads, each with its site.

    A `Hide` becomes one `Weigh` for each site that reads its field. This `Weigh` bans the areas
    that contain the hidden items. A `Share` is left out.
    """
    found: list[Weigh | Gate] = []
    for change in changes:
        if isinstance(change, Weigh | Gate):
            found.append(change)
        if not isinstance(change, Hide):
            continue
        for site, (_, memory) in sites.items():
            if memory == change.field:
                found.append(Weigh(site, change.items))
    return found


def mask_changed_areas(weigh: Weigh, table_R4: IntArray, width: int) -> npt.NDArray[np.bool_]:
    """Return which areas a change applies to: bool [R].

    Args:
        weigh: The change.
        table_R4: Areas as rows (top, left, height, width).
        width: Width of the memory in items.
    """
    chosen_R = np.zeros(len(table_R4), dtype=np.bool_)
    if weigh.areas:
        # Look the areas up in a set, because a request may name 131,072 of them.
        named = {(one.top, one.left, one.height, one.width) for one in weigh.areas}
        chosen_R |= [tuple(row) in named for row in table_R4.tolist()]
    if weigh.items:
        rows, columns = np.divmod(np.array(weigh.items), width)
        top, left, bottom, right = table_R4.T
        bottom, right = top + bottom, left + right
        highest, widest = max(bottom.max(), rows.max() + 1), max(right.max(), columns.max() + 1)
        held = np.zeros((highest + 1, widest + 1), dtype=np.int64)
        held[rows + 1, columns + 1] = 1
        # The sums are whole numbers, so the differences below are exact.
        held = held.cumsum(0).cumsum(1)
        inside = held[bottom, right] - held[top, right] - held[bottom, left] + held[top, left]
        chosen_R |= inside > 0
    return chosen_R ^ weigh.rest


def compute_area_factors(
    weighs: Sequence[Weigh], table_R4: IntArray, width: int, heads: int, queries: int
) -> npt.NDArray[np.float32]:
    """Return the factor by which every area's weight is multiplied.

    Returns:
        float32 [H, Q, R], or [H, 1, R] if no change is limited to a query. A change of a query
        beyond `queries` is left out.

    Raises:
        InputError: The product of the factors of overlapping changes is too large.
    """
    rows = queries if any(weigh.query is not None for weigh in weighs) else 1
    factors_HQR = np.ones((heads, rows, len(table_R4)), dtype=np.float32)
    for weigh in weighs:
        factor_R = np.where(mask_changed_areas(weigh, table_R4, width), np.float32(weigh.factor), 1)
        place_HQR = factors_HQR[_make_slice(weigh.head), _make_slice(weigh.query)]
        place_HQR *= factor_R
        check_product(float(place_HQR.max(initial=0)))
    return factors_HQR


def check_product(factor: float) -> None:
    """Raise InputError if a product of factors is too large for a model to compute with."""
    if factor > MAX_PRODUCT:
        raise InputError(
            f"The changes together multiply one weight or head by {factor:.2g}, but the limit is"
            f" {MAX_PRODUCT:.0e}. Choose smaller factors or fewer changes."
        )


def _make_slice(place: int | None) -> slice:
    """Return a slice with one index, or with all indices if `place` is None."""
    return slice(None) if place is None else slice(place, place + 1)


def _check_within(name: str, value: int | None, count: int) -> None:
    if value is not None and not 0 <= value < count:
        raise InputError(
            f"A change names {name} {value + 1:,}, but there {'is' if count == 1 else 'are'}"
            f" {count:,}"
            f" {name if count == 1 else 'queries' if name == 'query' else name + 's'}. Choose"
            f" another {name}."
        )


# Interventions and item positions as text, for links and files.
#
#     weigh:encoder-decoder:items=3-5:layer=2;hide:source:items=1-4
#
# Changes are separated by ";" and their parts by ":". A change starts with its kind and its site or
# field, followed by the options that differ from their defaults. Layers, heads, queries, items, and
# the top and left of an area count from 1.


# Maximum length of a text to read. The longest valid changes need fewer characters.
MAX_LETTERS = 400_000
# The options of a change in the order in which they are written, with their defaults.
_PARTS: Mapping[str, Any] = {
    "items": (),
    "areas": (),
    "factor": None,
    "layer": None,
    "head": None,
    "query": None,
    "rest": False,
    "smooth": False,
    "window": 0,
}
_NAME = re.compile(r"[a-z][a-z0-9 -]{0,39}")
_NUMBER = re.compile(r"[1-9][0-9]{0,4}")
_FACTOR = re.compile(r"[0-9]{1,3}(\.[0-9]{1,20})?(e-[0-9]{1,3})?")
_AREA = re.compile(r"([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})\.([1-9][0-9]{0,4})")
_ITEMS = re.compile(r"[0-9]{1,5}(-[0-9]{1,5})?(,[0-9]{1,5}(-[0-9]{1,5})?)*")


def format_changes(changes: Sequence[Change]) -> str:
    """Return all changes as one line, or "" if there are none."""
    return ";".join(":".join(_iterate_parts(change)) for change in changes)


def parse_changes(text: str) -> tuple[Change, ...]:
    """Parse changes from a line that `format_changes` wrote.

    Raises:
        InputError: The line cannot be parsed, or `check_changes` refuses a change.
    """
    if len(text) > MAX_LETTERS:
        raise InputError(
            f"The changes have {len(text):,} characters, but the limit is {MAX_LETTERS:,}. Remove"
            " some."
        )
    parts = list(filter(None, text.split(";")))
    if len(parts) > MAX_CHANGES:
        raise InputError(
            f"{len(parts):,} changes were requested, but the limit is {MAX_CHANGES:,}. Remove some."
        )
    changes: list[Change] = []
    for part in parts:
        changes.append(_parse_change(part))
        check_changes(changes[-1:])
        check_total(changes)
    return tuple(changes)


def format_ranges(items: Sequence[int]) -> str:
    """Return items as text with ranges, in the order given: (2, 3, 4, 11) is "3-5,12"."""
    ranges = []
    for _, group in groupby(enumerate(items, start=1), lambda pair: pair[1] - pair[0]):
        run = [item + 1 for _, item in group]
        ranges.append(f"{run[0]}-{run[-1]}" if len(run) > 1 else f"{run[0]}")
    return ",".join(ranges)


def parse_ranges(text: str, name: str = "items") -> Iterator[int]:
    """Yield the positions (from 0) of a list such as "3-5,12". The list "" is empty.

    Args:
        text: The list. Ranges beyond `MAX_POSITION` are never expanded.
        name: Name of the list in error messages.

    Raises:
        InputError: The text is not a list of positions, or it has too many.
    """
    if text and not _ITEMS.fullmatch(text):
        raise InputError(
            f'"{name}" is "{shorten(text)}" but must be positions such as 3-7,12. Correct or'
            " remove it."
        )
    left = MAX_POSITION
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        start, stop = int(first), int(last or first)
        left -= stop - start + 1
        if not 1 <= start <= stop <= MAX_POSITION or left < 0:
            raise InputError(
                f'"{name}" has "{part}" but positions must increase, from 1 to'
                f" {MAX_POSITION:,}. Correct or remove it."
            )
        yield from range(start - 1, stop)


def _iterate_parts(change: Change) -> Iterator[str]:
    yield name_kind(change)
    yield change.field if isinstance(change, Hide) else change.site
    for part, default in _PARTS.items():
        value: Any = getattr(change, part, default)
        if value == (default if part != "factor" else _get_default_factor(change)):
            continue
        if part == "items":
            text = format_ranges(value)
        elif part == "areas":
            text = ",".join(f"{a.top + 1}.{a.left + 1}.{a.height}.{a.width}" for a in value)
        else:
            counts_from_1 = part in ("layer", "head", "query")
            text = repr(float(value)) if part == "factor" else str(int(value) + counts_from_1)
        yield f"{part}={text}"


def _get_default_factor(change: Change) -> float | None:
    """Return the default factor of a change of this kind."""
    if isinstance(change, Hide):
        return None
    return 1.0 if isinstance(change, Share) else 0.0


def _parse_change(text: str) -> Change:
    kind, _, after = text.partition(":")
    name, *options = after.split(":")
    if kind not in CHANGE_KINDS or not _NAME.fullmatch(name):
        raise InputError(
            f'"{shorten(text)}" is not a valid change. A change starts with weigh, gate, hide'
            " or share and names a site."
        )
    given: dict[str, Any] = {}
    for option in options:
        part, _, value = option.partition("=")
        if (
            part in given
            or part not in _PARTS
            or part not in CHANGE_KINDS[kind].__dataclass_fields__
        ):
            raise InputError(
                f'The change "{shorten(text)}" has a part that a change of its kind lacks.'
                " Correct or remove it."
            )
        given[part] = _parse_option(part, value)
    return CHANGE_KINDS[kind](name, **given)


def _parse_option(part: str, text: str) -> object:
    """Return the value of an option."""
    if part == "items":
        return tuple(parse_ranges(text))
    if part == "areas":
        return tuple(map(_parse_area, filter(None, text.split(","))))
    if part in ("rest", "smooth"):
        return text == "1"
    if part == "factor":
        if not _FACTOR.fullmatch(text):
            raise InputError(
                f'A change has the factor "{shorten(text)}" but it must be a number such as'
                " 0.5. Correct it."
            )
        return float(text)
    if not _NUMBER.fullmatch(text) or int(text) > MAX_POSITION:
        raise InputError(
            f'A change has the {part} "{shorten(text)}" but the first one is 1. Choose a'
            " number from 1 on."
        )
    return int(text) if part == "window" else int(text) - 1


def _parse_area(text: str) -> Area:
    found = _AREA.fullmatch(text)
    if not found:
        raise InputError(
            f'A change has the area "{shorten(text)}" but areas are written as 1.3.1.2. Correct it.'
        )
    top, left, height, width = map(int, found.groups())
    return Area(top - 1, left - 1, height, width)
