"""The guided tour: its texts, its five steps, and its bar at the foot of a page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from urllib.parse import urlencode

import streamlit as st

from areaviz.app.components import get_component
from areaviz.app.frame import add_styles
from areaviz.app.home import load_hero_trace
from areaviz.app.page import TOUR, build_link_params, get_open_page
from areaviz.app.result import get_last_result
from areaviz.app.run import get_backend
from areaviz.app.texts import add_language, sentence
from areaviz.samples.reasoning import STORIES
from areaviz.texts.catalogue import message
from areaviz.trace.areas import Area
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.query import Attended, find_words, top_areas
from areaviz.trace.record import AttentionMap, Field, Trace
from areaviz.trace.request import Focus
from areaviz.views.message import SITE, choose_first_focus, choose_first_item

# The words and places of a trace, as the tour and the teacher's page write them.


def quote_text(text: str) -> str:
    """Return a text in quotation marks, as the sentences below pictures have them."""
    return sentence("“{text}”", text=text)


def get_word_text(field: Field, item: int) -> str:
    """Return the text of an item without spaces around it."""
    start, end = field.anchors[item].tolist()
    return field.raw[start:end].strip()


def list_top_areas(attention: AttentionMap, layer: int, item: int) -> list[Attended]:
    """Return the heaviest area of every head of a layer for an item that attends."""
    heads = range(attention.heads)
    return [top_areas(attention, layer, head, item, k=1)[0] for head in heads]


def get_span_text(field: Field, area: Area) -> str:
    """Return the text of an area of a sequence."""
    first, last = area.left, area.left + area.width - 1
    return field.raw[field.anchors[first, 0] : field.anchors[last, 1]].strip()


def describe_place(area: Area) -> str:
    """Describe where an area of a picture is, as the sentence below the picture does."""
    row = {"number": area.top + 1, "first": area.top + 1, "last": area.top + area.height}
    column = {"number": area.left + 1, "first": area.left + 1, "last": area.left + area.width}
    rows, columns = message("rows {first}-{last}"), message("columns {first}-{last}")
    if area.height == 1:
        rows = message("row {number}")
    if area.width == 1:
        columns = message("column {number}")
    return f"{sentence(rows, **row)}, {sentence(columns, **column)}"


def format_percent(top: Attended) -> str:
    """Return the weight of an area in whole per cent."""
    return f"{100 * top.weight:.0f} %"


# The five steps of the guided tour: where each takes place, what it says and what it asks for.
#
# All words, areas and percentages are read from the trace that the page shows, so another sentence
# or a newly trained model needs no edit here. A text has its important words between `**`.


END_STEP = "end"
"""The value of the URL parameter after the last step."""
TOUR_PICTURE = "scene-34"
TOUR_STORY = STORIES[0]
_NUMBER_WORDS = (
    message("no"),
    message("one"),
    message("two"),
    message("three"),
    message("four"),
    message("five"),
    message("six"),
    message("seven"),
    message("eight"),
)
_SENTENCE_SELECTOR = ":is(.ribbon, .grid) .say"


@dataclass(frozen=True, slots=True)
class TourStep:
    """A step of the tour, or its end.

    Args:
        says: what the step shows, in one or two sentences.
        asks: what the user can do.
        look: the CSS selector of the element with the amber frame, "" for none.
        starts: the text that the watched element contains at first.
        ends: the text that it contains once the user has done what is asked. "" waits for any text
            without `starts`, and for any text at all if `starts` is "" too.
        act: a link that does what is asked, as a label and an address.
        watch: the CSS selector of the watched element, "" if only Next goes on.
    """

    says: str
    asks: str = ""
    look: str = ""
    starts: str = ""
    ends: str = ""
    act: tuple[str, str] | None = None
    watch: str = ""


def build_opening_step(trace: Trace) -> TourStep:
    """Introduce a translator on Home, whose ribbon can play how one word is written."""
    lit = get_word_text(trace.fields[trace.maps[SITE].query], choose_first_focus(trace).items[0])
    return TourStep(
        sentence(
            "A translator writes German word by word. Before each word it looks back at the"
            " English."
        ),
        sentence("Press **Play** and see how it writes **{word}**.", word=lit),
        ".ribbon .opener, .ribbon .play",
        watch=".ribbon .play .go[data-done]",
    )


def build_area_step(trace: Trace) -> TourStep:
    """Introduce an area by the heaviest span of the word that shows spans best."""
    focus = choose_first_focus(trace)
    attention = trace.maps[SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    top = max(_list_tops(trace, focus, focus.items[0]), key=lambda one: one.weight * one.area.width)
    lit = get_word_text(target, focus.items[0])
    other = get_word_text(target, _find_neighbour(target, focus.items[0]))
    taken = f"{quote_text(get_span_text(source, top.area))} ({format_percent(top)})"
    says = message(
        "It may take neighbours as one: an **area**. To write **{word}** it takes {taken}."
    )
    # The model can be limited to single words under Options.
    if top.area.width == 1:
        says = message(
            "It may take neighbours as one: an **area**. To write **{word}** it takes one word,"
            " {taken}."
        )
    return TourStep(
        sentence(says, word=lit, taken=taken),
        sentence("Point at **{word}**.", word=other),
        ".ribbon [data-side=memory] .view",
        quote_text(lit),
        quote_text(other),
        watch=_SENTENCE_SELECTOR,
    )


def build_head_step(trace: Trace) -> TourStep:
    """Introduce heads by a word for which one head takes one word and another takes several."""
    focus = find_mixed_word(trace)
    attention = trace.maps[SITE]
    source = trace.fields[attention.memory]
    lit = get_word_text(trace.fields[attention.query], focus.items[0])
    tops = _list_tops(trace, focus, focus.items[0])
    single, several = _find_contrasting_heads(tops)
    says = sentence("Each colour is one **head**, which looks for itself.")
    if single is not None and several is not None:
        says += " " + sentence(
            "For **{word}**, head {one} takes {single} alone, and head {other} takes {several}"
            " as one.",
            word=lit,
            one=single + 1,
            single=quote_text(get_span_text(source, tops[single].area)),
            other=several + 1,
            several=quote_text(get_span_text(source, tops[several].area)),
        )
    asks = sentence("Point at another word.")
    return TourStep(says, asks, ".ribbon .legend", quote_text(lit), watch=_SENTENCE_SELECTOR)


def build_rectangle_step(trace: Trace) -> TourStep:
    """Introduce rectangles by the word with which Caption opens."""
    attention = trace.maps[SITE]
    target = trace.fields[attention.query]
    focus = Focus(SITE)
    item, *_ = choose_first_item(attention, focus.layer, target)
    tops = _list_tops(trace, focus, item)
    wide = [one for one in tops if one.area.size > 1]
    top = max(wide or tops, key=lambda one: one.weight)
    scattered = _find_most_scattered_word(trace, item)
    other = get_word_text(target, scattered)
    places = len({one.area for one in _list_tops(trace, focus, scattered)})
    says = message(
        "In a picture an area is a rectangle. To write **{word}**, {some} of {all} heads take"
        " several cells as one, such as {where} ({share})."
    )
    if len(wide) == 1:
        says = message(
            "In a picture an area is a rectangle. To write **{word}**, one of {all} heads takes"
            " several cells as one, such as {where} ({share})."
        )
    told = sentence(
        says,
        word=get_word_text(target, item),
        some=sentence(_NUMBER_WORDS[len(wide)]),
        all=sentence(_NUMBER_WORDS[len(tops)]),
        where=describe_place(top.area),
        share=format_percent(top),
    )
    asks = message("Point at **{word}**: its heads look at {count} places.")
    if places == 1:
        asks = message("Point at **{word}**: all its heads look at {count} place.")
    return TourStep(
        told,
        sentence(asks, word=other, count=places),
        ".grid [data-side=memory] .view",
        quote_text(get_word_text(target, item)),
        quote_text(other),
        watch=_SENTENCE_SELECTOR,
    )


def build_reason_step(trace: Trace, before: Trace | None) -> TourStep:
    """Offer to ask without the fact that the last hop reads, or say what that has changed.

    The trace of the whole story is `before`, None if it is not stored.
    """
    whole = before or trace
    fact = find_read_fact(whole)
    answer = whole.fields[whole.output.field].raw
    if trace.request.text == build_story_without(fact):
        now = trace.fields[trace.output.field].raw
        return TourStep(_describe_change(fact + 1, now, answer), look=".hops .answer")
    label = whole.fields[whole.maps["hops"].memory].labels[fact]
    says = sentence(
        "Does it need what it looks at? Its last hop reads fact {number}, {fact}, and it answers"
        " **{answer}**.",
        number=fact + 1,
        fact=quote_text(label.rstrip(".")),
        answer=answer,
    )
    away = sentence("Without fact {number}", number=fact + 1)
    return TourStep(
        says,
        sentence("Take that fact away and ask again."),
        ".hops .board",
        act=(away, _build_address("reason", 5, {"text": build_story_without(fact)})),
    )


def _describe_change(number: int, now: str, answer: str) -> str:
    """Say how the answer without a fact compares with the one before."""
    if now == answer:
        return sentence(
            "Without fact {number} it still answers **{now}**. So it does not need that fact.",
            number=number,
            now=now,
        )
    return sentence(
        "Without fact {number} it now answers **{now}**, not **{answer}**. So it needs that fact.",
        number=number,
        now=now,
        answer=answer,
    )


LAST_STEP = TourStep(message("You have seen spans, heads, rectangles and a test."))
NEXT_LINKS = (
    (message("Your own sentence"), "./translate"),
    (message("How areas work"), "./how_areas_work"),
    (message("Compare two translators"), "./analyse"),
)
"""The three buttons at the end: labels and addresses."""
STEP_BUILDERS: Sequence[tuple[str, Callable[[Trace], TourStep]]] = (
    ("home", build_opening_step),
    ("translate", build_area_step),
    ("translate", build_head_step),
    ("caption", build_rectangle_step),
)
"""The pages of the first four steps, and what builds them. The fifth needs two traces."""
STEP_PAGES = (*(page for page, _ in STEP_BUILDERS), "reason")
MISSING_STEP = TourStep(message("This page has nothing to show for this step. Go on with Next."))
"""The step on a page without a model, or with an input of which the step can say nothing."""


def build_addresses(hero: Trace) -> list[str]:
    """Return the addresses of the five steps, relative to any page of the app.

    Home shows the trace `hero`, and Translate shows it again.
    """
    looks = [_add_focus(hero, choose_first_focus(hero)), _add_focus(hero, find_mixed_word(hero))]
    params = [{}, *looks, {"picture": TOUR_PICTURE, "site": SITE}, {"text": TOUR_STORY.text}]
    found = []
    for number, (page, given) in enumerate(zip(STEP_PAGES, params, strict=True), 1):
        found.append(_build_address(page, number, given))
    return found


def find_mixed_word(trace: Trace) -> Focus:
    """Return the word for which one head takes one word and another one several, most clearly.

    The word of `choose_first_focus` is left out, because an earlier step is about it.
    """
    first = choose_first_focus(trace)
    field = trace.fields[trace.maps[SITE].query]
    best, found = 0.0, first
    for item in _list_whole_words(field):
        tops = _list_tops(trace, first, item)
        single, several = _find_contrasting_heads(tops)
        if item in first.items or single is None or several is None:
            continue
        clarity = min(tops[single].weight, tops[several].weight)
        if clarity > best:
            best, found = clarity, Focus(SITE, first.layer, items=(item,))
    return found


def can_show_step(trace: Trace) -> bool:
    """Return whether one of the first four steps can be about a trace."""
    attention = trace.maps.get(SITE)
    return attention is not None and len(_list_whole_words(trace.fields[attention.query])) > 1


def find_read_fact(trace: Trace) -> int:
    """Return the index of the fact with most attention in the last hop."""
    return int(trace.maps["hops"].weights[-1, 0, 0].argmax())


def build_story_without(fact: int) -> str:
    """Return the text of the story without the fact with this index."""
    left = [one for place, one in enumerate(TOUR_STORY.facts) if place != fact]
    return " ".join([*left, TOUR_STORY.question])


def _build_address(page: str, number: int, params: Mapping[str, str]) -> str:
    path = "" if page == "home" else page
    return add_language(f"./{path}?{urlencode({**params, TOUR: str(number)})}")


def _add_focus(trace: Trace, focus: Focus) -> dict[str, str]:
    shown = Focus(focus.site, focus.layer, items=focus.items, unit="word", areas=focus.areas)
    params = build_link_params(trace.request, shown)
    del params["model"]
    return params


def _list_tops(trace: Trace, focus: Focus, item: int) -> list[Attended]:
    return list_top_areas(trace.maps[focus.site], focus.layer, item)


def _find_contrasting_heads(tops: Sequence[Attended]) -> tuple[int | None, int | None]:
    """Return the surest head that takes one item, and the surest one that takes several."""
    order = sorted(range(len(tops)), key=lambda head: -tops[head].weight)
    single = next((head for head in order if tops[head].area.size == 1), None)
    several = next((head for head in order if tops[head].area.size > 1), None)
    return single, several


def _list_whole_words(field: Field) -> list[int]:
    """Return the items that are whole words."""
    runs = [start for start, end in find_words(field) if end == start + 1]
    return [item for item in runs if field.labels[item].strip().isalpha()]


def _find_neighbour(field: Field, item: int) -> int:
    """Return the next whole word, or the one before the item at the end of the text."""
    there = [one for one in _list_whole_words(field) if one != item]
    return next((one for one in there if one > item), there[-1])


def _find_most_scattered_word(trace: Trace, item: int) -> int:
    """Return the word, other than an item, on whose heaviest areas the heads put least weight.

    Words of up to three letters, such as articles, are left out if there are longer ones.
    """
    attention = trace.maps[SITE]
    field, focus = trace.fields[attention.query], Focus(SITE)
    there = [one for one in _list_whole_words(field) if one != item]
    longer = [one for one in there if len(get_word_text(field, one)) > 3]
    return min(
        longer or there, key=lambda one: sum(top.weight for top in _list_tops(trace, focus, one))
    )


# The bar of the guided tour at the foot of a page. Its step is the URL parameter `tour`.


_BAR_SPACE_STYLE = "[data-testid=stMainBlockContainer] { padding-bottom: 11rem; }"
"""Space at the foot of the page, so that users can scroll everything out from under the bar."""


def draw_tour_bar() -> None:
    """Draw the bar of the present step if the page is open at one. Call this after the page."""
    value = st.query_params.get(TOUR, "")
    numbers = [str(number) for number in range(1, len(STEP_PAGES) + 1)]
    if value not in (*numbers, END_STEP):
        return
    number = len(STEP_PAGES) + 1 if value == END_STEP else int(value)
    found = build_addresses(load_hero_trace())
    # The end of the tour is on the page of the last step.
    found.append(found[-1].replace(f"{TOUR}={len(STEP_PAGES)}", f"{TOUR}={END_STEP}"))
    step = _build_step(number)
    if step in (LAST_STEP, MISSING_STEP):
        step = replace(step, says=sentence(step.says))
    data = {
        **asdict(step),
        "number": number,
        "count": len(STEP_PAGES),
        "back": found[number - 2] if number > 1 else "",
        "next": found[number] if number <= len(STEP_PAGES) else "",
        "ways": [[sentence(label), add_language(address)] for label, address in NEXT_LINKS]
        if value == END_STEP
        else [],
    }
    add_styles(_BAR_SPACE_STYLE)
    get_component("tour")(key="tour", data=data)


def _build_step(number: int) -> TourStep:
    """Return the step with this number, about what the page shows."""
    if number > len(STEP_PAGES):
        return LAST_STEP
    page = STEP_PAGES[number - 1]
    trace = _get_shown_trace(page)
    if trace is None or get_open_page().name != page:
        return MISSING_STEP
    if page == "reason":
        return (
            build_reason_step(trace, _run_whole_story(trace))
            if "hops" in trace.maps
            else MISSING_STEP
        )
    _, build = STEP_BUILDERS[number - 1]
    return build(trace) if can_show_step(trace) else MISSING_STEP


def _get_shown_trace(page: str) -> Trace | None:
    """Return the first trace that a page shows, None if it shows none."""
    if page == "home":
        return load_hero_trace()
    result = get_last_result(page)
    return result.traces[0] if result is not None else None


def _run_whole_story(trace: Trace) -> Trace | None:
    """Return the answer to the tour's whole story, None if the model cannot be asked."""
    try:
        return get_backend().trace(replace(trace.request, text=TOUR_STORY.text))
    except (InputError, BackendError):
        return None
