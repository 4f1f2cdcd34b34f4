"""The address of an analysis restores it; an invalid address gives a reason."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from areaviz.app.page import Link
from areaviz.sets.app.state import FOLDER, SAMPLES, UPLOAD, AnalyseState
from tests.pages.folder import card

CARDS = {name: card(name, "area") for name in ("one", "two")}
OWN = "0123456789abcdef01234567"


def followed(**params: str) -> AnalyseState:
    return AnalyseState(example=7, search="x").from_link(Link.read(params, CARDS))


@pytest.mark.parametrize(
    ("name", "source", "field"),
    [
        ("Scenes to describe", SAMPLES, "sample"),
        (OWN, UPLOAD, "own"),
        ("folder:my set", FOLDER, "folder"),
    ],
)
def test_every_kind_of_set_has_an_address(name: str, source: str, field: str) -> None:
    state = followed(set=name, model="two", compare="one", beam="3", method="beam", example="5")
    assert not state.problem and state.source == source
    assert getattr(state, field) == name.removeprefix("folder:")
    assert (state.model, state.compare, state.beam, state.example) == ("two", "one", 3, 4)
    assert state.has_linked_model and state.search == "" and state.digest == ""
    assert state.set_name == name


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"set": "../secret"}, 'asks for the set "../secret", which is not here'),
        ({"set": OWN[:-1]}, "which is not here"),
        ({"set": "Sentences", "example": "0"}, 'opens the example "0", which is not a number'),
        ({"set": "Sentences", "example": "²"}, "which is not a number"),
        ({"set": "Sentences", "example": "9" * 30}, "which is not a number"),
    ],
)
def test_broken_link_gives_one_sentence(params: dict[str, str], said: str) -> None:
    state = followed(**params)
    assert said in state.problem and state.problem.endswith(".") and state.example is None


@given(st.lists(st.integers(0, 50), unique=True), st.integers(0, 50))
def test_neighbours_follow_the_shown_order(places: list[int], opened: int) -> None:
    before, after = AnalyseState(example=opened).find_neighbours(places)
    if opened not in places:
        assert before is after is None
        return
    around = [before, opened, after]
    seen = [None, *places, None]
    at = seen.index(opened)
    assert around == seen[at - 1 : at + 2]


def test_back_leads_from_example_to_example_of_one_set() -> None:
    state = AnalyseState(example=7, search="x", digest="d", source=UPLOAD, own=OWN)
    there = state.from_link(Link.read({"set": OWN, "model": "one", "example": "3"}, CARDS))
    assert (there.example, there.search, there.digest) == (2, "x", "d")
    assert not there.has_linked_set, "files that were just chosen stay"
    other = state.from_link(Link.read({"set": "Sentences"}, CARDS))
    assert (other.example, other.search, other.digest) == (None, "", "")


def test_new_dataset_resets_the_state() -> None:
    state = AnalyseState(model="one", example=3, slice="x", search="y", first_row=200)
    fresh = state.for_new_set("d")
    assert (fresh.example, fresh.slice, fresh.search, fresh.first_row) == (None, "", "", 0)
    assert fresh.digest == "d" and fresh.model == "one"
