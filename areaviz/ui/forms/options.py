"""The widgets that pages ask with: the model, how it decodes, its largest area, and what to compare
it with.

Each page has values of its own; they survive a visit to another page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import streamlit as st

from areaviz.cards.card import Card
from areaviz.trace.limits import METHODS
from areaviz.trace.request import Request
from areaviz.ui.look.focus_state import begin_with

AS_TRAINED = 0
COUNTERPART = "1"
"""In a link: compare with the model that `counterpart` finds."""
LARGEST_AREA, WIDEST_BEAM = 5, 16


@dataclass(frozen=True, slots=True)
class Asking:
    """The widgets of one page; `page` is the beginning of their keys, `extent` says what an area of
    a size holds.
    """

    page: str
    extent: str = "{size} neighbouring items"

    def key(self, name: str) -> str:
        """The session key of "model", "method", "beam", "area_size" or "compare"."""
        return f"{self.page}_{name}"

    def recall(self, request: Request, compare: str) -> None:
        """Set the widgets to a request, for instance a link's; compare: a model's name,
        `COUNTERPART` or "".
        """
        state = st.session_state
        state[self.key("model")], state[self.key("method")] = request.model, request.method
        state[self.key("beam")], state[self.key("compare")] = request.beam, compare
        state[self.key("area_size")] = request.area_size or AS_TRAINED

    def pickers(
        self, cards: Mapping[str, Card], largest: int = LARGEST_AREA
    ) -> tuple[Card, Card | None]:
        """Draw all widgets; returns the model, and the one to compare it with or None."""
        return self._row(cards, largest, compare=True)

    def one(self, cards: Mapping[str, Card], largest: int = LARGEST_AREA) -> Card:
        """Draw the widgets but that of the comparison; returns the model."""
        return self._row(cards, largest, compare=False)[0]

    def _row(
        self, cards: Mapping[str, Card], largest: int, compare: bool
    ) -> tuple[Card, Card | None]:
        with st.container(horizontal=True, gap="medium"):
            card = self._model(cards)
            begin_with(card)
            other = self._compare(card, cards) if compare else None
        with st.container(horizontal=True, gap="medium", vertical_alignment="center"):
            self._decoding()
            if "areas" in card.can:
                self._area(card, largest)
                size = st.session_state[self.key("area_size")]
                st.caption(about_areas(size, self.extent, card.largest_learned))
            else:
                st.session_state[self.key("area_size")] = AS_TRAINED
        return card, other

    def requests(self, request: Request, other: Card | None) -> tuple[Request, ...]:
        """A request with the chosen options, and the same for the model it is compared with."""
        state = st.session_state
        asked = replace(request, area_size=state[self.key("area_size")] or None)
        if state[self.key("method")] != "greedy":
            asked = replace(asked, method=state[self.key("method")], beam=state[self.key("beam")])
        return (
            (asked,) if other is None else (asked, replace(asked, model=other.name, area_size=None))
        )

    def _model(self, cards: Mapping[str, Card]) -> Card:
        key = self.key("model")
        if st.session_state.get(key) not in cards:
            st.session_state[key] = default_model(cards)
        name = st.selectbox(
            "Model",
            list(cards),
            key=key,
            format_func=lambda name: cards[name].title,
            width=345,
            persist_state="session",
        )
        return cards[name]

    def _decoding(self) -> None:
        method, beam = self.key("method"), self.key("beam")
        st.session_state.setdefault(method, METHODS[0])
        st.session_state.setdefault(beam, 4)
        st.segmented_control(
            "Decoding",
            METHODS,
            key=method,
            format_func=str.capitalize,
            required=True,
            persist_state="session",
            help=(
                "Greedy takes the most probable item at every step; beam search follows several"
                " candidates at once."
            ),
        )
        if st.session_state[method] != "greedy":
            st.number_input(
                "Beam width", 1, WIDEST_BEAM, key=beam, width=120, persist_state="session"
            )

    def _area(self, card: Card, largest: int) -> None:
        """The slider; what was learned about areas ends at the trained size, so the slider ends
        there too.
        """
        key = self.key("area_size")
        chosen = st.session_state.setdefault(key, AS_TRAINED)
        if card.largest_learned:
            largest = min(largest, card.largest_learned)
            if chosen > largest:
                chosen = st.session_state[key] = AS_TRAINED
        st.select_slider(
            "Largest area",
            range(AS_TRAINED, max(largest, chosen) + 1),
            key=key,
            format_func=lambda size: "As trained" if size == AS_TRAINED else str(size),
            width=200,
            persist_state="session",
        )

    def _compare(self, card: Card, cards: Mapping[str, Card]) -> Card | None:
        """Which other model runs beside it; the counterpart is offered first."""
        first = counterpart(card, cards)
        others = {
            one.name: one
            for one in [*([first] if first else []), *cards.values()]
            if one.name != card.name
        }
        if not others:
            return None
        key = self.key("compare")
        wanted = st.session_state.get(key) or ""
        wanted = first.name if wanted == COUNTERPART and first else wanted
        st.session_state[key] = wanted if wanted in others else None
        chosen = st.selectbox(
            "Compare with",
            list(others),
            index=None,
            key=key,
            format_func=lambda name: others[name].title,
            placeholder="No other model",
            width=345,
            persist_state="session",
        )
        return others[chosen] if chosen else None


def default_model(cards: Mapping[str, Card]) -> str:
    """The model to begin with: the first that attends to areas."""
    return next(
        (card.name for card in cards.values() if card.mechanism == "area"), next(iter(cards), "")
    )


def counterpart(card: Card, cards: Mapping[str, Card]) -> Card | None:
    """The model of the same task, level, size and pictures with another kind of attention; one of
    the pair first.
    """

    def kind(one: Card) -> tuple[str, ...]:
        return one.task, one.level, one.size, one.pictures

    others = [c for c in cards.values() if kind(c) == kind(card) and c.mechanism != card.mechanism]
    return next((other for other in others if other.pair == card.pair), next(iter(others), None))


def about_areas(size: int, extent: str, largest_learned: int = 0) -> str:
    """What the chosen size means; largest_learned: see `Card.largest_learned`."""
    if largest_learned:
        return _about_learned_areas(size, extent, largest_learned)
    if size == 1:
        return "With areas of one item this is regular attention, by the same weights."
    reach = "" if size == AS_TRAINED else f"Areas hold up to {extent.format(size=size)}. "
    return (
        f"{reach}Areas add no parameters, so the same model runs with any largest area; with 1 it"
        " is regular attention."
    )


def _about_learned_areas(size: int, extent: str, largest: int) -> str:
    """What a size keeps and loses of what the model has learned about areas."""
    if size == 1:
        return (
            "Single items only: they keep what the model learned about items that begin and end an"
            " area, and all that it learned about larger areas is left out. It was not trained this"
            " way, so it translates worse."
        )
    if size in (AS_TRAINED, largest):
        return (
            f"This model has learned what areas of up to {largest} items mean; smaller ones can be"
            " tried."
        )
    return (
        f"Areas hold up to {extent.format(size=size)}; what the model learned about larger ones is"
        " left out."
    )
