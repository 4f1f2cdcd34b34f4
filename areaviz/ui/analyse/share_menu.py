"""The menu Share: its owner creates links to an analysis, sees visits, and withdraws links."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.analysis.shared_links import Mode, SharedAnalysis, SharedLink, Visit
from areaviz.app.page import build_link_params
from areaviz.app.run import get_user_digest
from areaviz.app.texts import (
    defer_errors,
    escape_markdown,
    pluralise,
    shorten_line,
    show_deferred,
    show_errors,
)
from areaviz.draw.labels import escape_controls
from areaviz.ui.analyse.analysis_history import get_user_files
from areaviz.ui.analyse.dataset_form import ChosenSet
from areaviz.ui.analyse.link_access import get_shared_links
from areaviz.ui.analyse.state import EXAMPLE_PARAM, SHARE_PARAM, AnalysePage
from areaviz.ui.analyse.stored_data import Analysis

# Session keys: the token of the latest link, and the error message.
MADE_LINK_KEY, PROBLEM_KEY = "analyse_share_made", "analyse_share_problem"
MODE_TITLES = {Mode.READ: "Read only", Mode.NOTE: "Add notes and marks"}
# Labels of the buttons that create links.
MAKE_LINK_LABELS = {
    Mode.READ: "Make a link to read",
    Mode.NOTE: "Make a link to add notes and marks",
}
# Largest number of visits shown per link.
MAX_LISTED_VISITS = 5


def draw_share_menu(page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Draw the menu. A link hides names of systems while rating is blind."""
    show_deferred(PROBLEM_KEY)
    # Opening the menu reruns the page, so that it shows the latest visits.
    menu = st.popover("Share", key="analyse_share", type="tertiary", on_change="rerun")
    with menu, show_errors("listing links"):
        st.caption(
            "Make a link that opens this analysis, with its notes and marks, for every reader of"
            " this app. Readers still need the app's access token where it has one."
        )
        if chosen.files is None:
            st.caption("Every reader has this set, and can add notes to it without your link.")
        if page.state.is_blind:
            st.caption("Rating is blind now, so the link hides the names of the systems.")
        for mode, label in MAKE_LINK_LABELS.items():
            make = (page, chosen, analyses, mode)
            st.button(label, key=f"share_make_{mode.value}", on_click=_make_link, args=make)
        _draw_made_link(page)
        _draw_links(chosen.dataset.digest)


def _make_link(
    page: AnalysePage, chosen: ChosenSet, analyses: Sequence[Analysis], mode: Mode
) -> None:
    with defer_errors("making the link", PROBLEM_KEY):
        if chosen.files is not None:
            # Fail if the files were too large to be stored: other users could not open them.
            get_user_files().open_set(chosen.address)
        names = []
        for name, written in chosen.outputs.items():
            if any(
                (one.title, one.outputs) == (escape_controls(name), written) for one in analyses
            ):
                names.append(name)
        analysis = SharedAnalysis(
            chosen.dataset.digest,
            shorten_line(chosen.dataset.name, 100),
            chosen.address,
            tuple(names),
            tuple(build_link_params(one.request) for one in analyses if one.request),
            mode,
            page.state.is_blind,
            bool(page.state.themes),
        )
        st.session_state[MADE_LINK_KEY] = get_shared_links().make(get_user_digest(), analysis)


def _draw_made_link(page: AnalysePage) -> None:
    """Draw the latest link. It cannot be shown again later: the app only stores its digest."""
    token = st.session_state.get(MADE_LINK_KEY)
    if not token:
        return
    link, opens = f"{st.context.url or ''}?{SHARE_PARAM}={token}", ""
    if page.state.example is not None:
        link += f"&{EXAMPLE_PARAM}={page.state.example + 1}"
        opens = " It opens the example that is open here."
    st.code(link, language=None, wrap_lines=True)
    st.caption(
        f"Copy the link now. The app does not keep it and cannot show it again later.{opens}"
    )


def _draw_links(digest: str) -> None:
    """Draw the user's links: those to analyses of this dataset first."""
    links = get_shared_links().list_for(get_user_digest())
    for link in sorted(links, key=lambda one: one.analysis.digest != digest):
        analysis = link.analysis
        systems = [*analysis.outputs, *(one.get("model", "") for one in analysis.models)]
        title = f"{analysis.dataset}: {' and '.join(systems)}"
        with st.container(border=True, gap="small"):
            st.markdown(escape_markdown(shorten_line(title, 90)))
            st.caption(escape_markdown(_describe_link(link)))
            st.button("Withdraw", key=f"withdraw_{link.id}", on_click=_withdraw_link, args=(link,))


def _describe_link(link: SharedLink) -> str:
    """Describe a link for its owner, in sentences."""
    said = f"{MODE_TITLES[link.analysis.mode]}. Made {_format_minute(link.made)} UTC. "
    if not link.visits:
        return f"{said}Nobody has opened it yet."
    times = "; ".join(map(_format_visit, link.visits[:MAX_LISTED_VISITS]))
    more = len(link.visits) - MAX_LISTED_VISITS
    rest = f"; and {more:,} more" if more > 0 else ""
    return f"{said}Opened by {pluralise(len(link.visits), 'reader')}: {times}{rest} (UTC)."


def _format_visit(visit: Visit) -> str:
    first, last = _format_minute(visit.first), _format_minute(visit.last)
    return first if first == last else f"{first}, last {last}"


def _format_minute(time: str) -> str:
    return f"{time[:10]} {time[11:16]}"


def _withdraw_link(link: SharedLink) -> None:
    with defer_errors("withdrawing the link", PROBLEM_KEY):
        get_shared_links().withdraw(link, get_user_digest())
        st.session_state.pop(MADE_LINK_KEY, None)
        st.toast("The link was withdrawn. It opens nothing any more.")
