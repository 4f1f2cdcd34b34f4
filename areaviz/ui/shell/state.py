"""What every page holds between reruns, and the address that it is read from and written to."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from areaviz.cards.card import Card, Opening
from areaviz.cards.tasks import TASKS
from areaviz.trace.areas import Area
from areaviz.trace.errors import InputError
from areaviz.trace.link import from_params, to_params
from areaviz.trace.request import Focus, Request
from areaviz.ui.shell.markdown import shortened

ALL_HEADS = -1
VIEW, COMPARE, LEVEL, WHY = "view", "compare", "level", "why"
_AREA = re.compile(r"[1-9][0-9]{0,5}(-[1-9][0-9]{0,5}){3}")
NOTHING: Mapping[str, str] = {}

Cards = Mapping[str, Card]


@dataclass(frozen=True, slots=True)
class Link:
    """What an address asks for.

    Args:
        params: its parameters, as they are.
        request: what to run, with defaults where the address cannot be read.
        focus: what to look at, None where it does not say.
        problem: why it cannot be followed, in one sentence, or "".
    """

    params: Mapping[str, str]
    request: Request
    focus: Focus | None
    problem: str = ""

    @classmethod
    def of(cls, params: Mapping[str, str], cards: Cards) -> Link:
        """Reads the parameters of a page that offers these models."""
        first = default_model(cards, params.get(LEVEL, ""))
        try:
            request, focus = from_params({"model": first, **params})
        except InputError as error:
            return cls(params, Request(first, params.get("text", "")), None, str(error))
        if request.model in cards:
            return cls(params, request, focus)
        problem = (
            f"The link asks for the model “{shortened(request.model, 40)}”, which is not here; "
            "choose one of the models below."
        )
        return cls(params, request, focus, problem)


@dataclass(frozen=True)
class State:
    """What every page holds. A page adds fields of its own, all with defaults."""

    # The address that was followed or written last, and what it amounts to with all that it leaves
    # to the page; None until that is known.
    address: Mapping[str, str] = field(default_factory=dict)
    whole_address: Mapping[str, str] | None = None
    # Why the address could not be followed, and whether the model has just run: the page is then
    # drawn once more, and the reader has not seen the sentence yet.
    problem: str = ""
    has_just_run: bool = False
    # Whether the form stands open; after a run it folds.
    is_form_open: bool = False
    # Site and layer that are looked at; "" and None are the first there is.
    site: str = ""
    layer: int | None = None
    head: int = ALL_HEADS
    # The items that are locked, with their site and side, and how they are seen.
    locked: Focus = Focus("")
    view: str = ""
    # The model whose best layer was looked at first, what its card opens each site on, and the site
    # that was opened last: later choices stay.
    focused_model: str = ""
    opening: Mapping[str, Opening] = field(default_factory=dict)
    opened: str = ""
    # Whether "Why this weight" is open, and of which query, which area and which other one it is
    # asked.
    is_why_open: bool = False
    why_query: int | None = None
    why_area: Area | None = None
    why_beside: Area | None = None
    # Whether the difference of two maps is shown.
    differs: bool = False
    # Whether a row of looks is lit against the average of them.
    is_against: bool = False

    def from_link(self, link: Link) -> Self:
        """This state after a link; of one with a problem, what could be read of it."""
        if WHY not in link.params:
            return replace(self, is_why_open=False)
        area, _, beside = link.params[WHY].partition(".")
        areas = _area(area), _area(beside)
        return replace(self, is_why_open=True, why_area=areas[0], why_beside=areas[1])

    def to_link(
        self, request: Request, focus: Focus | None = None, view: str = ""
    ) -> dict[str, str]:
        """The address parameters of a request, and of what is looked at."""
        params = link_params(request, focus, view)
        if self.is_why_open:
            areas = [self.why_area, self.why_beside]
            params[WHY] = ".".join(_code(area) for area in areas if area is not None)
        return params

    def looking_at(self, focus: Focus | None, view: str = "") -> Self:
        """This state looking at something else; without a focus, at the default."""
        first = replace(self, site="", layer=None, view=view, focused_model="", opened="")
        if focus is None:
            return replace(first, head=ALL_HEADS, locked=Focus(""))
        return replace(first, site=focus.site, layer=focus.layer, opened=focus.site).locking(focus)

    def locking(self, focus: Focus) -> Self:
        """This state with the items and the head of a focus; site and layer stay."""
        return replace(self, head=ALL_HEADS if focus.head is None else focus.head, locked=focus)

    def opening_at(self, site: str) -> Self:
        """This state at a site: at what the model's card opens it on, if it was not opened yet."""
        first = self.opening.get(site)
        if first is None or self.opened == site:
            return self
        head = ALL_HEADS if first.head is None else first.head
        locked = replace(self.locked, reading=first.reading)
        return replace(self, layer=first.layer, head=head, locked=locked, opened=site)

    def unlocked(self) -> Self:
        """This state without locked items, as the text or the picture is a new one."""
        return replace(self, locked=replace(self.locked, side="query", items=()))


def _code(area: Area) -> str:
    """An area in a link: top, left, height and width, from 1."""
    return f"{area.top + 1}-{area.left + 1}-{area.height}-{area.width}"


def _area(code: str) -> Area | None:
    """The area of a link, None for what is none; the page then takes the heaviest."""
    if not _AREA.fullmatch(code):
        return None
    top, left, height, width = map(int, code.split("-"))
    return Area(top - 1, left - 1, height, width)


def link_params(
    request: Request, focus: Focus | None = None, view: str = "", compare: str = ""
) -> dict[str, str]:
    """The address parameters of a view.

    Args:
        request: what is run.
        focus: what is looked at.
        view: the name of the picture that is drawn.
        compare: the name of the other model, or `options.COUNTERPART`.
    """
    params = to_params(request, focus)
    if view:
        params[VIEW] = view
    if compare:
        params[COMPARE] = compare
    return params


def default_model(cards: Cards, level: str = "") -> str:
    """The model to begin with: the one that its task names, else the first that attends to areas.

    Args:
        cards: of one task.
        level: of those that are meant, as in `Card.level`; "" for any.
    """
    fitting = [card for card in cards.values() if level in ("", card.level)] or [*cards.values()]
    named = (card.name for card in fitting if TASKS[card.task].opens == card.name)
    areas = (card.name for card in fitting if card.mechanism == "area")
    return next(named, next(areas, fitting[0].name if fitting else ""))
