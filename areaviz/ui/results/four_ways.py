"""The survey's four attention mechanisms on one picture, look by look.

Models with the same mechanism are shown side by side. The tabs below the pictures show the costs
of the models and all other views.
"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.samples.own_media import PICTURE_SAMPLES
from areaviz.show.looks.looks import DigitReading, count_steps
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.app.engine import find_card
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.state import Cards
from areaviz.ui.components.items import draw_readings
from areaviz.ui.forms.mechanisms_form import MECHANISMS, MechanismsPage, list_digit_models
from areaviz.ui.results.mechanism_tabs import ShownModels, draw_mechanism_tabs
from areaviz.ui.results.output_warnings import get_first_sentence, list_output_warnings
from areaviz.ui.results.result_page import get_current_result

SOFT_NOTE = "Bright is what soft attention read. "
WHAT_IS_DRAWN = (
    "A frame is what was read at this look. From look 2 on, a line joins the middles of the looks,"
    " and the filled dot is the newest."
)


def draw_four_ways(
    page: MechanismsPage, backend: Backend, cards: Cards, requests: Sequence[Request]
) -> None:
    """Run one request for each model, and draw all models at the chosen step."""
    asked = list_digit_models(cards, page.state.kind)
    result = get_current_result(page, backend, requests, [reader.card.name for reader in asked])
    traces = dict(zip(result.titles, result.traces, strict=True))
    _draw_own_picture_note(requests[0], asked[0].card)
    names = [(reader, reader.card.name) for reader in asked]
    shown = [(reader, traces[name]) for reader, name in names if name in traces]
    step = _draw_readings(page, shown)
    ways = {reader.way for reader, _ in shown}
    missing = [way.mechanism for way in MECHANISMS if way not in ways]
    if missing:
        st.caption(
            f"No model here reads such pictures by these ways: {'; '.join(missing)}. All four"
            " read a digit among clutter: change what is read."
        )
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        soft = SOFT_NOTE if any(way.mechanism == "item-wise soft" for way in ways) else ""
        st.caption(f"{soft}{WHAT_IS_DRAWN}")
        if _is_comparable(result.traces):
            page.draw_widget(
                st.toggle,
                "Against the average of all looks",
                "is_against",
                help="Takes out the cells that a model attends to in every look.",
            )
    draw_mechanism_tabs(page, shown, step, result.requests[0] if result.is_current else None)


def _draw_readings(page: MechanismsPage, shown: ShownModels) -> int:
    """Draw all readings at the same look, and return the number of this look, counted from 0.

    The page opens at the first look.
    """
    drawn = [trace for _, trace in shown]
    most = max(map(count_steps, drawn))
    against = "average" if page.state.is_against and _is_comparable(drawn) else "nothing"
    look = min(max(1, page.state.look or 1), most) - 1
    readings = []
    for reader, trace in shown:
        readings.append(DigitReading(reader.title, reader.way.what, trace, _list_notes(trace)))
    with st.container(key="ways"):
        look = draw_readings(
            readings, _get_shown_digits(drawn[0]), look, against, key=page.key("looks")
        )
    look = min(max(0, look), most - 1)
    if most > 1:
        page.set(look=look + 1)
    return look


def _list_notes(trace: Trace) -> list[str]:
    """Return notes for the user about a run, and reasons to doubt it."""
    said = [f"Note: {trace.details['warning']}"] if "warning" in trace.details else []
    return [*said, *list_output_warnings(find_card(trace.request.model), trace)]


def _draw_own_picture_note(request: Request, card: Card) -> None:
    """Draw a note on what the models can do with a picture that is not one of the app's samples."""
    if request.picture is not None and request.picture.name not in PICTURE_SAMPLES:
        st.warning(escape_markdown(get_first_sentence(card.limits)))


def _is_comparable(traces: Sequence[Trace]) -> bool:
    """Return whether any trace has maps of several looks, to compare with their average."""
    return any(trace.maps and count_steps(trace) > 1 for trace in traces)


def _get_shown_digits(trace: Trace) -> str:
    """Return the digits in the picture, if they are known."""
    picture = trace.request.picture
    known = PICTURE_SAMPLES.get(picture.name) if picture else None
    return known.digits if known else ""
