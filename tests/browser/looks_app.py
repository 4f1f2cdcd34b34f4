"""Three fake readings, shown step by step: a path of three glimpses, one glimpse, and a pair."""

from dataclasses import replace

import streamlit as st

from areaviz.app.components import draw_readings
from areaviz.trace.record import Trace
from areaviz.views.looks.looks import DigitReading
from tests import fakes


def labelled(labels: str, answer: str = "") -> Trace:
    """Return glimpses with these labels, one per glimpse."""
    made = fakes.gaze_trace(steps=len(labels))
    target = replace(made.fields["target"], labels=tuple(labels))
    fields = {**made.fields, "target": target}
    return replace(made, fields=fields, details={"answer": answer or labels[-1]})


st.set_page_config(layout="wide")
digits = st.query_params.get("digits", "3")
readings = [DigitReading("Glimpses", "Reads boxes.", labelled("733"))]
if digits == "3":
    readings.append(DigitReading("Window", "Reads once.", fakes.gaze_trace("transformer", 1, 1)))
else:
    readings = [DigitReading("Pair", "Reads two.", labelled("27", "27"), ["A note."])]
st.text(f"look: {draw_readings(readings, digits, 0, key='looks')}")
