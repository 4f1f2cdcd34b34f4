"""The panel "What if", and the inputs that users can hide from a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import streamlit as st

from areaviz.app.changes import (
    NO_INTERVENTIONS,
    Experiment,
    Interventions,
    WhatIfPage,
    can_read_output,
    decode_draft,
    describe_change,
    describe_place,
    get_decoded_interventions,
    get_draft,
    list_candidate_areas,
    set_draft,
)
from areaviz.app.run import find_card
from areaviz.app.texts import escape_markdown, show_error
from areaviz.app.what_if_result import choose_contrast, draw_faithfulness, draw_outcome
from areaviz.backend.backend import Backend
from areaviz.draw.labels import escape_controls
from areaviz.measures.spans import find_word_runs
from areaviz.samples.own_media import PICTURE_SAMPLES, list_picture_names
from areaviz.trace.changes import CHANGE_KINDS, Change, Gate, Hide, Weigh
from areaviz.trace.derived import WAYS, split_best_site, split_derived_site
from areaviz.trace.kinds import find_kind_of_field
from areaviz.trace.query import is_one_text
from areaviz.trace.record import Trace
from areaviz.trace.request import RATE, Focus, Request

# Inputs to hide from a model: words, facts, points, frames, cells, or a part of a sound.


MAX_WORDS = 60
STEP_SECONDS = 0.05
"""Step in seconds for the start and end of a hidden part of a sound."""


def hide_words(page: WhatIfPage, run: Experiment, _: Focus) -> Change | None:
    """Let the user choose which words of the sentence to hide. A word includes all its items."""
    source = run.before.fields[get_text_field(run)]
    runs = find_word_runs(source)
    if len(runs) > MAX_WORDS:
        st.caption(f"Words can be hidden in sentences of up to {MAX_WORDS} words.")
        return None
    words = {}
    for place, (start, end) in enumerate(runs):
        word = source.raw[source.anchors[start, 0] : source.anchors[end - 1, 1]]
        words[place] = escape_markdown(word.strip())
    chosen = page.choose_pills("Words", "words", words)
    st.caption(
        "Nothing attends to a hidden word any more, in any layer. Its position remains, so the"
        " model can still tell how long the word is."
    )
    items = tuple(item for place in sorted(chosen) for item in range(*runs[place]))
    return Hide(source.name, items) if items else None


def get_text_field(run: Experiment) -> str:
    """Return the name of the input text. If a model has only one text, this is its history."""
    return "history" if is_one_text(run.before) else "source"


def hide_items(page: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user choose facts, points or frames to hide, by their labels."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    names = {
        item: escape_markdown(escape_controls(label)) for item, label in enumerate(memory.labels)
    }
    kind = find_kind_of_field(memory)
    chosen = page.choose_pills(kind.items.capitalize(), "words", names)
    st.caption(f"A hidden item gets no weight at any step. {kind.hidden}")
    return Hide(memory.name, tuple(sorted(chosen))) if chosen else None


def hide_moment(page: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user choose a part of a sound to hide, in seconds."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    # Round down to whole steps, so that the end can be chosen.
    longest = int(memory.anchors[-1, 1] / RATE / STEP_SECONDS) * STEP_SECONDS
    start, end = (min(second, longest) for second in page.state.seconds)
    page.set(seconds=(start, end))
    start, end = page.draw_widget(
        st.slider,
        "From and to, in seconds",
        "seconds",
        0.0,
        longest,
        step=STEP_SECONDS,
        format="%.2f",
    )
    st.caption(
        "The model reads the recording as if it did not have this moment. Up to a tenth of a second"
        " at each edge of the moment is still part of the neighbouring items."
    )
    begins_M, ends_M = memory.anchors.T
    is_in_M = (begins_M < round(end * RATE)) & (ends_M > round(start * RATE))
    return Hide(memory.name, tuple(np.flatnonzero(is_in_M).tolist())) if end > start else None


def hide_cells(_: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    """Let the user hide the selected cells, or those to which a selected word attends most."""
    attention = run.before.maps[focus.site]
    items, which = focus.items, "the chosen cells"
    if focus.side == "query":
        heaviest = next(iter(list_candidate_areas(run.before, focus)), None)
        items = attention.grid.items_of(heaviest) if heaviest else ()
        which = "the cells of the heaviest area of the chosen word"
    if not items or attention.memory != "picture":
        st.caption("First click cells of the picture above, or a word that attends to it.")
        return None
    st.caption(
        f"Nothing attends to {which} any more, in any layer ({len(items)} cells). The cells"
        " next to them have already read them, so some of their content may remain. Another picture"
        " is a stricter test."
    )
    return Hide("picture", items)


# The panel "What if": choose an intervention for the selection, and decode again.


PANEL_TITLE = "What if"
MAX_FACTOR, FACTOR_STEP = 4.0, 0.25


def is_offered(run: Experiment, trace: Trace, focus: Focus) -> bool:
    """Return whether the panel has changes for a trace, which must be of this run and attend.

    An attribution map is not attention, so there is nothing to change.
    """
    is_attributed = focus.site.endswith(tuple(WAYS))
    return (
        trace is run.before
        and focus.site in trace.maps
        and not is_attributed
        and bool(_list_supported_kinds(run))
    )


def draw_panel(
    page: WhatIfPage, backend: Backend, run: Experiment, trace: Trace, focus: Focus
) -> None:
    """Draw the panel for the trace of the run."""
    # The panel is part of a fragment, but decoding again requires the whole page.
    if get_decoded_interventions(page, run.request) != run.decoded:
        st.rerun()
    if run.failure:
        show_error(run.failure)
    st.caption("Change what the model can attend to, run it again, and compare the outputs.")
    _choose_changes(page, run, focus)
    _draw_draft(page, run)
    if run.runs:
        after, forced = run.runs
        draw_outcome(run.before, after, forced, focus)
    writes = can_read_output(run.request.model)
    asked = choose_contrast(page, backend, run, focus) if writes else None
    draw_faithfulness(page, backend, run, focus, asked)


def _choose_changes(page: WhatIfPage, run: Experiment, focus: Focus) -> None:
    """Draw the choice of changes. Every chosen change becomes a line of the list."""
    kinds = _list_possible_kinds(run, focus)
    titles = {kind: title for kind, (title, _) in kinds.items()}
    kind = page.choose_segment("Change", "kind_of_change", titles)
    change = kinds[kind][1](page, run, focus)
    if kind != "picture":
        st.button(
            "Add this change",
            disabled=change is None,
            on_click=_add_intervention,
            args=(page, run.request, change),
        )


def _list_supported_kinds(run: Experiment) -> frozenset[str]:
    """Return the kinds of changes that the model supports, or all if the model is gone."""
    card = find_card(run.request.model)
    return frozenset(CHANGE_KINDS) if card is None else card.can & CHANGE_KINDS.keys()


Chooser = Callable[[WhatIfPage, Experiment, Focus], Change | None]


def _list_possible_kinds(run: Experiment, focus: Focus) -> dict[str, tuple[str, Chooser]]:
    """Return the kinds of changes that this run allows, with the label and the form of each."""
    memory = run.before.fields[run.before.maps[focus.site].memory]
    kinds: dict[str, tuple[str, Chooser]] = {"area": ("Weigh an area", _draw_weight_form)}
    # The weights of a pointer network are its output, so gating a head has no effect.
    if "gate" in _list_supported_kinds(run):
        kinds["head"] = "Switch heads off", _draw_gate_form
    if get_text_field(run) in run.before.fields:
        kinds["hide"] = "Hide words", hide_words
    elif memory.name == "picture":
        kinds["hide"] = "Hide cells", hide_cells
    elif memory.name == "sound":
        kinds = {"hide": ("Hide a moment", hide_moment), **kinds}
    elif find_kind_of_field(memory).hidden:
        kinds = {"hide": (f"Hide {find_kind_of_field(memory).items}", hide_items), **kinds}
    if run.request.picture is not None:
        kinds["picture"] = "Swap the picture", _draw_swap_form
    return kinds


def _draw_weight_form(page: WhatIfPage, run: Experiment, focus: Focus) -> Change | None:
    offered = {
        area: escape_controls(name)
        for area, name in list_candidate_areas(run.before, focus).items()
    }
    if not offered:
        st.caption(
            "Click a word, a digit or a cell above first: then choose one of the areas it attends"
            " to."
        )
        return None
    places = {"this layer": "This layer", "all layers": "All layers"}
    if focus.head is not None:
        places = {"this head": "This head", **places}
    if page.state.where not in places:
        page.set(where="all layers")
    with st.container(horizontal=True, gap="medium"):
        area = page.choose(st.selectbox, "Area", "area", offered, width=300)
        where = page.choose_segment("In", "where", places)
        factor = page.draw_widget(
            st.slider,
            "Multiply its weight by",
            "factor",
            0.0,
            MAX_FACTOR,
            step=FACTOR_STEP,
            width=200,
            format="%g",
        )
    grid = run.before.maps[focus.site].grid
    has_areas = grid.count > grid.items and not run.before.maps[focus.site].derived
    overlapping = has_areas and page.draw_widget(
        st.checkbox, "And every area that overlaps it", "overlapping"
    )
    st.caption(_explain_factor(factor))
    layer = None if where == "all layers" else focus.layer
    head = focus.head if where == "this head" else None
    site, best = split_best_site(focus.site)
    site, derived = split_derived_site(site)
    if best:
        # A best alignment joins heads of several layers.
        layer = head = None
    if overlapping or derived or best:
        # If areas are derived, the model itself attends to their items.
        return Weigh(site, grid.items_of(area), (), factor, layer, head)
    return Weigh(site, (), (area,), factor, layer, head)


def _explain_factor(factor: float) -> str:
    if factor == 0:
        return "0 ignores it: its weight goes to the others, in proportion."
    if factor == 1:
        return "1 changes nothing."
    return "All weights are divided by their new sum, so they are shares again."


def _draw_gate_form(_: WhatIfPage, run: Experiment, focus: Focus) -> Change:
    where = escape_markdown(describe_place(run.before, focus.site, focus.layer, focus.head))
    st.caption(f"Switched off: {where}. Choose another layer or head above.")
    return Gate(split_derived_site(focus.site)[0], focus.layer, focus.head)


def _draw_swap_form(page: WhatIfPage, run: Experiment, _: Focus) -> None:
    picture = run.request.picture
    name = picture.name if picture else ""
    kind = PICTURE_SAMPLES[name].kind if name in PICTURE_SAMPLES else "photo"
    wanted = get_draft(page, run.request)
    page.set(swap=wanted.picture or None)
    page.choose_optional(
        "Instead of the picture",
        "swap",
        {one: PICTURE_SAMPLES[one].title for one in list_picture_names(kind) if one != name},
        placeholder="The same picture",
        width=340,
        after_change=lambda: set_draft(
            page, run.request, replace(wanted, picture=page.state.swap or "")
        ),
    )


def _draw_draft(page: WhatIfPage, run: Experiment) -> None:
    """Draw the list of chosen changes with buttons to remove them, and the button to decode."""
    wanted = get_draft(page, run.request)
    for number, change in enumerate(wanted.changes):
        others = wanted.changes[:number] + wanted.changes[number + 1 :]
        key = page.key(f"off_{number}")
        _draw_intervention(
            page, run, key, describe_change(run.before, change), replace(wanted, changes=others)
        )
    if wanted.picture:
        words = f"Another picture: {PICTURE_SAMPLES[wanted.picture].title}"
        _draw_intervention(page, run, page.key("off_picture"), words, replace(wanted, picture=""))
    if not wanted and not run.decoded:
        return
    with st.container(horizontal=True, gap="small"):
        st.button(
            "Decode again",
            key=page.key("decode"),
            type="primary",
            disabled=wanted == run.decoded,
            on_click=decode_draft,
            args=(page, run.request, wanted),
        )
        st.button(
            "Start over",
            key=page.key("start_over"),
            on_click=decode_draft,
            args=(page, run.request, NO_INTERVENTIONS),
        )


def _draw_intervention(
    page: WhatIfPage, run: Experiment, key: str, words: str, rest: Interventions
) -> None:
    """Draw an intervention with a button that removes it."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        rest_of = page, run.request, rest
        st.button("Remove", key=key, type="tertiary", on_click=set_draft, args=rest_of)
        st.text(escape_controls(words))


def _add_intervention(page: WhatIfPage, request: Request, change: Change) -> None:
    before = get_draft(page, request)
    if change not in before.changes:
        set_draft(page, request, replace(before, changes=(*before.changes, change)))
    page.set(words=[])
