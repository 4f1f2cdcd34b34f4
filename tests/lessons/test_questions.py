"""The questions of the lessons: their answers, and that each of them keeps its point."""

from __future__ import annotations

import numpy as np
import pytest

from areaviz.app.examples import EXAMPLES
from areaviz.backend.backend import find_path
from areaviz.backend.local import LocalBackend
from areaviz.learn import arithmetic, model_questions
from areaviz.learn.model_questions import get_output_text, list_stored_requests
from areaviz.learn.questions import QUESTIONS, make_question_data
from areaviz.samples.own_media import SOUND_SAMPLES
from areaviz.samples.paths import CHECKPOINTS, HERO, OPENINGS
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from areaviz.views.message import SITE

HALF = 2e-3
"""Weights are stored in half precision."""


@pytest.fixture(scope="module")
def backend() -> LocalBackend:
    return LocalBackend(CHECKPOINTS, "cpu", ())


def stored(backend: LocalBackend, request: Request) -> Trace:
    return file.load(find_path(OPENINGS, request, backend.models()))


def words(*texts: str) -> int:
    return sum(len(text.split()) for text in texts)


@pytest.mark.parametrize("number", QUESTIONS)
def test_question_is_short_before_and_after_its_answer(number: int) -> None:
    data = make_question_data(number)
    texts = data["texts"]
    given = [text for text in data["numbers"].get("options", [])]
    assert words(texts["question"], texts["hint"], *given) <= 60
    assert words(texts["told"], texts["learned"], texts["right"]) <= 90
    assert not any("{" in text for text in texts.values())


@pytest.mark.parametrize("place", range(len(list_stored_requests())))
def test_stored_run_equals_live_model(backend: LocalBackend, place: int) -> None:
    request = list_stored_requests()[place]
    kept, live = stored(backend, request), backend.trace(request)
    assert kept.fields[kept.output.field].raw == live.fields[live.output.field].raw
    assert kept.maps
    for site, attention_map in kept.maps.items():
        found = np.asarray(attention_map.weights, dtype=float)
        assert np.abs(found - np.asarray(live.maps[site].weights)).max() < HALF


@pytest.mark.parametrize("number", QUESTIONS)
def test_next_links_visit_all_questions(number: int) -> None:
    links = make_question_data(number)["links"]
    path = list(QUESTIONS)
    after = path[path.index(number) + 1 :]
    assert links["next"] == (f"?q={after[0]}" if after else "")
    assert bool(links["back"]) == (number != path[0])


def test_first_question_shows_heavy_span_of_several_words() -> None:
    trace = file.load(HERO)
    found = trace.maps[SITE]
    data = make_question_data(1)
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
    assert make_question_data(3)["numbers"]["answer"] == [4.0, 16.0]


def test_shares_sum_to_more_than_1() -> None:
    numbers = make_question_data(4)["numbers"]
    assert sum(share for _, share, _ in numbers["before"]) == pytest.approx(1)
    total = float(arithmetic.attend_spans(np.array([1.0, 0.0]), 3).coverage.sum())
    assert sum(share for _, share, _ in numbers["after"]) == pytest.approx(total)
    assert total > 1.1 and numbers["answer"] == [pytest.approx(total)]


def test_single_area_differs_most() -> None:
    numbers = make_question_data(5)["numbers"]
    deviations = sorted((share for _, share, _ in numbers["after"]), reverse=True)
    assert len(deviations) == 3 and deviations[0] > deviations[1] + 0.3
    assert numbers["after"][numbers["answer"]][1] == deviations[0]


def test_only_the_end_score_lets_the_span_win() -> None:
    (_, item, _), (_, span, _), (_, item_ended, _), (_, span_ended, _) = make_question_data(6)[
        "numbers"
    ]["after"]
    assert span < item and span_ended > item_ended


def test_rectangle_is_heaviest_and_caption_is_right(
    backend: LocalBackend,
) -> None:
    trace = stored(backend, model_questions.make_rectangle_request())
    look = model_questions.find_clearest_look(trace)
    assert look.weight > 0.5 and look.area.height > 1 and look.area.width > 1
    scene = model_questions.find_scene_sample(model_questions.PICTURE)
    assert scene is not None
    assert trace.fields[trace.output.field].raw in scene.list_true_sentences()
    area = look.area
    assert make_question_data(2)["numbers"]["answer"] == [
        area.top,
        area.left,
        area.height,
        area.width,
    ]


def test_areas_cost_their_number_unless_no_area_is_built() -> None:
    numbers = make_question_data(7)["numbers"]
    _, built, factored = [share for _, share, _ in numbers["after"]]
    # 256 + 255 + 254 + 253 + 252 spans, each of which costs as much as an item.
    assert built == pytest.approx(1270 / 256)
    assert factored < 1.1 and numbers["answer"] == [built]


def test_order_of_forms_is_equal_for_all_seeds() -> None:
    rows = model_questions.read_key_forms()
    best = [model_questions.FORMS[which] for which in make_question_data(8)["numbers"]["answer"]]
    for one, other in zip(best, best[1:], strict=False):
        assert all(a < b for a, b in zip(rows[one].losses, rows[other].losses, strict=True))


def test_four_corners_give_the_sum() -> None:
    numbers = make_question_data(9)["numbers"]
    (top, left, height, width), table = numbers["area"], numbers["table"]
    total = sum(sum(row[left : left + width]) for row in numbers["memory"][top : top + height])
    i2, i4, i3, i1 = [
        table[n // numbers["columns"]][n % numbers["columns"]] for n in numbers["answer"]
    ]
    assert min(i1, i2, i3, i4) > 0
    assert i1 + i2 - i3 - i4 == total


def test_two_listeners_are_equally_right_and_attend_to_different_moments(
    backend: LocalBackend,
) -> None:
    digits = len(SOUND_SAMPLES[model_questions.SOUND].text)
    content, hybrid = make_question_data(10)["numbers"]["answer"]
    assert content <= digits / 2 and hybrid == digits
    for request in model_questions.list_listener_requests():
        assert (
            get_output_text(stored(backend, request)) == SOUND_SAMPLES[model_questions.SOUND].text
        )
    errors = [backend.models()[name].figures["test"]["error"] for name in model_questions.LISTENERS]
    assert abs(errors[0] - errors[1]) < 0.001


def test_baseline_leaves_about_a_fifth_of_the_variance() -> None:
    numbers = make_question_data(11)["numbers"]
    (_, without, _), (_, calmer, _) = numbers["after"]
    assert without / calmer == pytest.approx(5, abs=0.2)
    assert numbers["answer"] == [pytest.approx(100 * calmer / without)]


def test_smaller_window_enlarges_the_picture() -> None:
    numbers = make_question_data(12)["numbers"]
    assert numbers["small"] < 1 and numbers["options"][numbers["answer"]] == "They grow"
    assert numbers["zooms"][numbers["answer"]] == numbers["small"]


def test_ban_keeps_output_and_hidden_word_changes_it() -> None:
    looked = model_questions.load_changed_runs()
    plain, banned, hidden = map(get_output_text, (looked.plain, looked.banned, looked.hidden))
    assert plain == banned == "Eine junge Frau in einem blauen Kleid liest ein Buch."
    assert hidden == "Eine Frau in einem blauen Kleid liest ein Buch."
    assert looked.takers >= 3
