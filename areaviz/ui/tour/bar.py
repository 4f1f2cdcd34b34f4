"""The bar of the guided tour at the foot of a page. Its step is the URL parameter `tour`."""

from __future__ import annotations

from dataclasses import asdict, replace

import streamlit as st

from areaviz.app.components import get_component
from areaviz.app.frame import add_styles
from areaviz.app.home import load_hero_trace
from areaviz.app.page import TOUR, get_open_page
from areaviz.app.result import get_last_result
from areaviz.app.run import get_backend
from areaviz.app.texts import add_language, sentence
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.ui.tour.steps import (
    END_STEP,
    LAST_STEP,
    MISSING_STEP,
    NEXT_LINKS,
    STEP_BUILDERS,
    STEP_PAGES,
    TOUR_STORY,
    TourStep,
    build_addresses,
    build_reason_step,
    can_show_step,
)

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
