"""A page, its state between reruns, and the URL from which the state is read and written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar
from urllib.parse import urlencode

import streamlit as st

from areaviz.app.run import has_widget_change
from areaviz.app.texts import LANGUAGE_PARAM, remove_language, shorten_line
from areaviz.cards.card import Card, Opening, describe_replacement, find_successor
from areaviz.cards.tasks import TASKS
from areaviz.samples.own_media import CLIP_SAMPLES, PICTURE_SAMPLES, SOUND_SAMPLES
from areaviz.texts.catalogue import message
from areaviz.trace.areas import Area
from areaviz.trace.derived import split_best_site
from areaviz.trace.errors import InputError
from areaviz.trace.request import Focus, Request, from_params, to_params

# The common state of all pages between reruns, and the URL from which it is read and written.


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


# A page: its name, title and URL, and its state between reruns.
#
# Streamlit forgets the value of a widget that is not drawn. The state of a page is therefore one
# record, its `State`, under one session key, and widgets show fields of it.


PAGE_GROUPS: Mapping[str, Mapping[str, str]] = {
    "": {"home": message("Home")},
    message("Explore"): {
        "translate": message("Translate"),
        "read": message("Read"),
        "caption": message("Caption"),
        "translate_picture": message("Translate with a picture"),
        "four_ways": message("Four ways to look"),
        "listen": message("Listen"),
        "watch": message("Watch"),
        "reason": message("Reason"),
    },
    message("Learn"): {
        "how_areas_work": message("How areas work"),
        "teach": message("For teachers"),
        "models": message("Models"),
        "model": message("Model card"),
    },
    message("Analyse"): {
        "analyse": message("Analyse a set"),
        "your_tensors": message("Your own attention"),
    },
}
"""The navigation: titles of all pages by name, in groups. `pages/NAME.py` draws a page."""
HIDDEN_PARAMS = frozenset({"model"})
"""Pages that only links open."""
TITLES = {name: title for group in PAGE_GROUPS.values() for name, title in group.items()}

_SAMPLES_BY_MEDIUM: Mapping[str, Mapping[str, object]] = {
    "picture": PICTURE_SAMPLES,
    "sound": SOUND_SAMPLES,
    "clip": CLIP_SAMPLES,
}
"""The app's own samples, which a link can name, by the field of the request."""
_OPEN_PAGE_KEY = "page"
_REPLACED_ADDRESSES = 8
"""Number of replaced addresses that a page remembers. Fewer clicks are on their way at a time."""
_DEFAULT_ARGUMENTS = {
    "selectbox": "index",
    "multiselect": "default",
    "pills": "default",
    "segmented_control": "default",
}
"""The argument for the initial value of Streamlit widgets for which it is not `value`."""

S_co = TypeVar("S_co", bound=State, covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[S_co]):
    """A page of the app.

    Args:
        name: the name of its file, also used in its URL and in its session keys.
        purpose: its purpose in one sentence.
        first: its state when it is opened for the first time.
        heading: the heading; "" uses the title in the navigation.
    """

    name: str
    purpose: str
    first: S_co
    heading: str = ""

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.heading or TITLES[self.name]

    @property
    def state(self) -> S_co:
        """The present state of the page."""
        held: S_co = st.session_state.get(self.name, self.first)
        return held

    def set(self, **fields: Any) -> None:
        """Set fields of the state."""
        self.set_state(replace(self.state, **fields))

    def set_and_unlock(self, **fields: Any) -> None:
        """Set fields of the state and remove the locked selection, because the input is new."""
        self.set_state(replace(self.state.without_lock(), **fields))

    def set_state(self, state: State) -> None:
        """Replace the state."""
        st.session_state[self.name] = state

    def key(self, name: str) -> str:
        """Return the session key of a widget: of a field of the state, or of another name."""
        return f"{self.name}_{name}"

    def draw_widget(
        self,
        draw: Callable[..., object],
        label: str,
        name: str,
        *args: Any,
        after_change: Callable[[], None] | None = None,
        **options: Any,
    ) -> Any:
        """Draw a widget that shows a field of the state, and return the field's value.

        Args:
            draw: a function of Streamlit, such as `st.slider`.
            label: the label above the widget.
            name: the name of the field.
            args: the arguments of `draw` after the label.
            after_change: called after the user has changed the value, before the page is drawn.
            options: further arguments of `draw`.
        """
        key, value = self.key(name), getattr(self.state, name)
        # Set the value only if a link or the code changed it: otherwise this would undo the user's
        # choice.
        if key not in st.session_state or st.session_state[key] != value:
            st.session_state[key] = value
        # Streamlit may draw a page twice in a row, and the browser may miss the first drawing,
        # which sets the value. Give the value as the initial one too, because the browser would
        # otherwise start at the first option and report that as a choice.
        first = _DEFAULT_ARGUMENTS.get(draw.__name__, "value")
        if first == "index":
            values = list(args[0])
            options.setdefault(first, values.index(value) if value in values else None)
        else:
            options.setdefault(first, value)
        draw(label, *args, key=key, on_change=self._take, args=(name, after_change), **options)
        return value

    def choose(
        self,
        draw: Callable[..., object],
        label: str,
        name: str,
        options: Mapping[T, str],
        **more: Any,
    ) -> T:
        """Draw a widget for one of `options` (value -> label). Return the first if none is set."""
        if getattr(self.state, name) not in options:
            self.set(**{name: next(iter(options))})
        values, label_of = list(options), options.__getitem__
        chosen: T = self.draw_widget(draw, label, name, values, format_func=label_of, **more)
        return chosen

    def choose_optional(
        self, label: str, name: str, options: Mapping[str, str], **more: Any
    ) -> str | None:
        """Draw a list of `options`, of which none is chosen at first. Another value is removed."""
        if getattr(self.state, name) not in options:
            self.set(**{name: None})
        values, label_of = list(options), options.__getitem__
        chosen: str | None = self.draw_widget(
            st.selectbox, label, name, values, index=None, format_func=label_of, **more
        )
        return chosen

    def choose_segment(self, label: str, name: str, options: Mapping[T, str], **more: Any) -> T:
        """Draw a row of buttons for one of `options`."""
        return self.choose(st.segmented_control, label, name, options, required=True, **more)

    def choose_pills(
        self,
        label: str,
        name: str,
        options: Mapping[T, str],
        after_change: Callable[[], None] | None = None,
    ) -> list[T]:
        """Draw buttons for any number of `options`. The field contains the list of chosen ones."""
        chosen: list[T] = [one for one in getattr(self.state, name) if one in options]
        self.set(**{name: chosen})
        values = list(options)
        label_of = dict(
            zip(values, make_names_unique(list(options.values())), strict=True)
        ).__getitem__
        self.draw_widget(
            st.pills,
            label,
            name,
            values,
            selection_mode="multi",
            format_func=label_of,
            after_change=after_change,
        )
        return chosen

    def _take(self, name: str, after_change: Callable[[], None] | None) -> None:
        self.set(**{name: st.session_state[self.key(name)]})
        if after_change is not None:
            after_change()

    def follow_url(self, cards: Cards) -> None:
        """Update the state from the URL, if the user has opened a link.

        A quick click can reach the app before the browser has received the page's new URL. Its
        message then contains a URL that the page has replaced, which is no link to follow.

        Raises:
            InputError: the link cannot be followed. The readable part of it is in the state.
        """
        state, params = self.state, remove_language(st.query_params.to_dict())
        problem = state.problem if state.has_just_run else ""
        is_outdated = params in state.replaced_addresses and has_widget_change()
        if cards and params and params != state.address and not is_outdated:
            link = Link.read(params, cards)
            state = replace(state, problem=link.problem, replaced=link.replaced).from_link(link)
            problem = state.problem
            if problem in ("", link.problem):
                state = state.with_focus(link.focus, params.get(VIEW, ""))
            state = replace(state, address=params, whole_address=None, replaced_addresses=())
        self.set_state(replace(state, problem=problem, has_just_run=False))
        if state.replaced:
            st.info(describe_replacement(*state.replaced))
        if problem:
            raise InputError(problem)

    def set_url_params(self, params: Mapping[str, str]) -> None:
        """Set these parameters in the browser's URL.

        The URL of an opened link is kept until something changes: a longer URL of the same page
        would add a step to the browser's history. The step of the guided tour and the language
        stay in it.
        """
        whole = st.query_params.to_dict()
        state, there = self.state, remove_language(whole)
        if state.replaced and state.replaced[1] not in (params.get("model"), params.get(COMPARE)):
            self.set(replaced=())
        if TOUR in there:
            params = {**params, TOUR: there[TOUR]}
        is_link = bool(there) and there == state.address
        if is_link and state.whole_address is None and there.items() <= params.items():
            self.set(whole_address=dict(params))
        elif there != params and not (is_link and state.whole_address == params):
            kept = {LANGUAGE_PARAM: whole[LANGUAGE_PARAM]} if LANGUAGE_PARAM in whole else {}
            st.query_params.from_dict({**params, **kept})
            replaced = (*self.state.replaced_addresses, there)[-_REPLACED_ADDRESSES:]
            self.set(address=dict(params), whole_address=dict(params), replaced_addresses=replaced)

    def offer_link(self, params: Mapping[str, str], request: Request | None = None) -> None:
        """Set the URL parameters, and draw the button that copies the link.

        Args:
            params: the parameters that open the page as it is.
            request: the request that they restore, None on a page without one.
        """
        self.set_url_params(params)
        with st.popover("Link", key="link", type="tertiary"):
            st.caption("Opens this page exactly as you see it now.")
            for noun, samples in _SAMPLES_BY_MEDIUM.items():
                part = getattr(request, noun, None)
                if part and part.name not in samples:
                    st.caption(
                        f"Your {noun} is not stored, so anyone who opens this link has to upload"
                        " it again."
                    )
            st.code(f"{st.context.url or ''}?{urlencode(params)}", language=None, wrap_lines=True)


def make_names_unique(names: Sequence[str]) -> list[str]:
    """Make names unique: the second "the" becomes "the (2)".

    Streamlit reports chosen pills by name, so with two equal names it would report the last one for
    both.
    """
    found: list[str] = []
    for name in names:
        number, own = 1, name
        while own in found:
            number += 1
            own = f"{name} ({number})"
        found.append(own)
    return found


AnyPage = Page[State]


def get_open_page() -> AnyPage:
    """Return the page that the user has open."""
    page: AnyPage = st.session_state[_OPEN_PAGE_KEY]
    return page


def set_open_page(page: AnyPage) -> None:
    """Record which page the user has open."""
    st.session_state[_OPEN_PAGE_KEY] = page
