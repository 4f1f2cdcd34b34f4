"""What is being looked at, between reruns: set by links, widgets and the ribbon, always fitted to
the trace.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from areaviz.cards.card import Card
from areaviz.drawing.sites import site_name, sites
from areaviz.trace.limits import AREAS, UNITS
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus
from areaviz.ui.shell.markdown import escaped, shortened

SITE, LAYER, HEAD, VIEW = "focus_site", "focus_layer", "focus_head", "focus_view"
UNIT, SHOWN = "focus_unit", "focus_areas"
ALL_HEADS = -1
_SELECTED = "focus_selected"
_PARTS = (SITE, LAYER, HEAD, UNIT, SHOWN, VIEW, _SELECTED)
_PAGE, _PAGES, _BEGUN = "focus_page", "focus_of_pages", "focus_begun"


def turn_to(page: str) -> None:
    """Put away the focus of the page that was open before, and bring back this page's own."""
    state = st.session_state
    before = state.get(_PAGE)
    if before == page:
        return
    pages = state.setdefault(_PAGES, {})
    pages[before] = {key: state.pop(key) for key in (*_PARTS, _BEGUN) if key in state}
    state.update(pages.pop(page, {}))
    state[_PAGE] = page


def recall_focus(focus: Focus | None, view: str | None) -> None:
    """Look at what a link says; without a focus, at the default."""
    for key in (*_PARTS, _BEGUN):
        st.session_state.pop(key, None)
    if view:
        st.session_state[VIEW] = view
    if focus:
        st.session_state[SITE], st.session_state[LAYER] = focus.site, focus.layer
        adopt(focus)


def begin_with(card: Card) -> None:
    """With a model just chosen, look at the layer that points best at what words speak of, where
    that was measured.
    """
    state, begun = st.session_state, st.session_state.get(_BEGUN)
    state[_BEGUN] = card.name
    place, linked = card.pointing_head, begun is None and LAYER in state
    if place and begun != card.name and not linked:
        state[LAYER] = int(place[0])


def adopt(focus: Focus) -> None:
    """Make the selection, the head, the unit and the areas those of `focus`."""
    st.session_state[HEAD] = ALL_HEADS if focus.head is None else focus.head
    st.session_state[UNIT] = focus.unit
    st.session_state[SHOWN] = focus.areas
    st.session_state[_SELECTED] = (focus.site, focus.side, focus.items)


def unselect() -> None:
    """Point at nothing, as the text or the picture is a new one."""
    st.session_state.pop(_SELECTED, None)


def current_focus(trace: Trace) -> Focus:
    """What is being looked at, fitted to `trace`; says in a caption what it does not have."""
    site = _settled("Attention", SITE, sites(trace), lambda site: site_name(trace, site))
    layer = _settled("Layer", LAYER, layers(trace, site), layer_name)
    head = _settled("Head", HEAD, heads(trace, site), head_name)
    unit, areas = _settled("Point at", UNIT, UNITS, str), _settled("Areas of", SHOWN, AREAS, str)
    chosen, side, items = st.session_state.get(_SELECTED, (site, "query", ()))
    wanted = Focus(site, layer, None if head == ALL_HEADS else head, side, items, unit, areas)
    if chosen != site and not _same_field(trace, side, chosen, site):
        return replace(wanted, side="query", items=())
    focus = fitted(trace, wanted)
    if focus != wanted:
        st.caption("Some of the selected items lie beyond the end of this text and were left out.")
    return focus


def layers(trace: Trace, site: str) -> range:
    """The layers of a site; a gaze has one."""
    return range(trace.maps[site].layers if site in trace.maps else 1)


def heads(trace: Trace, site: str) -> list[int]:
    """All heads together, then each."""
    return [ALL_HEADS, *range(trace.maps[site].heads if site in trace.maps else 1)]


def side_field(trace: Trace, focus: Focus) -> Field:
    """The field whose items a focus chooses."""
    attention = trace.maps.get(focus.site) or trace.gazes[focus.site]
    return trace.fields[attention.query if focus.side == "query" else attention.memory]


def _same_field(trace: Trace, side: str, *sites: str) -> bool:
    """Whether these sites have the same items on that side."""
    known = all(site in trace.maps or site in trace.gazes for site in sites)
    return known and len({side_field(trace, Focus(site, side=side)).name for site in sites}) == 1


def layer_name(layer: int) -> str:
    """A layer as counted on the page, from 1."""
    return str(layer + 1)


def head_name(head: int) -> str:
    """A head as counted on the page, from 1."""
    return "All" if head == ALL_HEADS else str(head + 1)


def fitted(trace: Trace, focus: Focus) -> Focus:
    """`focus`, whose site `trace` must have, with every layer, head and item that it does not have
    left out.
    """
    length = len(side_field(trace, focus))
    return replace(
        focus,
        layer=min(focus.layer, layers(trace, focus.site)[-1]),
        head=focus.head if focus.head in heads(trace, focus.site) else None,
        items=tuple(item for item in focus.items if item < length),
    )


def _settled(label: str, key: str, options: Sequence[Any], name: Callable[[Any], str]) -> Any:
    """What was chosen or linked before, if it is one of `options`, else the first of them."""
    before = st.session_state.setdefault(key, options[0])
    if before in options:
        return before
    st.session_state[key] = options[0]
    st.caption(
        f"{label} “{escaped(shortened(name(before)))}” does not exist here; showing"
        f" “{name(options[0])}”."
    )
    return options[0]
