"""An analysis as other users see it by a shared link: as it was shared, without choices.

The link is checked on every run of the page. An open page without clicks also checks every few
seconds, and is emptied when the link is withdrawn.
"""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from areaviz.analysis.reader_files import ReaderFiles
from areaviz.analysis.rows import find_analyses_folder
from areaviz.analysis.shared_links import WITHDRAWN, Mode, SharedAnalysis, SharedLink
from areaviz.app.page import Cards
from areaviz.app.run import get_user_digest
from areaviz.app.texts import escape_markdown, pluralise, show_errors
from areaviz.backend.backend import Backend
from areaviz.cards.card import describe_replacements, find_successor
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.errors import InputError
from areaviz.trace.request import from_params
from areaviz.ui.analyse.blind import draw_blind_rating
from areaviz.ui.analyse.dataset_form import ChosenSet, read_folder_set, read_set
from areaviz.ui.analyse.link_access import get_shared_links, get_valid_link, set_link_token
from areaviz.ui.analyse.result import draw_results
from areaviz.ui.analyse.state import EXAMPLE_PARAM, FOLDER_PREFIX, SHARE_PARAM, AnalysePage
from areaviz.ui.analyse.stored_data import Analysis, build_model_analysis, build_outputs_analysis
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.analyse.themes import ANY_CONTENT

# Session key: the id of the link whose dataset was read, with the dataset.
SHARED_SET_KEY = "analyse_shared_set"
# Session key: the id of the link whose visit was recorded.
VISIT_KEY = "analyse_shared_visit"
# Seconds between checks whether the link was withdrawn.
LINK_CHECK_SECONDS = 5.0


def draw_shared_analysis(page: AnalysePage, backend: Backend, cards: Cards) -> None:
    """Draw the analysis that the page's link opens, or why the link opens none."""
    st.button(
        "Leave the shared analysis",
        key="share_leave",
        on_click=_leave_shared_analysis,
        args=(page,),
    )
    with show_errors("opening the shared analysis"):
        link = get_valid_link()
        if link is None:
            raise InputError(WITHDRAWN)
        if st.session_state.get(VISIT_KEY) != link.id:
            get_shared_links().note_visit(link, get_user_digest())
            st.session_state[VISIT_KEY] = link.id
            page.set(themes=ANY_CONTENT if link.analysis.has_themes else "")
        st.fragment(_check_link_again, run_every=LINK_CHECK_SECONDS)()
        chosen = _get_shared_set(link)
        page.set(digest=chosen.dataset.digest, is_blind=link.analysis.is_blind)
        analyses = _list_systems(link.analysis, chosen, cards)
        _draw_description(page, link.analysis, len(chosen.dataset.examples), analyses)
        named = [from_params(params)[0].model for params in link.analysis.models]
        # The names are hidden from blind raters.
        for sentence in [] if link.analysis.is_blind else describe_replacements(named, cards):
            st.info(sentence)
        _draw_shared_results(page, backend, chosen, analyses)


def _check_link_again() -> None:
    """Empty the page after its link was withdrawn."""
    try:
        get_valid_link()
    except InputError:
        st.rerun()


def _get_shared_set(link: SharedLink) -> ChosenSet:
    """Return the shared dataset, which is read once per session."""
    held: tuple[str, ChosenSet] | None = st.session_state.get(SHARED_SET_KEY)
    if held is not None and held[0] == link.id:
        return held[1]
    chosen = _read_shared_set(link)
    if chosen.dataset.digest != link.analysis.digest:
        raise InputError(
            "The examples have changed since this analysis was shared. Ask its owner for a new"
            " link."
        )
    st.session_state[SHARED_SET_KEY] = (link.id, chosen)
    return chosen


def _read_shared_set(link: SharedLink) -> ChosenSet:
    address = link.analysis.address
    if address in SAMPLE_SETS:
        return ChosenSet(SAMPLE_SETS[address](), address)
    if address.startswith(FOLDER_PREFIX):
        return read_folder_set(address.removeprefix(FOLDER_PREFIX))
    try:
        files, roles = ReaderFiles(find_analyses_folder(), link.owner).open_set(address)
    except InputError as error:
        raise InputError(
            "The files of this analysis are not kept here any more. Ask its owner to open it again"
            " and to share it by a new link."
        ) from error
    return read_set(files, roles)


def _list_systems(
    analysis: SharedAnalysis, chosen: ChosenSet, cards: Cards
) -> tuple[Analysis, ...]:
    """Return the shared systems, outputs first. Raise InputError if one no longer exists."""
    found = []
    for name in analysis.outputs:
        if name not in chosen.outputs:
            raise InputError(f'The outputs of "{name}" are not here any more. Ask their owner.')
        found.append(
            build_outputs_analysis(name, chosen.outputs[name], chosen.scores.get(name, {}))
        )
    for params in analysis.models:
        request, _ = from_params(params)
        request = replace(request, model=find_successor(request.model, cards))
        if request.model not in cards:
            raise InputError(f'The model "{request.model}" is not here any more.')
        found.append(build_model_analysis(chosen.dataset, request, cards[request.model]))
    return tuple(found)


def _draw_description(
    page: AnalysePage, analysis: SharedAnalysis, examples: int, analyses: tuple[Analysis, ...]
) -> None:
    """Draw a description of the shared analysis, and what the user may do."""
    name = escape_markdown(analysis.dataset)
    systems = pluralise(len(analyses), "system")
    if not analysis.is_blind:
        systems = escape_markdown(" and ".join(one.title for one in analyses))
    may = "You can add notes, marks and slices, which everybody who has the set can see."
    if analysis.mode == Mode.READ:
        may = "You can read its notes and marks, and cannot add any."
    st.info(f"Shared with you: {name}, {pluralise(examples, 'example')}, {systems}. {may}")
    if page.state.example is not None:
        st.caption(f"Example {page.state.example + 1:,} is open at the end of this page.")


def _draw_shared_results(
    page: AnalysePage, backend: Backend, chosen: ChosenSet, analyses: tuple[Analysis, ...]
) -> None:
    systems = Systems.read(chosen.dataset, analyses)
    if not systems.are_run:
        raise InputError(
            "The results of this analysis were deleted. Ask its owner to run it again."
        )
    params = {SHARE_PARAM: page.state.share}
    if page.state.example is not None:
        params[EXAMPLE_PARAM] = str(page.state.example + 1)
    page.set_url_params(params)
    shown = draw_blind_rating(page, systems, is_fixed=True)
    if shown is not None:
        draw_results(page, backend, shown, chosen.corpus)


def _leave_shared_analysis(page: AnalysePage) -> None:
    """Return to the user's own page."""
    st.query_params.clear()
    st.session_state.pop(SHARED_SET_KEY, None)
    set_link_token("")
    page.set_state(page.state.without_share())
