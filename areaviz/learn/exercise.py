"""Exercises of a teacher's own: the link, and the page that asks before it answers.

A link carries the sentence, the output item and the head, never the answer. The answer is computed
and sent to the browser only after the student has asked to see it. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import urlencode

import streamlit as st

from areaviz.app.components import draw_ribbon
from areaviz.app.page import build_link_params, make_names_unique
from areaviz.app.run import get_backend
from areaviz.app.texts import escape_markdown, get_language_params, sentence, show_errors
from areaviz.learn.tour import format_percent, get_span_text
from areaviz.texts.catalogue import message
from areaviz.trace.areas import Area
from areaviz.trace.errors import InputError
from areaviz.trace.query import top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request, from_params
from areaviz.views.message import SITE, choose_first_focus

EXERCISE_PARAM = "exercise"
"""The URL parameter with which an exercise opens."""
_SHOWN_KEY = "teach_shown"


def build_exercise_params(request: Request, layer: int, head: int, item: int) -> dict[str, str]:
    """Return the URL parameters of an exercise: the question, without its answer."""
    focus = Focus(SITE, layer, head, items=(item,))
    return {EXERCISE_PARAM: "1", **build_link_params(request, focus)}


def draw_exercise_maker(first: Trace) -> None:
    """Draw the form that makes the link of an exercise. It begins with a translation."""
    st.header(sentence("Copy an exercise of your own"), anchor=False)
    st.markdown(
        sentence(
            "Choose a sentence, a German word and a head. Students who open the link guess first."
            " The link does not contain the answer."
        )
    )
    text = st.text_input(
        sentence("English sentence"), first.request.text, max_chars=200, key="teach_text"
    )
    with show_errors(message("translating the sentence")):
        trace = get_backend().trace(Request(first.request.model, text).checked())
        look = choose_first_focus(trace)
        attention = trace.maps[SITE]
        labels = _make_labels_unique(trace.fields[attention.query].labels)
        one, two, three = st.columns([2, 1, 1])
        items = range(len(labels))
        start = look.items[0] if look.items else 0
        word = one.selectbox(sentence("German word"), items, start, format_func=labels.__getitem__)
        layer = two.selectbox(
            sentence("Layer"), range(attention.layers), look.layer, format_func=_count_from_one
        )
        head = three.selectbox(
            sentence("Head"), range(attention.heads), format_func=_count_from_one
        )
        params = build_exercise_params(trace.request, layer, head, word) | get_language_params()
        address = (st.context.url or "").partition("?")[0]
        st.code(f"{address}?{urlencode(params)}", language=None, wrap_lines=True)


def draw_exercise(params: Mapping[str, str], model: str) -> None:
    """Draw the question of a link, and its answer once asked for. A link may name no `model`."""
    with show_errors(message("opening the exercise")):
        request, focus = from_params({"model": model, **params})
        trace = get_backend().trace(request.checked())
        focus = check_focus(trace, focus)
        _draw_question(trace, focus, dict(params))


def check_focus(trace: Trace, focus: Focus | None) -> Focus:
    """Return the focus of an exercise.

    Raises:
        InputError: the link names no word or head, or one that the translation does not have.
    """
    if focus is None or focus.head is None or len(focus.items) != 1 or SITE not in trace.maps:
        raise InputError(
            sentence("This exercise names no word or no head. Ask your teacher for the whole link.")
        )
    attention = trace.maps[SITE]
    count = len(trace.fields[attention.query])
    limits = (
        (message("layer"), focus.layer, attention.layers),
        (message("head"), focus.head, attention.heads),
        (message("word"), focus.items[0], count),
    )
    for name, value, limit in limits:
        if not 0 <= value < limit:
            raise InputError(
                sentence(
                    "The link asks for {name} {number}, but there are {count}. Ask your teacher for"
                    " a new link.",
                    name=sentence(name),
                    number=value + 1,
                    count=limit,
                )
            )
    return Focus(SITE, focus.layer, focus.head, items=focus.items)


def compare_guess(guess: Sequence[int], area: Area) -> str:
    """Say how a guess compares with the area. Begin with what is right.

    The items between the first and the last guessed one belong to the guess.
    """
    if not guess:
        return ""
    taken = set(range(area.left, area.left + area.width))
    guessed = set(range(min(guess), max(guess) + 1))
    if guessed == taken:
        return sentence("Your guess is exactly what the head takes.")
    if guessed < taken:
        return sentence("Close: the head takes your guess and more.")
    if taken < guessed:
        return sentence("Close: your guess holds what the head takes.")
    if guessed & taken:
        return sentence("Partly: your guess and the area share words.")
    return sentence("The head takes other words.")


def _draw_question(trace: Trace, focus: Focus, params: dict[str, str]) -> None:
    attention = trace.maps[SITE]
    query, memory = trace.fields[attention.query], trace.fields[attention.memory]
    [item] = focus.items
    head = (focus.head or 0) + 1
    word = escape_markdown(query.labels[item].strip())
    st.header(
        sentence(
            "The model is about to write “{word}”. Which English words does head {head} of layer"
            " {layer} take as one?",
            word=word,
            head=head,
            layer=focus.layer + 1,
        ),
        anchor=False,
    )
    st.markdown(sentence("It translates “{text}”", text=escape_markdown(trace.request.text)))
    names = _make_labels_unique(memory.labels)
    key = f"teach_guess_{urlencode(params)}"
    guess = st.pills(
        sentence("Your guess: the first word and the last word. One word alone is allowed."),
        list(range(len(names))),
        selection_mode="multi",
        format_func=names.__getitem__,
        key=key,
    )
    is_shown = st.session_state.get(_SHOWN_KEY) == params
    if not is_shown:
        with st.container(horizontal=True):
            st.button(
                sentence("Show what it took"),
                type="primary",
                disabled=not guess,
                on_click=_show_answer,
                args=(params,),
            )
            skip = sentence("I don’t know, show me")
            st.button(skip, type="tertiary", on_click=_show_answer, args=(params,))
        return
    top = top_areas(attention, focus.layer, focus.head or 0, item, k=1)[0]
    span = escape_markdown(get_span_text(memory, top.area))
    took = sentence(
        "Head {head} takes **“{span}”** ({share}).", head=head, span=span, share=format_percent(top)
    )
    st.markdown(f"{compare_guess(guess, top.area)} {took}")
    with st.container(border=True):
        draw_ribbon(trace, focus, key="teach")


def _show_answer(params: dict[str, str]) -> None:
    st.session_state[_SHOWN_KEY] = params


def _make_labels_unique(labels: Sequence[str]) -> list[str]:
    """Return the labels of items, all different."""
    return make_names_unique(
        [escape_markdown(label.strip()) or sentence("space") for label in labels]
    )


def _count_from_one(number: int) -> str:
    return f"{number + 1}"
