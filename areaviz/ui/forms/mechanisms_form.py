"""The form of Four ways to look: the picture, and whether glimpses are sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

import streamlit as st

from areaviz.cards.card import Card
from areaviz.samples.own_media import list_picture_names
from areaviz.trace.request import Focus, Picture, Request
from areaviz.ui.app.page import Page, make_names_unique
from areaviz.ui.app.state import VIEW, Cards, Link
from areaviz.ui.forms.input_row import draw_input_row
from areaviz.ui.forms.options import draw_options_popover
from areaviz.ui.forms.picture_input import PictureState, draw_picture_input


@dataclass(frozen=True, slots=True)
class Mechanism:
    """One of the survey's four attention mechanisms.

    Args:
        mechanism: as in `Card.mechanism`.
        title: its name.
        what: what it does, in one short sentence.
        about: what it does, in several sentences.
        example: a model with this mechanism.
        page: the name of the page that shows it, "" for Four ways to look.
    """

    mechanism: str
    title: str
    what: str
    about: str
    example: str
    page: str = ""

    @property
    def is_hard(self) -> bool:
        """Whether the mechanism chooses, instead of taking a weighted average."""
        return self.mechanism.endswith("hard")

    @property
    def file_name(self) -> str:
        """The name of the picture that `areaviz openings` writes."""
        return f"{self.mechanism.replace(' ', '-')}.png"


MECHANISMS = (
    Mechanism(
        "item-wise soft",
        "Weigh all cells",
        "Reads every cell, each by its weight (item-wise, soft).",
        "The input is a set of items, such as words. Each item, or each area of neighbouring"
        " items, gets a weight, and the model uses the weighted sum.",
        "Translation with regular and with area attention.",
        "translate",
    ),
    Mechanism(
        "item-wise hard",
        "Pick one cell",
        "Reads one cell, drawn by its weight (item-wise, hard).",
        "The model samples one item according to the weights and reads only that one. Sampling"
        " has no gradient, so the model is trained by reinforcement: it tries, and repeats what"
        " worked.",
        "A digit classifier that reads one cell of the picture per step.",
    ),
    Mechanism(
        "location-wise hard",
        "Glimpse by glimpse",
        "Reads boxes around a place, then picks the next place (location-wise, hard).",
        "The model picks a location, reads a small window around it, and repeats: one glimpse"
        " after another.",
        "The recurrent attention model, which classifies a digit from six glimpses.",
    ),
    Mechanism(
        "location-wise soft",
        "Cut out and straighten",
        "Cuts one quadrilateral out and reads it straightened (location-wise, soft).",
        "The input is a whole picture. The model crops one region, rotates and scales it, and"
        " reads the result.",
        "A spatial transformer that straightens a digit before it is read.",
    ),
)


@dataclass(frozen=True, slots=True)
class DigitModel:
    """A digit classifier with one of the mechanisms.

    Args:
        way: its mechanism.
        card: the card of the model.
        title: the mechanism's name, or the model's if several models share mechanism and pictures.
    """

    way: Mechanism
    card: Card
    title: str


@dataclass(frozen=True, slots=True)
class PictureKind:
    """A kind of pictures that models read.

    Args:
        kind: a key of `digit_scenes.KINDS`.
        title: the displayed name.
        samples: the kind of the sample pictures.
        first: the sample that is shown first.
    """

    kind: str
    title: str
    samples: str
    first: str


PICTURE_KINDS = {
    one.kind: one
    for one in (
        PictureKind("cluttered", "A digit among clutter", "digit", "digit-3"),
        PictureKind("centred", "A digit alone", "single digit", "single-3"),
        PictureKind("translated", "A digit anywhere", "moved digit", "moved-2"),
        PictureKind("pairs", "A pair of digits", "pair", "pair-27"),
    )
}


SELECTION_PARAMS = ("reading", "row", "column")
"""The URL parameters that the tab "Look closer" shows."""


@dataclass(frozen=True)
class MechanismsState(PictureState):
    """The state of the page Four ways to look. It opens at the first look."""

    # The kind of pictures, a key of `PICTURE_KINDS`.
    kind: str = ""
    # Whether choices are sampled, and the number of the sample.
    sample: bool = False
    seed: int = 0
    # The shown step, and the shown sample of its output; None for the default.
    look: int | None = None
    row: int | None = None
    column: int | None = None
    # The model whose reading is explored. A link may name the mechanism for its first model.
    reading: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state as a link describes it. Invalid values are ignored."""
        params, name = link.params, link.params.get("picture", "")
        kinds = (
            one.kind for one in PICTURE_KINDS.values() if name in list_picture_names(one.samples)
        )
        state = super().from_link(link)
        if not params.keys().isdisjoint(SELECTION_PARAMS) and VIEW not in state.tabs:
            state = replace(state, tabs=[*state.tabs, VIEW])
        return replace(
            state,
            kind=next(kinds, self.kind),
            sample=link.request.sample,
            seed=link.request.seed,
            look=_parse_number(params, "look"),
            reading=params.get("reading", ""),
            row=_parse_number(params, "row"),
            column=_parse_number(params, "column"),
        )

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters, with the shown step, its sample and the explored model."""
        # The first reader may be one that never chooses at random.
        asked = replace(request, sample=self.sample, seed=self.seed if self.sample else 0)
        params = super().to_link(asked, focus, view)
        closer = SELECTION_PARAMS if VIEW in self.tabs else ()
        for name in ("look", *closer):
            if getattr(self, name) not in (None, ""):
                params[name] = str(getattr(self, name))
        return params


MechanismsPage = Page[MechanismsState]


def draw_mechanisms_form(page: MechanismsPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return one request per model, () while there is no picture."""
    with draw_input_row(page):
        pictures = _choose_pictures(page, cards)
        source = st.container()
        with draw_options_popover(page):
            draw_chance_switch(page)
    picture = draw_picture_input(page, (pictures.samples,), pictures.first, source)
    if picture is None:
        return ()
    readers = list_digit_models(cards, pictures.kind)
    return tuple(_make_request(page.state, reader, picture) for reader in readers)


def _make_request(state: MechanismsState, reader: DigitModel, picture: Picture) -> Request:
    """Return the request of a reader. Only hard models can choose at random."""
    is_random = state.sample and reader.way.is_hard
    seed = state.seed if is_random else 0
    return Request(reader.card.name, "", picture=picture, sample=is_random, seed=seed)


def draw_chance_switch(page: MechanismsPage) -> None:
    """Draw the switch between most probable and sampled choices, and the button to resample."""
    with st.container(horizontal=True, vertical_alignment="center"):
        page.draw_widget(
            st.toggle,
            "Let the hard models choose at random",
            "sample",
            help=(
                "Off: the most probable choice is taken. On: choices are drawn at random by their"
                " probability, as in training."
            ),
        )
        another = {"seed": page.state.seed + 1}
        disabled = not page.state.sample
        st.button("Try another random run", on_click=page.set, kwargs=another, disabled=disabled)


def list_digit_models(cards: Cards, kind: str) -> Sequence[DigitModel]:
    """Return the models that read pictures of this kind, sorted by mechanism."""
    readers: list[DigitModel] = []
    for way in MECHANISMS:
        fitting: list[Card] = []
        for card in cards.values():
            fits = card.task == "digits" and card.config.get("kind") == kind
            if fits and card.mechanism == way.mechanism:
                fitting.append(card)
        titles = [way.title]
        if len(fitting) > 1:
            titles = make_names_unique([card.title for card in fitting])
        for card, title in zip(fitting, titles, strict=False):
            readers.append(DigitModel(way, card, title))
    return readers


def _choose_pictures(page: MechanismsPage, cards: Cards) -> PictureKind:
    """Let the user choose the kind of pictures, among those with models."""
    known = {card.config.get("kind") for card in cards.values()}
    offered = [kind for kind in PICTURE_KINDS if kind in known] or list(PICTURE_KINDS)[:1]
    if len(offered) == 1:
        page.set(kind=offered[0])
    else:
        titles = {kind: PICTURE_KINDS[kind].title for kind in offered}
        page.choose(
            st.selectbox, "What is read", "kind", titles, label_visibility="collapsed", width=240
        )
    return PICTURE_KINDS[page.state.kind]


def _parse_number(params: Mapping[str, str], name: str) -> int | None:
    given = params.get(name, "")
    is_number = given.isascii() and given.isdecimal() and len(given) < 4
    return int(given) if is_number else None
