"""Search for the cause of a theme in a model's attention, behind a button of the theme."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from areaviz.analysis.themes.causes import Cause, Runner, find_cause
from areaviz.analysis.themes.causes_of_lists import Causes, is_about_input, make_cause_key
from areaviz.analysis.themes.material import Material
from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.app.run import draw_progress, get_visitor
from areaviz.app.texts import escape_markdown, show_errors
from areaviz.backend.backend import Backend, Caller
from areaviz.trace.request import Request
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.systems import Systems

# Session key: causes found, by theme. Only the latest MAX_KEPT_CAUSES are kept.
CAUSES_KEY = "analyse_causes"
MAX_KEPT_CAUSES = 32


@dataclass(frozen=True, slots=True)
class CauseSearch:
    """Everything but the theme that a search for a cause needs.

    Attributes:
        backend: runs the models.
        systems: the systems. A system that is a model has a request.
        materials: one for all systems, or one for each.
        digest: the digest of the content in which the themes were found.
    """

    backend: Backend
    systems: Systems
    materials: Sequence[Material]
    digest: str

    def get_request(self, themes: Themes) -> Request | None:
        """Return the request of the worse system, None for outputs from a file."""
        return self.systems.analyses[themes.worse].request

    def get_material(self, themes: Themes) -> Material:
        """Return the examples in which a list of themes was found."""
        return self.materials[0] if themes.better is not None else self.materials[themes.worse]


def draw_cause_button(page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme) -> None:
    """Draw a button that searches for the cause of a theme, if its system is a model."""
    if can_search_cause(search, themes, theme):
        key = _make_cause_key(search, themes, theme)
        st.button(
            "Look into attention", key=f"cause {key}", on_click=page.set, kwargs={"cause": key}
        )


def can_search_cause(search: CauseSearch, themes: Themes, theme: Theme) -> bool:
    """Return whether the worse system can be run and the theme is about its input."""
    return is_about_input(theme) and search.get_request(themes) is not None


def list_known_causes(digest: str) -> Causes:
    """Return the causes found so far for the themes of the content with this digest."""
    known: dict[str, Cause] = st.session_state.get(CAUSES_KEY, {})
    found = {}
    for key, cause in known.items():
        if digest and key.startswith(f"{digest} "):
            found[key.removeprefix(f"{digest} ")] = cause.sentences
    return found


def draw_cause(page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme) -> None:
    """Draw the cause of a theme. Search for it first if the user has just asked for it."""
    key = _make_cause_key(search, themes, theme)
    known: dict[str, Cause] = st.session_state.setdefault(CAUSES_KEY, {})
    if key not in known and page.state.cause == key:
        # Forget the request now: hundreds of runs must not start again after an error.
        page.set(cause="")
        with show_errors("looking into attention"):
            known[key] = _search_cause(search, themes, theme)
            for oldest in list(known)[:-MAX_KEPT_CAUSES]:
                del known[oldest]
    if key in known:
        for sentence in known[key].sentences:
            st.caption(escape_markdown(sentence))


def _make_cause_key(search: CauseSearch, themes: Themes, theme: Theme) -> str:
    return f"{search.digest} {make_cause_key(themes, theme)}"


def _search_cause(search: CauseSearch, themes: Themes, theme: Theme) -> Cause:
    request, owner = search.get_request(themes), get_visitor()
    assert request is not None
    # Hundreds of runs let other users' requests go first.
    caller = Caller(owner, in_background=True)
    with draw_progress("Running examples of the theme") as report:
        runner = Runner(
            search.systems.dataset,
            request,
            lambda one: search.backend.trace(one, None, caller),
            lambda done, all_: report(done / all_, f"Run {done:,} of at most {all_:,}"),
        )
        return find_cause(theme, themes, search.get_material(themes), runner)
