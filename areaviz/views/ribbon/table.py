"""The token ribbon in words: data for other readings, its table, and its sentence."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from areaviz.draw.labels import prepare_words_for_print
from areaviz.draw.select import Runs, group_items, list_heads
from areaviz.draw.theme import ACCENT, SECOND
from areaviz.draw.view import Table
from areaviz.texts.catalogue import ENGLISH, message, translate
from areaviz.trace.areas import AreaGrid, FloatArray, IntArray, largest_entries, rank_listed
from areaviz.trace.query import (
    EVEN_SHARE,
    MASSES,
    Groups,
    average_map,
    coverage,
    find_densest_areas,
    find_sink,
    find_smallest_area_size,
    find_words,
    item_shares,
    map_of,
    merge_items,
    read_areas,
)
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import quantise, shrink_integers

# Data for readings other than top areas: smallest areas, averages and attention sinks.
#
# A reading is a way to find areas in a map. For a given share of attention, called a mass, the
# smallest area is the smallest one that receives at least this share. `areaviz.trace.query`
# computes the data. The browser selects the data of the items under the pointer. Shapes: H heads, Q
# queries, N items, R rows (each query, then each word of several items), M masses.


MAX_WORK = 1 << 22
"""Maximum number of places in which to search smallest areas, which takes about 0.4 s. If all seven
masses need more, only one mass is computed. If even one mass needs more, none is computed."""
MAX_RATIO = 4.0
"""End of the logarithmic scale of ratios: 4 doublings, which is 16 times the average."""


@dataclass(frozen=True, slots=True, eq=False)
class Readings:
    """Data sent in addition to the top areas.

    Args:
        arrays: `densest` [H, R, M, 2], the first and last item of the smallest areas.
            `densest_weight` [H, R, M], their shares. `average` [H, N], the average map of every
            head.
        header: "masses", the masses of `densest` in per cent. "sinks", attention sinks as [head,
            item, share]. "even", the share that `compare_with_average` spreads evenly. "signed",
            the colours for less and more than average. "steepest", the end of the scale of ratios.
    """

    arrays: dict[str, npt.NDArray[Any]]
    header: dict[str, Any]


def list_readings(attention: AttentionMap, layer: int, query: Field) -> Readings:
    """Return the readings of a site and layer.

    Smallest areas are left out if they take too long.
    """
    rows = list_query_runs(query)
    masses = choose_masses(attention, len(rows))
    averages, resting, kept_HQN = [], [], []
    # Keep the shares of all heads only to search smallest areas. For a large layer, they may need
    # more memory than its weights.
    for head in range(attention.heads):
        shares_QN = item_shares(attention, layer, head)
        if masses:
            kept_HQN.append(shares_QN)
        averages.append(average_map(shares_QN))
        at_rest = find_sink(shares_QN, head)
        if at_rest:
            resting.append([head, at_rest.item, round(at_rest.share, 4)])
    arrays: dict[str, npt.NDArray[Any]] = {
        "average": quantise(np.stack(averages).astype(np.float32), np.uint16)
    }
    if masses:
        found = find_densest_areas(np.stack(kept_HQN), attention.grid, rows, masses)
        arrays["densest"] = shrink_integers(found.ends, attention.grid.items)
        arrays["densest_weight"] = quantise(found.share, np.uint16)
    header = {
        "masses": list(masses),
        "sinks": resting,
        "even": EVEN_SHARE,
        "signed": [ACCENT, SECOND],
        "steepest": MAX_RATIO,
    }
    return Readings(arrays, header)


def list_query_runs(query: Field) -> list[tuple[int, int]]:
    """Return the runs of queries for which smallest areas are computed, as (start, end).

    They are all single items, followed by all words of several items.
    """
    single = [(item, item + 1) for item in range(len(query))]
    longer = find_words(query) if query.is_text else []
    return [*single, *(run for run in longer if run[1] - run[0] > 1)]


def choose_masses(attention: AttentionMap, rows: int) -> tuple[int, ...]:
    """Return the masses for which smallest areas are computed: all, only the default, or none.

    The fewer, the longer the texts are.

    Args:
        attention: the map.
        rows: number of runs of queries.
    """
    grid = attention.grid
    places = attention.heads * rows * grid.items * grid.height
    if places * len(MASSES) <= MAX_WORK:
        return MASSES
    return (Focus("").mass,) if places <= MAX_WORK else ()


def choose_runs(query: Field, items: Sequence[int], unit: str) -> Groups:
    """Return the runs of `list_query_runs` for the selected items, or their words."""
    if unit != "word" or not query.is_text:
        return [(item, item + 1) for item in items]
    chosen = set(items)
    return [run for run in find_words(query) if not chosen.isdisjoint(range(*run))]


# The ribbon as a table: the spans that queries attend to, or the queries that attend to items.
#
# Shapes: Q queries, G groups of queries that are averaged, N memory items, A areas, S spans.


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


def widen_spans(grid: AreaGrid, memory: Field, unit: str) -> tuple[IntArray, IntArray]:
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
    attention: AttentionMap, focus: Focus, head: int, runs: Runs
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
            yield Span(tuple(range(*runs[group])), head, items[0], length, weight)


# The sentence above a printed ribbon, which says what the selected item attends to.
#
# The script in `areaviz/views/ribbon/sentence.js` makes this sentence in the browser, from the
# same translated texts. It also mentions attention sinks, which a print leaves out.


COUNTS = (
    *(message("no"), message("one"), message("two"), message("three"), message("four")),
    *(message("five"), message("six"), message("seven"), message("eight"), message("nine")),
    *(message("ten"), message("eleven"), message("twelve")),
)
_NAMED = 3
"""Maximum number of places that the sentence names. If there are more, it names only the first."""
Group = tuple[str, list[Span]]
"""The text of a place, and the top spans of the heads that attend most to this place."""


def has_sentence(trace: Trace, focus: Focus) -> bool:
    """Return whether a print has a sentence.

    It must show the top areas of one item that attends.
    """
    is_plain = focus.reading == "heaviest" and focus.against == "nothing"
    is_one = focus.side == "query" and len(focus.items) == 1 and focus.unit == "item"
    return is_plain and is_one and find_smallest_area_size(trace.maps[focus.site], focus) == 1


def make_sentence(
    trace: Trace, focus: Focus, spans: Sequence[Span], language: str = ENGLISH
) -> str:
    """Return a sentence such as "To write “Hund”, both heads attend most to “dog” (41–80 %).".

    Args:
        trace: the trace.
        focus: the selection, for which `has_sentence` is true.
        spans: the spans of the selected item, heaviest first within each head.
        language: one of `catalogue.KNOWN`.
    """
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    what = _quote_items(query, focus.items, language)
    groups = _group_spans(memory, spans, language)
    if not groups:
        return translate("{what} attends to nothing here.", language, what=what)
    (place, tops), *rest = groups
    count = sum(len(some) for _, some in groups)
    if _is_taken_as_one(memory, tops[0]):
        place = translate("{where}, taken as one", language, where=place)
    opened = translate(
        _choose_opener(attention.query == trace.output.field, len(tops) == 1),
        language,
        what=what,
        who=_describe_heads(tops, count, attention.heads, language),
        where=place,
        more=f" ({_format_shares(tops)})",
    )
    return " ".join([opened, *_describe_others(rest, count, attention.heads, language)])


def _choose_opener(is_written: bool, is_one: bool) -> str:
    """Return the template of the sentence.

    Args:
        is_written: whether the selected item is output of the model.
        is_one: whether only one head attends most to the place.
    """
    if is_written and is_one:
        return message("To write {what}, {who} attends most to {where}{more}.")
    if is_written:
        return message("To write {what}, {who} attend most to {where}{more}.")
    if is_one:
        return message("For {what}, {who} attends most to {where}{more}.")
    return message("For {what}, {who} attend most to {where}{more}.")


def _quote_items(field: Field, items: Sequence[int], language: str) -> str:
    """Return the text of items in quotation marks."""
    return translate("“{text}”", language, text=prepare_words_for_print(join_items(field, items)))


def _group_spans(memory: Field, spans: Sequence[Span], language: str) -> list[Group]:
    """Return the places that heads attend to most, and their spans, heaviest first.

    The place with the heaviest span comes first, then the one with the larger total weight.
    """
    tops: dict[int, Span] = {}
    for span in spans:
        tops.setdefault(span.head, span)
    groups: dict[str, list[Span]] = {}
    for span in tops.values():
        groups.setdefault(_quote_items(memory, span.items, language), []).append(span)
    for some in groups.values():
        some.sort(key=lambda span: span.weight, reverse=True)
    return sorted(groups.items(), key=_measure_group, reverse=True)


def _measure_group(group: Group) -> tuple[float, float]:
    """Return the largest weight of a group, and its total weight."""
    weights = [span.weight for span in group[1]]
    return max(weights), sum(weights)


def _format_shares(tops: Sequence[Span]) -> str:
    """Return one share, or the smallest and the largest of several, such as "41–80 %"."""
    high, low = (f"{100 * span.weight:.0f}" for span in (tops[0], tops[-1]))
    return f"{high} %" if high == low else f"{low}–{high} %"


def _describe_others(rest: Sequence[Group], count: int, heads: int, language: str) -> list[str]:
    """Return further sentences that say what the other heads attend to."""
    if len(rest) >= _NAMED:
        left = _count_heads(sum(len(tops) for _, tops in rest), language)
        others = message("The other {count} heads attend most to other areas.")
        return [translate(others, language, count=left)]
    found = []
    for place, tops in rest:
        text = message("{who} attend most to {where}.")
        if len(tops) == 1:
            text = message("{who} attends most to {where}.")
        said = translate(
            text, language, who=_describe_heads(tops, count, heads, language), where=place
        )
        found.append(said[:1].upper() + said[1:])
    return found


def _describe_heads(tops: Sequence[Span], count: int, heads: int, language: str) -> str:
    """Return a phrase for some heads, such as "head 3", "two heads" or "all four heads"."""
    if heads == 1:
        return translate("the model", language)
    if len(tops) == 1:
        return translate("head {head}", language, head=tops[0].head + 1)
    if len(tops) < count:
        return translate("{count} heads", language, count=_count_heads(len(tops), language))
    if count == 2:
        return translate("both heads", language)
    return translate("all {count} heads", language, count=_count_heads(count, language))


def _count_heads(number: int, language: str) -> str:
    return translate(COUNTS[number], language) if number < len(COUNTS) else f"{number}"


def _is_taken_as_one(memory: Field, span: Span) -> bool:
    """Return whether a span has several words, or several items if all items are characters."""
    lengths = memory.anchors[:, 1] - memory.anchors[:, 0]
    if span.length > 1 and int(lengths.max()) <= 1:
        return True
    return not any(
        start <= span.start and span.items[-1] < end for start, end in find_words(memory)
    )
