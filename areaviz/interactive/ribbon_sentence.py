"""The sentence of a printed ribbon: what the browser says of the same selection.

The script in `areaviz/components/ribbon/sentence.js` says it in the browser. It adds attention
sinks, which a print leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.drawing.labels import words_for_print
from areaviz.interactive.ribbon_table import Span, items_text
from areaviz.trace.query import smallest_area, words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

COUNTS = (
    *("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
_NAMED = 3
"""Number of places that the sentence names; of more, it names the first one."""
Group = tuple[str, list[Span]]
"""A place in the text, and the top spans of the heads that attend most to it."""


def has_sentence(trace: Trace, focus: Focus) -> bool:
    """Return whether there is a sentence: for one item that attends, read by its top areas."""
    is_plain = focus.reading == "heaviest" and focus.against == "nothing"
    is_one = focus.side == "query" and len(focus.items) == 1 and focus.unit == "item"
    return is_plain and is_one and smallest_area(trace.maps[focus.site], focus) == 1


def sentence_of(trace: Trace, focus: Focus, spans: Sequence[Span]) -> str:
    """Say what an item attends to most, such as "To write “Hund”, both heads attend most to “dog”".

    Args:
        trace: the trace.
        focus: the selection, for which `has_sentence` is true.
        spans: its spans, heaviest first within each head.
    """
    attention = trace.maps[focus.site]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    what = f"“{words_for_print(items_text(query, focus.items))}”"
    groups = _groups(memory, spans)
    if not groups:
        return f"{what} attends to nothing here."
    opener = "To write" if attention.query == trace.output.field else "For"
    (place, tops), *rest = groups
    count = sum(len(some) for _, some in groups)
    most = _attends(tops, count, attention.heads, place)
    one = ", taken as one" if _is_taken_as_one(memory, tops[0]) else ""
    share = f" ({tops[0].weight:.0%})" if count == 1 else ""
    others = _others(rest, count, attention.heads)
    return f"{opener} {what}, {most}{one}{share.replace('%', ' %')}{others}."


def _groups(memory: Field, spans: Sequence[Span]) -> list[Group]:
    """Return the places that heads attend to most, by the sum of their heads' weights."""
    tops: dict[int, Span] = {}
    for span in spans:
        tops.setdefault(span.head, span)
    groups: dict[str, list[Span]] = {}
    for span in tops.values():
        place = f"“{words_for_print(items_text(memory, span.items))}”"
        groups.setdefault(place, []).append(span)
    return sorted(groups.items(), key=lambda group: -sum(span.weight for span in group[1]))


def _others(rest: Sequence[Group], count: int, heads: int) -> str:
    """Say what the heads attend to with which the sentence does not begin."""
    if len(rest) >= _NAMED:
        left = sum(len(tops) for _, tops in rest)
        return f"; the other {_counted(left)} heads attend most to other areas"
    return "".join(f"; {_attends(tops, count, heads, place)}" for place, tops in rest)


def _attends(tops: Sequence[Span], count: int, heads: int, place: str) -> str:
    verb = "attends" if len(tops) == 1 else "attend"
    return f"{_who(tops, count, heads)} {verb} most to {place}"


def _who(tops: Sequence[Span], count: int, heads: int) -> str:
    """Name heads, such as "head 3", "two heads" or "all four heads"."""
    if heads == 1:
        return "the model"
    if len(tops) == 1:
        return f"head {tops[0].head + 1}"
    if len(tops) < count:
        return f"{_counted(len(tops))} heads"
    return "both heads" if count == 2 else f"all {_counted(count)} heads"


def _counted(number: int) -> str:
    return COUNTS[number] if number < len(COUNTS) else f"{number}"


def _is_taken_as_one(memory: Field, span: Span) -> bool:
    """Return whether a span is several words, or several characters of a text of characters."""
    lengths = memory.anchors[:, 1] - memory.anchors[:, 0]
    if span.length > 1 and int(lengths.max()) <= 1:
        return True
    return not any(start <= span.start and span.items[-1] < end for start, end in words(memory))
