"""The form of Reason: a story with a question, points, or a sentence, depending on the model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import numpy as np
import streamlit as st

from areaviz.cards.card import Card
from areaviz.samples.reasoning import POINT_KINDS, POINTS, SENTENCES, STORIES, separate_punctuation
from areaviz.trace.errors import InputError
from areaviz.trace.kinds import EXTENT, format_points, split_story
from areaviz.trace.request import Request
from areaviz.ui.app.page import Page
from areaviz.ui.app.state import Cards, Link, choose_default_model
from areaviz.ui.forms.input_row import draw_input_row, draw_sample_menu
from areaviz.ui.forms.options import draw_options_popover
from areaviz.ui.what_if.state import WhatIfState

_BEAM_WIDTH = 4
SAMPLES = {one.question: one for one in STORIES}


@dataclass(frozen=True)
class ReasonState(WhatIfState):
    """The state of the page Reason."""

    is_written_in_pictures = True
    model: str = ""
    # The facts of a story, one per line, and the question.
    facts: str = "\n".join(STORIES[0].facts)
    question: str = STORIES[0].question
    # The sentence to parse.
    sentence: str = SENTENCES[0]
    # The points as in a request, and how many times they were replaced by new ones.
    points: str = POINTS
    clicks: int = 0
    # The text of a link, until the task of its model is known.
    brought: str = ""

    def from_link(self, link: Link) -> Self:
        """Return this state with the model and the text of a link."""
        state = super().from_link(link)
        return replace(state, model=link.request.model, brought=link.params.get("text", ""))

    def with_linked_text(self, task: str) -> Self:
        """Return this state with the link's text as input for models of a task."""
        text = self.brought
        if task == "questions":
            facts, question = _split_story(text)
            return replace(self, facts=facts, question=question, brought="")
        if task == "parsing":
            return replace(self, sentence=text, brought="")
        return replace(self, points=text, brought="")

    def with_text(self, text: str) -> Self:
        """Return this state with a text that the user wrote in the picture."""
        return replace(self.without_lock(), brought=text)


ReasonPage = Page[ReasonState]


def draw_reason_form(page: ReasonPage, cards: Cards) -> tuple[Request, ...]:
    """Draw the form. Return the requests."""
    if page.state.model not in cards:
        page.set(model=choose_default_model(cards))
    if page.state.brought:
        page.set_state(page.state.with_linked_text(cards[page.state.model].task))
    card = _draw_task_row(page, cards)
    if card.task == "questions":
        return (Request(card.name, _draw_story(page)),)
    if card.task == "parsing":
        return (Request(card.name, _draw_sentence(page)),)
    return (Request(card.name, _draw_points(page), method="beam", beam=_BEAM_WIDTH),)


def _draw_task_row(page: ReasonPage, cards: Cards) -> Card:
    """Draw the choice of the subject next to the title, and the options. Return the model."""
    with st.container(
        key=page.key("subject"), horizontal=True, vertical_alignment="center", gap="small"
    ):
        subjects = {name: get_task_title(cards[name]) for name in cards}
        page.choose_segment("What to reason about", "model", subjects, label_visibility="collapsed")
        st.space("stretch")
        card = cards[page.state.model]
        with draw_options_popover(page):
            if card.task == "questions":
                label = "Facts, one per line, the latest last"
                page.draw_widget(
                    st.text_area,
                    label,
                    "facts",
                    height=190,
                    width=420,
                    after_change=page.set_and_unlock,
                )
            elif card.task == "points":
                help = f"x,y of every point, from 0 to {EXTENT:,}, with blanks between points."
                page.draw_widget(
                    st.text_input,
                    "Points",
                    "points",
                    help=help,
                    width=420,
                    after_change=page.set_and_unlock,
                )
    return card


def get_task_title(card: Card) -> str:
    """Return the kind of input about which a model reasons."""
    if card.task == "questions":
        return "A story"
    if card.task == "parsing":
        return "A sentence's tree"
    return f"Points: {POINT_KINDS[str(card.config['kind'])]}"


def join_story(facts: str, question: str) -> str:
    """Return the text of a request: one line per fact, each with a full stop."""
    sentences = []
    for line in facts.splitlines():
        fact = line.strip()
        if fact:
            sentences.append(fact if fact[-1] in ".!?" else f"{fact}.")
    asked = question.strip()
    if asked and not asked.endswith("?"):
        asked = f"{asked}?"
    return " ".join([*sentences, asked]).strip()


def _split_story(text: str) -> tuple[str, str]:
    """Return the facts of a request's text, one per line, and the question."""
    try:
        facts, (start, end) = split_story(text)
    except InputError:
        return text, ""
    return "\n".join(text[first:last] for first, last in facts), text[start:end]


def _draw_story(page: ReasonPage) -> str:
    with draw_input_row(page):
        label = "Question"
        page.draw_widget(
            st.text_input,
            label,
            "question",
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        draw_sample_menu(
            page, f"{len(SAMPLES)} stories", list(SAMPLES), partial(_take_sample, page)
        )
        st.button("Ask", key=page.key("ask"), type="primary")
    return join_story(page.state.facts, page.state.question)


def _take_sample(page: ReasonPage, question: str) -> None:
    chosen = SAMPLES[question]
    page.set_and_unlock(facts="\n".join(chosen.facts), question=chosen.question)


def _draw_sentence(page: ReasonPage) -> str:
    with draw_input_row(page):
        label = "Sentence"
        page.draw_widget(
            st.text_input,
            label,
            "sentence",
            label_visibility="collapsed",
            after_change=page.set_and_unlock,
        )
        label = f"{len(SENTENCES)} sentences"
        draw_sample_menu(
            page, label, SENTENCES, lambda sentence: page.set_and_unlock(sentence=sentence)
        )
        st.button("Draw the tree", key=page.key("parse"), type="primary")
    return separate_punctuation(page.state.sentence)


def _draw_points(page: ReasonPage) -> str:
    """Draw the row of the points. They are moved in the picture, and typed under Options."""
    with draw_input_row(page):
        st.caption(
            "Drag a point, click to add one, double-click to remove it: the model answers again."
        )
        st.button("Ten new points", on_click=_scatter_points, args=(page,))
    return page.state.points


def _scatter_points(page: ReasonPage) -> None:
    points_N2 = np.random.default_rng(page.state.clicks).integers(0, EXTENT + 1, (10, 2))
    page.set_and_unlock(points=format_points(points_N2), clicks=page.state.clicks + 1)
