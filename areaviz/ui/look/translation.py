"""What the model wrote, and how sure it was."""

from __future__ import annotations

import numpy as np
import streamlit as st

from areaviz.trace.arrays import NO_OUTPUT
from areaviz.trace.record import Trace
from areaviz.ui.shell.markdown import escaped, visible


def translation(trace: Trace, title: str, key: str) -> None:
    """The output as text, with the mean probability of its items and the one it was least sure of;
    if there is one.
    """
    output = trace.fields[trace.output.field]
    with st.container(key=f"translation_{key}", gap="small"):
        st.caption(escaped(title))
        if trace.output.field != NO_OUTPUT.field:
            st.text(visible(output.raw) or "The model wrote nothing.")
            st.caption(confidence(trace))
        if "warning" in trace.details:
            st.caption(f"Note: {escaped(trace.details['warning'])}")


def confidence(trace: Trace) -> str:
    """In words: the geometric mean of the output's probabilities, and its least sure item."""
    likely = trace.output.probabilities
    if not len(likely):
        return "no confidence, as nothing was written"
    least = int(np.argmin(likely))
    label = escaped(trace.fields[trace.output.field].labels[least])
    mean = float(np.exp(np.log(np.maximum(likely, 1e-12)).mean()))
    return f"Mean probability {mean:.2f}, least sure of “{label}” ({likely[least]:.2f})"
