"""Menus to share an analysis and to delete the user's own items, and warnings about files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from areaviz.analysis.retention import own_analyses
from areaviz.analysis.rows import find_analyses_folder, find_rows_path, remove_rows
from areaviz.app.run import get_user_digest
from areaviz.app.texts import defer_errors, escape_markdown, pluralise, show_deferred, show_error
from areaviz.samples.dataset import Dataset
from areaviz.ui.analyse.analysis_history import get_user_files
from areaviz.ui.analyse.dataset_form import ChosenSet, delete_uploaded_files
from areaviz.ui.analyse.link_access import get_shared_links
from areaviz.ui.analyse.share_menu import draw_share_menu
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import Analysis, StoredRows, open_note_store
from areaviz.ui.analyse.systems import Systems

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
