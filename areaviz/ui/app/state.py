"""The common state of all pages between reruns, and the URL from which it is read and written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from areaviz.cards.card import Card, Opening, find_successor
from areaviz.cards.tasks import TASKS
from areaviz.trace.areas import Area
from areaviz.trace.derived import split_best_site
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus, Request, from_params, to_params
from areaviz.ui.app.markdown import shorten_line

ALL_HEADS = -1
BEST_LAYER = -1
"""The choice of the best alignment in place of a layer."""
VIEW, COMPARE, LEVEL, WHY, ATTRIBUTION = "view", "compare", "level", "why", "attribution"
"""URL parameters. Each of them but `LEVEL` is also the name of the tab that shows its value."""
WITHOUT, WHAT_IF, TABLE, COSTS, KINDS = "without", "what_if", "table", "costs", "kinds"
BRACKETS = "brackets"
"""The names of the other tabs below a result."""
WRITES_PARAM = "writes"
"""The URL parameter of a text that the model continues."""
TOUR = "tour"
"""The URL parameter of the step of the guided tour, which pages keep."""
_AREA = re.compile(r"[1-9][0-9]{0,5}(-[1-9][0-9]{0,5}){3}")
NO_PARAMS: Mapping[str, str] = {}

Cards = Mapping[str, Card]


UNSELECTED = Focus("", unit="word")
"""The selection of a page that opens: nothing is locked, and a click locks a whole word."""


@dataclass(frozen=True, slots=True)
class Link:
    """The content of a link.

    Args:
        params: its parameters, unchanged.
        request: the request, with defaults for unreadable parameters.
        focus: the selection, None if the link has none.
        problem: one sentence that says why it cannot be followed, or "".
        replaced: the removed model that it names and the successor that opens, or ().
    """

    params: Mapping[str, str]
    request: Request
    focus: Focus | None
    problem: str = ""
    replaced: tuple[str, ...] = ()

    @classmethod
    def read(cls, params: Mapping[str, str], cards: Cards) -> Link:
        """Read the parameters of a link to a page that offers these models."""
        first = choose_default_model(cards, params.get(LEVEL, ""))
        params, replaced = _replace_removed_models(params, cards)
        try:
            request, focus = from_params({"model": first, **params})
        except InputError as error:
            return cls(params, Request(first, params.get("text", "")), None, str(error))
        if request.model in cards:
            return cls(params, request, focus, replaced=replaced)
        problem = (
            f"The link asks for the model “{shorten_line(request.model, 40)}”, which is not here. "
            "Choose one of the models below."
        )
        return cls(params, request, focus, problem)


@dataclass(frozen=True)
class State:
    """The state common to all pages. A page adds fields of its own, all with defaults.

    Attributes:
        is_written_in_pictures: whether users write the input in the picture of the result. Such a
            state has a method `with_text`, which takes the new input.
    """

    is_written_in_pictures: ClassVar[bool] = False

    # The URL parameters that were followed or written last, and their complete form including
    # defaults; None until it is known.
    address: Mapping[str, str] = field(default_factory=dict)
    whole_address: Mapping[str, str] | None = None
    # The addresses that the page replaced since it last followed a link, the newest last.
    replaced_addresses: tuple[Mapping[str, str], ...] = ()
    # Why the link could not be followed, and whether the model has just run. After a run the page
    # is drawn once more, before the user has seen the sentence.
    problem: str = ""
    # The removed model that the link named and its successor, or ().
    replaced: tuple[str, ...] = ()
    has_just_run: bool = False
    # The names of the open tabs below the result.
    tabs: list[str] = field(default_factory=list)
    # The selected attention type and layer. "" and None select the first ones.
    site: str = ""
    layer: int | None = None
    head: int = ALL_HEADS
    # The locked selection with its site and side, and how it is displayed.
    locked: Focus = UNSELECTED
    view: str = ""
    # The model whose default layer was opened first, the default selection of its card for each
    # site, and the site that was opened last. Later choices are not overwritten.
    focused_model: str = ""
    opening: Mapping[str, Opening] = field(default_factory=dict)
    opened: str = ""
    # The query, the area and the alternative area of "Why this weight".
    why_query: int | None = None
    why_area: Area | None = None
    why_beside: Area | None = None
    # Whether the difference of two maps is shown.
    differs: bool = False
    # Whether a row of steps is shown relative to its average.
    is_against: bool = False

    def from_link(self, link: Link) -> Self:
        """Return this state after a link. An invalid link is followed as far as possible.

        The tabs that show the linked values are open.
        """
        tabs = [name for name in (VIEW, COMPARE, WHY, ATTRIBUTION) if name in link.params]
        state = replace(self, tabs=tabs)
        if WHY not in link.params:
            return state
        area, _, beside = link.params[WHY].partition(".")
        return replace(state, why_area=_parse_area(area), why_beside=_parse_area(beside))

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """Return the URL parameters of a request and of the selection."""
        params = build_link_params(request, focus, view)
        if WHY in self.tabs:
            areas = [self.why_area, self.why_beside]
            params[WHY] = ".".join(_format_area(area) for area in areas if area is not None)
        return params

    def with_focus(self, focus: Focus | None, view: str = "") -> Self:
        """Return this state with another selection; None gives the default selection."""
        first = replace(self, site="", layer=None, view=view, focused_model="", opened="")
        if focus is None:
            return replace(first, head=ALL_HEADS, locked=UNSELECTED)
        site, best = split_best_site(focus.site)
        layer = BEST_LAYER if best else focus.layer
        return replace(first, site=site, layer=layer, opened=site).with_locked(focus)

    def with_locked(self, focus: Focus) -> Self:
        """Return this state with the items and the head of a selection. Site and layer stay."""
        return replace(self, head=ALL_HEADS if focus.head is None else focus.head, locked=focus)

    def at_site(self, site: str) -> Self:
        """Return this state at a site. A new site opens as the model's card says."""
        first = self.opening.get(site)
        if first is None or self.opened == site:
            return self
        head = ALL_HEADS if first.head is None else first.head
        layer = first.layer
        if first.best is not None and first.best.opens:
            layer = BEST_LAYER
        locked = replace(self.locked, reading=first.reading)
        return replace(self, layer=layer, head=head, locked=locked, opened=site)

    def without_lock(self) -> Self:
        """Return this state without locked items, because the input is new."""
        return replace(self, locked=replace(self.locked, side="query", items=()))


def _replace_removed_models(
    params: Mapping[str, str], cards: Cards
) -> tuple[Mapping[str, str], tuple[str, ...]]:
    """Return the parameters with successors of removed models, and the first replaced pair."""
    replaced: tuple[str, ...] = ()
    found = dict(params)
    for name in (COMPARE, "model"):
        model = params.get(name, "")
        found_model = find_successor(model, cards)
        if found_model != model:
            found[name], replaced = found_model, (model, found_model)
    return found, replaced


def _format_area(area: Area) -> str:
    """Return an area as written in links: top, left, height and width, from 1."""
    return f"{area.top + 1}-{area.left + 1}-{area.height}-{area.width}"


def _parse_area(code: str) -> Area | None:
    """Return the area in a link, None if it is invalid. The page then uses the top area."""
    if not _AREA.fullmatch(code):
        return None
    top, left, height, width = map(int, code.split("-"))
    return Area(top - 1, left - 1, height, width)


def build_link_params(
    request: Request, focus: Focus | None = None, view: str = "", compare: str = ""
) -> dict[str, str]:
    """Return the URL parameters of a view.

    The value of `compare` is the name of a model, or `options.COMPARED_VALUE`.
    """
    params = to_params(request, focus)
    if view:
        params[VIEW] = view
    if compare:
        params[COMPARE] = compare
    return params


def choose_default_model(cards: Cards, level: str = "") -> str:
    """Return the default model: the one that its task names, else the first with area attention.

    Args:
        cards: the cards of one task.
        level: only consider models of this level, as in `Card.level`; "" for all.
    """
    fitting = [card for card in cards.values() if level in ("", card.level)] or [*cards.values()]
    named = (card.name for card in fitting if TASKS[card.task].opens == card.name)
    areas = (card.name for card in fitting if card.mechanism == "area")
    return next(named, next(areas, fitting[0].name if fitting else ""))
