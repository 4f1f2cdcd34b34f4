"""The content of the teacher's page: the plan with its answers, or the exercise of a link."""

from __future__ import annotations

import streamlit as st

from areaviz.app.frame import add_styles
from areaviz.app.home import load_hero_trace
from areaviz.app.run import get_backend
from areaviz.app.texts import remove_language, sentence, show_errors
from areaviz.texts.catalogue import message
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.ui.teach.debate_runs import DebateRuns, run_debate
from areaviz.ui.teach.exercise import EXERCISE_PARAM, draw_exercise, draw_exercise_maker
from areaviz.ui.teach.plan import (
    PLAN_STYLE,
    build_plan_html,
    build_plan_rows,
    describe_lost_attention,
)


def draw_teach_page() -> None:
    """Draw the plan and the maker of exercises, or the exercise that the address names."""
    params = remove_language(st.query_params.to_dict())
    hero = load_hero_trace()
    if params.get(EXERCISE_PARAM) == "1":
        del params[EXERCISE_PARAM]
        draw_exercise(params, hero.request.model)
        return
    add_styles(PLAN_STYLE)
    st.markdown(
        sentence(
            "**Needs:** English, and German helps · **No accounts, no names** · **Works offline**"
            " on one laptop · Print this page for a sheet without the answers."
        )
    )
    with show_errors(message("computing the answers")):
        rows = build_plan_rows(hero, _get_debate_runs(hero), describe_lost_attention())
        st.markdown(build_plan_html(rows), unsafe_allow_html=True)
    with st.container(key="exercise_maker"):
        draw_exercise_maker(hero)


def _get_debate_runs(hero: Trace) -> DebateRuns | None:
    """Return the runs of the debate, None where no model can run."""
    try:
        with st.spinner(sentence("Computing the answers")):
            return _run_debate_once(hero.request.model)
    except (InputError, BackendError):
        return None


@st.cache_resource(show_spinner=False, max_entries=1)
def _run_debate_once(model: str) -> DebateRuns:
    """Return the three runs, computed once per process."""
    return run_debate(get_backend(), model)
