"""The sentence above a printed ribbon, which says what the selected item attends to.

The script in `areaviz/components/ribbon/sentence.js` makes this sentence in the browser, from the
same translated texts. It also mentions attention sinks, which a print leaves out.
"""

from __future__ import annotations

from collections.abc import Sequence

from areaviz.draw.labels import prepare_words_for_print
from areaviz.interactive.ribbon_table import Span, join_items
from areaviz.texts.catalogue import ENGLISH, message, translate
from areaviz.trace.query import find_smallest_area_size, find_words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

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
