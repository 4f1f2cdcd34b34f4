"""Reason: a story is edited and asked again, and points are placed and pointed at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from areaviz.app.tasks import add_gold_facts, describe_answer, join_story
from areaviz.backend.backend import Backend
from areaviz.cards.card import Card
from areaviz.measures.references import make_flat_tree
from areaviz.models.generation import GenerationModel
from areaviz.models.points import PointerConfig, PointerNetwork, PointingModel
from areaviz.models.stories import AnsweringModel, MemoryConfig, MemoryNetwork, split_sentence
from areaviz.models.tokenizer import Tokenizer
from areaviz.models.translation import LstmConfig, LstmTranslator
from areaviz.samples.reasoning import POINTS, SENTENCES, STORIES, separate_punctuation
from areaviz.trace.changes import Hide, format_changes
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.views.points.points import label_positions
from tests.messages import header_of
from tests.pages import folder
from tests.pages.conftest import Open, errors, shown
from tests.sampled import sampled
from tests.test_bad_input import BAD, Bad

Use = Callable[[Backend], None]
ANSWERS = ("garden", "kitchen", "no", "office", "yes")
SENTENCE = "Ida paints old boats ."
BRACKETS = ("(S", "(NP", "(VP", ")S", ")NP", ")VP", "XX")


class Reasoners:
    """A backend with an untrained memory network, two pointer networks and a parser."""

    def __init__(self, kinds: Sequence[str] = ("hull", "tour")) -> None:
        torch.manual_seed(1)
        words: set[str] = set()
        for story in STORIES:
            words |= set(split_sentence(story.text))
        config = MemoryConfig(sorted(words), ANSWERS, width=8, most_facts=20)
        card = _card("memory", "questions", asdict(config))
        self.runs = {"memory": AnsweringModel(card, MemoryNetwork(config).eval())}
        for kind in kinds:
            options = PointerConfig(kind, 8)
            card = _card(f"pointer-{kind}", "points", asdict(options))
            network = PointerNetwork(options).eval()
            self.runs[card.name] = PointingModel(card, network)  # type: ignore[assignment]
        self.runs["parser"] = _parser()  # type: ignore[assignment]
        self.asked: list[Request] = []

    def models(self) -> dict[str, Card]:
        return {name: run.card for name, run in self.runs.items()}

    def problems(self) -> tuple[str, ...]:
        return ()

    def trace(self, request: Request, *_: object, **__: object) -> Trace:
        request = request.checked()
        self.asked.append(request)
        told = request
        if request.model == "parser" and request.target is None:
            # An untrained parser writes no valid tree, so it gets one.
            told = replace(request, target=make_flat_tree(len(request.text.split())))
        return replace(self.runs[request.model].trace([told])[0], request=request)


def _card(name: str, task: str, config: dict[str, object]) -> Card:
    made = folder.card(name, "item-wise soft")
    level = "point" if task == "points" else "sentence"
    return replace(made, task=task, level=level, config=config, title=name, trained_length=10)


def _parser() -> GenerationModel:
    lines = [SENTENCE, *map(separate_punctuation, SENTENCES)]
    tokenizer = Tokenizer.train(lines, "token", 120, BRACKETS)
    options = LstmConfig(len(tokenizer), depth=1, width=8, area_size=3, key_mode="boundary")
    card = _card("parser", "parsing", asdict(options))
    card = replace(card, family="lstm", level="token")
    return GenerationModel(card, tokenizer, LstmTranslator(options).eval())


def pictures(app: AppTest) -> list[dict[str, Any]]:
    """Return the data that every picture gets from the server."""
    messages = [element.proto.bytes for element in app.get("bidi_component")]
    return [header_of(one) for one in messages if one]


@pytest.fixture
def backend(use_backend: Use) -> Reasoners:
    made = Reasoners()
    use_backend(made)  # type: ignore[arg-type]
    return made


def test_page_opens_with_answer_and_facts(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    assert not app.exception and not app.error
    (drawn,) = pictures(app)
    assert drawn["facts"] == list(STORIES[0].facts) and drawn["needed"] == [2, 5]
    assert drawn["question"] == STORIES[0].question and drawn["expected"] == "kitchen"
    assert drawn["canEdit"] and not drawn["hidden"]
    assert backend.asked[0].text == STORIES[0].text
    # The only question is selected without a click.
    assert app.query_params["items"] == "1"
    assert any(one.label == "Hop" for one in app.segmented_control)


def test_edited_story_is_answered_again(open_page: Open, backend: Reasoners) -> None:
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


def test_sample_replaces_the_story(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    app.button(key=f"reason_try {STORIES[2].question}").click().run()
    assert backend.asked[-1].text == STORIES[2].text


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ("", "The question has no facts"),
        ("Go.\n" * 200, "The story has 200 facts, but the limit is 20"),
        ("Go.\n" * 21, "The story has 21 facts, but the limit is 20. Remove 1."),
    ],
)
def test_unreadable_input_keeps_the_earlier_answer(
    open_page: Open, backend: Reasoners, facts: str, sentence: str
) -> None:
    app = open_page("reason")
    app.text_area(key="reason_facts").set_value(facts).run()
    assert not app.exception
    assert sentence in shown(app)
    assert "The result below is from your previous input" in shown(app)


@pytest.mark.parametrize("bad", [bad for bad in BAD.values() if bad.kind == "points" and bad.text])
def test_invalid_points_keep_the_earlier_answer(
    open_page: Open, backend: Reasoners, bad: Bad
) -> None:
    app = open_page("reason", model="pointer-hull", text=POINTS)
    asked = len(backend.asked)
    app.text_input(key="reason_points").set_value(bad.text).run()
    assert not app.exception and [bad.says in said for said in errors(app)] == [True]
    assert "The result below is from your previous input" in shown(app)
    assert {one.text for one in backend.asked[asked:]} <= {bad.text}


def test_points_are_placed_and_stepped_through(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason")
    app.segmented_control(key="reason_model").set_value("pointer-tour").run()
    assert not app.exception and not app.error
    assert backend.asked[-1] == Request("pointer-tour", POINTS, method="beam")
    (drawn,) = pictures(app)
    assert drawn["kind"] == "tour" and drawn["sizes"][0] >= drawn["sizes"][1] > 0
    assert len(drawn["points"]) == 9 and len(drawn["chosen"]) == 10 and drawn["canEdit"]
    assert app.query_params["items"] == f"{drawn['items'][0] + 1}"
    again = open_page("reason", **{**app.query_params, "items": "2"})
    assert pictures(again)[0]["items"] == [1]
    app.text_input(key="reason_points").set_value("5,5 7,7 5,5").run()
    assert "Points 1 and 3 are at the same place" in shown(app)
    many = " ".join(f"{number},{number * 7 % 900}" for number in range(200))
    app.text_input(key="reason_points").set_value(many).run()
    assert not app.exception and "There are 200 points, but the limit is" in shown(app)
    assert "The result below is from your previous input" in shown(app)


def test_new_points_replace_the_points(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason", model="pointer-hull", text=POINTS)
    next(one for one in app.button if one.label == "Ten new points").click().run()
    assert not app.exception and not app.error
    (drawn,) = pictures(app)
    assert len(drawn["points"]) == 10 and backend.asked[-1].text != POINTS


def test_sentence_is_requested_with_separate_punctuation(
    open_page: Open, backend: Reasoners
) -> None:
    app = open_page("reason")
    choice = app.segmented_control(key="reason_model")
    assert choice.options[list(backend.models()).index("parser")] == "A sentence's tree"
    choice.set_value("parser").run()
    assert not app.exception and not app.error
    assert backend.asked[-1] == Request("parser", "The old man saw a dog in the park .")
    assert app.text_input(key="reason_sentence").value == SENTENCES[0]
    assert "a whole tree: 1 bracket around 10 words" in shown(app)
    app.text_input(key="reason_sentence").set_value("Don't wait, Ida!").run()
    assert not app.exception and not app.error
    assert backend.asked[-1] == Request("parser", "Do n't wait , Ida !")
    assert app.query_params["text"] == "Do n't wait , Ida !"


def test_sample_replaces_the_sentence(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason", model="parser", text=SENTENCE)
    app.button(key=f"reason_try {SENTENCES[5]}").click().run()
    assert not app.exception and not app.error
    assert backend.asked[-1].text == "If it rains , we will stay at home ."
    assert app.text_input(key="reason_sentence").value == SENTENCES[5]


@pytest.mark.parametrize(
    "text", sampled([SENTENCE, "Olaf left . Did Ida stay ?", "5,5 7,7"], SENTENCE)
)
def test_link_restores_the_sentence(open_page: Open, backend: Reasoners, text: str) -> None:
    """Check sentences that could also be read as a story with a question, or as points."""
    app = open_page("reason", model="parser", text=text)
    assert not app.exception and not app.error
    assert backend.asked == [Request("parser", text)]
    assert app.text_input(key="reason_sentence").value == text
    again = open_page("reason", **dict(app.query_params))
    assert again.text_input(key="reason_sentence").value == text
    assert backend.asked[-1] == Request("parser", text)


def test_link_to_tree_keeps_story(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason", model="parser", text=SENTENCE)
    app.segmented_control(key="reason_model").set_value("memory").run()
    assert not app.exception and not app.error
    assert backend.asked[-1].text == STORIES[0].text


def test_link_to_story_keeps_sentence(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason", model="memory", text=STORIES[1].text)
    app.segmented_control(key="reason_model").set_value("parser").run()
    assert not app.exception and not app.error
    assert backend.asked[-1].text == separate_punctuation(SENTENCES[0])


def test_sentence_without_words_keeps_earlier_tree(open_page: Open, backend: Reasoners) -> None:
    app = open_page("reason", model="parser", text=SENTENCE)
    app.text_input(key="reason_sentence").set_value(" ").run()
    assert not app.exception and "Type a sentence" in shown(app)
    assert "The result below is from your previous input" in shown(app)


def test_hidden_fact_is_part_of_the_link(open_page: Open, backend: Reasoners) -> None:
    text = STORIES[0].text
    changes = format_changes((Hide("facts", (5,)),))
    app = open_page("reason", model="memory", text=text, changes=changes)
    assert not app.exception and not app.error, shown(app)
    hidden = [one for one in backend.asked if one.changes]
    assert hidden and hidden[0].changes == (Hide("facts", (5,)),)
    assert "Hidden: “Mary went back to the kitchen.”" in shown(app)
    _, without = pictures(app)
    assert without["hidden"] == [5] and not without["canEdit"] and without["canAsk"]


def test_facts_that_answer_a_sample_are_marked() -> None:
    backend = Reasoners()
    trace = backend.trace(Request("memory", STORIES[0].text))
    assert add_gold_facts(trace).details["gold facts"] == "3 6"
    assert add_gold_facts(trace).details["expected answer"] == "kitchen"
    other = backend.trace(Request("memory", "Mary moved. Where is Mary?"))
    assert add_gold_facts(other) is other
    assert all(max(one.gold) < len(one.facts) for one in STORIES)


def test_conclusion_of_points_is_left_to_their_picture() -> None:
    assert describe_answer(Reasoners().trace(Request("pointer-tour", POINTS))) == ""


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        (
            "(S (NP XX )NP (VP XX (NP XX XX )NP )VP XX )S",
            "The model wrote a whole tree: 4 brackets around 5 words, 3 levels deep.",
        ),
        (
            "(S XX XX XX XX XX )S",
            "The model wrote a whole tree: 1 bracket around 5 words, 1 level deep.",
        ),
        (
            "(S (NP XX )NP (VP XX )S",
            "What the model wrote is no tree: )S stands where )VP has to.",
        ),
        ("(S XX )S )NP", "What the model wrote is no tree: )NP closes nothing."),
        (
            "(S (NP XX )NP (VP XX XX XX XX )VP",
            "What the model wrote is no tree: a bracket stays open.",
        ),
        (
            "(S XX )S",
            "The model wrote a tree of 1 word, and the sentence has 5. Punctuation counts as"
            " words.",
        ),
        (
            "(S (NP XX XX XX )NP (VP XX XX XX )VP )S",
            "The model wrote a tree of 6 words, and the sentence has 5. Punctuation counts as"
            " words.",
        ),
    ],
)
def test_conclusions_state_whether_the_tree_is_complete(tree: str, expected: str) -> None:
    trace = Reasoners().trace(Request("parser", SENTENCE, target=tree))
    assert trace.fields["target"].raw == tree
    assert describe_answer(trace).replace("\\", "") == expected


@pytest.mark.parametrize("written", ["paints boats", "", "(S paints )S"])
def test_invalid_brackets_are_not_an_answer(written: str) -> None:
    trace = Reasoners().trace(Request("parser", SENTENCE, target=written))
    assert describe_answer(trace).startswith("What the model wrote is no tree")


def test_word_without_bracket_leaves_no_bracket_open() -> None:
    """Check the output for a single word, as the trees of the parser's corpus have it."""
    words = describe_answer(Reasoners().trace(Request("parser", "Ida", target="XX")))
    assert words.startswith("What the model wrote") and "stays open" not in words


def test_numbers_are_outside_the_hull_of_the_points() -> None:
    points = np.array([[0, 0], [1000, 0], [1000, 1000], [0, 1000], [500, 900]])
    sides = ["bottom left", "bottom right", "top right", "top left", "top center"]
    assert [" ".join(side) for side in label_positions(points)] == sides


def test_lines_become_sentences() -> None:
    assert join_story(" A b \n\nC d!\n", "Who") == "A b. C d! Who?"
    assert join_story("", "") == ""
