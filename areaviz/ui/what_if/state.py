"""What a reader wants done otherwise: for every input a draft, and what was decoded with last."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

from areaviz.data.picture_samples import SAMPLES, sample
from areaviz.evaluation.faithfulness import Faithfulness
from areaviz.evaluation.probe import Probe
from areaviz.trace.interventions import Change
from areaviz.trace.limits import shown
from areaviz.trace.request import Focus, Request
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Link, State

SWAP = "swap"
"""The address parameter that names another picture."""
FOIL = "foil"
"""That of a word that is asked about: its first item, from 1, a dot, and its foil."""
MOST_INPUTS = 8
"""Inputs whose interventions a session holds."""

_Input = tuple[str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Interventions:
    """What is done otherwise in a run.

    Args:
        changes: to the model's attention.
        picture: the sample that takes the place of the picture, "" for none.
    """

    changes: tuple[Change, ...] = ()
    picture: str = ""

    def __bool__(self) -> bool:
        return bool(self.changes or self.picture)

    def of(self, request: Request) -> Request:
        """The request with all of it, after what its form has changed already."""
        picture = sample(self.picture) if self.picture else request.picture
        return replace(request, changes=(*request.changes, *self.changes), picture=picture)

    @property
    def params(self) -> dict[str, str]:
        """What a link says of it besides the request's changes."""
        return {SWAP: self.picture} if self.picture else {}


NOTHING = Interventions()


@dataclass(frozen=True)
class WhatIfState(State):
    """What a page with the panel What if holds."""

    # For every input the draft and what was decoded with, the latest last.
    experiments: Mapping[_Input, tuple[Interventions, Interventions]] = field(default_factory=dict)
    # The link whose interventions wait until its input is there.
    linked: Link | None = None
    # What the panel shows: the kind of change, ...
    kind_of_change: str = "area"
    # ... the area that is weighed, with those that overlap it or without, and where, ...
    area: Any = None
    overlapping: bool = False
    where: str = "all layers"
    factor: float = 0.0
    # ... places of the words that are hidden, the sample that replaces the picture, ...
    words: list[int] = field(default_factory=list)
    swap: str | None = None
    # ... the seconds of a sound that are hidden, ...
    seconds: tuple[float, float] = (0.0, 0.0)
    # ... the first item of the word that is asked about, what stands against it, whether the map is
    # measured by that, ...
    word: int | None = None
    foil: str | None = None
    is_contrast: bool = False
    # ... and of what, and how many, the map is measured by.
    unit: str = ""
    k: int = 5
    # Which map was asked about last, and what was measured of the last one.
    measured: tuple[Request, Probe] | None = None
    faithfulness: Mapping[tuple[Request, Probe], Faithfulness] = field(default_factory=dict)
    # Whether attribution stands beside attention.
    attribution: bool = False

    def from_link(self, link: Link) -> Self:
        """With a link's interventions, of the link's input alone."""
        state, name = super().from_link(link), link.params.get(SWAP, "")
        if link.problem:
            return state
        if name and name not in SAMPLES:
            sentence = (
                f'The link swaps the picture for "{shown(name)}", which does not exist; choose'
                " another one."
            )
            return replace(state, problem=sentence)
        word, foil = _contrast(link.params.get(FOIL, ""))
        return replace(
            state, linked=link, attribution=link.request.attribution, word=word, foil=foil
        )

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """With the word that is asked about, and its foil."""
        params = super().to_link(request, focus, view)
        if self.word is not None and self.foil:
            params[FOIL] = f"{self.word + 1}.{self.foil}"
        return params


def _contrast(code: str) -> tuple[int | None, str | None]:
    """Word and foil of a link; neither where it has none, or what is no such pair."""
    item, _, foil = code.partition(".")
    if not foil or not re.fullmatch("[1-9][0-9]{0,4}", item):
        return None, None
    return int(item) - 1, foil


WhatIfPage = Page[WhatIfState]


def apply_link(page: WhatIfPage, request: Request, asked: Request) -> None:
    """Take a link's interventions for those of this input, if that is the link's.

    Until the link's input is asked they wait: its picture, for instance, has to be uploaded again.

    Args:
        page: holds the interventions.
        request: the input.
        asked: the same as a link has it.
    """
    link = page.state.linked
    if link is not None and _is_about(link, asked):
        page.set(linked=None)
        changes = tuple(one for one in link.request.changes if one not in request.changes)
        wanted = Interventions(changes, link.params.get(SWAP, ""))
        decode(page, request, wanted)


def _is_about(link: Link, request: Request) -> bool:
    """Whether a request is of a link's input; what the link does not name may be anything."""
    names = {"model": request.model}
    for key in ("picture", "sound", "clip"):
        part = getattr(request, key)
        names[key] = part.name if part else ""
    same_names = all(link.params.get(key) in (None, "", name) for key, name in names.items())
    asked = link.request
    return same_names and (asked.text, asked.area_size) == (request.text, request.area_size)


def draft(page: WhatIfPage, request: Request) -> Interventions:
    """What is wanted for this input now."""
    return page.state.experiments.get(_input(request), (NOTHING, NOTHING))[0]


def decoded(page: WhatIfPage, request: Request) -> Interventions:
    """What this input was decoded with last."""
    return page.state.experiments.get(_input(request), (NOTHING, NOTHING))[1]


def set_draft(page: WhatIfPage, request: Request, wanted: Interventions) -> None:
    """Want something else; nothing is decoded before `decode`."""
    _hold(page, request, wanted, decoded(page, request))


def decode(page: WhatIfPage, request: Request, wanted: Interventions) -> None:
    """Want something, and decode with it."""
    _hold(page, request, wanted, wanted)


def _hold(page: WhatIfPage, request: Request, wanted: Interventions, done: Interventions) -> None:
    held = dict(page.state.experiments)
    held.pop(_input(request), None)
    held[_input(request)] = wanted, done
    latest = list(held)[-MOST_INPUTS:]
    page.set(experiments={name: held[name] for name in latest})


def _input(request: Request) -> _Input:
    """What positions in interventions are of: another decoding of the same input keeps them."""
    part = request.picture or request.sound or request.clip
    return request.model, request.text, part.digest if part else "", request.area_size
