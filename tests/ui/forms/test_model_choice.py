"""Choosing a picture selects a fitting model once, and a mismatch gives a message."""

from __future__ import annotations

from dataclasses import replace

import pytest
import streamlit as st

from areaviz.app.input import (
    FIRST_SAMPLES,
    choose_first_sample,
    get_picture_type,
    select_model_for_picture,
    select_model_for_type,
    warn_of_picture_type,
)
from areaviz.app.options import ModelState
from areaviz.app.page import Page
from areaviz.cards.card import Card
from areaviz.samples.own_media import PICTURE_SAMPLES, get_picture_sample
from tests.pages import folder

PAGE = Page("translate", "", ModelState())


def card(name: str, mechanism: str, pictures: str) -> Card:
    return replace(folder.card(name, mechanism), recipe={"pictures": pictures} if pictures else {})


CARDS = {
    one.name: one
    for one in (
        card("photo-plain", "regular", "photos"),
        card("photo-area", "area", "photos"),
        card("scene-area", "area", "scenes"),
        card("any", "regular", ""),
    )
}


@pytest.fixture(autouse=True)
def state(monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    kept: dict[str, object] = {}
    monkeypatch.setattr(st, "session_state", kept)
    return kept


def test_new_picture_kind_changes_only_the_model() -> None:
    seen = []
    for name, chosen in (
        ("scene-1", None),
        ("cat", None),
        ("scene-1", None),
        ("cat", "any"),
        ("coffee", "scene-area"),
    ):
        if chosen:
            PAGE.set(model=chosen)
        select_model_for_picture(PAGE, CARDS, get_picture_sample(name))
        seen.append(PAGE.state.model)
    assert seen == ["scene-area", "photo-area", "scene-area", "photo-area", "scene-area"]


def test_model_of_the_kind_stays() -> None:
    PAGE.set(model="photo-plain")
    select_model_for_picture(PAGE, CARDS, get_picture_sample("cat"))
    assert PAGE.state.model == "photo-plain"
    select_model_for_picture(PAGE, CARDS, None)
    assert PAGE.state.model == "photo-plain"


def test_picture_set_selects_its_model() -> None:
    PAGE.set(model="photo-plain")
    select_model_for_type(PAGE, CARDS, "scenes")
    assert PAGE.state.model == "scene-area"
    select_model_for_type(PAGE, CARDS, "")
    assert PAGE.state.model == "scene-area"


def test_linked_picture_and_model_stay_together() -> None:
    PAGE.set(model="scene-area")
    PAGE.set(model_kind=get_picture_type("cat"))
    select_model_for_picture(PAGE, CARDS, get_picture_sample("cat"))
    assert PAGE.state.model == "scene-area"


def test_chosen_model_stays_if_none_fits() -> None:
    PAGE.set(model="scene-area")
    select_model_for_picture(PAGE, {"scene-area": CARDS["scene-area"]}, get_picture_sample("cat"))
    assert PAGE.state.model == "scene-area"


def test_first_sample_is_of_the_models_kind() -> None:
    assert choose_first_sample(PAGE, CARDS) == FIRST_SAMPLES["scenes"]
    PAGE.set(model="photo-area")
    assert choose_first_sample(PAGE, CARDS) == FIRST_SAMPLES["photos"]
    assert {
        get_picture_type(name): name for name in FIRST_SAMPLES.values()
    } == FIRST_SAMPLES and set(FIRST_SAMPLES.values()) <= set(PICTURE_SAMPLES)


@pytest.mark.parametrize(
    ("model", "name", "told"),
    [
        ("scene-area", "cat", True),
        ("photo-area", "scene-1", True),
        ("any", "cat", False),
        ("photo-area", "cat", False),
    ],
)
def test_warn_of_picture_type_names_the_kinds(model: str, name: str, told: bool) -> None:
    assert bool(warn_of_picture_type(CARDS[model], get_picture_sample(name))) == told
    assert not warn_of_picture_type(CARDS[model], None)
