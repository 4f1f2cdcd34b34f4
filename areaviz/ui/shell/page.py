"""One page: its name, its title and its address, and what it holds between reruns.

Streamlit forgets the value of a widget that is not drawn. So what a page holds is one record, its
`State`, under one session key, and widgets show fields of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar
from urllib.parse import urlencode

import streamlit as st

from areaviz.data.clip_samples import SAMPLES as CLIPS
from areaviz.data.picture_samples import SAMPLES
from areaviz.data.sound_samples import SAMPLES as RECORDINGS
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request
from areaviz.ui.shell.state import VIEW, Cards, Link, State

GROUPS: Mapping[str, Mapping[str, str]] = {
    "": {"home": "Home"},
    "Explore": {
        "translate": "Translate",
        "read": "Read",
        "caption": "Caption",
        "translate_picture": "Translate with a picture",
        "four_ways": "Four ways to look",
        "listen": "Listen",
        "watch": "Watch",
        "reason": "Reason",
    },
    "Learn": {"how_areas_work": "How areas work", "models": "Models"},
    "Analyse": {"analyse": "Analyse a set", "your_tensors": "Your own attention"},
}
"""The navigation: under what one does there, every page by its name. `pages/NAME.py` draws it."""
TITLES = {name: title for group in GROUPS.values() for name, title in group.items()}

_SAMPLES: Mapping[str, Mapping[str, object]] = {
    "picture": SAMPLES,
    "sound": RECORDINGS,
    "clip": CLIPS,
}
"""The app's own inputs of a request, which a link can name, by the part of the request."""
_OPEN = "page"
_FIRST = {
    "selectbox": "index",
    "multiselect": "default",
    "pills": "default",
    "segmented_control": "default",
}
"""How Streamlit's widgets name what they show at first, where that is not `value`."""

S_co = TypeVar("S_co", bound=State, covariant=True)
T = TypeVar("T")


@dataclass(frozen=True)
class Page(Generic[S_co]):
    """A page of the app.

    Args:
        name: of its file, in its address, and before its session keys.
        purpose: what it is for, in one sentence.
        first: what it holds when it is opened for the first time.
        heading: what stands on top; "" for the title of the navigation.
    """

    name: str
    purpose: str
    first: S_co
    heading: str = ""

    @property
    def title(self) -> str:
        return self.heading or TITLES[self.name]

    @property
    def state(self) -> S_co:
        """What it holds now."""
        held: S_co = st.session_state.get(self.name, self.first)
        return held

    def set(self, **fields: Any) -> None:
        """Give fields of the state new values."""
        self.hold(replace(self.state, **fields))

    def unlock(self, **fields: Any) -> None:
        """The same, and lock nothing, as the text or the picture is a new one."""
        self.hold(replace(self.state.unlocked(), **fields))

    def hold(self, state: State) -> None:
        """Hold another state from now on."""
        st.session_state[self.name] = state

    def key(self, name: str) -> str:
        """The session key of a widget: of a field of the state, or of a name of its own."""
        return f"{self.name}_{name}"

    def widget(
        self,
        draw: Callable[..., object],
        label: str,
        name: str,
        *args: Any,
        then: Callable[[], None] | None = None,
        **options: Any,
    ) -> Any:
        """Draw a widget that shows a field of the state; returns the field's value.

        Args:
            draw: one of Streamlit's functions, such as `st.slider`.
            label: what stands above the widget.
            name: of the field.
            args: what `draw` takes after the label.
            then: called when the reader has chosen something, before the page is drawn.
            options: what else `draw` takes.
        """
        key, value = self.key(name), getattr(self.state, name)
        # Only what a link or the code has changed: else the reader's choice would be undone.
        if key not in st.session_state or st.session_state[key] != value:
            st.session_state[key] = value
        # Of two drawings in a row the browser may miss the one that sets the value. Then it begins
        # where the second one says, and not at the first option, which would count as an act.
        first = _FIRST.get(draw.__name__, "value")
        if first == "index":
            values = list(args[0])
            options.setdefault(first, values.index(value) if value in values else None)
        else:
            options.setdefault(first, value)
        draw(label, *args, key=key, on_change=self._take, args=(name, then), **options)
        return value

    def choose(
        self,
        draw: Callable[..., object],
        label: str,
        name: str,
        options: Mapping[T, str],
        **more: Any,
    ) -> T:
        """A widget for one of `options`, values with their labels; the first if it has none."""
        if getattr(self.state, name) not in options:
            self.set(**{name: next(iter(options))})
        values, label_of = list(options), options.__getitem__
        chosen: T = self.widget(draw, label, name, values, format_func=label_of, **more)
        return chosen

    def segments(self, label: str, name: str, options: Mapping[T, str]) -> T:
        """Buttons side by side for one of `options`."""
        return self.choose(st.segmented_control, label, name, options, required=True)

    def pills(
        self,
        label: str,
        name: str,
        options: Mapping[T, str],
        then: Callable[[], None] | None = None,
    ) -> list[T]:
        """Buttons for any number of `options`; a field has a list of those that are chosen."""
        chosen: list[T] = [one for one in getattr(self.state, name) if one in options]
        self.set(**{name: chosen})
        values = list(options)
        label_of = dict(zip(values, told_apart(list(options.values())), strict=True)).__getitem__
        self.widget(
            st.pills,
            label,
            name,
            values,
            selection_mode="multi",
            format_func=label_of,
            then=then,
        )
        return chosen

    def _take(self, name: str, then: Callable[[], None] | None) -> None:
        self.set(**{name: st.session_state[self.key(name)]})
        if then is not None:
            then()

    def follow(self, cards: Cards) -> None:
        """Change the state to what the address says, if it says something new.

        Raises:
            InputError: the link cannot be followed; what could be read of it is there.
        """
        state, params = self.state, st.query_params.to_dict()
        problem = state.problem if state.has_just_run else ""
        if cards and params and params != state.address:
            link = Link.of(params, cards)
            state = replace(state, problem=link.problem).from_link(link)
            problem = state.problem
            if problem in ("", link.problem):
                state = state.looking_at(link.focus, params.get(VIEW, ""))
            state = replace(state, address=params, whole_address=None)
        is_open = state.is_form_open or bool(problem)
        self.hold(replace(state, problem=problem, has_just_run=False, is_form_open=is_open))
        if problem:
            raise InputError(problem)

    def keep(self, params: Mapping[str, str]) -> None:
        """Make the browser's address these parameters.

        A link that the page was opened by stays as it is until something is changed: a longer
        address of the same page would be one more step back to where the reader came from.
        """
        state, there = self.state, st.query_params.to_dict()
        is_link = bool(there) and there == state.address
        if is_link and state.whole_address is None and there.items() <= params.items():
            self.set(whole_address=dict(params))
        elif there != params and not (is_link and state.whole_address == params):
            st.query_params.from_dict(params)
            self.set(address=dict(params), whole_address=dict(params))

    def offer(self, params: Mapping[str, str], request: Request) -> None:
        """Make the browser's address these parameters of a request, and let it be copied."""
        self.keep(params)
        with st.popover("Link to this view", key="link"):
            st.caption("Opens what this page shows now.")
            for noun, samples in _SAMPLES.items():
                part = getattr(request, noun)
                if part and part.name not in samples:
                    st.caption(
                        f"The {noun} is yours and is not stored: whoever opens the link has to"
                        " upload it."
                    )
            st.code(f"{st.context.url or ''}?{urlencode(params)}", language=None, wrap_lines=True)


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of which no two are the same: the second "the" is "the (2)".

    Pills come back from the browser by their names, so of two with the same one the last would be
    taken for both.
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


def open_page() -> AnyPage:
    """The page that the reader has before them."""
    page: AnyPage = st.session_state[_OPEN]
    return page


def note_open(page: AnyPage) -> None:
    """Remember which page the reader has before them."""
    st.session_state[_OPEN] = page
