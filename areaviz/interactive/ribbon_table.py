"""The ribbon as a table: the spans that queries attend to, or the queries that attend to items.

Shapes: Q queries, G groups of queries that are averaged, N memory items, A areas, S spans.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from areaviz.draw.select import Runs, group_items, list_heads
from areaviz.draw.view import Table
from areaviz.interactive.other_readings import choose_runs
from areaviz.trace.areas import AreaGrid, FloatArray, IntArray, largest_entries, rank_listed
from areaviz.trace.query import (
    coverage,
    find_smallest_area_size,
    item_shares,
    map_of,
    merge_items,
    read_areas,
)
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus

TOP = 4
"""Number of spans per head that light up and are listed."""
UNSURE = 0.5
"""Probability below which an item of the output counts as uncertain and gets a dotted line."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span that a head attends to, for one query or for the mean of several queries."""

    queries: tuple[int, ...]
    head: int
    # First item of the memory, and number of items.
    start: int
    length: int
    weight: float

    @property
    def items(self) -> range:
        """The indices of the span's items in the memory."""
        return range(self.start, self.start + self.length)


def tabulate_ribbon(trace: Trace, focus: Focus) -> Table:
    """Return a table of the top spans of every head, in the reading of the focus.

    A reading is a way to rank spans, such as by weight or by coverage. Without selected queries,
    all queries are listed. On the memory side, the table lists the queries that attend most to the
    selected items. The column "start" counts items from 1.
    """
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    rows = []
    for span in find_spans(trace, focus):
        who, what = join_items(query, span.queries), join_items(memory, span.items)
        place = (span.start + 1, span.length)
        rows.append((who, span.head + 1, what, *place, round(span.weight, 4)))
    return Table(("query", "head", "span", "start", "length", name_measure(focus)), rows)


def name_measure(focus: Focus) -> str:
    """Return the title of the table's last column, such as "weight" or "share"."""
    if focus.side == "memory" and focus.items:
        return "weight"
    if focus.against == "average":
        return "times the average"
    return {"heaviest": "weight", "coverage": "share", "densest": "share held"}[focus.reading]


def format_amount(focus: Focus, weight: float) -> str:
    """Format a number of the table's last column, such as "12%" or "3.1×"."""
    return f"{weight:.1f}×" if name_measure(focus) == "times the average" else f"{weight:.0%}"


def describe_found(focus: Focus, nouns: str) -> str:
    """Return a phrase for the spans or areas that a print shows, such as "the heaviest spans"."""
    if focus.side == "query" and focus.against == "average":
        return f"the {nouns} that get most beside the head's average"
    if focus.side == "query" and focus.reading == "densest":
        singular = nouns.removesuffix("s")
        return f"the densest {singular}, the smallest that holds at least {focus.mass}%,"
    if focus.side == "query" and focus.reading == "coverage":
        return f"the {nouns} with the largest shares of what is received"
    return f"the heaviest {nouns}"


def find_spans(trace: Trace, focus: Focus) -> list[Span]:
    """Return the top spans of each head for each query, or for the mean over selected queries.

    If the unit of the focus is a word, spans are widened to whole words. The weights of areas that
    are widened to the same words are added, and so are the shares of items. A smallest area is
    never widened, and each selected query or word has its own. Against the average, the spans are
    the items above average, with their ratio as weight.
    """
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    heads = list_heads(attention, focus.head)
    found: list[Span] = []
    if focus.side == "memory" and focus.items:
        for head in heads:
            found += _iterate_attending(attention, focus, head, group_items(query, focus.unit))
        return found
    for_reading = _get_finder(focus)
    if for_reading:
        for group in group_by_reading(query, focus):
            for head in heads:
                found += for_reading(attention, memory, focus, head, group)
        return found
    span_A, spans_S2 = widen_spans(attention.grid, memory, focus.unit)
    # Index of the first area that is large enough. Areas with fewer items have smaller indices.
    smaller = attention.grid.slab(1, find_smallest_area_size(attention, focus))[0]
    for group in group_chosen(query, focus):
        for head in heads:
            mean_A = attention.weights[focus.layer, head, list(group)].mean(0)
            places = _iterate_heaviest(mean_A[smaller:], span_A[smaller:], spans_S2)
            found += [Span(group, head, *place) for place in places]
    return found


def _get_finder(focus: Focus) -> Callable[..., Iterator[Span]] | None:
    """Return the function that finds the spans of a reading, or None for top areas."""
    if focus.against == "average":
        return _iterate_raised
    return {"coverage": _iterate_received, "densest": _iterate_densest}.get(focus.reading)


def group_by_reading(query: Field, focus: Focus) -> list[tuple[int, ...]]:
    """Return the groups of `group_chosen`. For smallest areas, each query or word is a group."""
    if focus.reading != "densest" or focus.against == "average" or not focus.items:
        return group_chosen(query, focus)
    return [tuple(range(*run)) for run in choose_runs(query, focus.items, focus.unit)]


def _iterate_densest(
    attention: AttentionMap, _: Field, focus: Focus, head: int, group: tuple[int, ...]
) -> Iterator[Span]:
    for one in read_areas(attention, focus, head, list(group), 1):
        yield Span(group, head, one.area.left, one.area.width, one.weight)


def _iterate_received(
    attention: AttentionMap, memory: Field, focus: Focus, head: int, group: tuple[int, ...]
) -> Iterator[Span]:
    """Yield the items, or words, with the largest shares of the coverage."""
    runs = group_items(memory, focus.unit)
    shares_1N = item_shares(attention, focus.layer, head)[list(group)].mean(0, keepdims=True)
    found = largest_entries(merge_items(shares_1N, None, runs)[0], TOP)
    for run, share in zip(found.index.tolist(), found.weight.tolist(), strict=True):
        if run >= 0:
            start, end = runs[run]
            yield Span(group, head, start, end - start, share)


def _iterate_raised(
    attention: AttentionMap, _: Field, focus: Focus, head: int, group: tuple[int, ...]
) -> Iterator[Span]:
    """Yield the items that get more attention than on average, with the ratio as their weight.

    The ratio is the geometric mean over the group.
    """
    ratio_N = map_of(attention, focus.layer, head, "average")[list(group)].mean(0)
    found = largest_entries(ratio_N, TOP)
    for item, ratio in zip(found.index.tolist(), found.weight.tolist(), strict=True):
        if ratio > 0:
            yield Span(group, head, item, 1, 2.0**ratio)


def group_chosen(query: Field, focus: Focus) -> list[tuple[int, ...]]:
    """Return the selected queries as one group, or every item or word as a group if none is."""
    if focus.items:
        return [focus.items]
    return [tuple(range(*run)) for run in group_items(query, focus.unit)]


def widen_spans(
    grid: AreaGrid,
    memory: Field,
    unit: str,
) -> tuple[IntArray, IntArray]:
    """Return the spans of a grid's areas, unchanged or widened to whole words.

    Returns:
        The index of each area's span, int64 [A], and the first item and end of every span, int64
        [S, 2].
    """
    runs = np.array(group_items(memory, unit))
    run_of = np.repeat(np.arange(len(runs)), runs[:, 1] - runs[:, 0])
    _, first, _, length = grid.table().T
    ends = np.stack([runs[run_of[first], 0], runs[run_of[first + length - 1], 1]], 1)
    spans_S2, span_A = np.unique(ends, axis=0, return_inverse=True)
    return span_A.reshape(-1), spans_S2


def _iterate_heaviest(
    weights_A: FloatArray, span_A: IntArray, spans_S2: IntArray
) -> Iterator[tuple[int, int, float]]:
    """Yield start, length and weight of the top spans, without those that overlap a heavier one.

    An overlap up to the default maximum is allowed.
    """
    weights_S = np.bincount(span_A, weights_A, len(spans_S2)).astype(np.float64)
    start_S, length_S = spans_S2[:, 0], spans_S2[:, 1] - spans_S2[:, 0]
    # The spans in the form of areas with one row: top, left, height, width.
    areas_S4 = np.stack([0 * start_S, start_S, 0 * start_S + 1, length_S], 1)
    found = rank_listed(weights_S, areas_S4, TOP)
    for span in found.index[found.weight > 0].tolist():
        yield int(start_S[span]), int(length_S[span]), float(weights_S[span])


def list_unsure_items(trace: Trace, name: str) -> list[int]:
    """Return the output items with a probability below `UNSURE`, or [] for other fields."""
    if name != trace.output.field:
        return []
    unsure: list[int] = np.flatnonzero(trace.output.probabilities < UNSURE).tolist()
    return unsure


def join_items(field: Field, items: Sequence[int]) -> str:
    """Return the raw text of items. The texts of separate runs are joined by " + ".

    A symbol without text is replaced by its label, with spaces around it.
    """
    said = ""
    # The previous item, and the end of its text in the raw text, or -1 if it is a symbol.
    last, behind = -2, -1
    for item in items:
        start, end = field.anchors[item].tolist()
        is_symbol, is_next = start == end, item == last + 1
        if is_next and behind >= 0 and not is_symbol:
            said += field.raw[behind:end]
        else:
            text = field.labels[item] if is_symbol else field.raw[start:end]
            said += f"{' ' if is_next else ' + '}{text}" if said else text
        last, behind = item, -1 if is_symbol else end
    return said


def _iterate_attending(
    attention: AttentionMap,
    focus: Focus,
    head: int,
    runs: Runs,
) -> Iterator[Span]:
    """Yield the runs of queries whose areas cover the selected items most.

    The coverage is the mean over the queries of a run and over the selected items.
    """
    items = list(focus.items)
    covered_Q = coverage(attention, focus.layer, head)[:, items].mean(1)
    best = largest_entries(merge_items(covered_Q[:, None], runs)[:, 0], TOP)
    length = items[-1] - items[0] + 1
    for group, weight in zip(best.index.tolist(), best.weight.tolist(), strict=True):
        if group >= 0:
            yield Span(
                tuple(range(*runs[group])),
                head,
                items[0],
                length,
                weight,
            )
