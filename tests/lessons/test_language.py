"""The questions in other languages: the same texts, placeholders and lengths."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from areaviz.learn.question_data import load_texts, with_decimal_marks
from areaviz.learn.questions import QUESTIONS, make_question_data

ENGLISH = files("areaviz.learn").joinpath("texts", "en.toml")
NAMES = tuple(tomllib.loads(ENGLISH.read_text("utf-8")))


def placeholders(text: object) -> list[str]:
    return sorted(set(re.findall(r"\{\w+\}", str(text))))


@pytest.mark.parametrize("name", NAMES)
def test_question_has_all_texts_in_german(name: str) -> None:
    english, german = load_texts(name), load_texts(name, "de")
    assert set(english) == set(german)
    for key, text in english.items():
        assert placeholders(text) == placeholders(german[key]), key
        assert isinstance(german[key], type(text)) and german[key], key
        assert not isinstance(text, list) or len(text) == len(german[key]), key


@pytest.mark.parametrize("number", QUESTIONS)
def test_german_question_is_short_and_has_same_answer(number: int) -> None:
    english, german = make_question_data(number), make_question_data(number, language="de")
    assert english["numbers"]["answer"] == german["numbers"]["answer"]
    texts = german["texts"]
    options = german["numbers"].get("options", [])
    assert sum(len(text.split()) for text in (texts["question"], texts["hint"], *options)) <= 60
    told = (texts["told"], texts["learned"], texts["right"])
    assert sum(len(text.split()) for text in told) <= 90
    assert not any("{" in text for text in texts.values())


def test_numbers_get_the_decimal_mark_of_the_language() -> None:
    given = {"bars": [["item 1.5", 0.25, "0.250"]], "count": 3, "end": "Two. Three."}
    found = with_decimal_marks(given, "de")
    assert found == {"bars": [["item 1,5", 0.25, "0,250"]], "count": 3, "end": "Two. Three."}
    assert with_decimal_marks(given, "en") == given


def test_pseudo_language_marks_every_text() -> None:
    texts = load_texts("window", "en-XA")
    assert all("⟦" in str(text) for text in texts.values()) and len(texts["options"]) == 3
