"""What is kept of a set: whose analysis it is, what is damaged or from before, and how its reader
deletes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from areaviz.analysis.retention import own_analyses
from areaviz.analysis.rows import Header, analyses_folder, remove_rows, rows_path
from areaviz.data.examples import Dataset
from areaviz.ui.analyse.dataset_form import delete_files, has_files
from areaviz.ui.analyse.found import Found
from areaviz.ui.analyse.notes import notebook
from areaviz.ui.shell.errors import defer_errors, problem, show_deferred
from areaviz.ui.shell.markdown import escaped
from areaviz.ui.shell.reader import reader_mark

PROBLEM = "analyse_kept_problem"


def kept(dataset: Dataset, headers: Sequence[Header], runs: Sequence[Found]) -> None:
    """Draw it; headers, runs: of the same analyses, of this set."""
    show_deferred(PROBLEM)
    for run in runs:
        if run.damage:
            problem(run.damage)
    if dataset.earlier_digest:
        _from_before(dataset, headers)
    with st.container(horizontal=True, vertical_alignment="center"):
        begun = [run for run in runs if run.rows]
        if begun:
            st.caption(". ".join(dict.fromkeys(_whose(run) for run in begun)), width="content")
        if begun or has_files():
            _delete(dataset, begun)


def _whose(run: Found) -> str:
    if run.reader == reader_mark():
        return "Begun by you"
    return (
        "Begun by somebody else who has this set"
        if run.reader
        else "Begun on the command line or by an older app"
    )


def _from_before(dataset: Dataset, headers: Sequence[Header]) -> None:
    """Analyses and notes of the time when sets were known by the names of their pictures alone."""
    earlier = dataset.earlier_digest
    paths = [rows_path(replace(header, digest=earlier)) for header in headers]
    there = [path.name for path in paths if path.exists()]
    if there:
        st.caption(
            "An earlier analysis of these texts and names of pictures is kept as"
            f" {escaped(', '.join(there))}. It was told from others by the names of its pictures"
            " alone, so nobody knows whether it was of these pictures; run it again."
        )
    notes, slices = notebook().notes.of(earlier), notebook().slices.of(earlier)
    new = len(notes) + len(slices)
    if new and not (notebook().notes.of(dataset.digest) or notebook().slices.of(dataset.digest)):
        st.caption(
            f"{len(notes):,} notes and {len(slices):,} slices were written on a set with these"
            " texts and names of pictures, perhaps on other pictures."
        )
        st.button("Bring them to this set", on_click=_take_over, args=(earlier, dataset.digest))


def _take_over(earlier: str, digest: str) -> None:
    with defer_errors("bringing the notes to this set", PROBLEM):
        notes = notebook().notes.take_over(earlier, digest)
        slices = notebook().slices.take_over(earlier, digest, reader_mark())
        st.toast(f"{notes:,} notes and {slices:,} slices were brought to this set.")


def _delete(dataset: Dataset, begun: Sequence[Found]) -> None:
    """A menu in which the reader deletes what is theirs; what others wrote stays."""
    own = [Path(run.mark[0]) for run in begun if run.reader == reader_mark()]
    with st.popover("Delete", key="analyse_delete", type="tertiary"):
        if own:
            st.caption(
                "The rows of your analyses of these models on this set. Notes and slices stay."
            )
            label = "Delete the analysis" if len(own) == 1 else f"Delete the {len(own)} analyses"
            st.button(label, key="analyse_delete_rows", on_click=_delete_rows, args=(own,))
        st.caption(
            "All that is yours on this set: analyses of any model, notes and slices; and the files"
            " you uploaded."
        )
        st.button(
            "Delete all of mine",
            key="analyse_delete_all",
            on_click=_delete_all,
            args=(dataset.digest,),
        )


def _delete_rows(paths: Sequence[Path]) -> None:
    with defer_errors("deleting the analysis", PROBLEM):
        for path in paths:
            remove_rows(path, reader_mark())
        st.toast("The analysis was deleted.")


def _delete_all(digest: str) -> None:
    mark = reader_mark()
    with defer_errors("deleting what is yours", PROBLEM):
        own = [
            path
            for path, header in own_analyses(analyses_folder(), mark)
            if header.digest == digest
        ]
        for path in own:
            remove_rows(path, mark)
        notes, slices = (
            notebook().notes.remove_own(digest, mark),
            notebook().slices.remove_own(digest, mark),
        )
        delete_files()
        st.toast(
            f"Deleted: {len(own):,} analyses, {notes:,} notes, {slices:,} slices and the files you"
            " uploaded."
        )
