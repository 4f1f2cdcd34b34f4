"""The user's interventions, the runs that decode under them, and their texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import streamlit as st

from areaviz.app.page import WHAT_IF, Link, Page, State
from areaviz.app.run import find_card, run_requests
from areaviz.backend.backend import Backend
from areaviz.draw.select import describe_area, describe_items, get_layer_noun, name_site
from areaviz.measures.faithfulness import Faithfulness, Probe
from areaviz.samples.own_media import PICTURE_SAMPLES, get_picture_sample
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Share
from areaviz.trace.errors import BackendError, InputError, shorten
from areaviz.trace.query import find_smallest_area_size, format_given_output, top_areas
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus, Request

# The user's interventions.
#
# Each input has a draft. The state also keeps the interventions of its latest decoding.


SWAP_PARAM = "swap"
"""The URL parameter with the name of the sample that replaces the picture."""
FOIL_PARAM = "foil"
"""The URL parameter for a word and its alternative, written ITEM.ALTERNATIVE.

ITEM is the first item of the word, counted from 1.
"""
_CHANGES_PARAM = "changes"
"""The URL parameter with changes of the attention, see `trace.link`."""
MAX_INPUTS = 8
"""Largest number of inputs whose interventions a session keeps."""

_InputKey = tuple[str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Interventions:
    """The changes of a run.

    Args:
        changes: changes of the model's attention.
        picture: the sample that replaces the picture, "" for none.
    """

    changes: tuple[Change, ...] = ()
    picture: str = ""

    def __bool__(self) -> bool:
        return bool(self.changes or self.picture)

    def add_to(self, request: Request) -> Request:
        """Return the request with these interventions. The request's own changes come first."""
        picture = get_picture_sample(self.picture) if self.picture else request.picture
        return replace(request, changes=(*request.changes, *self.changes), picture=picture)

    @property
    def params(self) -> dict[str, str]:
        """Return the URL parameters of the interventions, besides the request's changes."""
        return {SWAP_PARAM: self.picture} if self.picture else {}


NO_INTERVENTIONS = Interventions()


@dataclass(frozen=True)
class WhatIfState(State):
    """The state of a page with the panel What if."""

    # The draft of each input, and the interventions with which the model decoded it last. The
    # newest input is at the end.
    experiments: Mapping[_InputKey, tuple[Interventions, Interventions]] = field(
        default_factory=dict
    )
    # A link whose interventions are not applied yet, because its input is not given yet.
    linked: Link | None = None
    # The fields from here to `k` are the choices in the panel. The kind of change.
    kind_of_change: str = "area"
    # The area to reweight, whether overlapping areas change too, in which layers and heads, and the
    # factor.
    area: Any = None
    overlapping: bool = False
    where: str = "all layers"
    factor: float = 0.0
    # The positions of the hidden words, and the sample that replaces the picture.
    words: list[int] = field(default_factory=list)
    swap: str | None = None
    # The hidden part of a sound in seconds.
    seconds: tuple[float, float] = (0.0, 0.0)
    # The first item of the chosen word, its alternative, and whether the map is measured by the
    # contrast of the two.
    word: int | None = None
    foil: str | None = None
    is_contrast: bool = False
    # The unit of the parts by which the map is measured, and the number of parts.
    unit: str = ""
    k: int = 5
    # The map that the user asked to measure last, and the result of the latest measurement.
    measured: tuple[Request, Probe] | None = None
    faithfulness: Mapping[tuple[Request, Probe], Faithfulness] = field(default_factory=dict)
    # Whether attribution is shown next to attention.
    attribution: bool = False

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's interventions, for the link's input only."""
        state, name = super().from_link(link), link.params.get(SWAP_PARAM, "")
        if link.problem:
            return state
        if name and name not in PICTURE_SAMPLES:
            sentence = (
                f"This link replaces the picture with “{shorten(name)}”, which does not exist."
                " Choose another picture."
            )
            return replace(state, problem=sentence)
        word, foil = _parse_contrast(link.params.get(FOIL_PARAM, ""))
        if not {_CHANGES_PARAM, SWAP_PARAM, FOIL_PARAM}.isdisjoint(link.params):
            state = replace(state, tabs=[*state.tabs, WHAT_IF])
        return replace(
            state, linked=link, attribution=link.request.attribution, word=word, foil=foil
        )

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters with the chosen word and its alternative."""
        params = super().to_link(request, focus, view)
        if self.word is not None and self.foil:
            params[FOIL_PARAM] = f"{self.word + 1}.{self.foil}"
        return params


def _parse_contrast(code: str) -> tuple[int | None, str | None]:
    """Return the word and the alternative of a link; None for both if they are invalid."""
    item, _, foil = code.partition(".")
    if not foil or not re.fullmatch("[1-9][0-9]{0,4}", item):
        return None, None
    return int(item) - 1, foil


WhatIfPage = Page[WhatIfState]


def apply_link(page: WhatIfPage, request: Request, asked: Request) -> None:
    """Apply a link's interventions to this input, if it is the input of the link.

    They wait until the link's input is given, for example until its picture is uploaded again.

    Args:
        page: the page with the link.
        request: the request that the model gets.
        asked: the request as a link describes it.
    """
    link = page.state.linked
    if link is not None and _is_about(link, asked):
        page.set(linked=None)
        changes = tuple(one for one in link.request.changes if one not in request.changes)
        wanted = Interventions(changes, link.params.get(SWAP_PARAM, ""))
        decode_draft(page, request, wanted)


def _is_about(link: Link, request: Request) -> bool:
    """Return whether a request has a link's input. Fields missing from the link are ignored."""
    names = {"model": request.model}
    for key in ("picture", "sound", "clip"):
        part = getattr(request, key)
        names[key] = part.name if part else ""
    same_names = all(link.params.get(key) in (None, "", name) for key, name in names.items())
    asked = link.request
    return same_names and (asked.text, asked.area_size) == (request.text, request.area_size)


def get_draft(page: WhatIfPage, request: Request) -> Interventions:
    """Return the current draft for this input."""
    return page.state.experiments.get(
        _make_input_key(request), (NO_INTERVENTIONS, NO_INTERVENTIONS)
    )[0]


def get_decoded_interventions(page: WhatIfPage, request: Request) -> Interventions:
    """Return the interventions with which this input was decoded last."""
    return page.state.experiments.get(
        _make_input_key(request), (NO_INTERVENTIONS, NO_INTERVENTIONS)
    )[1]


def set_draft(page: WhatIfPage, request: Request, wanted: Interventions) -> None:
    """Replace the draft. The model decodes nothing until `decode_draft` is called."""
    _store_experiment(page, request, wanted, get_decoded_interventions(page, request))


def decode_draft(page: WhatIfPage, request: Request, wanted: Interventions) -> None:
    """Replace the draft, and decode with it."""
    _store_experiment(page, request, wanted, wanted)


def _store_experiment(
    page: WhatIfPage, request: Request, wanted: Interventions, done: Interventions
) -> None:
    held = dict(page.state.experiments)
    held.pop(_make_input_key(request), None)
    held[_make_input_key(request)] = wanted, done
    latest = list(held)[-MAX_INPUTS:]
    page.set(experiments={name: held[name] for name in latest})


def _make_input_key(request: Request) -> _InputKey:
    """Return a key for everything in a request that positions refer to.

    Decoding options are not part of the key.
    """
    part = request.picture or request.sound or request.clip
    return request.model, request.text, part.digest if part else "", request.area_size


# A run, and the result of decoding its input again under the user's interventions.


_RUNS_KEY = "what_if_runs"


@dataclass(frozen=True, slots=True, eq=False)
class Experiment:
    """A run and its repetition under interventions.

    Args:
        request: the unchanged request.
        before: its trace.
        decoded: the interventions with which it was decoded again, if any.
        runs: the new decoding, and the changed model applied to the output of `before`.
        failure: one sentence that says why there are none, or "".
    """

    request: Request
    before: Trace
    decoded: Interventions = NO_INTERVENTIONS
    runs: tuple[Trace, Trace] | None = None
    failure: str = ""


def run_experiment(
    page: WhatIfPage, backend: Backend, request: Request, before: Trace
) -> Experiment:
    """Decode again with the user's interventions, if there are any."""
    wanted = get_decoded_interventions(page, request)
    run = Experiment(request, before, wanted)
    if not wanted:
        return run
    written, asked = format_given_output(before), wanted.add_to(request.checked())
    held = st.session_state.get(_RUNS_KEY)
    if held is None or held[0] != (asked, written):
        try:
            is_given = can_read_output(request.model)
            forced = replace(asked, target=written) if is_given else asked
            both = (asked,) if forced == asked else (asked, forced)
            found = run_requests(backend, both, "Decoding again with the changes")
        except (InputError, BackendError) as error:
            return replace(run, failure=str(error))
        held = st.session_state[_RUNS_KEY] = (asked, written), (found[0], found[-1])
    return replace(run, runs=held[1])


def can_read_output(model: str) -> bool:
    """Return whether a model can be given an output. This is true for a model that is gone."""
    card = find_card(model)
    return card is None or "target" in card.can


# Changes in words, and the areas of the selection that can be changed.


MAX_CANDIDATE_AREAS = 3
"""Number of top areas offered per selected item."""


def list_candidate_areas(trace: Trace, focus: Focus) -> dict[Area, str]:
    """Return the areas that can be changed with their names: top areas of the selected queries.

    If memory items are selected, each of them is an area.
    """
    attention = trace.maps[focus.site]
    memory, grid = trace.fields[attention.memory], attention.grid
    if focus.side == "memory":
        areas = [grid.area(item) for item in focus.items]
        return {area: describe_area(memory, grid, area) for area in areas}
    found: dict[Area, float] = {}
    least = find_smallest_area_size(attention, focus)
    # If single items may be top areas, also offer the top spans.
    sizes = (least,) if least > 1 or grid.count == grid.items else (least, 2)
    for query in focus.items:
        for size in sizes:
            heaviest = top_areas(
                attention, focus.layer, focus.head, query, MAX_CANDIDATE_AREAS, min_size=size
            )
            for one in heaviest:
                found[one.area] = max(found.get(one.area, 0.0), one.weight)
    by_weight = sorted(found.items(), key=lambda pair: -pair[1])
    over = " on average over the heads" if focus.head is None and attention.heads > 1 else ""
    return {
        area: f"{describe_area(memory, grid, area)}, {weight:.0%}{over}"
        for area, weight in by_weight
    }


def describe_change(trace: Trace, change: Change) -> str:
    """Describe a change for a trace of the same input. Markup is not escaped."""
    if isinstance(change, Hide):
        return f"Hidden: {_describe_items(trace, change.field, change.items)}"
    if isinstance(change, Share):
        return describe_normalisation(change)
    where = describe_place(trace, change.site, change.layer, change.head)
    if isinstance(change, Gate):
        done = "Switched off" if change.factor == 0 else f"Output times {change.factor:g}"
        return f"{done}: {where}"
    attention = trace.maps.get(change.site)
    if attention is None:
        return f"Weights changed: {where}"
    memory = trace.fields[attention.memory]
    names = [describe_area(memory, attention.grid, area) for area in change.areas]
    if change.items:
        names.append(f"every area with {_describe_items(trace, attention.memory, change.items)}")
    what = " and ".join(names)
    if change.rest:
        what = f"all but {what}"
    done = "Banned" if change.factor == 0 else f"Weight times {change.factor:g}"
    return f"{done}: {what}; {where}"


def describe_normalisation(change: Share) -> str:
    """Describe the normalisation of scores."""
    done = ["Smoothed" if change.smooth else "Softmax"]
    if change.factor != 1:
        done.append(f"scores times {change.factor:g}")
    if change.window:
        done.append(f"a window of {change.window} items each way")
    return ", ".join(done)


def describe_place(trace: Trace, site: str, layer: int | None, head: int | None) -> str:
    """Describe site, layer and head."""
    noun = get_layer_noun(site)
    layers = f"all {noun}s" if layer is None else f"{noun} {layer + 1}"
    heads = "all heads" if head is None else f"head {head + 1}"
    return f"{name_site(trace, site)}, {layers}, {heads}"


def _describe_items(trace: Trace, name: str, items: tuple[int, ...]) -> str:
    field = trace.fields.get(name)
    known = [item for item in sorted(items) if field is not None and item < len(field)]
    if field is None or not known:
        return f"{len(items)} items"
    words = describe_items(field, known)
    if words:
        return words
    return field.labels[known[0]] if len(known) == 1 else f"{len(known)} cells of the picture"
