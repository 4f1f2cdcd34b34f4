"""The questions of the lessons: their answers, and that each of them keeps its point."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.data.places import HERO
from areaviz.lessons import attention
from areaviz.lessons.questions import QUESTIONS, SITE, question_data
from areaviz.trace import codec
from areaviz.ui.forms.samples import EXAMPLES


def words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)


@pytest.mark.parametrize("number", QUESTIONS)
def test_a_question_is_short_before_and_after_its_answer(number: int) -> None:
    data = question_data(number)
    texts = data["texts"]
    given = [text for text in data["numbers"].get("options", [])]
    assert words(texts["question"], texts["hint"], *given) <= 60
    assert words(texts["told"], texts["learned"], texts["right"]) <= 90
    assert not any("{" in text for text in texts.values())


@pytest.mark.parametrize("number", QUESTIONS)
def test_the_ways_on_visit_all_questions(number: int) -> None:
    links = question_data(number)["links"]
    path = list(QUESTIONS)
    after = path[path.index(number) + 1 :]
    assert links["next"] == (f"?q={after[0]}" if after else "")
    assert bool(links["back"]) == (number != path[0])


def test_the_first_question_is_about_several_words_with_most_of_the_weight() -> None:
    trace = codec.load(HERO)
    found = trace.maps[SITE]
    data = question_data(1)
    word = data["numbers"]["written"][data["numbers"]["now"]]
    query = list(trace.fields[found.query].labels).index(word)
    look = EXAMPLES[0].focus
    weights = np.asarray(found.weights[look.layer, look.head or 0, query], dtype=float)
    area = found.grid.area(int(weights.argmax()))
    first, last = data["numbers"]["answer"]
    assert last > first and weights.max() > 0.5
    labels = trace.fields[found.memory].labels[area.left : area.left + area.width]
    assert "".join(data["numbers"]["read"][first : last + 1]) == "".join(labels)
    assert f"“{word}”" in data["texts"]["question"]


def test_key_and_value_differ() -> None:
    assert question_data(3)["numbers"]["answer"] == [4.0, 16.0]


def test_the_shares_sum_to_more_than_1() -> None:
    numbers = question_data(4)["numbers"]
    assert sum(share for _, share, _ in numbers["before"]) == pytest.approx(1)
    total = float(attention.attend(np.array([1.0, 0.0]), 3).coverage.sum())
    assert sum(share for _, share, _ in numbers["after"]) == pytest.approx(total)
    assert total > 1.1 and numbers["answer"] == 2


def test_one_area_differs_clearly_more_than_the_others() -> None:
    numbers = question_data(5)["numbers"]
    deviations = sorted((share for _, share, _ in numbers["after"]), reverse=True)
    assert len(deviations) == 3 and deviations[0] > deviations[1] + 0.3
    assert numbers["after"][numbers["answer"]][1] == deviations[0]


def test_only_the_end_score_lets_the_span_win() -> None:
    (_, item, _), (_, span, _), (_, item_ended, _), (_, span_ended, _) = question_data(6)[
        "numbers"
    ]["after"]
    assert span < item and span_ended > item_ended
