"""Attribution beside attention: the switch that asks for it, and how far it agrees with the map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from areaviz.trace.attribution import WAYS, attributed_site, beside
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.state import Cards
from areaviz.ui.what_if.state import WhatIfPage
from areaviz.views.beside import agreement_words

LABEL = "Attribution beside attention"
HELP = (
    "Attention says what was read, not what came of it. Two other ways say what the output depends"
    " on: rollout follows attention through all layers, gradient × input asks how the probability"
    " of each output changes with each item. Each is a map of its own under “Attention”."
)


def with_attribution(
    page: WhatIfPage, cards: Cards, requests: Sequence[Request]
) -> tuple[Request, ...]:
    """Requests that ask for it too, where the reader wants it and the model can."""
    wanted = page.state.attribution
    return tuple(
        replace(request, attribution=wanted and "attribution" in cards[request.model].can)
        for request in requests
    )


def attribution(page: WhatIfPage, cards: Cards, asked: Request, trace: Trace, focus: Focus) -> None:
    """Draw the switch, and what is to be said of the map that is looked at.

    Args:
        page: holds whether it is wanted.
        cards: of the models.
        asked: what the trace is of.
        trace: what is looked into.
        focus: at what.
    """
    if "attribution" not in cards[asked.model].can:
        return
    page.widget(st.toggle, LABEL, "attribution", help=HELP)
    # This is part of a fragment: what is to be run anew needs the whole page.
    if page.state.attribution != asked.attribution:
        st.rerun()
    for sentence in _sentences(trace, focus):
        st.caption(escaped(sentence))


def _sentences(trace: Trace, focus: Focus) -> list[str]:
    """What the reader should know of the map in focus, where attribution was asked for."""
    if not trace.request.attribution or focus.site not in trace.maps:
        return []
    said = [f"{way}: {trace.details[way]}." for way in WAYS.values() if way in trace.details]
    if attributed_site(focus.site)[1]:
        return [*said, "This map is attribution, not attention: no head attended so."]
    if beside(trace.maps, focus.site, focus.layer):
        said.append(f"Agreement with this map: {agreement_words(trace, focus)}.")
    return said
