"""One selection for several traces: its meaning in each trace, and the effect of a click."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np

from areaviz.draw.select import find_counterparts, list_sites
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus
from areaviz.ui.components.ribbon import Selection
from areaviz.ui.results.focus import fit_selection, get_side_field

DISPLAY_FIELDS = ("unit", "areas", "reading", "mass", "against")
"""The fields of a selection that say how its map is displayed."""


def fit_to_other_trace(main: Trace, other: Trace, focus: Focus) -> Focus:
    """Return the selection for `other`. In a different text, it covers the common words."""
    if focus.site not in list_sites(other):
        return Focus(list_sites(other)[0])
    items = (
        focus.items if has_same_items(main, other, focus) else find_common_words(main, other, focus)
    )
    return fit_selection(other, replace(focus, items=items))


def find_common_words(main: Trace, other: Trace, focus: Focus) -> tuple[int, ...]:
    """Return the items of `other` in the words that are selected in `main` and occur in both."""
    one, two = get_side_field(main, focus), get_side_field(other, focus)
    return find_counterparts(one, two, focus.items) if one.is_text and two.is_text else ()


def follow_click(main: Trace, other: Trace, focus: Focus, asked: Focus, chosen: Focus) -> Focus:
    """Return the page's selection after a click in `other` changed `asked` to `chosen`.

    Locked items are also locked in `main` if `main` has them. Otherwise the items of `main` stay
    locked.
    """
    if chosen.site != focus.site:
        return focus
    if has_same_items(main, other, chosen):
        return chosen
    if chosen.items != asked.items:
        items = find_common_words(other, main, chosen)
        if items or not chosen.items:
            focus = replace(focus, side=chosen.side, items=items)
    if chosen.head != asked.head:
        focus = replace(focus, head=chosen.head)
    for name in DISPLAY_FIELDS:
        if getattr(chosen, name) != getattr(asked, name):
            focus = replace(focus, **{name: getattr(chosen, name)})
    return focus


def has_equal_selections(traces: Sequence[Trace], seen: Sequence[Focus]) -> bool:
    """Return whether the selected items of all traces are equal, or no trace has any."""
    first = seen[0]
    for trace, focus in zip(traces[1:], seen[1:], strict=True):
        meant = fit_to_other_trace(traces[0], trace, first).items
        if focus.items != meant or bool(meant) != bool(first.items):
            return False
    return True


def has_same_items(main: Trace, other: Trace, focus: Focus) -> bool:
    """Return whether both traces have the selected tokens of one text, or cells of one picture."""
    if focus.site not in list_sites(other):
        return False
    one, two = get_side_field(main, focus), get_side_field(other, focus)
    if one.is_picture:
        first, second = main.request.picture, other.request.picture
        if (first and first.digest) != (second and second.digest):
            return False
    same_text = (one.kind, one.raw) == (two.kind, two.raw)
    return same_text and np.array_equal(one.anchors, two.anchors)


def apply_click(selection: Selection, focus: Focus) -> Focus:
    """Return the selection after a click. Site and layer stay."""
    return replace(focus, **asdict(selection))
