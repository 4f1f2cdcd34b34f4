"""The survey's four attention mechanisms on one picture, look by look.

Models with equal mechanisms are shown side by side. What they cost, and every other view, is in the
tabs below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.data.picture_samples import SAMPLES
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.ways_form import WAYS, Reader, WaysPage, readers_of
from areaviz.ui.look.chart import warning
from areaviz.ui.look.doubt import first_sentence
from areaviz.ui.look.result_page import up_to_date
from areaviz.ui.look.ways_tabs import below_readings
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.views.look import look_picture, steps

SOFT = "Bright is what soft attention read. "
WHAT_IS_DRAWN = (
    "A frame is what was read at this look. In a path of looks the line joins their middles, and"
    " the filled dot is the newest."
)


def four_ways(page: WaysPage, backend: Backend, cards: Cards, requests: Sequence[Request]) -> None:
    """Run one request for each model, and draw all models at the chosen step."""
    asked = readers_of(cards, page.state.kind)
    result = up_to_date(page, backend, requests, [reader.card.name for reader in asked])
    traces = dict(zip(result.titles, result.traces, strict=True))
    _own_picture(requests[0], asked[0].card)
    step, most = _step(page, result.traces), max(map(steps, result.traces))
    against = "average" if page.state.is_against and _is_comparable(result.traces) else "nothing"
    shown = [reader for reader in asked if reader.card.name in traces]
    ways = {reader.way for reader in shown}
    missing = [way.title.lower() for way in WAYS if way not in ways]
    # Draw missing models next to the models if the screen has room.
    beside = bool(missing) and len(shown) < len(WAYS)
    with st.container(key="ways"):
        places = st.columns(len(shown) + beside, gap="small")
        for reader, place in zip(shown, places, strict=False):
            with place.container(border=True, height="stretch"):
                _reading(reader, traces[reader.card.name], step, against)
        if missing:
            (places[-1] if beside else st).caption(
                f"No model here reads such pictures by these ways: {'; '.join(missing)}. All four"
                " read a digit among clutter: change what is read."
            )
    _look_picker(page, result.traces, most)
    st.markdown(finding(shown, traces, step, most))
    soft = SOFT if any(way.mechanism == "item-wise soft" for way in ways) else ""
    st.caption(f"{soft}{WHAT_IS_DRAWN}")
    below_readings(page, shown, traces, step, result.requests[0] if result.is_current else None)


def _own_picture(request: Request, card: Card) -> None:
    """Say what the models know about a picture that is not one of the app's samples."""
    if request.picture is not None and request.picture.name not in SAMPLES:
        st.warning(escaped(first_sentence(card.limits)))


def _step(page: WaysPage, traces: Sequence[Trace]) -> int:
    """Return the shown look, from 0; the page opens at the first one."""
    most = max(map(steps, traces))
    if most > 1:
        page.set(look=min(max(1, page.state.look or 1), most))
    return (page.state.look or 1) - 1 if most > 1 else 0


def _is_comparable(traces: Sequence[Trace]) -> bool:
    """Return whether the looks of some trace can be compared with their average."""
    return any(trace.maps and steps(trace) > 1 for trace in traces)


def _look_picker(page: WaysPage, traces: Sequence[Trace], most: int) -> None:
    """Draw the buttons of the looks, and the switch that subtracts the average of all looks."""
    with st.container(key="looks", horizontal=True, vertical_alignment="center", gap="medium"):
        if most > 1:
            looks = {look: str(look) for look in range(1, most + 1)}
            page.segments("Look", "look", looks)
        if _is_comparable(traces):
            page.widget(
                st.toggle,
                "Against the average of all looks",
                "is_against",
                help="Takes out the cells that a model looks at whatever it looks for.",
            )


def finding(readers: Sequence[Reader], traces: Mapping[str, Trace], step: int, most: int) -> str:
    """Say in Markdown which models read the digit at a look, and when the other ones do.

    Args:
        readers: the models.
        traces: their traces, by the names of the models.
        step: the shown look, from 0.
        most: the number of looks.
    """
    said = [f"**Look {step + 1} of {most}.**"] if most > 1 else []
    right = 0
    for reader in readers:
        trace = traces[reader.card.name]
        digit, labels = _digits_shown(trace), trace.fields[trace.output.field].labels
        seen = min(step, steps(trace) - 1)
        if len(digit) != 1:
            said.append("Each model shows what it has read so far.")
            return " ".join(said)
        if labels[seen] == digit:
            right += 1
            continue
        wrong = f"“{escaped(reader.title)}” says **{escaped(labels[seen])}**, which is wrong"
        later = _right_from(labels, digit, seen)
        said.append(f"{wrong}; from look {later} on it says **{digit}**." if later else f"{wrong}.")
    if right == len(readers):
        said.append("Every model reads the digit.")
    elif right:
        said.append(f"{right} of {len(readers)} models read the digit.")
    return " ".join(said)


def _right_from(labels: Sequence[str], digit: str, seen: int) -> int:
    """Return the look after `seen` from which all labels are the digit, 0 if there is none."""
    first = len(labels)
    while first > seen + 1 and labels[first - 1] == digit:
        first -= 1
    return first + 1 if first < len(labels) else 0


def _reading(reader: Reader, trace: Trace, step: int, against: str) -> None:
    st.header(escaped(reader.title), anchor=False)
    st.caption(reader.way.what)
    seen = min(step, steps(trace) - 1)
    alt = f"{reader.title}: what look {seen + 1} read"
    st.image(look_picture(trace, seen, against), width="stretch", alt=alt)
    label = trace.fields[trace.output.field].labels[seen]
    done = "its only look" if steps(trace) == 1 else f"look {seen + 1} of {steps(trace)}"
    sure = float(trace.output.probabilities[seen])
    answer, shown = trace.details.get("answer", ""), _digits_shown(trace)
    wrong = len(shown) == 1 and label != shown
    st.write(f"After {done}: **{escaped(label)}**, {sure:.0%} sure{_truth(shown, wrong)}")
    if len(answer) > 1:
        read = _read(answer, seen + 1, steps(trace))
        wrong = seen + 1 == steps(trace) and sorted(answer) != sorted(shown)
        st.write(f"Digits read: **{escaped(read)}**{_truth(' and '.join(shown), wrong)}")
    warning(trace)


def _digits_shown(trace: Trace) -> str:
    """Return the digits in the picture, if they are known."""
    picture = trace.request.picture
    known = SAMPLES.get(picture.name) if picture else None
    return known.digits if known else ""


def _truth(shown: str, wrong: bool) -> str:
    """Return the text that follows a wrong reading."""
    return f" – wrong, it shows {shown}" if wrong and shown else ""


def _read(answer: str, done: int, looks: int) -> str:
    """Return the digits of an answer after `done` steps, which take equal parts, or a dash."""
    return " ".join(answer[: len(answer) * done // looks]) or "–"
