"""Changes in words, and the areas of the selection that can be changed."""

from __future__ import annotations

from areaviz.draw.select import describe_area, describe_items, get_layer_noun, name_site
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Share
from areaviz.trace.query import find_smallest_area_size, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus

MAX_CANDIDATE_AREAS = 3
"""Number of top areas offered per selected item."""


def list_candidate_areas(trace: Trace, focus: Focus) -> dict[Area, str]:
    """Return the areas that can be changed with their names: top areas of the selected queries.

    If memory items are selected, each of them is an area.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    if focus.side == "memory":
        areas = [grid.area(item) for item in focus.items]
        return {area: describe_area(memory, grid, area) for area in areas}
    found: dict[Area, float] = {}
    least = find_smallest_area_size(attention, focus)
    # If single items may be top areas, also offer the top spans.
    sizes = (least,) if least > 1 or grid.count == grid.items else (least, 2)
    for query in focus.items:
        for size in sizes:
            heaviest = top_areas(
                attention, focus.layer, focus.head, query, MAX_CANDIDATE_AREAS, min_size=size
            )
            for one in heaviest:
                found[one.area] = max(found.get(one.area, 0.0), one.weight)
    by_weight = sorted(found.items(), key=lambda pair: -pair[1])
    over = " on average over the heads" if focus.head is None and attention.heads > 1 else ""
    return {
        area: f"{describe_area(memory, grid, area)}, {weight:.0%}{over}"
        for area, weight in by_weight
    }


def describe_change(trace: Trace, change: Change) -> str:
    """Describe a change for a trace of the same input. Markup is not escaped."""
    if isinstance(change, Hide):
        return f"Hidden: {_describe_items(trace, change.field, change.items)}"
    if isinstance(change, Share):
        return describe_normalisation(change)
    where = describe_place(trace, change.site, change.layer, change.head)
    if isinstance(change, Gate):
        done = "Switched off" if change.factor == 0 else f"Output times {change.factor:g}"
        return f"{done}: {where}"
    attention = trace.maps.get(change.site)
    if attention is None:
        return f"Weights changed: {where}"
    memory = trace.fields[attention.memory]
    names = [describe_area(memory, attention.grid, area) for area in change.areas]
    if change.items:
        names.append(f"every area with {_describe_items(trace, attention.memory, change.items)}")
    what = " and ".join(names)
    if change.rest:
        what = f"all but {what}"
    done = "Banned" if change.factor == 0 else f"Weight times {change.factor:g}"
    return f"{done}: {what}; {where}"


def describe_normalisation(change: Share) -> str:
    """Describe the normalisation of scores."""
    done = ["Smoothed" if change.smooth else "Softmax"]
    if change.factor != 1:
        done.append(f"scores times {change.factor:g}")
    if change.window:
        done.append(f"a window of {change.window} items each way")
    return ", ".join(done)


def describe_place(trace: Trace, site: str, layer: int | None, head: int | None) -> str:
    """Describe site, layer and head."""
    noun = get_layer_noun(site)
    layers = f"all {noun}s" if layer is None else f"{noun} {layer + 1}"
    heads = "all heads" if head is None else f"head {head + 1}"
    return f"{name_site(trace, site)}, {layers}, {heads}"


def _describe_items(trace: Trace, name: str, items: tuple[int, ...]) -> str:
    field = trace.fields.get(name)
    known = [item for item in sorted(items) if field is not None and item < len(field)]
    if field is None or not known:
        return f"{len(items)} items"
    words = describe_items(field, known)
    if words:
        return words
    return field.labels[known[0]] if len(known) == 1 else f"{len(known)} cells of the picture"
