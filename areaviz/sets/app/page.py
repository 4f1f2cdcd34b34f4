"""The page Analyse: choosing a dataset and systems, running them, and showing the results."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from areaviz.app.input import select_model_for_type
from areaviz.app.options import add_options, choose_model, choose_other_model, draw_run_options
from areaviz.app.page import Cards, choose_default_model
from areaviz.app.run import get_backend
from areaviz.app.texts import show_errors
from areaviz.backend.backend import Backend
from areaviz.cards.tasks import TASKS
from areaviz.draw.labels import escape_controls
from areaviz.samples.dataset import SENTENCES, TREES, Dataset
from areaviz.sets.app.error_marking import draw_blind_rating
from areaviz.sets.app.form import ChosenSet, describe_set, draw_dataset_form
from areaviz.sets.app.notes import draw_marks_import
from areaviz.sets.app.opening import draw_leave_form_button, draw_stored_analysis
from areaviz.sets.app.result import draw_results
from areaviz.sets.app.runs import (
    build_analysis_params,
    draw_history,
    draw_run_controls,
    save_to_history,
    update_browser_url,
)
from areaviz.sets.app.sharing import draw_ownership, draw_shared_analysis
from areaviz.sets.app.state import (
    AnalysePage,
    Analysis,
    Systems,
    build_model_analysis,
    build_outputs_analysis,
    remove_old_work,
    set_link_token,
)
from areaviz.trace.errors import InputError
from areaviz.trace.request import Request

# Largest number of outputs from files shown together; more columns cannot be compared.
MAX_OUTPUT_SYSTEMS = 6


def draw_analyse_page(page: AnalysePage) -> None:
    """Draw the page."""
    with show_errors("opening the models"):
        backend = get_backend()
        cards = backend.models()
        with show_errors("reading the link"):
            page.follow_url(cards)
        with show_errors("removing what is old"):
            remove_old_work()
        set_link_token(page.state.share)
        if page.state.share:
            draw_shared_analysis(page, backend, cards)
            return
        if not page.state.is_new:
            with show_errors("reading the stored analysis"):
                draw_stored_analysis(page, cards)
            with show_errors("reading the list of analyses"):
                draw_history({})
            return
        draw_leave_form_button(page)
        chosen: ChosenSet | None = None
        analyses: tuple[Analysis, ...] = ()
        with show_errors("reading the examples"), st.container(border=True):
            chosen = draw_dataset_form(page)
            if chosen:
                analyses = _choose_systems(page, cards, chosen)
        with show_errors("reading the list of analyses"):
            draw_history(build_analysis_params(chosen, analyses) if chosen else {})
        if chosen and analyses:
            with show_errors("running the examples"):
                draw_run_controls(page, backend, chosen, analyses)
            with show_errors("showing the result"):
                _draw_analysis(page, backend, chosen, analyses)


def _choose_systems(page: AnalysePage, cards: Cards, chosen: ChosenSet) -> tuple[Analysis, ...]:
    """Return the chosen systems. Raise InputError if no model accepts such examples."""
    dataset = chosen.dataset
    if page.state.digest != dataset.digest:
        # The first dataset after a link is the dataset of the link, which opens its view.
        is_first = page.state.digest == ""
        page.set(digest=dataset.digest)
        if not is_first:
            page.set_state(page.state.for_new_set(dataset.digest))
    st.caption(describe_set(chosen))
    fitting = _list_fitting_models(dataset, cards)
    if chosen.outputs:
        return _choose_outputs(page, chosen, fitting)
    if not fitting:
        raise InputError("No model here takes such examples. Choose another set.")
    return _choose_models(page, dataset, fitting)


def _list_fitting_models(dataset: Dataset, cards: Cards) -> Cards:
    """Return the models that can read the examples. A sample names its models."""
    tasks = {task.key for task in TASKS.values() if task.samples == dataset.name}
    tasks = tasks or _list_fitting_tasks(dataset)
    found = {}
    for name, card in cards.items():
        if card.task in tasks and card.reads(dataset.kind):
            found[name] = card
    return found


def _list_fitting_tasks(dataset: Dataset) -> set[str]:
    """Return the tasks whose models read such examples."""
    inputs = set()
    if dataset.texts in (SENTENCES, TREES):
        inputs.add("source")
    if any(one.file for one in dataset.examples):
        inputs.add(dataset.medium)
    tasks = set()
    has_references = any(one.references for one in dataset.examples)
    for task in TASKS.values():
        # Text that a model only reads is not compared with references.
        is_scored = task.given is None or not has_references
        is_read = task.inputs == inputs and task.texts == dataset.texts
        if task.samples and is_read and is_scored:
            tasks.add(task.key)
    return tasks


def _choose_models(
    page: AnalysePage, dataset: Dataset, cards: Cards, compares: bool = True
) -> tuple[Analysis, ...]:
    """Let the user choose one or two models. The default is a model trained on such pictures."""
    if page.state.has_linked_model:
        page.set(has_linked_model=False, model_kind=dataset.kind)
    select_model_for_type(page, cards, dataset.kind)
    first = cards[page.state.model if page.state.model in cards else choose_default_model(cards)]
    # A digit classifier produces no text, so decoding options do not apply.
    writes = first.given is None and "target" in TASKS[first.task].can
    with st.container(horizontal=True, gap="medium"):
        card = choose_model(page, cards, label_visibility="visible")
        other = choose_other_model(page, card, cards) if compares else None
    draw_run_options(page, card, decodes=writes)
    both = [card] if other is None else [card, other]
    for warning in dict.fromkeys(one.unfamiliar(dataset.kind) for one in both):
        if warning:
            st.warning(warning, icon=":material/warning:")
    found = []
    for request in add_options(page, Request(card.name, ""), other):
        card = cards[request.model]
        if card.given is not None:
            size = request.area_size
            request = Request(card.name, "", area_size=size, target=card.given)
        found.append(build_model_analysis(dataset, request, card))
    return tuple(found)


def _choose_outputs(page: AnalysePage, chosen: ChosenSet, cards: Cards) -> tuple[Analysis, ...]:
    """Let the user choose outputs from files, and optionally a model."""
    names = list(chosen.outputs)
    if len(names) > 2:
        if page.state.offered != tuple(names) or not page.state.outputs:
            # The offered systems are new or renamed, so choose the first ones.
            page.set(offered=tuple(names), outputs=names[:MAX_OUTPUT_SYSTEMS])
        page.draw_widget(
            st.multiselect,
            "Systems to compare",
            "outputs",
            names,
            max_selections=MAX_OUTPUT_SYSTEMS,
            format_func=escape_controls,
            help="With two, themes are about where one is worse than the other.",
        )
        names = [name for name in names if name in page.state.outputs]
    found = []
    for name in names:
        scores = chosen.scores.get(name, {})
        found.append(build_outputs_analysis(name, chosen.outputs[name], scores))
    if not cards:
        return tuple(found)
    if page.state.has_linked_model:
        page.set(with_model=True)
    if page.draw_widget(st.toggle, "Compare with a model", "with_model"):
        found += _choose_models(page, chosen.dataset, cards, compares=False)
    return tuple(found)


def _draw_analysis(
    page: AnalysePage, backend: Backend, chosen: ChosenSet, analyses: Sequence[Analysis]
) -> None:
    systems = Systems.read(chosen.dataset, analyses)
    draw_ownership(page, chosen, systems)
    if not systems.are_run:
        return
    with show_errors("keeping the analysis"):
        save_to_history(page, chosen, analyses)
    update_browser_url(page, chosen, analyses)
    with show_errors("reading the ratings"):
        draw_marks_import(chosen, systems)
    shown = draw_blind_rating(page, systems)
    if shown is not None:
        draw_results(page, backend, shown, chosen.corpus)
