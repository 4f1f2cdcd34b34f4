"""What came of a change: the outputs, the probability of the original one item by item, and how
faithful a map is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st

from areaviz.backend.base import Backend
from areaviz.evaluation.faithfulness import UNITS, Faithfulness, Probe, faithfulness, spread
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.look.chart import chart
from areaviz.ui.look.downloads import downloads
from areaviz.ui.shell.errors import calm
from areaviz.ui.shell.markdown import escaped, visible
from areaviz.ui.shell.waiting import waiting
from areaviz.ui.what_if.words import place_words
from areaviz.views import PAIRS

CAVEAT = (
    "Attention is not by itself an explanation. These numbers say how much the output depends on"
    " what this map points at, in this model and on this input; they do not say why."
)
K, UNIT = "what_if_k", "what_if_unit"
_ASKED, _MEASURED = "what_if_asked", "what_if_measured"
_NAMES = {"item": "Items", "area": "Areas"}


def outcome(before: Trace, after: Trace, forced: Trace, focus: Focus) -> None:
    """Both outputs, and the probability of the original one before and after."""
    one, two = (trace.fields[trace.output.field].raw for trace in (before, after))
    with st.container(key="what_if_outcome", gap="small"):
        st.caption("With the changes")
        st.text(visible(two) or "The model wrote nothing.")
        st.caption(
            "The output stays the same."
            if one == two
            else f"Instead of: {escaped(one) or 'nothing'}"
        )
        st.caption(_odds(before, forced))
    view = PAIRS["change"](before)
    if view.fits(forced, focus):
        st.caption(view.question)
        chart(view, forced, focus, "what_if")
        downloads(view, forced, focus, "what_if")


def _odds(before: Trace, forced: Trace) -> str:
    """The mean probability of the original output's items, before and after."""
    items = len(before.output.probabilities)
    means = [float(trace.output.probabilities[:items].mean()) for trace in (before, forced)]
    return (
        f"Mean probability of the original output: {means[0]:.2f} before, {means[1]:.2f} with the"
        " changes."
    )


def faithful(backend: Backend, trace: Trace, focus: Focus) -> None:
    """The faithfulness of the map that is looked at, measured when asked for."""
    if trace.maps[focus.site].memory == "history":
        return
    st.markdown("**How faithful is this map?**")
    place = place_words(trace, focus.site, focus.layer, focus.head)
    st.caption(f"{escaped(place)}: is what it points at what the output depends on? {CAVEAT}")
    st.session_state.setdefault(K, 5)
    st.session_state.setdefault(UNIT, UNITS[0])
    with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
        st.number_input("How many", 1, 100, key=K, width=120)
        st.segmented_control(
            "Of what", UNITS, key=UNIT, format_func=lambda unit: _NAMES[unit], required=True
        )
        probe = Probe(
            focus.site, focus.layer, focus.head, st.session_state[K], st.session_state[UNIT]
        )
        subject = replace(trace.request, target=trace.fields[trace.output.field].raw), probe
        st.button("Measure", key="what_if_measure", on_click=_ask, args=subject)
    if st.session_state.get(_ASKED) == subject:
        with calm("measuring the map"):
            _figures(_measured(backend, *subject), probe)


def _ask(request: Request, probe: Probe) -> None:
    st.session_state[_ASKED] = request, probe


def _measured(backend: Backend, request: Request, probe: Probe) -> Faithfulness:
    """What was measured of exactly this, before or now; raises InputError or BackendError."""
    kept: tuple[Request, Probe, Faithfulness] | None = st.session_state.get(_MEASURED)
    if kept is not None and kept[:2] == (request, probe):
        return kept[2]
    done, which = 0.0, ""
    with waiting("Measuring") as report:

        def begun(count: int, most: int) -> None:
            nonlocal done, which
            done, which = count / most, f", {count + 1} of {most}"

        def told(_: float, words: str) -> None:
            report(done, f"Measuring{which}. {words}")

        found = faithfulness(request, probe, partial(backend.trace, progress=told), begun)
    st.session_state[_MEASURED] = request, probe, found
    return found


def _figures(found: Faithfulness, probe: Probe) -> None:
    things = "items" if probe.unit == "item" else "areas"
    rows = {
        f"Without the {probe.k} {things} (comprehensiveness, high is faithful)": (
            found.comprehensiveness,
            found.random_comprehensiveness,
        ),
        f"With these {probe.k} {things} alone (sufficiency, low is faithful)": (
            found.sufficiency,
            found.random_sufficiency,
        ),
    }
    chance = ["{:.3f} ± {:.3f}".format(*spread(values)) for _, values in rows.values()]
    columns = {
        "Fall of the output's mean probability": list(rows),
        "As the map points": [_signed(value) for value, _ in rows.values()],
        f"By chance, {probe.draws} draws": [text.replace("-", "−") for text in chance],
    }
    st.table(columns, border="horizontal", hide_index=True)
    st.caption(
        f"Mean over {found.items} output items of mean probability {found.probability:.2f}; each"
        " loses or keeps its own, in all layers and heads of this attention. ± is the standard"
        " deviation of the draws."
    )


def _signed(value: float) -> str:
    return f"{np.round(value, 3) + 0.0:.3f}".replace("-", "−")
