"""The bar of the guided tour at the foot of a page. Its step is the URL parameter `tour`."""

from __future__ import annotations

from dataclasses import asdict, replace

import streamlit as st

from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.ui.app.component import get_component
from areaviz.ui.app.engine import get_backend
from areaviz.ui.app.frame import add_styles
from areaviz.ui.app.language import sentence, with_language
from areaviz.ui.app.page import open_page
from areaviz.ui.app.state import TOUR
from areaviz.ui.home.hero import hero_trace
from areaviz.ui.results.result_page import last_result
from areaviz.ui.tour.steps import (
    BUILDERS,
    END,
    LAST,
    MISSING,
    PAGES,
    STORY,
    WAYS_ON,
    Step,
    addresses,
    is_fit,
    reason_step,
)

_ROOM = "[data-testid=stMainBlockContainer] { padding-bottom: 11rem; }"
"""Space at the foot of the page, so that users can scroll everything out from under the bar."""


def tour_bar() -> None:
    """Draw the bar of the present step if the page is open at one. Call this after the page."""
    value = st.query_params.get(TOUR, "")
    numbers = [str(number) for number in range(1, len(PAGES) + 1)]
    if value not in (*numbers, END):
        return
    number = len(PAGES) + 1 if value == END else int(value)
    found = addresses(hero_trace())
    # The end of the tour is on the page of the last step.
    found.append(found[-1].replace(f"{TOUR}={len(PAGES)}", f"{TOUR}={END}"))
    step = _step(number)
    if step in (LAST, MISSING):
        step = replace(step, says=sentence(step.says))
    data = {
        **asdict(step),
        "number": number,
        "count": len(PAGES),
        "back": found[number - 2] if number > 1 else "",
        "next": found[number] if number <= len(PAGES) else "",
        "ways": [[sentence(label), with_language(address)] for label, address in WAYS_ON]
        if value == END
        else [],
    }
    add_styles(_ROOM)
    get_component("tour")(key="tour", data=data)


def _step(number: int) -> Step:
    """Return the step with this number, about what the page shows."""
    if number > len(PAGES):
        return LAST
    page = PAGES[number - 1]
    trace = _shown(page)
    if trace is None or open_page().name != page:
        return MISSING
    if page == "reason":
        return reason_step(trace, _whole_story(trace)) if "hops" in trace.maps else MISSING
    _, build = BUILDERS[number - 1]
    return build(trace) if is_fit(trace) else MISSING


def _shown(page: str) -> Trace | None:
    """Return the first trace that a page shows, None if it shows none."""
    if page == "home":
        return hero_trace()
    result = last_result(page)
    return result.traces[0] if result is not None else None


def _whole_story(trace: Trace) -> Trace | None:
    """Return the answer to the tour's whole story, None if the model cannot be asked."""
    try:
        return get_backend().trace(replace(trace.request, text=STORY.text))
    except (InputError, BackendError):
        return None
