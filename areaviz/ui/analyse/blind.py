"""Blind rating: the page hides the names of systems, and the key reveals them afterwards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pandas as pd
import streamlit as st

from areaviz.analysis.blind_rating import build_key_table, name_alias, shuffle_systems
from areaviz.analysis.table import list_measures
from areaviz.app.texts import draw_text_table, escape_markdown
from areaviz.notes.error_spans import Judgement
from areaviz.notes.store_schema import LONGEST_NAME
from areaviz.ui.analyse.notes import AUTHOR_KEY
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import list_judgements
from areaviz.ui.analyse.systems import Systems

# The key of the widget for the rater's name.
RATER_NAME_KEY = "rater_name"
# Largest number of raters in the key.
MAX_RATERS = 100


def draw_rater_input(on_change: Callable[[], None] | None = None) -> str:
    """Draw the field for the rater's name, and return the name.

    Args:
        on_change: called when the name changes, before the page is drawn.
    """
    st.session_state.setdefault(RATER_NAME_KEY, st.session_state.get(AUTHOR_KEY) or "")
    name: str = st.text_input(
        "Your name as a rater",
        key=RATER_NAME_KEY,
        max_chars=LONGEST_NAME,
        width=190,
        persist_state="session",
        on_change=on_change,
    )
    return name.strip()


def read_rater_name() -> str:
    """Return the name that the rater has entered, "" for none."""
    return str(st.session_state.get(RATER_NAME_KEY) or "").strip()


def draw_blind_rating(
    page: AnalysePage, systems: Systems, is_fixed: bool = False
) -> Systems | None:
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

    def forget_judged() -> None:
        # The system judged last would reveal which alias it has now.
        page.set(judged="")

    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        is_blind = page.state.is_blind if is_fixed else _draw_switch(page, forget_judged)
        rater = draw_rater_input(forget_judged) if is_blind else ""
    if not is_blind:
        return systems
    if not rater:
        st.info("Type your name to begin. It decides the order in which you see the systems.")
        return None
    st.caption(
        "Click a row, and rate each output below. The systems have no names and no scores here."
    )
    return _shuffle_with_aliases(rater, systems)


def _draw_switch(page: AnalysePage, on_change: Callable[[], None]) -> bool:
    is_blind: bool = page.draw_widget(
        st.toggle,
        "Blind rating",
        "is_blind",
        after_change=on_change,
        help="Hides the names and scores of the systems and shuffles the systems for each rater."
        " Marks are saved under the true names. Turn it off to see the key.",
    )
    return is_blind


def _shuffle_with_aliases(rater: str, systems: Systems) -> Systems:
    """Return the systems in the rater's order, with aliases as titles."""
    names, found, runs = systems.names, [], []
    for number, place in enumerate(shuffle_systems(systems.dataset.digest, rater, names)):
        one = systems.analyses[place]
        found.append(replace(one, title=name_alias(number), name=names[place]))
        runs.append(systems.runs[place])
    return Systems(systems.dataset, tuple(found), tuple(runs))


def drop_measures(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of examples without metrics, which would influence raters."""
    names = list_measures(table)
    return table.drop(columns=[one for one in table if str(one).rpartition("_")[0] in names])


def has_rated_all(judgements: Sequence[Judgement], place: int, names: Sequence[str]) -> bool:
    """Return whether the rater has judged the outputs of all systems for one example."""
    rater = read_rater_name()
    own = {one.model for one in judgements if one.example == place and one.rater == rater}
    return bool(rater) and own.issuperset(names)


def draw_alias_key(systems: Systems) -> None:
    """Draw a table of the systems behind the aliases, for every rater of the dataset."""
    if len(systems) < 2:
        return
    digest = systems.dataset.digest
    raters = [one.rater for one in list_judgements(digest) if one.counts]
    if read_rater_name():
        raters.insert(0, read_rater_name())
    raters = list(dict.fromkeys(raters))[:MAX_RATERS]
    if not raters:
        return
    with st.expander("Key of blind rating", key="blind_key", type="compact"):
        st.caption("What each rater sees in place of the names while rating is blind.")
        rows = build_key_table(digest, raters, systems.names)
        heads = ["Rater", *(name_alias(number) for number in range(len(systems)))]
        draw_text_table(
            pd.DataFrame([tuple(map(escape_markdown, row)) for row in rows], columns=heads)
        )
