"""Pictures and models of the same kind: a new picture brings along a model that has learned it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from areaviz.cards.card import Card
from areaviz.data.picture_samples import SAMPLES
from areaviz.trace.picture import Picture
from areaviz.ui.forms.options import ModelPage, ModelState
from areaviz.ui.forms.picture_input import PictureState, picture_input
from areaviz.ui.shell.page import Page
from areaviz.ui.shell.state import Cards, Link, default_model

KINDS = ("scene", "photo")
"""Of the samples that are offered."""
FIRST = {"scenes": "scene-34", "photos": "astronaut"}
"""The sample to begin with for a model of each kind."""


@dataclass(frozen=True)
class PictureModelState(ModelState, PictureState):
    """What a page holds that shows pictures to a model."""

    def from_link(self, link: Link) -> Self:
        """A link that names both takes the model as it is together with such pictures."""
        state, name = super().from_link(link), link.params.get("picture")
        if name is None or link.problem:
            return state
        return replace(state, model_kind=kind_of(name) if "model" in link.params else "")


def kind_of(name: str) -> str:
    """What a picture of this name shows, as in `Card.pictures`; an upload is a photograph."""
    entry = SAMPLES.get(name)
    return "scenes" if entry and entry.kind == "scene" else "photos"


def fitting_picture(page: Page[PictureModelState], cards: Cards) -> Picture | None:
    """Let a picture be chosen, which brings a model of its kind along."""
    picture = picture_input(page, KINDS, first_sample(page, cards))
    fit_model(page, cards, picture)
    return picture


def first_sample(page: ModelPage, cards: Cards) -> str:
    """The sample to begin with: of the kind that the chosen model knows."""
    card = cards.get(page.state.model)
    return FIRST.get(card.pictures if card else "", FIRST["scenes"])


def fit_model(page: ModelPage, cards: Cards, picture: Picture | None) -> None:
    """Choose a model of the kind of a new picture; what the reader chooses later stays."""
    fit_kind(page, cards, kind_of(picture.name) if picture else "")


def fit_kind(page: ModelPage, cards: Cards, kind: str) -> None:
    """Choose a model that knows new pictures of a kind, as in `Card.pictures`; "" is none."""
    is_fitted = page.state.model_kind == kind and page.state.model in cards
    if not kind or is_fitted:
        return
    page.set(model_kind=kind)
    card = cards.get(page.state.model)
    # What a model of others knows is not said, so it stays where a reader has chosen it.
    if card and (card.pictures == kind or not card.trained_on):
        return
    fitting = {name: one for name, one in cards.items() if one.pictures == kind}
    if fitting:
        page.set(model=default_model(fitting))


def mismatch(card: Card, picture: Picture | None) -> str:
    """A sentence where a model is asked about a picture of a kind it has never seen; "" else."""
    return card.unfamiliar(kind_of(picture.name)) if picture else ""
