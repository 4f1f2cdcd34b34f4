"""The user's interventions.

Each input has a draft. The state also keeps the interventions of its latest decoding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from areaviz.measures.faithfulness import Faithfulness, Probe
from areaviz.samples.own_media import PICTURE_SAMPLES, get_picture_sample
from areaviz.trace.changes import Change
from areaviz.trace.errors import shorten
from areaviz.trace.request import Focus, Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import WHAT_IF, Link, State

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
