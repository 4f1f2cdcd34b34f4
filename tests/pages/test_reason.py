"""Reason: a story is edited and asked about again, points are placed and pointed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
import torch

from areaviz.backend.base import Backend
from areaviz.cards.card import Card
from areaviz.data.babi import words_of
from areaviz.drawing.board import board, clicked
from areaviz.models.answering import AnsweringModel
from areaviz.models.memory_network import MemoryConfig, MemoryNetwork
from areaviz.models.pointer import PointerConfig, PointerNetwork
from areaviz.models.pointing import PointingModel
from areaviz.trace.intervention_text import to_text
from areaviz.trace.interventions import Hide
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.ui.forms.reason_form import story_text
from areaviz.ui.forms.reason_samples import POINTS, STORIES, gold_of
from areaviz.ui.look.reason import conclusion, with_gold
from tests.pages import folder
from tests.pages.conftest import Open, shown

Use = Callable[[Backend], None]
ANSWERS = ("garden", "kitchen", "no", "office", "yes")


class Reasoners:
    """A memory network and two pointer networks that learned nothing."""

    def __init__(self, kinds: Sequence[str] = ("hull", "tour")) -> None:
        torch.manual_seed(1)
        words: set[str] = set()
        for story in STORIES:
            words |= set(words_of(story.text))
        config = MemoryConfig(sorted(words), ANSWERS, width=8, most_facts=20)
        card = _card("memory", "questions", asdict(config))
        self.runs = {"memory": AnsweringModel(card, MemoryNetwork(config).eval())}
        for kind in kinds:
            options = PointerConfig(kind, 8)
            card = _card(f"pointer-{kind}", "points", asdict(options))
            network = PointerNetwork(options).eval()
            self.runs[card.name] = PointingModel(card, network)  # type: ignore[assignment]
        self.asked: list[Request] = []

    def models(self) -> dict[str, Card]:
        return {name: run.card for name, run in self.runs.items()}

    def problems(self) -> tuple[str, ...]:
        return ()

    def trace(self, request: Request, *_: object, **__: object) -> Trace:
        request = request.checked()
        self.asked.append(request)
        return self.runs[request.model].trace([request])[0]


def _card(name: str, task: str, config: dict[str, object]) -> Card:
    made = folder.card(name, "item-wise soft")
    level = "point" if task == "points" else "sentence"
    return replace(made, task=task, level=level, config=config, title=name, trained_length=10)


@pytest.fixture
def backend(use_backend: Use) -> Reasoners:
    made = Reasoners()
    use_backend(made)  # type: ignore[arg-type]
    return made


def test_it_opens_with_an_answer_and_its_facts(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    assert not app.exception and not app.error
    text = shown(app)
    assert STORIES[0].question in text and "The last hop reads" in text
    assert "How to read this" in text
    assert backend.asked[0].text == STORIES[0].text
    # The only question is looked at without a click.
    assert app.query_params["items"] == "1"
    assert any(one.label == "Hop" for one in app.segmented_control)


def test_a_story_is_edited_and_asked_again(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    app.text_area(key="reason_facts").set_value("Mary went to the office\nJohn moved there.")
    app.text_input(key="reason_question").set_value("Where is Mary").run()
    assert not app.exception and not app.error
    expected = "Mary went to the office. John moved there. Where is Mary?"
    assert backend.asked[-1].text == expected
    assert app.query_params["text"] == expected
    again = open_page("reason", **dict(app.query_params))
    assert again.text_area(key="reason_facts").value.splitlines()[0] == "Mary went to the office."
    assert again.text_input(key="reason_question").value == "Where is Mary?"


def test_a_sample_takes_the_place_of_the_story(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    app.selectbox(key="reason_sample").set_value(STORIES[2].title).run()
    assert backend.asked[-1].text == STORIES[2].text
    assert app.selectbox(key="reason_sample").value is None


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [("", "a question but no fact"), ("Go.\n" * 200, "The story has 200 facts, at most 20")],
)
def test_what_cannot_be_read_keeps_the_answer_before_it(
    open_page: Open, backend: Reasoners, facts: str, sentence: str
) -> None:
    app = open_page("reason")
    app.text_area(key="reason_facts").set_value(facts).run()
    assert not app.exception
    assert sentence in shown(app)
    assert "still the result of what you asked before" in shown(app)


def test_points_are_placed_and_stepped_through(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    app.segmented_control(key="reason_model").set_value("pointer-tour").run()
    assert not app.exception and not app.error
    assert backend.asked[-1] == Request("pointer-tour", POINTS, method="beam")
    assert "the shortest" in shown(app)
    assert "9 points" in [one.value.split(" · ")[0] for one in app.markdown]
    slider = next(one for one in app.slider if one.label == "Step")
    assert slider.value == 10
    slider.set_value(2).run()
    assert app.query_params["items"] == "2"
    again = open_page("reason", **dict(app.query_params))
    assert next(one for one in again.slider if one.label == "Step").value == 2
    app.text_input(key="reason_points").set_value("5,5 7,7 5,5").run()
    assert "Points 1 and 3 lie on the same place" in shown(app)


def test_a_hidden_fact_is_part_of_the_link(open_page: Open, backend: Reasoners) -> None:
    text = STORIES[0].text
    changes = to_text((Hide("facts", (5,)),))
    app = open_page("reason", model="memory", text=text, changes=changes)
    assert not app.exception and not app.error, shown(app)
    hidden = [one for one in backend.asked if one.changes]
    assert hidden and hidden[0].changes == (Hide("facts", (5,)),)
    assert "Hidden: “Mary went back to the kitchen.”" in shown(app)


def test_the_facts_that_answer_a_sample_are_marked() -> None:
    backend = Reasoners()
    trace = backend.trace(Request("memory", STORIES[0].text))
    assert with_gold(trace).details["gold facts"] == "3 6"
    other = backend.trace(Request("memory", "Mary moved. Where is Mary?"))
    assert with_gold(other) is other and gold_of("") == ()
    assert all(max(one.gold) < len(one.facts) for one in STORIES)


def test_conclusions_say_how_good_an_answer_is() -> None:
    trace = Reasoners().trace(Request("pointer-tour", POINTS))
    tour = {"kind": "tour", "answer": "1 2", "exact": "1 3", "length": "1100", "shortest": "1000"}
    assert "10.0% longer than the shortest" in conclusion(replace(trace, details=tour))
    assert "shortest tour" in conclusion(replace(trace, details=tour | {"length": "1000"}))
    hull = {"kind": "hull", "answer": "1 2", "exact": "1 3", "area": "95", "exact area": "100"}
    assert "95.0% of its area" in conclusion(replace(trace, details=hull))
    assert "whole hull" in conclusion(replace(trace, details=hull | {"exact": "1 2"}))


def test_a_click_places_a_point_and_another_takes_it_away() -> None:
    points = clicked(np.zeros((0, 2), np.int64), 25, 50, 2)
    assert points.tolist() == [[25, 50]]
    two = clicked(points, 75, 0, 2)
    assert clicked(two, 300, 300, 2).tolist() == two.tolist()
    assert clicked(two, 25, 50, 2).tolist() == [[75, 0]]
    assert len(board(two, 12).data) == 2


def test_lines_become_sentences() -> None:
    assert story_text(" A b \n\nC d!\n", "Who") == "A b. C d! Who?"
    assert story_text("", "") == ""
