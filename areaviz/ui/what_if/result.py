"""The result of a change: both outputs, their probabilities, and the faithfulness of a map."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.draw.labels import number_text
from areaviz.measures.faithfulness import (
    Contrast,
    Faithfulness,
    Probe,
    compute_mean_and_deviation,
    measure_faithfulness,
)
from areaviz.show.views import PAIRS
from areaviz.trace.query import format_given_output, is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.progress import draw_progress
from areaviz.ui.app.table import draw_text_table
from areaviz.ui.results.chart import draw_output, draw_view_chart
from areaviz.ui.what_if.change_texts import describe_place
from areaviz.ui.what_if.experiment import Experiment, can_read_output
from areaviz.ui.what_if.state import WhatIfPage

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
