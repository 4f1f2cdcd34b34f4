"""The five steps of the guided tour: where each takes place, what it says and what it asks for.

All words, areas and percentages are read from the trace that the page shows, so another sentence or
a newly trained model needs no edit here. A text has its important words between `**`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from areaviz.interactive.default_focus import SITE, choose_first_focus, choose_first_item
from areaviz.texts.catalogue import message
from areaviz.trace.query import Attended, find_words
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.ui.app.language import sentence, with_language
from areaviz.ui.app.state import TOUR, link_params
from areaviz.ui.forms.reason_samples import STORIES
from areaviz.ui.tour.step_texts import (
    percent_text,
    place_text,
    quoted,
    span_text,
    tops_of_heads,
    word_text,
)

END = "end"
"""The value of the URL parameter after the last step."""
PICTURE = "scene-34"
STORY = STORIES[0]
_NUMBERS = (
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
_SENTENCE = ":is(.ribbon, .grid) .say"


@dataclass(frozen=True, slots=True)
class Step:
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


def opening_step(trace: Trace) -> Step:
    """Introduce a translator on Home, whose ribbon can play how one word is written."""
    lit = word_text(trace.fields[trace.maps[SITE].query], choose_first_focus(trace).items[0])
    return Step(
        sentence(
            "A translator writes German word by word. Before each word it looks back at the"
            " English."
        ),
        sentence("Press **Play** and see how it writes **{word}**.", word=lit),
        ".ribbon .opener, .ribbon .play",
        watch=".ribbon .play .go[data-done]",
    )


def area_step(trace: Trace) -> Step:
    """Introduce an area by the heaviest span of the word that shows spans best."""
    focus = choose_first_focus(trace)
    attention = trace.maps[SITE]
    target, source = trace.fields[attention.query], trace.fields[attention.memory]
    top = max(_tops(trace, focus, focus.items[0]), key=lambda one: one.weight * one.area.width)
    lit = word_text(target, focus.items[0])
    other = word_text(target, _neighbour(target, focus.items[0]))
    taken = f"{quoted(span_text(source, top.area))} ({percent_text(top)})"
    says = message(
        "It may take neighbours as one: an **area**. To write **{word}** it takes {taken}."
    )
    # The model can be limited to single words under Options.
    if top.area.width == 1:
        says = message(
            "It may take neighbours as one: an **area**. To write **{word}** it takes one word,"
            " {taken}."
        )
    return Step(
        sentence(says, word=lit, taken=taken),
        sentence("Point at **{word}**.", word=other),
        ".ribbon [data-side=memory] .view",
        quoted(lit),
        quoted(other),
        watch=_SENTENCE,
    )


def head_step(trace: Trace) -> Step:
    """Introduce heads by a word for which one head takes one word and another takes several."""
    focus = mixed_look(trace)
    attention = trace.maps[SITE]
    source = trace.fields[attention.memory]
    lit = word_text(trace.fields[attention.query], focus.items[0])
    tops = _tops(trace, focus, focus.items[0])
    single, several = _heads_apart(tops)
    says = sentence("Each colour is one **head**, which looks for itself.")
    if single is not None and several is not None:
        says += " " + sentence(
            "For **{word}**, head {one} takes {single} alone, and head {other} takes {several}"
            " as one.",
            word=lit,
            one=single + 1,
            single=quoted(span_text(source, tops[single].area)),
            other=several + 1,
            several=quoted(span_text(source, tops[several].area)),
        )
    asks = sentence("Point at another word.")
    return Step(says, asks, ".ribbon .legend", quoted(lit), watch=_SENTENCE)


def rectangle_step(trace: Trace) -> Step:
    """Introduce rectangles by the word with which Caption opens."""
    attention = trace.maps[SITE]
    target = trace.fields[attention.query]
    focus = Focus(SITE)
    item, *_ = choose_first_item(attention, focus.layer, target)
    tops = _tops(trace, focus, item)
    wide = [one for one in tops if one.area.size > 1]
    top = max(wide or tops, key=lambda one: one.weight)
    scattered = _most_scattered(trace, item)
    other = word_text(target, scattered)
    places = len({one.area for one in _tops(trace, focus, scattered)})
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
        word=word_text(target, item),
        some=sentence(_NUMBERS[len(wide)]),
        all=sentence(_NUMBERS[len(tops)]),
        where=place_text(top.area),
        share=percent_text(top),
    )
    asks = message("Point at **{word}**: its heads look at {count} places.")
    if places == 1:
        asks = message("Point at **{word}**: all its heads look at {count} place.")
    return Step(
        told,
        sentence(asks, word=other, count=places),
        ".grid [data-side=memory] .view",
        quoted(word_text(target, item)),
        quoted(other),
        watch=_SENTENCE,
    )


def reason_step(trace: Trace, before: Trace | None) -> Step:
    """Offer to ask without the fact that the last hop reads, or say what that has changed.

    The trace of the whole story is `before`, None if it is not stored.
    """
    whole = before or trace
    fact = read_fact(whole)
    answer = whole.fields[whole.output.field].raw
    if trace.request.text == story_without(fact):
        now = trace.fields[trace.output.field].raw
        return Step(_without(fact + 1, now, answer), look=".hops .answer")
    label = whole.fields[whole.maps["hops"].memory].labels[fact]
    says = sentence(
        "Does it need what it looks at? Its last hop reads fact {number}, {fact}, and it answers"
        " **{answer}**.",
        number=fact + 1,
        fact=quoted(label.rstrip(".")),
        answer=answer,
    )
    away = sentence("Without fact {number}", number=fact + 1)
    return Step(
        says,
        sentence("Take that fact away and ask again."),
        ".hops .board",
        act=(away, _address("reason", 5, {"text": story_without(fact)})),
    )


def _without(number: int, now: str, answer: str) -> str:
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


LAST = Step(message("You have seen spans, heads, rectangles and a test."))
WAYS_ON = (
    (message("Your own sentence"), "./translate"),
    (message("How areas work"), "./how_areas_work"),
    (message("Compare two translators"), "./analyse"),
)
"""The three buttons at the end: labels and addresses."""
BUILDERS: Sequence[tuple[str, Callable[[Trace], Step]]] = (
    ("home", opening_step),
    ("translate", area_step),
    ("translate", head_step),
    ("caption", rectangle_step),
)
"""The pages of the first four steps, and what builds them. The fifth needs two traces."""
PAGES = (*(page for page, _ in BUILDERS), "reason")
MISSING = Step(message("This page has nothing to show for this step. Go on with Next."))
"""The step on a page without a model, or with an input of which the step can say nothing."""


def addresses(hero: Trace) -> list[str]:
    """Return the addresses of the five steps, relative to any page of the app.

    Home shows the trace `hero`, and Translate shows it again.
    """
    looks = [_focused(hero, choose_first_focus(hero)), _focused(hero, mixed_look(hero))]
    params = [{}, *looks, {"picture": PICTURE, "site": SITE}, {"text": STORY.text}]
    found = []
    for number, (page, given) in enumerate(zip(PAGES, params, strict=True), 1):
        found.append(_address(page, number, given))
    return found


def mixed_look(trace: Trace) -> Focus:
    """Return the word for which one head takes one word and another one several, most clearly.

    The word of `choose_first_focus` is left out, because an earlier step is about it.
    """
    first = choose_first_focus(trace)
    field = trace.fields[trace.maps[SITE].query]
    best, found = 0.0, first
    for item in _whole_words(field):
        tops = _tops(trace, first, item)
        single, several = _heads_apart(tops)
        if item in first.items or single is None or several is None:
            continue
        clarity = min(tops[single].weight, tops[several].weight)
        if clarity > best:
            best, found = clarity, Focus(SITE, first.layer, items=(item,))
    return found


def is_fit(trace: Trace) -> bool:
    """Return whether one of the first four steps can be about a trace."""
    attention = trace.maps.get(SITE)
    return attention is not None and len(_whole_words(trace.fields[attention.query])) > 1


def read_fact(trace: Trace) -> int:
    """Return the index of the fact with most attention in the last hop."""
    return int(trace.maps["hops"].weights[-1, 0, 0].argmax())


def story_without(fact: int) -> str:
    """Return the text of the story without the fact with this index."""
    left = [one for place, one in enumerate(STORY.facts) if place != fact]
    return " ".join([*left, STORY.question])


def _address(page: str, number: int, params: Mapping[str, str]) -> str:
    path = "" if page == "home" else page
    return with_language(f"./{path}?{urlencode({**params, TOUR: str(number)})}")


def _focused(trace: Trace, focus: Focus) -> dict[str, str]:
    shown = Focus(focus.site, focus.layer, items=focus.items, unit="word", areas=focus.areas)
    params = link_params(trace.request, shown)
    del params["model"]
    return params


def _tops(trace: Trace, focus: Focus, item: int) -> list[Attended]:
    return tops_of_heads(trace.maps[focus.site], focus.layer, item)


def _heads_apart(tops: Sequence[Attended]) -> tuple[int | None, int | None]:
    """Return the surest head that takes one item, and the surest one that takes several."""
    order = sorted(range(len(tops)), key=lambda head: -tops[head].weight)
    single = next((head for head in order if tops[head].area.size == 1), None)
    several = next((head for head in order if tops[head].area.size > 1), None)
    return single, several


def _whole_words(field: Field) -> list[int]:
    """Return the items that are whole words."""
    runs = [start for start, end in find_words(field) if end == start + 1]
    return [item for item in runs if field.labels[item].strip().isalpha()]


def _neighbour(field: Field, item: int) -> int:
    """Return the next whole word, or the one before the item at the end of the text."""
    there = [one for one in _whole_words(field) if one != item]
    return next((one for one in there if one > item), there[-1])


def _most_scattered(trace: Trace, item: int) -> int:
    """Return the word, other than an item, on whose heaviest areas the heads put least weight.

    Words of up to three letters, such as articles, are left out if there are longer ones.
    """
    attention = trace.maps[SITE]
    field, focus = trace.fields[attention.query], Focus(SITE)
    there = [one for one in _whole_words(field) if one != item]
    longer = [one for one in there if len(word_text(field, one)) > 3]
    return min(longer or there, key=lambda one: sum(top.weight for top in _tops(trace, focus, one)))
