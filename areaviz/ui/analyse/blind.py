"""Blind rating: the page hides the names of systems, and the key reveals them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from areaviz.analysis.blind_rating import build_key_table, name_alias, shuffle_systems
from areaviz.analysis.table import list_measures
from areaviz.notes.error_spans import Judgement
from areaviz.notes.store_schema import LONGEST_NAME
from areaviz.ui.analyse.notes import AUTHOR
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import judgements_of
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.app.markdown import escape_markdown
from areaviz.ui.app.table import read_table

# The key of the widget for the rater's name.
RATER = "rater_name"
# Largest number of raters in the key.
MAX_RATERS = 100


def rater_input(then: Callable[[], None] | None = None) -> str:
    """Draw the field for the rater's name, and return the name.

    Args:
        then: called when the name changes, before the page is drawn.
    """
    st.session_state.setdefault(RATER, st.session_state.get(AUTHOR) or "")
    name: str = st.text_input(
        "Your name as a rater",
        key=RATER,
        max_chars=LONGEST_NAME,
        width=190,
        persist_state="session",
        on_change=then,
    )
    return name.strip()


def rater_name() -> str:
    """Return the name that the rater has entered, "" for none."""
    return str(st.session_state.get(RATER) or "").strip()


def blind_rating(page: AnalysePage, systems: Systems, is_fixed: bool = False) -> Systems | None:
    """Draw the switch for blind rating, and return the systems as the page shows them.

    Args:
        page: its state says whether rating is blind.
        systems: the systems.
        is_fixed: whether a shared link has decided it, so that there is no switch.

    Returns:
        The systems unchanged, or shuffled with aliases as titles. None if rating is blind and the
        rater has not entered a name yet.
    """
    if len(systems) < 2:
        page.set(is_blind=False)
        return systems

    def choose_anew() -> None:
        # The system judged last would reveal which alias it has now.
        page.set(judged="")

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        is_blind = page.state.is_blind if is_fixed else _switch(page, choose_anew)
        rater = rater_input(choose_anew) if is_blind else ""
    if not is_blind:
        return systems
    if not rater:
        st.info("Type your name to begin. It decides the order in which you see the systems.")
        return None
    st.caption(
        "Click a row, and rate each output below. The systems have no names and no scores here."
    )
    return _shuffled(rater, systems)


def _switch(page: AnalysePage, then: Callable[[], None]) -> bool:
    is_blind: bool = page.widget(
        st.toggle,
        "Blind rating",
        "is_blind",
        then=then,
        help="Hides the names and scores of the systems and shuffles the systems for each rater."
        " Marks are saved under the true names. Turn it off to see the key.",
    )
    return is_blind


def _shuffled(rater: str, systems: Systems) -> Systems:
    """Return the systems in the rater's order, with aliases as titles."""
    names, found, runs = systems.names, [], []
    for number, place in enumerate(shuffle_systems(systems.dataset.digest, rater, names)):
        one = systems.analyses[place]
        found.append(replace(one, title=name_alias(number), name=names[place]))
        runs.append(systems.runs[place])
    return Systems(systems.dataset, tuple(found), tuple(runs))


def without_measures(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of examples without metrics, which would influence raters."""
    names = list_measures(table)
    return table.drop(columns=[one for one in table if str(one).rpartition("_")[0] in names])


def has_rated_all(judgements: Sequence[Judgement], place: int, names: Sequence[str]) -> bool:
    """Return whether the rater has judged the outputs of all systems for one example."""
    rater = rater_name()
    own = {one.model for one in judgements if one.example == place and one.rater == rater}
    return bool(rater) and own.issuperset(names)


def show_key(systems: Systems) -> None:
    """Draw a table of the systems behind the aliases, for every rater of the dataset."""
    if len(systems) < 2:
        return
    digest = systems.dataset.digest
    raters = [one.rater for one in judgements_of(digest) if one.counts]
    if rater_name():
        raters.insert(0, rater_name())
    raters = list(dict.fromkeys(raters))[:MAX_RATERS]
    if not raters:
        return
    with st.expander("Key of blind rating", key="blind_key", type="compact"):
        st.caption("What each rater sees in place of the names while rating is blind.")
        rows = build_key_table(digest, raters, systems.names)
        heads = ["Rater", *(name_alias(number) for number in range(len(systems)))]
        read_table(pd.DataFrame([tuple(map(escape_markdown, row)) for row in rows], columns=heads))
