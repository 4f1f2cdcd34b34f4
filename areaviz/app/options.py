"""The shared widgets of forms: model, decoding, largest area, and comparison."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Self

import streamlit as st

from areaviz.app.page import COMPARE, Cards, Link, Page, State, choose_default_model
from areaviz.cards.card import Card
from areaviz.trace.errors import METHODS
from areaviz.trace.request import Request

# Short names of models, which fit into select boxes.


MAX_LABEL_CHARACTERS = 45
"""Number of characters that a select box of a page shows."""
_ABBREVIATIONS = (
    (" (Tiny)", ""),
    (" (256 cells, 4 heads)", ""),
    ("Captions of shape scenes", "Scenes"),
    ("Shape scenes", "Scenes"),
    ("Captions of photos", "Photos"),
    ("Spoken digits, GRU, attention", "Attention"),
    (" with boundary keys", ""),
)
"""Parts of titles, and their replacements in a short name."""


def shorten_titles(cards: Mapping[str, Card]) -> dict[str, str]:
    """Return short names of models, by the names of their checkpoints.

    A part of a title stays if two models would have equal names without it.
    """
    titles = {name: card.title for name, card in cards.items()}
    for part, shorter in _ABBREVIATIONS:
        for name, title in list(titles.items()):
            short = title.replace(part, shorter)
            others = {other for one, other in titles.items() if one != name}
            if short not in others:
                titles[name] = short
    return titles


# The widgets, and the state that they show.


AS_TRAINED = 0
COMPARED_VALUE = "1"
"""The value in a link for comparing with the model that `find_counterpart` finds."""
ITEMS_LABEL = "{size} neighbouring items"
MAX_AREA_SIZE, MAX_BEAM_WIDTH = 5, 16
MENU_WIDTH_PX = 310
"""Width of the choice of a model in px, for the longest name of `shorten_titles`."""
STORED_FILE_KEY = "stored_file"
"""The session key of an uploaded trace, which a page shows instead of running a model."""
MAX_MEGABYTES = 20
"""Limit on an uploaded trace in MB. Streamlit keeps it in memory for the whole session."""


@dataclass(frozen=True)
class ModelState(State):
    """The state of a page that runs a model: the model and its options."""

    model: str = ""
    # The kind of pictures for which the model was selected, see `select_model_for_picture`.
    model_kind: str = ""
    method: str = METHODS[0]
    beam: int = 4
    area_size: int = AS_TRAINED
    # The name of the other model; in a link also `COMPARED_VALUE`.
    compare: str | None = None

    def from_link(self, link: Link) -> Self:
        """Return this state with the options of a link's request."""
        request = link.request
        return replace(
            super().from_link(link),
            model=request.model,
            method=request.method,
            beam=request.beam,
            area_size=request.area_size or AS_TRAINED,
            compare=link.params.get(COMPARE),
        )


ModelPage = Page[ModelState]


def choose_model(page: ModelPage, cards: Cards, label_visibility: str = "collapsed") -> Card:
    """Let the user choose the model. A new one opens at the default view of its card."""
    if page.state.model not in cards:
        page.set(model=choose_default_model(cards))
    titles = shorten_titles(cards)
    name = page.choose(
        st.selectbox,
        "Model",
        "model",
        titles,
        width=MENU_WIDTH_PX,
        label_visibility=label_visibility,
    )
    _apply_default_view(page, cards[name])
    return cards[name]


@contextmanager
def draw_options_popover(page: Page[State]) -> Iterator[None]:
    """Draw the menu of rarely used options: the block's widgets, and a stored trace."""
    with st.popover("Options", key=page.key("options")):
        yield
        st.file_uploader(
            "Open a trace downloaded from this page (.npz)",
            key=STORED_FILE_KEY,
            max_upload_size=MAX_MEGABYTES,
            help="The file must have the trace format. No code in it is run.",
        )


def choose_model_and_options(page: ModelPage, cards: Cards, **options: Any) -> Card:
    """Draw the choice of the model and the menu of its options. Return the model.

    The options are those of `draw_run_options`.
    """
    card = choose_model(page, cards)
    with draw_options_popover(page):
        draw_run_options(page, card, **options)
    return card


def draw_run_options(
    page: ModelPage,
    card: Card,
    largest: int = MAX_AREA_SIZE,
    extent: str = ITEMS_LABEL,
    decodes: bool = True,
) -> None:
    """Draw the options of a run: decoding and the largest area.

    Args:
        page: its state has the chosen values.
        card: the card of the chosen model.
        largest: the largest area size that is offered.
        extent: describes the extent of an area of a given size.
        decodes: whether the model produces output, so that decoding options apply.
    """
    with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
        if decodes:
            _draw_decoding(page)
        if "areas" in card.can:
            _draw_area_size(page, card, largest)
            st.caption(
                describe_area_size(
                    page.state.area_size, extent, card.largest_learned, get_trained_size(card)
                )
            )
        else:
            page.set(area_size=AS_TRAINED)


def get_compared_model(page: ModelPage, card: Card, cards: Cards) -> Card | None:
    """Return the model to compare with, None if there is none. A link may ask for the counterpart.

    The choice itself is drawn by `choose_other_model`.
    """
    first, wanted = find_counterpart(card, cards), page.state.compare
    if wanted == COMPARED_VALUE and first:
        wanted = first.name
    page.set(compare=wanted if wanted in cards and wanted != card.name else None)
    return cards.get(page.state.compare or "")


def add_options(
    page: ModelPage, request: Request, other: Card | None = None
) -> tuple[Request, ...]:
    """Return a request with the chosen options, and an equal one for the compared model."""
    state = page.state
    request = replace(request, area_size=state.area_size or None)
    if state.method != "greedy":
        request = replace(request, method=state.method, beam=state.beam)
    if other is None:
        return (request,)
    return request, replace(request, model=other.name, area_size=None)


def build_compared_requests(
    page: ModelPage, card: Card, cards: Cards, request: Request
) -> tuple[Request, ...]:
    """Return a request with the chosen options, and one for the model to compare with, if any."""
    return add_options(page, request, get_compared_model(page, card, cards))


def _apply_default_view(page: ModelPage, card: Card) -> None:
    """Select for a new model the default view of its card."""
    state = page.state
    is_linked = not state.focused_model and state.layer is not None
    if state.focused_model == card.name:
        return
    page.set(focused_model=card.name, opening=card.opening)
    if not is_linked:
        page.set(opened="")


def choose_other_model(page: ModelPage, card: Card, cards: Cards) -> Card | None:
    """Let the user choose a model to compare with. The counterpart is offered first."""
    first = find_counterpart(card, cards)
    others = {first.name: first} if first else {}
    others |= {one.name: one for one in cards.values() if one.name != card.name}
    if not others:
        return None
    get_compared_model(page, card, cards)
    titles = shorten_titles(others)
    page.choose_optional(
        "Compare with", "compare", titles, placeholder="No other model", width=MENU_WIDTH_PX
    )
    return others.get(page.state.compare or "")


def _draw_decoding(page: ModelPage) -> None:
    page.draw_widget(
        st.segmented_control,
        "Decoding",
        "method",
        METHODS,
        format_func=str.capitalize,
        required=True,
        help=(
            "Greedy takes the most probable item at every step. Beam search follows several"
            " candidates at once."
        ),
    )
    if page.state.method != "greedy":
        page.draw_widget(st.number_input, "Beam width", "beam", 1, MAX_BEAM_WIDTH, width=120)


def _draw_area_size(page: ModelPage, card: Card, largest: int) -> None:
    """Draw the slider for the largest area."""
    chosen = page.state.area_size
    if card.largest_learned:
        # Learned parameters of areas end at the trained size, so the slider ends there too.
        largest = min(largest, card.largest_learned)
        chosen = chosen if chosen <= largest else AS_TRAINED
        page.set(area_size=chosen)
    trained = get_trained_size(card)
    as_trained = f"As trained ({trained})" if trained else "As trained"
    page.draw_widget(
        st.select_slider,
        "Largest area",
        "area_size",
        [*range(1, max(largest, chosen) + 1), AS_TRAINED],
        format_func=lambda size: as_trained if size == AS_TRAINED else str(size),
        width=200,
    )


def get_trained_size(card: Card) -> int:
    """Return the largest area size in training, in items or rows; 0 if it is unknown."""
    return int(card.config.get("text", card.config).get("area_size", 0))


def find_counterpart(card: Card, cards: Cards) -> Card | None:
    """Return the most similar model with another kind of attention, None if there is none.

    It has the same task, level and picture kind, and a different kind of attention. In a pair, a
    different variant of the attention is enough. The pair's partner comes first, then models of
    equal size, then models of one family.
    """
    others = []
    for one in cards.values():
        is_like = (one.task, one.level, one.pictures) == (card.task, card.level, card.pictures)
        is_twin = one.pair == card.pair and one.name != card.name
        if is_like and (is_twin or one.mechanism != card.mechanism):
            others.append(one)

    def rank_likeness(one: Card) -> tuple[bool, bool, bool]:
        return one.pair == card.pair, one.size == card.size, one.family == card.family

    return max(others, key=rank_likeness, default=None)


def describe_area_size(size: int, extent: str, largest_learned: int = 0, trained: int = 0) -> str:
    """Describe the effect of the chosen area size.

    Args:
        size: the size of the largest area.
        extent: the extent of an area of a given size, with "{size}" in it.
        largest_learned: see `Card.largest_learned`.
        trained: the size in training, 0 if it is unknown.
    """
    reach = f"Areas hold up to {extent.format(size=size)}"
    if size in (AS_TRAINED, trained):
        return _format_as_trained(trained)
    if size == 1:
        kept = (
            ": it keeps what it learned about items that begin and end an area, and leaves out what"
            " it learned about larger areas"
            if largest_learned
            else ""
        )
        return f"Single items only, by the same weights{kept}. {_NOT_TRAINED_WARNING}"
    if largest_learned:
        return (
            f"{reach}. What the model learned about larger areas is left out."
            f" {_NOT_TRAINED_WARNING}"
        )
    return f"{reach}. {_NOT_TRAINED_WARNING}"


_NOT_TRAINED_WARNING = "The model was not trained this way, so it may write worse."


def _format_as_trained(trained: int) -> str:
    if trained == 1:
        return "Try larger areas: this model was trained with single items."
    if trained:
        return f"Try smaller areas: this model was trained with areas of up to {trained}."
    return "Try other areas: they need no further weights."
