"""Errors of the open example: a rater marks them under a name, and sees other raters' marks."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

import streamlit as st

from areaviz.app.run import get_user_digest
from areaviz.app.texts import escape_markdown, shorten_line, show_deferred
from areaviz.data.raters import AUTOMATIC, is_automatic
from areaviz.draw.labels import format_three_digits
from areaviz.notes.error_spans import Judgement, check_length, parse_spans
from areaviz.notes.judgements import compute_judgement_id
from areaviz.notes.record_types import Stale
from areaviz.samples.dataset import Dataset
from areaviz.trace.errors import InputError
from areaviz.ui.analyse.automatic_errors import (
    draw_automatic_errors,
    draw_marked_errors,
    merge_marks,
)
from areaviz.ui.analyse.blind import draw_rater_input, read_rater_name
from areaviz.ui.analyse.form_parts import keep_save_error, list_offered_categories
from areaviz.ui.analyse.link_access import can_write
from areaviz.ui.analyse.state import AnalysePage
from areaviz.ui.analyse.stored_data import list_judgements, open_note_store
from areaviz.ui.analyse.systems import Systems
from areaviz.ui.components.error_sheet import ErrorSheet, draw_error_sheet, read_saved_errors

# Keys of widgets.
EXPANDER_KEY, SHEET_KEY_PREFIX = "errors", "judging"
# Session keys: the open sheet with the judgement on which it was opened, the `Stale` that waits
# for a choice, how often a choice restarted a sheet, the sheet that was saved last, and the error
# message.
OPEN_SHEET_KEY, STALE_KEY, SHEET_TURN_KEY = "judged_held", "judged_stale", "judged_turn"
SAVED_SHEET_KEY, PROBLEM_KEY = "judged_saved", "judged_problem"
# Session key: the number of other raters' judgements that are drawn. The second value is the number
# that a click adds.
LISTED_COUNT_KEY, RATINGS_PER_CLICK = "judged_listed", 20


def draw_error_marking(page: AnalysePage, systems: Systems, place: int) -> None:
    """Draw the errors in the outputs of one example, given by its index, and the sheet."""
    dataset, names = systems.dataset, systems.titles_by_name
    judged = _list_example_judgements(dataset.digest, place)
    count = sum(len(one.spans) for one in judged)
    is_blind = page.state.is_blind
    label = f"Errors ({count})" if judged and not is_blind else "Errors"
    # Attention follows below the outputs of models, so errors start collapsed there.
    is_open = bool(judged) or is_blind or not systems.has_models
    with st.expander(label, key=EXPANDER_KEY, type="compact", expanded=is_open, on_change="rerun"):
        with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
            is_named = is_blind or not can_write()
            rater = read_rater_name() if is_named else draw_rater_input()
            model = next(iter(names))
            if len(names) > 1:
                if page.state.judged not in names and not is_blind:
                    # The table opens with the examples that the second of two systems does worse.
                    page.set(judged=list(names)[-1])
                model = page.choose_segment("Output of", "judged", names)
        row = systems.runs[list(names).index(model)].rows.get(place)
        if row is None or row.error:
            st.caption("This system has no output for the example, so there is nothing to mark.")
            return
        text = dataset.examples[place].text
        fresh = Judgement(dataset.digest, place, model, rater, text, row.output)
        own = [one for one in judged if one.model == model and not _is_by_other_rater(one, rater)]
        if refusal := _explain_refusal(rater):
            st.caption(refusal)
            rater = ""
        else:
            _draw_sheet(fresh, names[model], judged, dataset, is_blind)
        draw_automatic_errors(
            judged, fresh, partial(_adopt_program_marks, fresh, judged) if rater else None
        )
        people = [one for one in judged if not is_automatic(one.rater)]
        if is_blind and not own:
            st.caption("You see the marks of other raters after you have saved yours.")
        else:
            _draw_other_raters(
                [one for one in people if one.model == model and _is_by_other_rater(one, rater)]
            )


def _explain_refusal(rater: str) -> str:
    """Return why a rater may not mark errors, or ""."""
    if not can_write():
        return "This analysis is shared read only: you see what raters marked."
    if is_automatic(rater):
        return f"Names that end in “{AUTOMATIC.strip()}” belong to programs. Type another name."
    return "" if rater else "Type your name to mark errors: raters are told apart by it."


def _list_example_judgements(digest: str, place: int) -> list[Judgement]:
    """Return the judgements of raters on one example."""
    return [one for one in list_judgements(digest) if one.example == place and one.rater]


def _is_by_other_rater(judgement: Judgement, rater: str) -> bool:
    return judgement.rater != rater or bool(judgement.differs)


def _draw_sheet(
    fresh: Judgement, title: str, judged: Sequence[Judgement], dataset: Dataset, is_blind: bool
) -> None:
    """Draw the rater's own marks in the output, with an error message below."""
    try:
        check_length(fresh.source, fresh.output)
    except InputError as refusal:
        st.caption(escape_markdown(str(refusal)))
        return
    turn = st.session_state.get(SHEET_TURN_KEY, 0)
    held = _get_opened_judgement((compute_judgement_id(fresh), turn), fresh, judged)
    own = _fit_to_output(held, fresh)
    if own is not held:
        st.caption(
            "Another output of this system was judged under this name. If you save, your marks"
            " replace the marks of that output."
        )
    mark = f"{compute_judgement_id(own)} {own.version} {turn}"
    categories = list_offered_categories(fresh.dataset, fresh.rater if is_blind else "")
    picture = dataset.picture(dataset.examples[fresh.example])
    sheet = ErrorSheet(
        title, own, picture, categories, mark, st.session_state.get(SAVED_SHEET_KEY, "")
    )
    # Leave out the system's name, which a page in blind rating must not contain.
    key = f"{SHEET_KEY_PREFIX}_{compute_judgement_id(own)}"
    draw_error_sheet(sheet, key=key, on_save=lambda: _save_sheet(own, key, mark))
    if own.version:
        with st.popover("Remove what I marked", key="judged_removing", type="tertiary"):
            st.caption("What was marked under this name goes, for everybody who has this set.")
            st.button("Remove it", key="judged_remove", on_click=_remove_judgement, args=(own,))
    show_deferred(PROBLEM_KEY)
    _draw_conflict()


def _fit_to_output(own: Judgement, fresh: Judgement) -> Judgement:
    """Return a rater's judgement, without its marks if it is about another output."""
    if (own.output, own.source) == (fresh.output, fresh.source):
        return own
    return replace(fresh, id=own.id, version=own.version, origin=own.origin)


def _get_opened_judgement(
    sheet: tuple[str, int], fresh: Judgement, judged: Sequence[Judgement]
) -> Judgement:
    """Return the rater's judgement as it was when the sheet was opened.

    If another session saves a judgement meanwhile, the marks on the sheet are kept. The sheet's
    version is then older, so the rater has to choose.
    """
    own = fresh
    opened: tuple[object, Judgement] = st.session_state.get(OPEN_SHEET_KEY, (None, fresh))
    if opened[0] == sheet:
        return opened[1]
    for one in judged:
        if one.model == fresh.model and not _is_by_other_rater(one, fresh.rater):
            own = one
    st.session_state[OPEN_SHEET_KEY] = (sheet, own)
    return own


def _adopt_program_marks(fresh: Judgement, judged: Sequence[Judgement], program: Judgement) -> None:
    """Open the rater's sheet again, with the errors of a program added to the saved ones."""
    st.session_state.pop(OPEN_SHEET_KEY, None)
    own = _fit_to_output(
        _get_opened_judgement((compute_judgement_id(fresh), -1), fresh, judged), fresh
    )
    turn = st.session_state.get(SHEET_TURN_KEY, 0) + 1
    st.session_state[SHEET_TURN_KEY] = turn
    st.session_state[OPEN_SHEET_KEY] = (
        (compute_judgement_id(fresh), turn),
        merge_marks(own, program),
    )


def _keep_save_error(doing: str = "saving the errors") -> AbstractContextManager[None]:
    """Show below the sheet an error, or that another version was saved meanwhile."""
    return keep_save_error(doing, PROBLEM_KEY, STALE_KEY)


def _save_sheet(own: Judgement, key: str, mark: str) -> None:
    """Save the judgement. It is committed when the page says so; otherwise the sheet is kept."""
    with _keep_save_error():
        spans, score = read_saved_errors(key)
        if not (score is None or type(score) in (int, float)):
            raise InputError("The score is not a number. Enter a score from 0 to 100.")
        number = None if score is None else float(str(score))
        marked = replace(own, spans=parse_spans(spans), score=number)
        open_note_store().judgements.save(marked, get_user_digest())
        st.session_state[SAVED_SHEET_KEY] = mark
        for name in (STALE_KEY, OPEN_SHEET_KEY):
            st.session_state.pop(name, None)


def _remove_judgement(own: Judgement) -> None:
    with _keep_save_error("removing the errors"):
        open_note_store().judgements.remove(own, get_user_digest())
        _accept_saved_version()


def _draw_conflict() -> None:
    """Draw the version saved meanwhile under this rater's name, and the choice between both."""
    stale: Stale[Judgement] | None = st.session_state.get(STALE_KEY)
    if stale is None:
        return
    did = "was removed" if stale.there is None else "was changed"
    st.warning(
        f"What was marked under this name {did} meanwhile, perhaps in another window."
        " Nothing was overwritten. Choose which of the two stays."
    )
    if stale.there:
        _draw_judgement(stale.there)
    with st.container(horizontal=True):
        st.button("Keep what is there", on_click=_accept_saved_version)
        st.button(
            "Save mine", key="judged_overwrite", on_click=_overwrite_saved_version, args=(stale,)
        )


def _accept_saved_version() -> None:
    st.session_state.pop(STALE_KEY, None)
    st.session_state[SHEET_TURN_KEY] = st.session_state.get(SHEET_TURN_KEY, 0) + 1


def _overwrite_saved_version(stale: Stale[Judgement]) -> None:
    with _keep_save_error():
        version = stale.there.version if stale.there else 0
        open_note_store().judgements.save(replace(stale.own, version=version), get_user_digest())
        _accept_saved_version()


def _draw_other_raters(others: Sequence[Judgement]) -> None:
    """Draw marks of other raters in this output, only on demand so that they influence nobody."""
    if not others:
        return
    raters = ", ".join(dict.fromkeys(one.rater for one in others))
    with st.popover(f"Other raters: {escape_markdown(shorten_line(raters))}", type="tertiary"):
        most = st.session_state.get(LISTED_COUNT_KEY, RATINGS_PER_CLICK)
        for one in others[:most]:
            _draw_judgement(one)
        if len(others) > most:
            label = f"Show more of {len(others):,}"
            st.button(
                label,
                key="judged_more",
                on_click=_list_more_ratings,
                args=(most + RATINGS_PER_CLICK,),
            )


def _list_more_ratings(most: int) -> None:
    st.session_state[LISTED_COUNT_KEY] = most


def _draw_judgement(judgement: Judgement) -> None:
    """Draw a rater's marks, one per line."""
    score = (
        "no score" if judgement.score is None else f"score {format_three_digits(judgement.score)}"
    )
    about = f"{judgement.rater}: {score}, cost by MQM {format_three_digits(judgement.mqm)}"
    if judgement.differs:
        about += ", brought in and different from what is here"
    st.caption(escape_markdown(about))
    draw_marked_errors(judgement)
