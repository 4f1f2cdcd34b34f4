"""Matching of pictures and models: a new picture selects a model trained on its kind."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from streamlit.delta_generator import DeltaGenerator

from areaviz.cards.card import Card
from areaviz.cards.tasks import TASKS
from areaviz.samples.own_media import PICTURE_SAMPLES
from areaviz.trace.request import Picture
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards, Link, choose_default_model
from areaviz.ui.forms.options import ModelPage, ModelState
from areaviz.ui.forms.picture_input import PictureState, draw_picture_input

VALIDATION_SITE = "encoder-decoder, val"
"""The figures of a card that say how often words point at what they name."""
PICTURE_TYPES = ("scene", "photo")
"""The kinds of samples that are offered."""
FIRST_SAMPLES = {"scenes": "scene-34", "photos": "photographer"}
"""The first sample for a model of each kind."""
FIRST_SAMPLES_OF_TASK = {"picture translation": {"scenes": "scene-10"}}
"""The first samples of tasks whose models look at the right things in other samples."""


@dataclass(frozen=True)
class PictureModelState(ModelState, PictureState):
    """The state of a page that shows pictures to a model."""

    def from_link(self, link: Link) -> Self:
        """Return this state with a link's model and picture, without matching them."""
        state, name = super().from_link(link), link.params.get("picture")
        if name is None or link.problem:
            return state
        return replace(state, model_kind=get_picture_type(name) if "model" in link.params else "")


def get_picture_type(name: str) -> str:
    """Return the kind of picture, as in `Card.pictures`. An upload counts as a photograph."""
    entry = PICTURE_SAMPLES.get(name)
    return "scenes" if entry and entry.kind == "scene" else "photos"


def choose_fitting_picture(
    page: Page[PictureModelState],
    cards: Cards,
    place: DeltaGenerator,
    samples: DeltaGenerator | None = None,
) -> Picture | None:
    """Let the user choose a picture, and select a model of its kind.

    Args:
        page: its state has the picture and the model.
        cards: the cards of the offered models.
        place: where to draw the choice of the source of pictures.
        samples: where to draw the samples; None draws them below.
    """
    picture = draw_picture_input(
        page, PICTURE_TYPES, choose_first_sample(page, cards), place, samples
    )
    select_model_for_picture(page, cards, picture)
    return picture


def choose_first_sample(page: ModelPage, cards: Cards) -> str:
    """Return the first sample of the page's task, of the kind that the model was trained on."""
    card = cards.get(page.state.model)
    # The page has no model before its first picture is chosen.
    task = next((one.task for one in cards.values()), "")
    first = FIRST_SAMPLES | FIRST_SAMPLES_OF_TASK.get(task, {})
    return first.get(card.pictures if card else "", first["scenes"])


def select_model_for_picture(page: ModelPage, cards: Cards, picture: Picture | None) -> None:
    """Select a model of a new picture's kind. The user's later choice is kept."""
    select_model_for_type(page, cards, get_picture_type(picture.name) if picture else "")


def select_model_for_type(page: ModelPage, cards: Cards, kind: str) -> None:
    """Select a model trained on this kind of pictures, as in `Card.pictures`; "" selects none."""
    is_fitted = page.state.model_kind == kind and page.state.model in cards
    if not kind or is_fitted:
        return
    page.set(model_kind=kind)
    card = cards.get(page.state.model)
    # The training data of external models is unknown, so the user's choice is kept.
    if card and (card.pictures == kind or not card.trained_on):
        return
    fitting = {name: one for name, one in cards.items() if one.pictures == kind}
    if fitting:
        page.set(model=_choose_first_model(fitting))


def _choose_first_model(cards: Cards) -> str:
    """Return the model that its task opens with, else the one that points best on validation."""
    first = choose_default_model(cards)
    if TASKS[cards[first].task].opens == first:
        return first

    def rank(name: str) -> tuple[float, bool]:
        return cards[name].attention.get(VALIDATION_SITE, {}).get("pointing", 0.0), name == first

    return max(cards, key=rank)


def warn_of_picture_type(card: Card, picture: Picture | None) -> str:
    """Return a sentence if the model was not trained on this kind of picture, or ""."""
    return card.unfamiliar(get_picture_type(picture.name)) if picture else ""
