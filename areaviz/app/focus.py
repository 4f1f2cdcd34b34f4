"""The selection in one trace, and its meaning in several traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from areaviz.app.components import Selection
from areaviz.app.page import ALL_HEADS, BEST_LAYER, AnyPage
from areaviz.app.run import find_card
from areaviz.app.texts import escape_markdown, shorten_line
from areaviz.cards.card import Card
from areaviz.draw.select import (
    find_counterparts,
    get_layer_noun,
    list_model_sites,
    list_sites,
    name_site,
)
from areaviz.trace.derived import BEST, split_best_site
from areaviz.trace.record import Field, Trace
from areaviz.trace.request import Focus

# The selection in a trace, as set by links, widgets and the ribbon, fitted to the trace.


FormatFunction = Callable[[Any], str]
SUPERVISED_SITE = "encoder-decoder"
"""The site at which captioners learn from boxes where to look."""


def get_current_focus(page: AnyPage, trace: Trace) -> Focus:
    """Return the selection fitted to `trace`. Draw a caption about parts that the trace lacks."""
    site = _choose_option(
        page, "site", "Attention type", list_model_sites(trace), partial(name_site, trace)
    )
    page.set_state(page.state.at_site(site))
    noun = get_layer_noun(site).capitalize()
    layer = _choose_option(page, "layer", noun, list_layer_choices(trace, site), format_layer)
    head = ALL_HEADS
    if layer == BEST_LAYER:
        site, layer = site + BEST, 0
    else:
        head = _choose_option(page, "head", "Head", list_heads(trace, site), format_head)
    locked = page.state.locked
    wanted = replace(locked, site=site, layer=layer, head=None if head == ALL_HEADS else head)
    if locked.site != site and not _have_same_field(trace, locked.side, locked.site, site):
        wanted = replace(wanted, side="query", items=())
    focus = fit_selection(trace, wanted)
    if focus != wanted:
        st.caption(
            "Some of the selected tokens are past the end of this text and were removed from the"
            " selection."
        )
    if not focus.items and focus.side == "query" and len(get_side_field(trace, focus)) == 1:
        # There is nothing else to select, so show its attention at once.
        focus = replace(focus, items=(0,))
    return focus


def draw_focus_picker(page: AnyPage, trace: Trace, site: str, has_heads: bool = True) -> None:
    """Draw the widgets for layer, site and head. Items are selected in the map itself.

    Args:
        page: its state has the chosen values.
        trace: the trace.
        site: the selected site.
        has_heads: whether the map above lacks a legend in which users choose heads.
    """
    site, best = split_best_site(site)
    about = f"Best alignment: {trace.maps[site + BEST].derived}" if best else None
    told = describe_supervision(find_card(trace.request.model), site, page.state.layer)
    if told:
        st.caption(told)
    with st.container(key="focus", horizontal=True, gap="medium", vertical_alignment="center"):
        # If there are more options than the last number, draw a list. If there are fewer than the
        # number before it, draw nothing: one site, one layer or one head leaves no choice.
        noun = get_layer_noun(site).capitalize()
        names = get_layer_format(trace, site)
        _draw_choice(page, "layer", noun, list_layer_choices(trace, site), names, 2, 32, about)
        _draw_choice(
            page, "site", "Attention type", list_model_sites(trace), partial(name_site, trace), 2, 4
        )
        if has_heads and not best:
            _draw_choice(page, "head", "Head", list_heads(trace, site), format_head, 3, 32)


def _draw_choice(
    page: AnyPage,
    name: str,
    label: str,
    options: Sequence[object],
    of: FormatFunction,
    fewest: int,
    most: int,
    about: str | None = None,
) -> None:
    """Draw a choice. `about` is its help text."""
    if len(options) > most:
        width = 320 if name == "site" else 120
        page.draw_widget(
            st.selectbox, label, name, options, width=width, format_func=of, help=about
        )
    elif len(options) >= fewest:
        # The names of sites explain themselves.
        visible = "collapsed" if name == "site" else "visible"
        page.draw_widget(
            st.segmented_control,
            label,
            name,
            options,
            format_func=of,
            required=True,
            label_visibility=visible,
            help=about,
        )


def describe_supervision(card: Card | None, site: str, layer: int | None) -> str:
    """Return the sentence that says which head of a layer learned from boxes, or ""."""
    told = card.told_head if card else None
    if told is None or site != SUPERVISED_SITE or told[0] != layer:
        return ""
    return (
        f"Head {told[1] + 1} was **told where to look**: boxes around the named things taught it."
        " Its maps show what it was taught."
    )


def list_layers(trace: Trace, site: str) -> range:
    """Return the layers of a site. A gaze has one."""
    return range(trace.maps[site].layers if site in trace.maps else 1)


def list_layer_choices(trace: Trace, site: str) -> list[int]:
    """Return the options for layers: each layer, then the best alignment if there is one."""
    best = [BEST_LAYER] if site + BEST in trace.maps else []
    return [*list_layers(trace, site), *best]


def list_heads(trace: Trace, site: str) -> list[int]:
    """Return the options for heads: all heads together, then each head."""
    return [ALL_HEADS, *range(trace.maps[site].heads if site in trace.maps else 1)]


def format_layer(layer: int) -> str:
    """Return the name of a layer on the page, counted from 1."""
    return "Best alignment" if layer == BEST_LAYER else str(layer + 1)


def get_layer_format(trace: Trace, site: str) -> FormatFunction:
    """Return the function that names a layer of a site, with the kind of its areas.

    If some layers attend to areas and others only to single items, the names are “1 · areas” and
    “3 · words”. Weights that are stored elsewhere are not read for a name.
    """
    attention = trace.maps.get(site)
    if attention is None or not isinstance(attention.weights, np.ndarray):
        return format_layer
    # The first areas of a grid are its items, so all later ones have several items.
    several = [bool(layer[..., attention.grid.items :].any()) for layer in attention.weights]
    if all(several) or not any(several):
        return format_layer
    single = _name_items(trace.fields[attention.memory])

    def name(layer: int) -> str:
        if layer == BEST_LAYER:
            return format_layer(layer)
        return f"{layer + 1} · {'areas' if several[layer] else single}"

    return name


def _name_items(field: Field) -> str:
    """Return the plural noun for the items to which a layer without areas attends."""
    if not field.is_text:
        return "cells" if field.is_picture else "single"
    lengths = field.anchors[:, 1] - field.anchors[:, 0]
    return "words" if (lengths > 1).any() else "characters"


def format_head(head: int) -> str:
    """Return the name of a head on the page, counted from 1."""
    return "All" if head == ALL_HEADS else str(head + 1)


def get_side_field(trace: Trace, focus: Focus) -> Field:
    """Return the field in which a selection chooses items."""
    attention = trace.maps.get(focus.site) or trace.gazes[focus.site]
    return trace.fields[attention.query if focus.side == "query" else attention.memory]


def fit_selection(trace: Trace, focus: Focus) -> Focus:
    """Return a selection on a site of `trace`, without a layer, head or items that it lacks."""
    length = len(get_side_field(trace, focus))
    return replace(
        focus,
        layer=min(focus.layer, list_layers(trace, focus.site)[-1]),
        head=focus.head if focus.head in list_heads(trace, focus.site) else None,
        items=tuple(item for item in focus.items if item < length),
    )


def _have_same_field(trace: Trace, side: str, *sites: str) -> bool:
    """Return whether these sites have equal items on that side."""
    if not all(site in trace.maps or site in trace.gazes for site in sites):
        return False
    return len({get_side_field(trace, Focus(site, side=side)).name for site in sites}) == 1


def _choose_option(
    page: AnyPage, name: str, label: str, options: Sequence[Any], of: FormatFunction
) -> Any:
    """Return the value chosen or linked before if it is one of `options`, else the first."""
    before = getattr(page.state, name)
    if before in options:
        return before
    page.set(**{name: options[0]})
    if before not in ("", None):
        what = f"{label} “{escape_markdown(shorten_line(of(before)))}” does not exist here"
        st.caption(f"{what}, so you see “{of(options[0])}”.")
    return options[0]


# One selection for several traces: its meaning in each trace, and the effect of a click.


DISPLAY_FIELDS = ("unit", "areas", "reading", "mass", "against")
"""The fields of a selection that say how its map is displayed."""


def fit_to_other_trace(main: Trace, other: Trace, focus: Focus) -> Focus:
    """Return the selection for `other`. In a different text, it covers the common words."""
    if focus.site not in list_sites(other):
        return Focus(list_sites(other)[0])
    items = (
        focus.items if has_same_items(main, other, focus) else find_common_words(main, other, focus)
    )
    return fit_selection(other, replace(focus, items=items))


def find_common_words(main: Trace, other: Trace, focus: Focus) -> tuple[int, ...]:
    """Return the items of `other` in the words that are selected in `main` and occur in both."""
    one, two = get_side_field(main, focus), get_side_field(other, focus)
    return find_counterparts(one, two, focus.items) if one.is_text and two.is_text else ()


def follow_click(main: Trace, other: Trace, focus: Focus, asked: Focus, chosen: Focus) -> Focus:
    """Return the page's selection after a click in `other` changed `asked` to `chosen`.

    Locked items are also locked in `main` if `main` has them. Otherwise the items of `main` stay
    locked.
    """
    if chosen.site != focus.site:
        return focus
    if has_same_items(main, other, chosen):
        return chosen
    if chosen.items != asked.items:
        items = find_common_words(other, main, chosen)
        if items or not chosen.items:
            focus = replace(focus, side=chosen.side, items=items)
    if chosen.head != asked.head:
        focus = replace(focus, head=chosen.head)
    for name in DISPLAY_FIELDS:
        if getattr(chosen, name) != getattr(asked, name):
            focus = replace(focus, **{name: getattr(chosen, name)})
    return focus


def has_equal_selections(traces: Sequence[Trace], seen: Sequence[Focus]) -> bool:
    """Return whether the selected items of all traces are equal, or no trace has any."""
    first = seen[0]
    for trace, focus in zip(traces[1:], seen[1:], strict=True):
        meant = fit_to_other_trace(traces[0], trace, first).items
        if focus.items != meant or bool(meant) != bool(first.items):
            return False
    return True


def has_same_items(main: Trace, other: Trace, focus: Focus) -> bool:
    """Return whether both traces have the selected tokens of one text, or cells of one picture."""
    if focus.site not in list_sites(other):
        return False
    one, two = get_side_field(main, focus), get_side_field(other, focus)
    if one.is_picture:
        first, second = main.request.picture, other.request.picture
        if (first and first.digest) != (second and second.digest):
            return False
    same_text = (one.kind, one.raw) == (two.kind, two.raw)
    return same_text and np.array_equal(one.anchors, two.anchors)


def apply_click(selection: Selection, focus: Focus) -> Focus:
    """Return the selection after a click. Site and layer stay."""
    return replace(focus, **asdict(selection))
