"""What is done otherwise in a run, to see what follows: weights changed, heads switched off, items
hidden.

Shapes: H heads, Q queries, R areas, N items. Layers, heads, queries and items count from 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from areaviz.trace.areas import Area, AreaGrid, IntArray
from areaviz.trace.errors import InputError
from areaviz.trace.limits import FACTORS, MAX_CHANGED, MAX_CHANGES, MAX_POSITION


@dataclass(frozen=True, slots=True)
class Weigh:
    """The weights of some areas times `factor`, then all weights divided by their new sum.

        w'_a = f_a w_a / sum_b f_b w_b,   which is the softmax of the logits plus log f_a

    A factor of 0 bans the areas; a query with all areas banned reads nothing (its weights are 0).

    site: the attention. areas: these, and with `items` every area that holds one of them; rest: all
    others instead.
    factor: 0..100. layer, head, query: where; None means all of them. A query of the output has a
    place only when the output is given (`Request.target`).
    """

    site: str
    items: tuple[int, ...] = ()
    areas: tuple[Area, ...] = ()
    factor: float = 0.0
    layer: int | None = None
    head: int | None = None
    query: int | None = None
    rest: bool = False


@dataclass(frozen=True, slots=True)
class Gate:
    """What heads read, times `factor`, before the heads are put together: 0 switches them off.

    site: the attention. layer, head: where; None means all of them. factor: 0..100. The weights
    stay what they were.
    """

    site: str
    layer: int | None = None
    head: int | None = None
    factor: float = 0.0


@dataclass(frozen=True, slots=True)
class Hide:
    """Items of an input that nothing attends to any more, as if they were padding: in every layer,
    head and site.

    field: "source" or "picture". Places stay, so a model still knows how many items were there.
    What was mixed into other items before any attention (pixels in a picture's neighbouring cells)
    is not taken back.
    """

    field: str
    items: tuple[int, ...]


Change = Weigh | Gate | Hide
KINDS: Mapping[str, type[Weigh] | type[Gate] | type[Hide]] = {
    "weigh": Weigh,
    "gate": Gate,
    "hide": Hide,
}
"""What can be done otherwise, by the name of its kind."""


def kind_of(change: Change) -> str:
    """ "weigh", "gate" or "hide"."""
    return next(name for name, kind in KINDS.items() if isinstance(change, kind))


def check_changes(changes: Sequence[Change]) -> None:
    """What can be said without knowing the model.

    Raises:
        InputError: there are too many, a number is outside its range, or a change is about nothing.
    """
    if len(changes) > MAX_CHANGES:
        raise InputError(
            f"{len(changes):,} changes are asked for but at most {MAX_CHANGES:,} are possible; drop"
            " some."
        )
    for change in changes:
        if not isinstance(change, Hide) and not (
            isfinite(change.factor) and FACTORS[0] <= change.factor <= FACTORS[1]
        ):
            raise InputError(
                f"A change has the factor {change.factor:g} but factors go from {FACTORS[0]} to"
                f" {FACTORS[1]}; choose one in that range."
            )
        items = () if isinstance(change, Gate) else change.items
        if (
            not isinstance(change, Gate)
            and not items
            and not (isinstance(change, Weigh) and change.areas)
        ):
            raise InputError("A change names no item and no area; choose what is to be changed.")
        if any(not 0 <= item < MAX_POSITION for item in items):
            raise InputError(
                f"A change names an item outside 1 to {MAX_POSITION:,}; choose another item."
            )
    check_total(changes)


def check_total(changes: Sequence[Change]) -> None:
    """InputError where all changes together name too many items."""
    named = sum(0 if isinstance(change, Gate) else len(change.items) for change in changes)
    named += sum(len(change.areas) for change in changes if isinstance(change, Weigh))
    if named > MAX_CHANGED:
        raise InputError(
            f"The changes name {named:,} items but at most {MAX_CHANGED:,} are possible; drop some."
        )


@dataclass(frozen=True, slots=True)
class Places:
    """Where a model can be changed for one input.

    sites: the fields that attend and are attended to, by site. layers, heads: of every site.
    lengths: items of the fields that are known before anything is written. grids: the areas of
    those that are attended to.
    """

    sites: Mapping[str, tuple[str, str]]
    layers: int
    heads: int
    lengths: Mapping[str, int]
    grids: Mapping[str, AreaGrid]

    def check(self, changes: Sequence[Change]) -> None:
        """Check that all of this exists; InputError names the first that does not, and what there
        is.
        """
        if changes and not self.sites:
            raise InputError(
                "This model attends to nothing, so there is nothing to change; choose another"
                " model."
            )
        for change in changes:
            if isinstance(change, Hide):
                self._check_field(change)
                continue
            if change.site not in self.sites:
                raise InputError(
                    f'This model has no site "{change.site}" to change; choose one of:'
                    f" {', '.join(self.sites)}."
                )
            _within("layer", change.layer, self.layers)
            _within("head", change.head, self.heads)
            if isinstance(change, Weigh):
                self._check_weigh(change)

    def _check_field(self, change: Hide) -> None:
        inputs = [
            name for name in self.lengths if name in {memory for _, memory in self.sites.values()}
        ]
        if change.field not in inputs:
            raise InputError(
                f'Nothing of "{change.field}" can be hidden here; choose items of:'
                f" {', '.join(inputs)}."
            )
        for item in change.items:
            _within("item", item, self.lengths[change.field])

    def _check_weigh(self, change: Weigh) -> None:
        query, memory = self.sites[change.site]
        if change.query is not None and query not in self.lengths:
            raise InputError(
                "A change of single output items needs the output to be given; leave the query"
                " open."
            )
        if query in self.lengths:
            _within("query", change.query, self.lengths[query])
        if memory not in self.grids:
            return
        for item in change.items:
            _within("item", item, self.grids[memory].items)
        for area in change.areas:
            try:
                self.grids[memory].index(area)
            except ValueError:
                raise InputError(
                    f"There is no area of {area.height}x{area.width} items at item {area.left + 1}"
                    f' of the "{memory}"; choose one of the areas that this model attends to.'
                ) from None


def weighed(changes: Sequence[Change], sites: Mapping[str, tuple[str, str]]) -> list[Weigh | Gate]:
    """The changes site by site: hiding items is banning every area that holds them, wherever they
    are attended to.
    """
    found: list[Weigh | Gate] = []
    for change in changes:
        if isinstance(change, Hide):
            found += [
                Weigh(site, change.items)
                for site, (_, memory) in sites.items()
                if memory == change.field
            ]
        else:
            found.append(change)
    return found


def touched(
    weigh: Weigh, table_R4: IntArray, width: int
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which areas a change is about: bool [R]. table_R4: rows (top, left, height, width); width: of
    the memory.
    """
    top, left, height, wide = table_R4.T
    chosen_R = np.zeros(len(table_R4), dtype=np.bool_)
    for area in weigh.areas:
        chosen_R |= (
            (top == area.top) & (left == area.left) & (height == area.height) & (wide == area.width)
        )
    if weigh.items:
        rows, columns = np.divmod(np.array(weigh.items), width)
        highest, widest = (
            max((top + height).max(), rows.max() + 1),
            max((left + wide).max(), columns.max() + 1),
        )
        held = np.zeros((highest + 1, widest + 1), dtype=np.int64)
        held[rows + 1, columns + 1] = 1
        held = held.cumsum(0).cumsum(1)  # whole numbers, so differences of sums are exact
        bottom, right = top + height, left + wide
        chosen_R |= (
            held[bottom, right] - held[top, right] - held[bottom, left] + held[top, left] > 0
        )
    return ~chosen_R if weigh.rest else chosen_R


def area_factors(
    weighs: Sequence[Weigh], table_R4: IntArray, width: int, heads: int, queries: int
) -> np.ndarray[tuple[int, int, int], np.dtype[np.float32]]:
    """What every area's weight is multiplied by: float32 [H, Q, R], or [H, 1, R] where no change is
    a query's own.

    A change of a query beyond `queries` is left out.
    """
    rows = queries if any(weigh.query is not None for weigh in weighs) else 1
    factors_HQR = np.ones((heads, rows, len(table_R4)), dtype=np.float32)
    for weigh in weighs:
        chosen_R = touched(weigh, table_R4, width)
        head = slice(None) if weigh.head is None else slice(weigh.head, weigh.head + 1)
        query = slice(None) if weigh.query is None else slice(weigh.query, weigh.query + 1)
        factors_HQR[head, query] *= np.where(chosen_R, np.float32(weigh.factor), np.float32(1))
    return factors_HQR


def _within(name: str, value: int | None, count: int) -> None:
    if value is not None and not 0 <= value < count:
        raise InputError(
            f"A change is about {name} {value + 1:,}, but there {'is' if count == 1 else 'are'}"
            f" {count:,} {name if count == 1 else 'queries' if name == 'query' else name + 's'};"
            f" choose another {name}."
        )
