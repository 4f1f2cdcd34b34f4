"""The content of the teacher's page: the plan with its answers, or the exercise of a link."""

from __future__ import annotations

import streamlit as st

from areaviz.analysis.model_comparison import count_wins
from areaviz.analysis.stored_analysis import MODELS, SET
from areaviz.data.example_samples import SAMPLE_SETS
from areaviz.data.paths import ANALYSIS
from areaviz.texts.catalogue import message
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.ui.analyse.opening_sentence import CHRF_CHANGE_COLUMN
from areaviz.ui.analyse.stored_data import build_examples_table, read_stored_rows
from areaviz.ui.app.engine import get_backend
from areaviz.ui.app.errors import show_errors
from areaviz.ui.app.frame import add_styles
from areaviz.ui.app.language import sentence, without_language
from areaviz.ui.home.hero import hero_trace
from areaviz.ui.teach.debate_runs import Looking, compare_looking
from areaviz.ui.teach.exercise import EXERCISE, draw_exercise, draw_maker
from areaviz.ui.teach.plan import PLAN_STYLE, plan_html, plan_rows, without_attention


def draw_teach() -> None:
    """Draw the plan and the maker of exercises, or the exercise that the address names."""
    params = without_language(st.query_params.to_dict())
    hero = hero_trace()
    if params.get(EXERCISE) == "1":
        del params[EXERCISE]
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
        rows = plan_rows(hero, _debated(hero), compared_sentences())
        st.markdown(plan_html(rows), unsafe_allow_html=True)
    with st.container(key="exercise_maker"):
        draw_maker(hero)


def _debated(hero: Trace) -> Looking | None:
    """Return the runs of the debate, None where no model can run."""
    try:
        with st.spinner(sentence("Computing the answers")):
            return _looked(hero.request.model)
    except (InputError, BackendError):
        return None


@st.cache_resource(show_spinner=False, max_entries=1)
def _looked(model: str) -> Looking:
    """Return the three runs, computed once per process."""
    return compare_looking(get_backend(), model)


def compared_sentences() -> tuple[str, ...]:
    """Return what the stored analysis says about translation without attention."""
    dataset = SAMPLE_SETS[SET]()
    runs = tuple(read_stored_rows(ANALYSIS / f"{model}.jsonl", dataset) for model in MODELS)
    table = build_examples_table(runs).sort_values([CHRF_CHANGE_COLUMN, "chrf_1"], kind="stable")
    better, _, worse = count_wins(table[CHRF_CHANGE_COLUMN].to_numpy(float), "high")
    worst = {name: str(table.iloc[0][name]) for name in ("text", "output_0", "output_1")}
    return without_attention(worse, better, len(table), worst)
