"""Themes on the page: kinds of examples in which a system is worse, with their rows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from areaviz.analysis.themes.list_texts import (
    METHOD,
    NO_THEMES,
    describe_rare_conditions,
    list_title,
    split_parts,
)
from areaviz.analysis.themes.material import MIN_EXAMPLES, Material
from areaviz.analysis.themes.table_themes import collect_material, find_themes_of_table
from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.app.texts import escape_markdown, shorten_line, show_errors
from areaviz.backend.backend import Backend
from areaviz.samples.dataset import Dataset
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.slices import save_examples_as_slice
from areaviz.ui.analyse.state import AnalysePage, RowFilter, filter_rows
from areaviz.ui.analyse.stored_data import SECONDS_PER_HOUR
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.analyse.theme_causes import (
    CauseSearch,
    can_search_cause,
    draw_cause,
    draw_cause_button,
)

# Number of themes per list shown at once. The rest are in an expander.
MAX_SHOWN_THEMES = 6
# Used in place of a digest: themes are wanted for any content.
ANY_CONTENT = "wanted"
# Characters of a theme's title shown above the table of examples.
MAX_TITLE_CHARACTERS = 80


def draw_themes(
    page: AnalysePage,
    backend: Backend,
    systems: Systems,
    table: pd.DataFrame,
) -> tuple[Themes, ...]:
    """Draw the section Themes. Return the themes, () before the user has asked for them."""
    dataset, count = systems.dataset, len(systems)
    st.header("Themes", anchor=False)
    if len(table) < MIN_EXAMPLES:
        st.caption(f"Themes need at least {MIN_EXAMPLES} examples. This analysis has {len(table)}.")
        return ()
    materials = _build_materials(dataset, table, count) if page.state.themes else []
    digest = _digest_materials(materials)
    if digest and page.state.themes == ANY_CONTENT:
        page.set(themes=digest)
    if not digest or page.state.themes != digest:
        st.caption("Find the kinds of examples in which outputs are worse, with a proof for each.")
        st.button("Find themes", on_click=_build_cause_search, args=(page, dataset, table, count))
        return ()
    found: tuple[Themes, ...] = ()
    with show_errors("finding themes"):
        found = _find_themes(digest, dataset, table, count)
        st.caption(METHOD)
        search = CauseSearch(backend, systems, materials, digest)
        for number, themes in enumerate(found):
            _draw_theme_list(page, search, themes, number)
        rare = describe_rare_conditions(found)
        if rare:
            st.caption(escape_markdown(rare))
    return found


def _build_materials(dataset: Dataset, table: pd.DataFrame, systems: int) -> list[Material]:
    groups = [(0, 1)] if systems == 2 else [(system,) for system in range(systems)]
    return [collect_material(dataset, table, group) for group in groups]


def _digest_materials(materials: Sequence[Material]) -> str:
    """Return a digest of the content in which themes are searched."""
    return " ".join(one.digest for one in materials)


def _build_cause_search(
    page: AnalysePage, dataset: Dataset, table: pd.DataFrame, systems: int
) -> None:
    page.set(themes=_digest_materials(_build_materials(dataset, table, systems)))


@st.cache_data(show_spinner="Finding themes", max_entries=32, ttl=SECONDS_PER_HOUR)
def _find_themes(
    digest: str, _dataset: Dataset, _table: pd.DataFrame, systems: int
) -> tuple[Themes, ...]:
    """Return the themes of the content that the digest identifies."""
    return find_themes_of_table(_dataset, _table, systems)


def _draw_theme_list(page: AnalysePage, search: CauseSearch, themes: Themes, number: int) -> None:
    """Draw one list of themes. `number` identifies the list."""
    st.subheader(list_title(themes, len(search.systems)), anchor=False)
    if not themes.found:
        st.caption(NO_THEMES)
    for part in split_parts(themes):
        st.caption(f"**{part.title}**")
        # A theme keeps its number when another part is left out.
        numbered = [(themes.found.index(one), one) for one in part.themes]
        for place, theme in numbered[:MAX_SHOWN_THEMES]:
            _draw_theme(page, search, themes, theme, (f"themes {number}", place))
        if len(numbered) > MAX_SHOWN_THEMES:
            rest = numbered[MAX_SHOWN_THEMES:]
            key = f"themes_{number}_{part.title}"
            with st.expander(f"{len(rest)} more", key=key, type="compact"):
                for place, theme in rest:
                    _draw_theme(page, search, themes, theme, (f"themes {number}", place))


def _draw_theme(
    page: AnalysePage, search: CauseSearch, themes: Themes, theme: Theme, chart: tuple[str, int]
) -> None:
    """Draw a theme: its description, its certainty, and buttons for its rows."""
    st.markdown(escape_markdown(f"{theme.statement}."))
    st.caption(escape_markdown(" ".join(filter(None, (f"{theme.proof}.", theme.details)))))
    if not 0 < len(theme.places) < len(search.systems.dataset.examples):
        # A trend has no examples of its own, and all examples are already listed.
        return
    title = f"where {theme.title}"
    row_filter = RowFilter(shorten_line(title, MAX_TITLE_CHARACTERS), theme.places, chart)
    is_shown = page.state.row_filter == row_filter
    with st.container(horizontal=True, gap="small"):
        label = "Show all again" if is_shown else f"Show {len(theme.places):,}"
        key = f"{chart[0]} {chart[1]}"
        st.button(label, key=f"show {key}", on_click=filter_rows, args=(page, row_filter))
        if can_write():
            st.button(
                "Save as a slice",
                key=f"save {key}",
                on_click=save_examples_as_slice,
                args=(search.systems.dataset.digest, title, theme.places),
            )
        draw_cause_button(page, search, themes, theme)
    if can_search_cause(search, themes, theme):
        draw_cause(page, search, themes, theme)
