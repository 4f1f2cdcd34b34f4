"""Attribution next to attention: its switch, and its agreement with the attention map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from areaviz.draw.comparison import describe_agreement
from areaviz.trace.derived import WAYS, find_attributions_of_layer, split_attributed_site
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.state import ATTRIBUTION, Cards
from areaviz.ui.results.tabs import ResultTab
from areaviz.ui.what_if.state import WhatIfPage

SWITCH_LABEL = "Compare with attribution"
SWITCH_HELP = (
    "Attention shows what the model read, not what changed its output. Attribution estimates that"
    " in two ways: rollout follows attention through all layers, and gradient × input measures how"
    " the probability of each output changes with each token. Each becomes a map of its own, which"
    " you choose below the picture."
)


def add_attribution(
    page: WhatIfPage, cards: Cards, requests: Sequence[Request]
) -> tuple[Request, ...]:
    """Return the requests, with attribution where the user wants it and the model supports it."""
    wanted = page.state.attribution
    return tuple(
        replace(request, attribution=wanted and "attribution" in cards[request.model].can)
        for request in requests
    )


def build_attribution_tab(page: WhatIfPage, cards: Cards, asked: Request) -> list[ResultTab]:
    """Return the tab with the switch for attribution, if the model supports it."""
    if "attribution" not in cards[asked.model].can:
        return []

    def draw(trace: Trace, focus: Focus) -> None:
        page.draw_widget(st.toggle, SWITCH_LABEL, "attribution")
        st.caption(SWITCH_HELP)
        # The tab is part of a fragment, but running a model requires the whole page.
        if page.state.attribution != asked.attribution:
            st.rerun()
        for sentence in _describe_attribution(trace, focus):
            st.caption(escape_markdown(sentence))

    return [ResultTab(ATTRIBUTION, "Attribution", draw)]


def _describe_attribution(trace: Trace, focus: Focus) -> list[str]:
    """Return notes for the user about the selected map if attribution was requested."""
    if not trace.request.attribution or focus.site not in trace.maps:
        return []
    said = [f"{way}: {trace.details[way]}." for way in WAYS.values() if way in trace.details]
    if split_attributed_site(focus.site)[1]:
        return [*said, "This is an attribution map, not attention: no head has these weights."]
    if find_attributions_of_layer(trace.maps, focus.site, focus.layer):
        said.append(f"Agreement with this map: {describe_agreement(trace, focus)}.")
    return said
