"""The result of a change: a word and its alternative, both outputs, and faithfulness."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from areaviz.app.changes import Experiment, WhatIfPage, can_read_output, describe_place
from areaviz.app.chart import draw_output, draw_view_chart
from areaviz.app.run import draw_progress
from areaviz.app.texts import draw_text_table, escape_markdown, show_errors
from areaviz.backend.backend import Backend
from areaviz.draw.labels import number_text
from areaviz.measures.faithfulness import (
    MAX_FOIL_CHARACTERS,
    Contrast,
    Faithfulness,
    Odds,
    Probe,
    compute_mean_and_deviation,
    compute_odds,
    find_output_words,
    join_items,
    measure_faithfulness,
)
from areaviz.trace.query import format_given_output, is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.views.views import PAIRS

# A word and an alternative: the probabilities of both, before and after the changes.


_PROBABILITIES_KEY = "what_if_odds"


def choose_contrast(
    page: WhatIfPage, backend: Backend, run: Experiment, focus: Focus
) -> Contrast | None:
    """Let the user choose a word and an alternative. Return both if they have probabilities."""
    trace = run.before
    if not _is_generated_text(trace):
        return None
    st.markdown("**Why this word and not another?**")
    asked = _choose_words(page, trace, focus)
    if asked is None:
        return None
    with show_errors("comparing the words"):
        found = [("As it is", _get_probabilities(backend, trace, asked, None))]
        if run.runs:
            found.append(
                ("With the changes", _get_probabilities(backend, trace, asked, run.runs[1]))
            )
        _draw_table(trace, asked, found)
        return asked
    return None


def _is_generated_text(trace: Trace) -> bool:
    """Return whether the output is a text that was produced item by item."""
    output = trace.fields[trace.output.field]
    return "history" in trace.fields and output.is_text and bool(find_output_words(output))


def _choose_words(page: WhatIfPage, trace: Trace, focus: Focus) -> Contrast | None:
    """Let the user choose a word of the output, by default the locked one, and an alternative."""
    output = trace.fields[trace.output.field]
    words = {first: (first, last) for first, last in find_output_words(output)}
    if page.state.word not in words:
        page.set(word=_get_locked_word(trace, focus, words), foil=None)
    names, later = {}, _get_item_offset(trace, focus)
    for first, run in words.items():
        names[first] = f"{join_items(output, *run)} (item {first + later + 1})"
    with st.container(horizontal=True, gap="medium"):
        then = partial(page.set, foil=None)
        page.draw_widget(
            st.selectbox,
            "Why",
            "word",
            list(names),
            format_func=names.__getitem__,
            width=240,
            after_change=then,
        )
        first, last = words[page.state.word if page.state.word is not None else next(iter(words))]
        others = _list_alternatives(trace, first, last)
        typed = page.state.foil
        if typed and typed not in others:
            others.append(typed)
        page.draw_widget(
            st.selectbox,
            "And not",
            "foil",
            others,
            index=None,
            accept_new_options=True,
            placeholder="Choose or type another word" if others else "Type another word",
            width=300,
        )
    foil = page.state.foil
    return Contrast(first, last, foil[:MAX_FOIL_CHARACTERS]) if foil else None


def _list_alternatives(trace: Trace, first: int, last: int) -> list[str]:
    """Return the model's next most probable words; [] if the word has several items."""
    if last - first > 1:
        return []
    labels = [label for label, _ in trace.output.alternatives[first]]
    own = trace.fields[trace.output.field].labels[first]
    # The end symbol and other special symbols are not words.
    return [one for one in labels if one.strip() and not one.startswith("⟨") and one != own]


def _get_locked_word(trace: Trace, focus: Focus, words: dict[int, tuple[int, int]]) -> int:
    """Return the word that contains a locked item of the output, else the first word."""
    later = _get_item_offset(trace, focus)
    is_output = trace.maps[focus.site].query == trace.output.field or later
    for first, last in words.values():
        locked = (item - later for item in focus.items)
        if is_output and focus.side == "query" and any(first <= item < last for item in locked):
            return first
    return next(iter(words))


def _get_item_offset(trace: Trace, focus: Focus) -> int:
    """Return the offset between the items of the output and the text that attends.

    Decoders of external models attend from their input text, whose first item has no predecessor.
    """
    return int(trace.maps[focus.site].query == "history")


def _get_probabilities(
    backend: Backend, trace: Trace, asked: Contrast, changed: Trace | None
) -> Odds:
    """Return the probabilities. Cache the latest ones, because the panel is redrawn often."""
    requests = trace.request, None if changed is None else changed.request
    held: dict[tuple[Request, Request | None, Contrast], Odds] = st.session_state.get(
        _PROBABILITIES_KEY, {}
    )
    key = (*requests, asked)
    if key not in held:
        with draw_progress("Reading the other word") as report:
            found = compute_odds(trace, asked, partial(backend.trace, progress=report), changed)
        others = {one: value for one, value in held.items() if one[2] == asked}
        held = st.session_state[_PROBABILITIES_KEY] = {**others, key: found}
    return held[key]


def _draw_table(trace: Trace, asked: Contrast, found: list[tuple[str, Odds]]) -> None:
    word = join_items(trace.fields[trace.output.field], asked.first, asked.last)
    columns = {
        "": [name for name, _ in found],
        f"p({escape_markdown(word)})": [_format_share(one.word) for _, one in found],
        f"p({escape_markdown(asked.foil)})": [_format_share(one.foil) for _, one in found],
        "Difference": [number_text(one.difference, "+.3f") for _, one in found],
        "Log ratio": [number_text(one.log_ratio, "+.2f") for _, one in found],
    }
    draw_text_table(columns)
    st.caption(
        "The probability of each after the same words, multiplied over its items. A log ratio above"
        " 0 favours the word that the model wrote. A log ratio of 0.69 is twice as probable."
    )


def _format_share(probability: float) -> str:
    """Format a probability. Small values, which are typical of alternatives, get more digits."""
    return f"{probability:.3f}" if probability >= 0.001 else f"{probability:.6f}"


# The result of a change: both outputs, their probabilities, and the faithfulness of a map.


CAVEAT = (
    "Attention is not by itself an explanation. These numbers say how much the output depends on"
    " what this map points at, in this model and on this input. They do not say why."
)
_OWN_AREAS_NOTE = (
    "Each item sees what stands before it: one that sees no more than {k} {unit}s keeps them all"
    " and does not count. What an item loses, items before it may still hand on."
)
_UNIT_LABELS = {"item": "Items", "area": "Areas"}
_FALL_TITLES = (
    "How much less probable the output becomes",
    "How much of the word's lead over the other is lost",
)
_BASIS_LABELS = {False: "The output", True: "The word against the other"}


def draw_outcome(before: Trace, after: Trace, forced: Trace, focus: Focus) -> None:
    """Draw both outputs, and the probability of the original output before and after."""
    one = before.fields[before.output.field].raw
    two = after.fields[after.output.field].raw
    with st.container(key="what_if_outcome", gap="small"):
        st.caption("With the changes")
        draw_output(after)
        if one == two:
            st.caption("The output stays the same.")
        else:
            st.caption(f"Instead of: {escape_markdown(one) or 'nothing'}")
        st.caption(_describe_probabilities(before, forced))
    view = PAIRS["change"](before)
    if view.fits(forced, focus):
        st.caption(view.question)
        draw_view_chart(view, forced, focus, "what_if")


def _describe_probabilities(before: Trace, forced: Trace) -> str:
    """Describe the mean probability of the original output's items, before and after."""
    items = len(before.output.probabilities)
    means = []
    for trace in (before, forced):
        likely = np.maximum(trace.output.probabilities[:items], 1e-12)
        means.append(float(np.exp(np.log(likely).mean())))
    return (
        f"Mean probability of the original output: {means[0]:.2f} before, {means[1]:.2f} with the"
        " changes."
    )


def draw_faithfulness(
    page: WhatIfPage, backend: Backend, run: Experiment, focus: Focus, contrast: Contrast | None
) -> None:
    """Draw the faithfulness of the selected map, which is measured on demand.

    A word and its alternative, `contrast`, allow another measurement.
    """
    trace = run.before
    attention = trace.maps[focus.site]
    reads_input = attention.memory != "history" or is_one_text(trace)
    if not reads_input or attention.derived or not can_read_output(run.request.model):
        return
    st.markdown("**How faithful is this map?**")
    place = describe_place(trace, focus.site, focus.layer, focus.head)
    st.caption(
        f"{escape_markdown(place)}: does the output really depend on what this map highlights?"
        f" {CAVEAT}"
    )
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        k = page.draw_widget(st.number_input, "How many", "k", 1, 100, width=120)
        unit = page.choose_segment("Of what", "unit", _UNIT_LABELS)
        by_contrast = contrast is not None and page.choose_segment(
            "By", "is_contrast", _BASIS_LABELS
        )
        probe = Probe(focus.site, focus.layer, focus.head, k, unit)
        if by_contrast:
            probe = replace(probe, contrast=contrast)
        # Use the original request: the model may have received only a part of its picture.
        asked = run.request.checked()
        request = replace(asked, target=format_given_output(trace))
        subject = request, probe
        st.button(
            "Measure", key=page.key("measure"), on_click=page.set, kwargs={"measured": subject}
        )
    if page.state.measured == subject:
        with show_errors("measuring the map"):
            if page.state.faithfulness.get(subject) is None:
                page.set(faithfulness={subject: _measure_faithfulness(backend, request, probe)})
            _format_figures(page.state.faithfulness[subject], probe)
            if attention.memory == "history":
                st.caption(_OWN_AREAS_NOTE.format(k=probe.k, unit=probe.unit))


def _measure_faithfulness(backend: Backend, request: Request, probe: Probe) -> Faithfulness:
    """Measure the faithfulness of the map; raises InputError or BackendError."""
    done, which = 0.0, ""
    with draw_progress("Measuring") as report:

        def begin_run(count: int, most: int) -> None:
            nonlocal done, which
            done, which = count / most, f", {count + 1} of {most}"

        def report_run(_: float, words: str) -> None:
            report(done, f"Measuring{which}. {words}")

        run = partial(backend.trace, progress=report_run)
        return measure_faithfulness(request, probe, run, begin_run)


def _format_figures(found: Faithfulness, probe: Probe) -> None:
    things = "items" if probe.unit == "item" else "areas"
    rows = [
        f"Without the {probe.k} {things} that the map highlights (high: the map is faithful)",
        f"With these {probe.k} {things} alone (low: the map is faithful)",
    ]
    chance = []
    for draws in (found.random_comprehensiveness, found.random_sufficiency):
        mean, deviation = compute_mean_and_deviation(draws)
        chance.append(f"{number_text(mean, '.3f')} ± {deviation:.3f}")
    columns = {
        _FALL_TITLES[probe.contrast is not None]: rows,
        "As the map points": [
            _format_signed(found.comprehensiveness),
            _format_signed(found.sufficiency),
        ],
        f"By chance, {probe.draws} draws": chance,
    }
    draw_text_table(columns)
    if probe.contrast is not None:
        foil = escape_markdown(probe.contrast.foil)
        st.caption(
            f"The lead is the probability of the word less that of “{foil}”:"
            f" {_format_signed(found.probability)} with all of the attention. Each output item"
            " loses or keeps its own, in all layers and heads. ± is the standard deviation of the"
            " draws."
        )
        return
    st.caption(
        f"Mean over {found.items} output items of mean probability {found.probability:.2f}."
        " Each loses or keeps its own, in all layers and heads of this attention. ± is the standard"
        " deviation of the draws. Papers call the two comprehensiveness and sufficiency."
    )


def _format_signed(value: float) -> str:
    return number_text(np.round(value, 3) + 0.0, ".3f")
