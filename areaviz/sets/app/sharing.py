"""Sharing of an analysis: the menu, the owner's items, and the view by a shared link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from areaviz.app.page import Cards, build_link_params
from areaviz.app.run import get_user_digest
from areaviz.app.texts import (
    defer_errors,
    escape_markdown,
    pluralise,
    shorten_line,
    show_deferred,
    show_error,
    show_errors,
)
from areaviz.backend.backend import Backend
from areaviz.cards.card import describe_replacements, find_successor
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import Dataset
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.sets.app.error_marking import draw_blind_rating
from areaviz.sets.app.form import ChosenSet, delete_uploaded_files, read_folder_set, read_set
from areaviz.sets.app.result import draw_results
from areaviz.sets.app.runs import get_user_files
from areaviz.sets.app.state import (
    EXAMPLE_PARAM,
    FOLDER_PREFIX,
    SHARE_PARAM,
    AnalysePage,
    Analysis,
    StoredRows,
    Systems,
    build_model_analysis,
    build_outputs_analysis,
    get_shared_links,
    get_valid_link,
    open_note_store,
    set_link_token,
)
from areaviz.sets.app.themes import ANY_CONTENT
from areaviz.sets.retention import own_analyses
from areaviz.sets.run import find_analyses_folder, find_rows_path, remove_rows
from areaviz.sets.user_files import WITHDRAWN, Mode, ReaderFiles, SharedAnalysis, SharedLink, Visit
from areaviz.trace.errors import InputError
from areaviz.trace.request import from_params

# The menu Share: its owner creates links to an analysis, sees visits, and withdraws links.


# Session keys: the token of the latest link, and the error message.
MADE_LINK_KEY, SHARE_PROBLEM_KEY = "analyse_share_made", "analyse_share_problem"
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
    show_deferred(SHARE_PROBLEM_KEY)
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
    with defer_errors("making the link", SHARE_PROBLEM_KEY):
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
    with defer_errors("withdrawing the link", SHARE_PROBLEM_KEY):
        get_shared_links().withdraw(link, get_user_digest())
        st.session_state.pop(MADE_LINK_KEY, None)
        st.toast("The link was withdrawn. It opens nothing any more.")


# Menus to share an analysis and to delete the user's own items, and warnings about files.


PROBLEM_KEY = "analyse_kept_problem"


def draw_ownership(page: AnalysePage, chosen: ChosenSet, systems: Systems) -> None:
    """Draw warnings about the files of these analyses, and menus to share and delete them."""
    dataset = chosen.dataset
    show_deferred(PROBLEM_KEY)
    for run in systems.runs:
        if run.damage:
            show_error(run.damage)
    if dataset.earlier_digest:
        _draw_earlier_version(dataset, systems.analyses)
    models = zip(systems.analyses, systems.runs, strict=True)
    begun = [run for analysis, run in models if run.rows and analysis.path]
    with st.container(horizontal=True, vertical_alignment="center"):
        if systems.are_run:
            draw_share_menu(page, chosen, systems.analyses)
        if begun or page.state.own:
            _draw_delete_menu(page, dataset, begun)


def _draw_earlier_version(dataset: Dataset, analyses: Sequence[Analysis]) -> None:
    """Offer analyses and notes of versions that identified datasets by picture names."""
    earlier = dataset.earlier_digest
    headers = [analysis.header for analysis in analyses if analysis.header]
    paths = [find_rows_path(replace(header, digest=earlier)) for header in headers]
    there = ", ".join(path.name for path in paths if path.exists())
    if there:
        st.caption(
            "An earlier analysis of these texts and names of pictures is kept as"
            f" {escape_markdown(there)}. Only the names of its pictures tell it from other"
            " analyses, so it may be of other pictures. Run it again."
        )
    store = open_note_store()
    notes, slices = store.notes.count(earlier), store.slices.count(earlier)
    has_own = store.notes.count(dataset.digest) or store.slices.count(dataset.digest)
    if (notes or slices) and not has_own:
        st.caption(
            f"{pluralise(notes, 'note')} and {pluralise(slices, 'slice')} written on a set"
            " with these texts and names of pictures, perhaps on other pictures."
        )
        st.button(
            "Bring them to this set",
            on_click=_adopt_earlier_version,
            args=(earlier, dataset.digest),
        )


def _adopt_earlier_version(earlier: str, digest: str) -> None:
    with defer_errors("bringing the notes to this set", PROBLEM_KEY):
        notes = open_note_store().notes.take_over(earlier, digest, get_user_digest())
        slices = open_note_store().slices.take_over(earlier, digest, get_user_digest())
        brought = f"{pluralise(notes, 'note')} and {pluralise(slices, 'slice')}"
        st.toast(f"Brought to this set: {brought}.")


def _draw_delete_menu(page: AnalysePage, dataset: Dataset, begun: Sequence[StoredRows]) -> None:
    """Draw a menu in which users delete their own items. Items of other users are kept."""
    own = [Path(run.mark[0]) for run in begun if run.reader == get_user_digest()]
    with st.popover("Delete your work", key="analyse_delete", type="tertiary"):
        if own:
            st.caption(
                "The rows of your analyses of these models on this set. Notes and slices stay."
            )
            label = "Delete the analysis" if len(own) == 1 else f"Delete the {len(own)} analyses"
            delete = page, own
            st.button(label, key="analyse_delete_rows", on_click=_delete_own_rows, args=delete)
        st.caption(
            "All that is yours on this set: analyses of any model, slices, notes and marked errors,"
            " including those you imported, your links to it, and the files of a set of your own."
        )
        st.button(
            "Delete all of mine",
            key="analyse_delete_all",
            on_click=_delete_all_own_items,
            args=(page, dataset.digest),
        )


def _delete_own_rows(page: AnalysePage, paths: Sequence[Path]) -> None:
    with defer_errors("deleting the analysis", PROBLEM_KEY):
        for path in paths:
            remove_rows(path, get_user_digest())
        get_user_files().remove_entry(page.state.history_entry)
        page.set(history_entry="", example=None)
        st.toast("The analysis was deleted.")


def _delete_all_own_items(page: AnalysePage, digest: str) -> None:
    mark, analyses = get_user_digest(), 0
    with defer_errors("deleting what is yours", PROBLEM_KEY):
        for path, header in own_analyses(find_analyses_folder(), mark):
            if header.digest == digest:
                remove_rows(path, mark)
                analyses += 1
        notes = open_note_store().notes.remove_own(digest, mark)
        slices = open_note_store().slices.remove_own(digest, mark)
        judgements = open_note_store().judgements.remove_own(digest, mark)
        get_shared_links().withdraw_of_set(mark, digest)
        get_user_files().remove(digest)
        delete_uploaded_files(page)
        page.set(history_entry="", example=None)
        judged = pluralise(judgements, "judged output")
        gone = (
            f"{analyses:,} analyses",
            pluralise(notes, "note"),
            pluralise(slices, "slice"),
            judged,
        )
        st.toast(f"Deleted: {', '.join(gone)} and the files of the set.")


# An analysis as other users see it by a shared link: as it was shared, without choices.
#
# The link is checked on every run of the page. An open page without clicks also checks every few
# seconds, and is emptied when the link is withdrawn.


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
