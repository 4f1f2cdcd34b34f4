"""Import of the ratings and marked errors that the files of a dataset hold."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.analysis.marked_files import judgements_in_set
from areaviz.ui.analyse.dataset_form import ChosenSet
from areaviz.ui.analyse.notes import systems
from areaviz.ui.analyse.stored import Analysis, judgements_of, note_store
from areaviz.ui.shell.errors import defer_errors, show_deferred
from areaviz.ui.shell.markdown import counted
from areaviz.ui.shell.reader import reader_mark

# Session key: the error of the import.
PROBLEM = "set_marks_problem"


def offer_marks(chosen: ChosenSet, analyses: Sequence[Analysis]) -> None:
    """Draw a button that imports the ratings and errors in the files of a dataset.

    The button is there until the dataset has ratings. Other readers of the dataset see what is
    imported, so nothing is imported without a click.
    """
    show_deferred(PROBLEM)
    if chosen.marked and not judgements_of(chosen.dataset.digest):
        st.button(
            "Show the ratings and errors in the files",
            key="set_marks",
            on_click=_bring_in,
            args=(chosen, tuple(systems(analyses))),
            help="Imports them. You can undo the import under Export or import marked errors. Every"
            " reader who has the same set sees them.",
        )


def _bring_in(chosen: ChosenSet, names: Sequence[str]) -> None:
    with defer_errors("importing the ratings", PROBLEM):
        found = judgements_in_set(chosen.marked, chosen.dataset, names)
        merged = note_store().judgements.merge(found, reader_mark())
        st.toast(f"{counted(merged.new, 'judged output')} imported.")
