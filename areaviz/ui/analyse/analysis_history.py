"""The user's earlier analyses: stored with uploaded datasets, listed, and opened again.

They are private: other users cannot find them, and the URL of one does not open it for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from areaviz.analysis.reader_files import Entry, ReaderFiles
from areaviz.analysis.rows import find_analyses_folder
from areaviz.app.frame import draw_page_link
from areaviz.app.page import build_link_params
from areaviz.app.run import get_user_digest, get_visitor
from areaviz.app.texts import escape_markdown, pluralise, shorten_line
from areaviz.draw.labels import escape_controls
from areaviz.ui.analyse.dataset_form import ChosenSet
from areaviz.ui.analyse.state import BLIND_PARAM, EXAMPLE_PARAM, SET_PARAM, AnalysePage
from areaviz.ui.analyse.stored_data import Analysis

# Number of analyses shown before "All".
MAX_LISTED_ANALYSES = 5


def get_user_files() -> ReaderFiles:
    """Return this user's files on the server."""
    return ReaderFiles(find_analyses_folder(), get_user_digest(), get_visitor().address)


def build_analysis_params(chosen: ChosenSet, analyses: Sequence[Analysis]) -> dict[str, str]:
    """Return the URL parameters that open an analysis."""
    params = {SET_PARAM: chosen.address}
    requests = [one.request for one in analyses if one.request is not None]
    if requests:
        compare = requests[1].model if len(requests) > 1 else ""
        params |= build_link_params(requests[0], compare=compare)
    return params


def save_to_history(page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Put an analysis on the user's list, and store the files of an uploaded dataset with it.

    Raises:
        BackendError: the disk fails.
    """
    dataset, params = chosen.dataset, build_analysis_params(chosen, analyses)
    runs = tuple(one.title for one in analyses)
    entry = Entry(params, dataset.name, len(dataset.examples), runs, dataset.digest)
    if page.state.history_entry == entry.id:
        return
    own = get_user_files()
    if chosen.files is not None:
        own.keep_set(dataset, chosen.files, chosen.roles)
    own.note(entry)
    page.set(history_entry=entry.id)


def update_browser_url(page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Set the browser's URL to that of the analysis with its open example."""
    params = build_analysis_params(chosen, analyses)
    if page.state.example is not None:
        params[EXAMPLE_PARAM] = str(page.state.example + 1)
    if page.state.is_blind:
        params[BLIND_PARAM] = "1"
    page.set_url_params(params)


def draw_history(now: Mapping[str, str]) -> None:
    """Draw the list of the user's analyses without the open one, which has these parameters."""
    _warn_of_evicted_sets()
    entries = [entry for entry in get_user_files().entries() if entry.params != now]
    if not entries:
        return
    with st.expander("Earlier analyses", key="analyse_earlier", type="compact"):
        st.caption("Yours alone. Each opens as you left it, with the set it was of.")
        for entry in entries[:MAX_LISTED_ANALYSES]:
            _draw_entry_link(entry)
        if len(entries) > MAX_LISTED_ANALYSES:
            with st.popover(f"All {len(entries)}", type="tertiary"):
                for entry in entries[MAX_LISTED_ANALYSES:]:
                    _draw_entry_link(entry)


def _warn_of_evicted_sets() -> None:
    """Name the user's datasets removed to make room, until the user has dismissed the message."""
    own = get_user_files()
    names = own.list_evicted_sets()
    if not names:
        return
    listed = shorten_line(", ".join(f"“{escape_controls(name)}”" for name in names), 200)
    st.warning(
        escape_markdown(
            f"The app ran out of room for sets, so it removed files of yours: {listed}. Your"
            " analyses are kept. Choose the files again to open them."
        )
    )
    st.button("OK", key="analyse_evicted", on_click=own.forget_evicted)


def _draw_entry_link(entry: Entry) -> None:
    name = escape_markdown(shorten_line(entry.dataset, 40))
    runs = escape_markdown(shorten_line(" and ".join(entry.runs), 90))
    when = f"{entry.opened[:10]}, {entry.opened[11:16]} UTC"
    label = f"{name}, {pluralise(entry.examples, 'example')}: {runs} · {when}"
    draw_page_link("pages/analyse.py", label, entry.params)
