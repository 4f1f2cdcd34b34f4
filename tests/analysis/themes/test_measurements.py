"""Features of examples: words, conditions, symptoms, rates and quantities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.sets.themes.conditions import (
    REFERENCE,
    Material,
    Score,
    Written,
    find_conditions,
    find_usual_spelling,
    lower_words,
    without_accents,
)
from areaviz.sets.themes.search import Measurements, measure_examples
from areaviz.sets.themes.symptoms import measure_longest_common_subsequence, pair_words
from tests.analysis.themes.made import made_material


def material(
    outputs: Sequence[str], references: Sequence[tuple[str, ...]], sources: Sequence[str] = ()
) -> Material:
    count = len(outputs)
    places, files = tuple(range(count)), ("",) * count
    given_sources = tuple(sources) or ("",) * count
    return Material(places, given_sources, tuple(references), files, (Written(tuple(outputs)),))


def symptom(measured: Measurements, title: str) -> list[float]:
    (found,) = (one for one in measured.symptoms if one.title == title)
    return [float(value) for value in found.values_E]


def slow_common_run(first: Sequence[str], second: Sequence[str]) -> int:
    table = np.zeros((len(first) + 1, len(second) + 1), int)
    for i, one in enumerate(first, 1):
        for j, other in enumerate(second, 1):
            longest = max(table[i - 1, j], table[i, j - 1])
            table[i, j] = table[i - 1, j - 1] + 1 if one == other else longest
    return int(table[-1, -1])


@given(
    st.lists(st.sampled_from("abcd"), max_size=12), st.lists(st.sampled_from("abcd"), max_size=12)
)
def test_longest_common_run_agrees_with_table(first: list[str], second: list[str]) -> None:
    assert measure_longest_common_subsequence(first, second) == slow_common_run(first, second)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A T-shirt, isn't it? 1.5 m", ["a", "t-shirt", "isn't", "it", "1.5", "m"]),
        ("我爱你 ok", ["我", "爱", "你", "ok"]),
        ("", []),
    ],
)
def test_lower_words_splits_texts(text: str, words: list[str]) -> None:
    assert lower_words(text) == words


def test_usual_spelling_ignores_first_words() -> None:
    spelling = find_usual_spelling(["Die Menschen gehen", "Viele Menschen und die Hunde"])
    assert (spelling["menschen"], spelling["die"]) == ("Menschen", "die")
    assert without_accents("straße") == "strasse"


def test_symptoms_compare_with_the_reference() -> None:
    references = [("ein rotes Auto fährt schnell.",)] * 4
    outputs = [
        "ein rotes Auto fährt schnell.",
        "ein rotes Auto",
        "schnell fahrt Auto rotes ein ein",
        "ein rotes ein rotes ein rotes Auto fährt schnell.",
    ]
    measured = measure_examples(material(outputs, references), 0)
    found = symptom(measured, "words of the reference found")
    assert found == pytest.approx([1, 0.6, 0.8, 1])
    assert symptom(measured, "missing length") == pytest.approx([0, -0.4, 0, 0])
    assert symptom(measured, "surplus length") == pytest.approx([0, 0, -1 / 6, -4 / 9])
    assert symptom(measured, "words that differ by accents") == pytest.approx([0, 0, -0.2, 0])
    assert symptom(measured, "repetition") == pytest.approx([0, 0, 0, -3 / 9])
    assert symptom(measured, "order of the words found") == pytest.approx([1, 1, 0.25, 1])
    assert symptom(measured, "end mark as in the reference") == [1, 0, 0, 1]


def test_symptoms_take_the_closest_of_several_references() -> None:
    (pair,) = pair_words(material(["a small dog"], [("two cats", "a small dog", "a dog")]), 0)
    assert pair.reference == ("a", "small", "dog")
    assert all(one.is_found for one in pair.matched)


def test_symptoms_of_low_scores_are_turned() -> None:
    given_material = made_material(100)
    score = Score("TER", np.linspace(0, 1, 100), "low")
    written = (replace(given_material.written[0], scores=(score,)),)
    measured = measure_examples(replace(given_material, written=written), 0)
    assert symptom(measured, "TER") == pytest.approx(list(-np.linspace(0, 1, 100)))


def test_conditions_never_come_from_several_references() -> None:
    references = [("ein Hund", "a dog")] * 60 + [("eine Katze", "a cat")] * 60
    found = find_conditions(material(["x"] * 120, references), 0)
    assert found.known == ()
    one = find_conditions(material(["x"] * 120, [texts[:1] for texts in references]), 0)
    assert {condition.kind for condition in one.known} == {REFERENCE}


def test_conditions_cut_numbers_and_name_values() -> None:
    metadata = {"year": tuple(str(place) for place in range(100)), "domain": ("a", "b") * 50}
    found = find_conditions(replace(made_material(100), metadata=metadata), 0)
    texts = {one.text: int(found.holds_EC[:, n].sum()) for n, one in enumerate(found.known)}
    assert texts["domain is a"] == 50
    assert texts["year is at most 19.8"] == 20
    assert texts["year is more than 79.2"] == 20


def test_conditions_for_equal_examples_are_one() -> None:
    found = find_conditions(made_material(200), 0)
    assert len({column.tobytes() for column in found.holds_EC.T}) == len(found.known)


def test_quantities_read_numbers_of_metadata() -> None:
    values = tuple(str(place / 7) for place in range(99)) + ("nothing",)
    measured = measure_examples(replace(made_material(100), metadata={"score": values}), 0)
    assert "The higher the value of “score”" in [one.more for one in measured.quantities]
