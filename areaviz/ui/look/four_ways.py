"""The survey's four attention mechanisms on one picture, step by step, and their costs.

Models with equal mechanisms are shown side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.data.picture_samples import SAMPLES
from areaviz.drawing.gazes import TRANSFORMER
from areaviz.drawing.sites import sites
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.forms.ways_form import WAYS, Reader, WaysPage, chance_picker, readers_of
from areaviz.ui.look.chart import chart, view_picker, warning
from areaviz.ui.look.doubt import first_sentence
from areaviz.ui.look.result_page import up_to_date
from areaviz.ui.models.card_tables import measured
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.ui.shell.table import read_table
from areaviz.views.look import look_picture, steps

COSTS = {
    "pixels read": "Picture values read",
    "multiply-adds": "Multiply-adds",
    "draws": "Random choices",
}
SOFT = "Bright is what soft attention read. "
HOW_TO_READ = (
    "A frame is what was read at this look. In a path of looks the line joins their middles, and"
    " the filled dot is the newest."
)


def four_ways(page: WaysPage, backend: Backend, cards: Cards, requests: Sequence[Request]) -> None:
    """Run one request for each model, and draw all models at the chosen step."""
    asked = readers_of(cards, page.state.kind)
    result = up_to_date(page, backend, requests, [reader.card.name for reader in asked])
    traces = dict(zip(result.titles, result.traces, strict=True))
    _own_picture(requests[0], asked[0].card)
    step = _step(page, result.traces)
    against = _against(page, result.traces)
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
    soft = SOFT if any(way.mechanism == "item-wise soft" for way in ways) else ""
    st.caption(f"**How to read this.** {soft}{HOW_TO_READ}")
    chance_picker(page)
    _costs(shown, traces)
    look_closer(page, shown, traces, step, result.requests[0] if result.is_current else None)


def _own_picture(request: Request, card: Card) -> None:
    """Say what the models know about a picture that is not one of the app's samples."""
    if request.picture is not None and request.picture.name not in SAMPLES:
        st.warning(escaped(first_sentence(card.limits)))


def _step(page: WaysPage, traces: Sequence[Trace]) -> int:
    """Return the shown step, from 0."""
    most = max(map(steps, traces))
    if most < 2:
        return 0
    same = "All models are shown after the same number of looks."
    return _number(page, "look", "Look", most, most, same) - 1


def _against(page: WaysPage, traces: Sequence[Trace]) -> str:
    """Return what the steps are compared with: nothing, or the average of all steps."""
    if not any(trace.maps and steps(trace) > 1 for trace in traces):
        return "nothing"
    label = "Against the average of all looks"
    help = "Takes out the cells that a model looks at whatever it looks for."
    return "average" if page.widget(st.toggle, label, "is_against", help=help) else "nothing"


def _number(
    page: WaysPage, name: str, label: str, most: int, first: int, help: str | None = None
) -> int:
    """Draw a slider from 1 to `most`, which keeps its value if possible."""
    before = getattr(page.state, name) or first
    page.set(**{name: min(max(1, before), most)})
    return int(page.widget(st.slider, label, name, 1, most, help=help))


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


def _costs(shown: Sequence[Reader], traces: Mapping[str, Trace]) -> None:
    """Draw the cost of the whole reading, and the error rate on held-out digits."""
    st.header("What each of them costs", anchor=False)
    table = {"Way to look": [escaped(reader.title) for reader in shown]}
    for key, title in COSTS.items():
        table[title] = [traces[reader.card.name].details.get(key, "–") for reader in shown]
    table["Error on held-out pictures"] = [_error(reader.card) for reader in shown]
    read_table(table)
    st.caption(
        "Picture values read: how many pixels, or means of pixels, enter the model. Multiply-adds:"
        " of the whole reading. Random choices: where the hard models choose at random; they make"
        " learning noisy, as only a reward teaches them."
    )


def _error(card: Card) -> str:
    figures = card.figures.get(TASKS["digits"].headline, {})
    return measured("digits", "error", figures.get("error"))


@st.fragment
def look_closer(
    page: WaysPage,
    readers: Sequence[Reader],
    traces: Mapping[str, Trace],
    step: int,
    request: Request | None,
) -> None:
    """Let the user choose one of the readings, and show it in every view that applies.

    Args:
        page: its state has the selection.
        readers: the models with a trace.
        traces: the traces by model.
        step: the shown step, from 0.
        request: the request that a link restores; None if there is no link.
    """
    st.header("Look closer", anchor=False)
    titles = {reader.card.name: reader.title for reader in readers}
    named = page.state.reading
    first = next((one.card.name for one in readers if one.way.mechanism == named), named)
    page.set(reading=first)
    with st.container(border=True):
        trace = traces[page.segments("Reading", "reading", titles)]
        focus = Focus(sites(trace)[0])
        view = view_picker(page, trace, focus)
        if view is not None:
            st.caption(view.question)
            focus = _sample(page, trace, focus, step)
            chart(view, trace, focus, "ways")
    if request is None:
        page.keep({})
    else:
        page.offer(page.state.to_link(request, view=view.name if view else ""), request)


def _sample(page: WaysPage, trace: Trace, focus: Focus, step: int) -> Focus:
    """Let the user select one sample of a spatial transformer; the middle one is the default."""
    if focus.site != TRANSFORMER:
        return focus
    looks, _, rows, columns = trace.gazes[focus.site].seen.shape
    look = min(step, looks - 1)
    with st.container(horizontal=True, gap="medium"):
        row = _number(page, "row", "Row of the sample", rows, rows // 2 + 1)
        column = _number(page, "column", "Column of the sample", columns, columns // 2 + 1)
    return Focus(focus.site, items=((look * rows + row - 1) * columns + column - 1,))
