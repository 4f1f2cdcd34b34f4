"""What a reader wants done otherwise, between reruns: a draft, and what was decoded with last, for
every input.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from areaviz.data.picture_samples import SAMPLES, sample
from areaviz.trace.errors import InputError
from areaviz.trace.interventions import Change
from areaviz.trace.limits import shown
from areaviz.trace.request import Request

SWAP = "swap"
"""The address parameter that names another picture."""
MOST = 8
"""Inputs whose wishes are kept in a session."""
_KEPT, _LINKED = "what_if", "what_if_linked"

_Input = tuple[str, str, str, int | None]


@dataclass(frozen=True, slots=True)
class Wish:
    """changes: to the model's attention. picture: the sample that takes the place of the picture,
    "" for none.
    """

    changes: tuple[Change, ...] = ()
    picture: str = ""

    def __bool__(self) -> bool:
        return bool(self.changes or self.picture)

    def of(self, request: Request) -> Request:
        """The request with all of it."""
        picture = sample(self.picture) if self.picture else request.picture
        return replace(request, changes=self.changes, picture=picture)

    @property
    def params(self) -> dict[str, str]:
        """What a link says of it besides the request's changes."""
        return {SWAP: self.picture} if self.picture else {}


NOTHING = Wish()


@dataclass(frozen=True, slots=True)
class _Linked:
    """A link's wish, and the input that the link is about; model, picture: "" where it
    names none.
    """

    wish: Wish
    model: str
    text: str
    picture: str
    area_size: int | None

    def about(self, request: Request) -> bool:
        """Whether this request is of that input."""
        picture = request.picture.name if request.picture else ""
        same = self.model in ("", request.model) and self.picture in ("", picture)
        return same and (self.text, self.area_size) == (request.text, request.area_size)


def recall(request: Request, params: Mapping[str, str]) -> None:
    """Wish what a link says, of the link's input alone; InputError where its other picture does not
    exist.
    """
    name = params.get(SWAP, "")
    if name and name not in SAMPLES:
        raise InputError(
            f'The link swaps the picture for "{shown(name)}", which does not exist; choose another'
            " one."
        )
    wanted, (model, picture) = (
        Wish(request.changes, name),
        (params.get(key, "") for key in ("model", "picture")),
    )
    st.session_state[_LINKED] = _Linked(wanted, model, request.text, picture, request.area_size)


def settle(request: Request, asked: Request) -> None:
    """Take a link's wish for one of this input, if that is the link's; asked: the request as a link
    has it.

    Until the link's input is asked, the wish waits: its picture, for instance, has to be uploaded
    again.
    """
    linked: _Linked | None = st.session_state.get(_LINKED)
    if linked is not None and linked.about(asked):
        del st.session_state[_LINKED]
        _keep(request, linked.wish, linked.wish)


def draft(request: Request) -> Wish:
    """What is wished for this input now."""
    return _wishes(request)[0]


def made(request: Request) -> Wish:
    """What was decoded with last."""
    return _wishes(request)[1]


def wish(request: Request, wanted: Wish) -> None:
    """Wish something else; nothing is decoded before `make`."""
    _keep(request, wanted, made(request))


def make(request: Request, wanted: Wish) -> None:
    """Wish something and decode with it."""
    _keep(request, wanted, wanted)


def _wishes(request: Request) -> tuple[Wish, Wish]:
    kept: OrderedDict[_Input, tuple[Wish, Wish]] = st.session_state.get(_KEPT, OrderedDict())
    return kept.get(_input(request), (NOTHING, NOTHING))


def _keep(request: Request, wanted: Wish, done: Wish) -> None:
    kept: OrderedDict[_Input, tuple[Wish, Wish]] = st.session_state.setdefault(_KEPT, OrderedDict())
    kept[_input(request)] = wanted, done
    kept.move_to_end(_input(request))
    while len(kept) > MOST:
        kept.popitem(last=False)


def _input(request: Request) -> _Input:
    """What positions in a wish are of: another decoding of the same input keeps them."""
    return (
        request.model,
        request.text,
        request.picture.digest if request.picture else "",
        request.area_size,
    )
